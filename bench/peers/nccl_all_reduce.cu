// An all-reduce of a large array as a coprocessor program does it: a kernel writes numbers, NCCL adds them up over all
// PEs, a kernel verifies all sums. The same numbers, rounds and checks as bench_communication_styles.
//
//   nccl_all_reduce --pes "1;2;4" --elements 16777216 --steps 20 --runs 5 --json FILE
#include "nccl_process.cuh"

#include "all_reduce/numbers.hpp"
#include "bench_support.hpp"
#include "warp_time.cuh"

namespace {

using namespace laneway;

constexpr int threads = 256;

__global__ void write_numbers(float* values, std::uint64_t elements, int pe, std::uint32_t round,
                              std::uint64_t* clock) {
    const bench::warp_time spent(clock);
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) {
        values[i] = apps::contribution_to_sum(i, pe, round);
    }
    spent.add();
}

__global__ void verify_sums(const float* values, std::uint64_t elements, int pes, std::uint32_t round,
                            std::uint64_t* wrong, std::uint64_t* clock) {
    const bench::warp_time spent(clock);
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) {
        float sum = 0;
        for (int pe = 0; pe < pes; ++pe) sum += apps::contribution_to_sum(i, pe, round);
        if (values[i] != sum) atomicAdd(reinterpret_cast<unsigned long long*>(wrong), 1ull);
    }
    spent.add();
}

/// The array of one GPU.
class reduced_array {
public:
    reduced_array(bench::team& pes, ncclComm_t nccl, std::uint64_t elements)
        : pes_(pes), nccl_(nccl), elements_(elements), words_((elements + 1) / 2), wrong_(1), clock_(1) {
        bench::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    }
    reduced_array(const reduced_array&) = delete;
    reduced_array& operator=(const reduced_array&) = delete;
    ~reduced_array() { (void)cudaStreamDestroy(stream_); }  // a failure shows at the next call

    /// `waits`: the host waits for each operation.
    void round(std::uint32_t number, bool waits) {
        auto* const values = reinterpret_cast<float*>(words_.data());
        write_numbers<<<bench::full_grid(write_numbers, threads), threads, 0, stream_>>>(values, elements_, pes_.rank(),
                                                                                         number, clock_.data());
        if (waits) wait();
        bench::check(ncclAllReduce(values, values, elements_, ncclFloat, ncclSum, nccl_, stream_), "all-reduce");
        if (waits) wait();
        verify_sums<<<bench::full_grid(verify_sums, threads), threads, 0, stream_>>>(
            values, elements_, pes_.size(), number, wrong_.data(), clock_.data());
        if (waits) wait();
        bench::check(cudaGetLastError(), "launching a round");
    }
    void wait() { bench::check(cudaStreamSynchronize(stream_), "waiting for a round"); }
    [[nodiscard]] std::uint64_t wrong() const { return wrong_.read(0); }
    /// Seconds that warps were in kernels since the last call, on average.
    [[nodiscard]] double take_computing_seconds() { return bench::take_seconds(clock_); }

private:
    bench::team& pes_;
    ncclComm_t nccl_;
    std::uint64_t elements_;
    bench::device_words words_;
    bench::device_words wrong_;
    bench::device_words clock_;
    cudaStream_t stream_ = nullptr;
};

/// All rounds once: their seconds, and those of kernels that compute, on average of the PEs.
std::pair<double, double> run_once(bench::team& pes, reduced_array& array, std::uint64_t steps, bool waits) {
    pes.meet();
    const double start = bench::now_seconds();
    for (std::uint64_t round = 0; round < steps; ++round) array.round(static_cast<std::uint32_t>(round), waits);
    array.wait();
    const std::vector<double> ends = pes.gather(bench::now_seconds()), starts = pes.gather(start);
    double computing = 0;
    for (const double seconds : pes.gather(array.take_computing_seconds())) computing += seconds / pes.size();
    return {*std::ranges::max_element(ends) - *std::ranges::min_element(starts), computing};
}

void measure(bench::team& pes, const bench::arguments& args, reduced_array& array, bool waits) {
    const std::uint64_t steps = args.number("steps", 1, 1u << 20);
    std::vector<double> us, blocked;
    for (std::uint64_t run = 0; run <= args.number("runs", 1, 1000); ++run) {
        const auto [seconds, computing] = run_once(pes, array, steps, waits);
        if (run == 0) continue;  // warms up
        us.push_back(seconds / static_cast<double>(steps) * 1e6);
        blocked.push_back(1 - computing / seconds);
    }
    for (const std::uint64_t wrong : pes.gather(array.wrong())) {
        if (wrong != 0) throw device_fault("nccl_all_reduce: " + std::to_string(wrong) + " sums are wrong");
    }
    if (pes.rank() != 0) return;
    const char* const style = waits ? "nccl, host_driven" : "nccl, stream";
    const auto spread = bench::spread_of(us), share = bench::spread_of(blocked);
    std::printf("%-10s %-18s least %10.2f us   median %10.2f us   most %10.2f us   blocked %5.1f %%\n",
                bench::gpu_names(pes.size()).c_str(), style, spread.least, spread.median, spread.most,
                100 * share.median);
    bench::json_lines(args.text("json"))
        .write({{"benchmark", "all_reduce"}, {"devices", bench::gpu_names(pes.size())}, {"style", style}},
               {{"bytes", static_cast<double>(args.number("elements") * sizeof(float))},
                {"steps", static_cast<double>(steps)},
                {"runs", static_cast<double>(us.size())},
                {"least_us", spread.least},
                {"median_us", spread.median},
                {"most_us", spread.most},
                {"median_blocked", share.median}});
}

void run_pe(bench::team& pes, const bench::arguments& args) {
    const ncclComm_t nccl = bench::start_nccl(pes);
    {
        reduced_array array(pes, nccl, args.number("elements", 1, std::uint64_t{1} << 36));
        for (const bool waits : {true, false}) measure(pes, args, array, waits);
    }
    bench::check(ncclCommDestroy(nccl), "end");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(
            argc, argv,
            {{"pes", "1"}, {"elements", "16777216"}, {"steps", "20"}, {"runs", "5"}, {"timeout", "120"}, {"json", ""}});
        (void)args.number("runs", 1, 1000);
        (void)args.number("steps", 1, 1u << 20);
        for (const std::uint64_t pes : args.numbers("pes", ';', 1, bench::team::most)) {
            bench::run_processes(static_cast<int>(pes), args.real("timeout"),
                                 [&](bench::team& team) { run_pe(team, args); });
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_all_reduce: %s\n", failure.what());
        return 1;
    }
}
