#include <algorithm>
#include <bit>
#include <chrono>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <thread>

#include "laneway/simt/cuda/check.hpp"
#include "styles/exchange.hpp"
#if LANEWAY_HAS_NCCL
#include <nccl.h>
#endif

namespace laneway::styles {

namespace {

using cuda_backend::check;
using cuda_backend::device_scope;

#if LANEWAY_HAS_NCCL
void check_nccl(ncclResult_t code, const char* what) {
    if (code != ncclSuccess) throw cuda_error(std::string(what) + ": " + ncclGetErrorString(code));
}
#endif

class gpu_carrier final : public exchange_carrier {
public:
    gpu_carrier(machine& all, std::vector<exchange_buffers>& buffers, double timeout_seconds)
        : buffers_(buffers), pes_(buffers.size()), timeout_seconds_(timeout_seconds) {
        const auto most = static_cast<int>(buffers.front().messages.size());
        for (std::size_t pe = 0; pe < pes_; ++pe) {
            const auto& owner = owners_.emplace_back(all.device(static_cast<int>(pe)));
            gpus_.push_back(owner->id().index);
            counts_.emplace_back(owner, pes_);
            const device_scope scope(gpus_[pe]);
            check(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking), "cudaStreamCreate");
            std::size_t sort_bytes = 0, count_bytes = 0;
            sort_one(pe, most, nullptr, sort_bytes);
            count_one(pe, most, nullptr, count_bytes);
            workspaces_.emplace_back(owner, std::max(sort_bytes, count_bytes));
        }
#if LANEWAY_HAS_NCCL
        communicators_.resize(pes_);
        check_nccl(ncclCommInitAll(communicators_.data(), static_cast<int>(pes_), gpus_.data()), "ncclCommInitAll");
#endif
    }
    ~gpu_carrier() override {
#if LANEWAY_HAS_NCCL
        for (auto communicator : communicators_) stuck_ ? ncclCommAbort(communicator) : ncclCommDestroy(communicator);
#endif
        for (auto stream : streams_) cudaStreamDestroy(stream);
    }

    std::vector<std::uint64_t> sort(std::uint64_t count) override {
        if (count == 0) return std::vector<std::uint64_t>(pes_ * pes_);
        const auto items = static_cast<int>(count);
        for (std::size_t pe = 0; pe < pes_; ++pe) {
            const device_scope scope(gpus_[pe]);
            std::size_t bytes = workspaces_[pe].size();
            sort_one(pe, items, workspaces_[pe].data(), bytes);
            count_one(pe, items, workspaces_[pe].data(), bytes);
        }
        wait();
        std::vector<std::uint64_t> counts;
        for (const auto& of_pe : counts_) {
            for (const std::uint32_t n : of_pe.copy_out()) counts.push_back(n);
        }
        return counts;
    }

    void move(const exchange_plan& plan) override {
#if LANEWAY_HAS_NCCL
        check_nccl(ncclGroupStart(), "ncclGroupStart");
#endif
        for (std::size_t from = 0; from < pes_; ++from) {
            for (std::size_t to = 0; to < pes_; ++to) {
                const std::size_t pair = from * pes_ + to;
                if (plan.counts[pair] != 0) send(plan, from, to, pair);
            }
        }
#if LANEWAY_HAS_NCCL
        check_nccl(ncclGroupEnd(), "ncclGroupEnd");
#endif
        wait();
    }

private:
    void send(const exchange_plan& plan, std::size_t from, std::size_t to, std::size_t pair) {
        const std::uint64_t* const source = buffers_[from].sorted.data() + plan.starts[pair];
        std::uint64_t* const target = buffers_[to].arrived.data() + plan.places[pair];
        const std::uint64_t count = plan.counts[pair];
#if LANEWAY_HAS_NCCL
        check_nccl(ncclSend(source, count, ncclUint64, static_cast<int>(to), communicators_[from], streams_[from]),
                   "ncclSend");
        check_nccl(ncclRecv(target, count, ncclUint64, static_cast<int>(from), communicators_[to], streams_[to]),
                   "ncclRecv");
#else
        const device_scope scope(gpus_[from]);
        check(
            cudaMemcpyPeerAsync(target, gpus_[to], source, gpus_[from], count * sizeof(std::uint64_t), streams_[from]),
            "cudaMemcpyPeerAsync");
#endif
    }

    /// Owner pes_ stands for no message and is sorted to the end.
    void sort_one(std::size_t pe, int items, void* workspace, std::size_t& bytes) {
        const exchange_buffers& b = buffers_[pe];
        check(cub::DeviceRadixSort::SortPairs(workspace, bytes, b.owners.data(), b.sorted_owners.data(),
                                              b.messages.data(), b.sorted.data(), items, 0,
                                              static_cast<int>(std::bit_width(pes_)), streams_[pe]),
              "sorting messages");
    }
    void count_one(std::size_t pe, int items, void* workspace, std::size_t& bytes) {
        const auto owners = static_cast<int>(pes_);
        check(cub::DeviceHistogram::HistogramEven(workspace, bytes, buffers_[pe].sorted_owners.data(),
                                                  counts_[pe].data(), owners + 1, 0, owners, items, streams_[pe]),
              "counting messages");
    }
    void wait() {
        const auto start = std::chrono::steady_clock::now();
        for (auto stream : streams_) {
            cudaError_t code;
            while ((code = cudaStreamQuery(stream)) == cudaErrorNotReady) {
                const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
                if (waited.count() > timeout_seconds_) give_up();
                std::this_thread::yield();
            }
            check(code, "exchanging messages");
        }
    }
    /// What is still under way may write: its memory is kept.
    [[noreturn]] void give_up() {
        stuck_ = true;
        for (const auto& owner : owners_) owner->abandon();
        throw timeout_error("the exchange between GPUs did not end in " + std::to_string(timeout_seconds_) + " s");
    }

    std::vector<exchange_buffers>& buffers_;
    std::size_t pes_;
    double timeout_seconds_;
    bool stuck_ = false;
    std::vector<std::shared_ptr<device>> owners_;
    std::vector<int> gpus_;
    std::vector<cudaStream_t> streams_;
    std::vector<buffer<std::uint32_t>> counts_;  ///< of each PE's messages, by owner
    std::vector<buffer<std::byte>> workspaces_;
#if LANEWAY_HAS_NCCL
    std::vector<ncclComm_t> communicators_;
#endif
};

}  // namespace

std::unique_ptr<exchange_carrier> carry_between_gpus(machine& all, std::vector<exchange_buffers>& buffers,
                                                     double timeout_seconds) {
    return std::make_unique<gpu_carrier>(all, buffers, timeout_seconds);
}

}  // namespace laneway::styles
