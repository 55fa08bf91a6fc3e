// Messages with NCCL's device calls, from lanes, warps or blocks of a kernel: stores into a window of another rank's
// memory (ncclGetLsaPointer, NCCL 2.28 or later), a fence and a flag. To be read beside `laneway study messaging`,
// model store.
//
//   nccl_window_messages --pes "2;4" --patterns "ping-pong;stream" --bytes "8;4096;1048576" --lanes "1;1024"
//                        --width block --groups 1 --window 4 --rounds 1000 --json FILE
// The arguments are those of nvshmem_messages.
#include "nccl_process.cuh"

#include <nccl_device.h>

#include <cuda/atomic>

#include "messages_kernel.cuh"

namespace {

using namespace laneway;

constexpr const char* model = "NCCL window store";

/// Flags and buffers are named by the addresses of the own part.
struct by_window {
    using system_word = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>;

    ncclWindow_t window;
    std::uint64_t* base;

    [[nodiscard]] __device__ std::uint64_t* there(const std::uint64_t* own, int pe) const {
        return static_cast<std::uint64_t*>(ncclGetLsaPointer(window, static_cast<std::size_t>(own - base) * 8, pe));
    }
    template <class Group>
    __device__ void put(const Group& group, std::uint64_t* to, const std::uint64_t* from, std::uint64_t* flag,
                        std::uint64_t value, int pe) const {
        std::uint64_t* const target = there(to, pe);
        constexpr int batch = 4;  // loads that are on their way at once
        for (std::uint64_t k = group.first; k < group.job.words; k += batch * group.step) {
            std::uint64_t words[batch];
            for (int i = 0; i < batch; ++i) {
                if (k + i * group.step < group.job.words) words[i] = from[k + i * group.step];
            }
            for (int i = 0; i < batch; ++i) {
                if (k + i * group.step < group.job.words) target[k + i * group.step] = words[i];
            }
        }
        group.meet();
        if (group.first == 0) set(flag, value, pe);
    }
    __device__ void set(std::uint64_t* flag, std::uint64_t value, int pe) const {
        system_word(*there(flag, pe)).store(value, cuda::std::memory_order_release);
    }
    __device__ void wait(std::uint64_t* flag, std::uint64_t value) const {
        bench::wait_until([&] { return system_word(*flag).load(cuda::std::memory_order_acquire) >= value; });
    }

    static int most_blocks(const void* kernel, void**) { return bench::full_grid(kernel, bench::message_threads); }
    static void launch(const void* kernel, unsigned blocks, void** arguments) {
        bench::check(cudaLaunchCooperativeKernel(kernel, blocks, bench::message_threads, arguments, 0, nullptr),
                     "launch");
    }
};

/// Memory that all ranks of a host reach, zeroed. Collective.
class window_words {
public:
    window_words(bench::team& pes, ncclComm_t nccl, std::uint64_t count) : nccl_(nccl) {
        void* memory = nullptr;
        bench::check(ncclMemAlloc(&memory, count * 8), "memory");
        data_ = static_cast<std::uint64_t*>(memory);
        bench::check(cudaMemset(data_, 0, count * 8), "memory");
        bench::check(cudaDeviceSynchronize(), "memory");
        bench::check(ncclCommWindowRegister(nccl, data_, count * 8, &window_, NCCL_WIN_COLL_SYMMETRIC), "window");
        if (window_ == nullptr) throw system_error("NCCL has no windows on these GPUs");
        pes.meet();
    }
    window_words(const window_words&) = delete;
    window_words& operator=(const window_words&) = delete;
    ~window_words() {  // a failure shows at the next call
        if (window_ != nullptr) (void)ncclCommWindowDeregister(nccl_, window_);
        (void)ncclMemFree(data_);
    }
    [[nodiscard]] std::uint64_t* data() const { return data_; }
    [[nodiscard]] ncclWindow_t window() const { return window_; }

private:
    ncclComm_t nccl_;
    std::uint64_t* data_ = nullptr;
    ncclWindow_t window_ = nullptr;
};

void run_pe(bench::team& pes, const bench::arguments& args) {
    const ncclComm_t nccl = bench::start_nccl(pes);
    if (ncclTeamLsa(nccl).nRanks != pes.size())
        throw system_error("NCCL: the GPUs do not all reach each other's memory");
    bench::for_each_groups(args, [&](const bench::message_job& job, const std::string& pattern,
                                     const std::string& width, std::uint64_t window) {
        const auto n = static_cast<std::uint64_t>(pes.size());
        const window_words memory(pes, nccl, bench::message_words::of_all(job, window, n));
        bench::measure_groups(pes, args, job, model, pattern, width, window, memory.data(),
                              by_window{memory.window(), memory.data()});
    });
    bench::check(ncclCommDestroy(nccl), "end");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv, bench::group_arguments());
        bench::for_each_team(args, [&](bench::team& pes) { run_pe(pes, args); });
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_window_messages: %s\n", failure.what());
        return 1;
    }
}
