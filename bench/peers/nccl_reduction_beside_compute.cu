// An all-reduce of a large array by NCCL in one stream, while kernels of another one compute: how long both take alone,
// and beside each other. Kernels, array and checks are those of bench_reduction_beside_compute.
//
//   nccl_reduction_beside_compute --pes "2;4" --mib 64 --compute-blocks 100 --json FILE
// NCCL chooses how many blocks it takes (NCCL_MAX_CTAS); `urgent` says whether they come before kernels that wait.
#include "bench_support.hpp"
#include "compute_chain.hpp"
#include "nccl_process.cuh"
#include "timed_stream.cuh"

namespace {

using namespace laneway;

constexpr int threads = 256;

__global__ void compute_chains(std::uint32_t* ends, std::uint64_t steps) {
    const std::uint64_t lane = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    ends[lane] = bench::end_of_chain(lane, steps);
}

__global__ void set_to_one(float* values, std::uint64_t count) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) values[i] = 1;
}

__global__ void count_others(const float* values, std::uint64_t count, float sum, unsigned long long* wrong) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        if (values[i] != sum) atomicAdd(wrong, 1ull);
    }
}

/// Seconds of kernels, and of a reduction.
struct times {
    double compute = 0;
    double reduce = 0;
};

class reduction_job {
public:
    reduction_job(bench::team& pes, ncclComm_t nccl, const bench::arguments& args)
        : pes_(pes), nccl_(nccl), elements_(args.number("mib", 1, 1u << 16) << 18),
          rounds_(args.number("rounds", 1, 30)), steps_(args.number("chain", 1)),
          blocks_(static_cast<unsigned>(args.number("compute-blocks", 1, 1u << 16))), values_(elements_ / 2),
          ends_(std::uint64_t{blocks_} * threads / 2), wrong_(1), work_(false),
          reduction_(args.number("urgent", 0, 1) == 1) {}

    [[nodiscard]] std::uint64_t bytes() const { return elements_ * sizeof(float); }
    [[nodiscard]] std::uint64_t kernels() const { return kernels_; }

    times alone() {
        times made;
        reduce();
        made.reduce = wait_for_reductions();
        compute();
        made.compute = work_.wait();
        return made;
    }
    times beside() {
        times made;
        compute();
        reduce();
        made.reduce = wait_for_reductions();
        made.compute = work_.wait();
        return made;
    }
    /// So many kernels, on all PEs, that they last for longer than the reductions.
    void choose_kernels(const times& one) {
        const double all = one.reduce * static_cast<double>(rounds_ + 1) * 1.25 / one.compute;
        for (const double asked : pes_.gather(all)) {
            kernels_ = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(asked) + 1, kernels_, 10'000);
        }
    }
    void check() const {
        std::vector<std::uint32_t> ends(std::uint64_t{blocks_} * threads);
        bench::check(cudaMemcpy(ends.data(), ends_.data(), ends.size() * sizeof ends[0], cudaMemcpyDeviceToHost),
                     "ends");
        for (std::size_t lane = 0; lane < ends.size(); lane += 1 + ends.size() / 8) {
            if (ends[lane] != bench::end_of_chain(lane, steps_)) throw device_fault("a chain ends elsewhere");
        }
    }

private:
    [[nodiscard]] float* values() const { return reinterpret_cast<float*>(values_.data()); }

    void compute() {
        work_.begin();
        for (std::uint64_t k = 0; k < kernels_; ++k) {
            compute_chains<<<blocks_, threads, 0, work_.get()>>>(reinterpret_cast<std::uint32_t*>(ends_.data()),
                                                                 steps_);
        }
        bench::check(cudaGetLastError(), "launching kernels");
        work_.end();
    }
    /// The first one is not timed.
    void reduce() {
        set_to_one<<<64, threads, 0, reduction_.get()>>>(values(), elements_);
        bench::check(cudaGetLastError(), "first values");
        for (std::uint64_t round = 0; round <= rounds_; ++round) {
            bench::check(ncclAllReduce(values(), values(), elements_, ncclFloat, ncclSum, nccl_, reduction_.get()),
                         "all-reduce");
            if (round == 0) reduction_.begin();
        }
        reduction_.end();
    }
    double wait_for_reductions() {
        const double seconds = reduction_.wait() / static_cast<double>(rounds_);
        float sum = 1;
        for (std::uint64_t round = 0; round <= rounds_; ++round) sum *= static_cast<float>(pes_.size());
        count_others<<<64, threads, 0, reduction_.get()>>>(values(), elements_, sum,
                                                           reinterpret_cast<unsigned long long*>(wrong_.data()));
        bench::check(cudaStreamSynchronize(reduction_.get()), "checking sums");
        if (wrong_.read(0) != 0) throw device_fault("sums are wrong");
        return seconds;
    }

    bench::team& pes_;
    ncclComm_t nccl_;
    std::uint64_t elements_;
    std::uint64_t rounds_;
    std::uint64_t steps_;
    unsigned blocks_;
    bench::device_words values_;
    bench::device_words ends_;
    bench::device_words wrong_;
    bench::timed_stream work_;
    bench::timed_stream reduction_;
    std::uint64_t kernels_ = 1;
};

void show(const bench::arguments& args, int pes, const reduction_job& of, const std::vector<times>& alone,
          const std::vector<times>& beside) {
    const auto median_us = [](const std::vector<times>& all, double times::*part) {
        std::vector<double> samples;
        for (const times& one : all) samples.push_back(one.*part * 1e6);
        return bench::spread_of(samples).median;
    };
    const double figures[] = {median_us(alone, &times::reduce), median_us(beside, &times::reduce),
                              median_us(alone, &times::compute), median_us(beside, &times::compute)};
    std::printf(
        "%-10s %-12s reduction alone %10.1f us   beside %10.1f us   kernels alone %11.1f us   beside %11.1f us\n",
        bench::gpu_names(pes).c_str(), "nccl", figures[0], figures[1], figures[2], figures[3]);
    bench::json_lines(args.text("json"))
        .write({{"benchmark", "reduction_beside_compute"}, {"devices", bench::gpu_names(pes)}, {"style", "nccl"}},
               {{"bytes", static_cast<double>(of.bytes())},
                {"runs", static_cast<double>(alone.size())},
                {"kernels", static_cast<double>(of.kernels())},
                {"reduce_alone_us", figures[0]},
                {"reduce_beside_us", figures[1]},
                {"compute_alone_us", figures[2]},
                {"compute_beside_us", figures[3]}});
}

void run_pe(bench::team& pes, const bench::arguments& args) {
    const ncclComm_t nccl = bench::start_nccl(pes);
    {
        reduction_job of(pes, nccl, args);
        std::vector<times> alone, beside;
        for (std::uint64_t run = 0; run <= args.number("runs", 1, 1000); ++run) {
            pes.meet();
            const times one = of.alone();
            if (run == 0) of.choose_kernels(one);
            pes.meet();
            const times both = of.beside();
            if (run == 0) continue;  // warms up
            alone.push_back(one);
            beside.push_back(both);
        }
        of.check();
        if (pes.rank() == 0) show(args, pes.size(), of, alone, beside);
    }
    bench::check(ncclCommDestroy(nccl), "end");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"pes", "1"},
                                     {"mib", "64"},
                                     {"compute-blocks", "100"},
                                     {"chain", "100000"},
                                     {"rounds", "10"},
                                     {"urgent", "1"},
                                     {"runs", "5"},
                                     {"timeout", "120"},
                                     {"json", ""}});
        for (const std::uint64_t pes : args.numbers("pes", ';', 1, bench::team::most)) {
            bench::run_processes(static_cast<int>(pes), args.real("timeout"),
                                 [&](bench::team& team) { run_pe(team, args); });
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_reduction_beside_compute: %s\n", failure.what());
        return 1;
    }
}
