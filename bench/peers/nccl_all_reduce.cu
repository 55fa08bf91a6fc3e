// An all-reduce of a large array as a coprocessor program does it: a kernel writes numbers, NCCL adds them up over all
// PEs, a kernel looks at all sums. The same numbers, rounds and checks as bench_communication_styles.
//
//   nccl_all_reduce --pes "1;2;4" --elements 16777216 --steps 20 --runs 5 --json FILE
#include <nccl.h>

#include "all_reduce/numbers.hpp"
#include "bench_support.hpp"
#include "gpu.cuh"
#include "processes.hpp"

namespace {

using namespace laneway;

constexpr int threads = 256;

void check(ncclResult_t code, const char* what) {
    if (code != ncclSuccess) throw system_error(std::string("NCCL, ") + what + ": " + ncclGetErrorString(code));
}

__global__ void write_numbers(float* values, std::uint64_t elements, int pe, std::uint32_t round) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) {
        values[i] = apps::contribution_to_sum(i, pe, round);
    }
}

__global__ void look_at_sums(const float* values, std::uint64_t elements, int pes, std::uint32_t round,
                             std::uint64_t* wrong) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) {
        float sum = 0;
        for (int pe = 0; pe < pes; ++pe) sum += apps::contribution_to_sum(i, pe, round);
        if (values[i] != sum) atomicAdd(reinterpret_cast<unsigned long long*>(wrong), 1ull);
    }
}

/// Begin and end of a round's kernels that compute.
class kernel_times {
public:
    kernel_times() {
        for (cudaEvent_t& mark : marks_) bench::check(cudaEventCreate(&mark), "event");
    }
    kernel_times(const kernel_times&) = delete;
    kernel_times& operator=(const kernel_times&) = delete;
    ~kernel_times() {
        for (const cudaEvent_t mark : marks_) (void)cudaEventDestroy(mark);  // a failure shows at the next call
    }

    void mark(int number, cudaStream_t stream) { bench::check(cudaEventRecord(marks_[number], stream), "event"); }
    /// When all have passed.
    [[nodiscard]] double seconds() const {
        float writing = 0, looking = 0;
        bench::check(cudaEventElapsedTime(&writing, marks_[0], marks_[1]), "time of a kernel");
        bench::check(cudaEventElapsedTime(&looking, marks_[2], marks_[3]), "time of a kernel");
        return (writing + looking) * 1e-3;
    }

private:
    cudaEvent_t marks_[4] = {};
};

/// The array of one GPU.
class reduced_array {
public:
    reduced_array(bench::team& pes, ncclComm_t nccl, std::uint64_t elements)
        : pes_(pes), nccl_(nccl), elements_(elements), words_((elements + 1) / 2), wrong_(1) {
        bench::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    }
    reduced_array(const reduced_array&) = delete;
    reduced_array& operator=(const reduced_array&) = delete;
    ~reduced_array() { (void)cudaStreamDestroy(stream_); }  // a failure shows at the next call

    /// `waits`: the host waits for each operation.
    void round(std::uint32_t number, bool waits, kernel_times& times) {
        auto* const values = reinterpret_cast<float*>(words_.data());
        times.mark(0, stream_);
        write_numbers<<<bench::full_grid(write_numbers, threads), threads, 0, stream_>>>(values, elements_, pes_.rank(),
                                                                                         number);
        times.mark(1, stream_);
        if (waits) wait();
        check(ncclAllReduce(values, values, elements_, ncclFloat, ncclSum, nccl_, stream_), "all-reduce");
        if (waits) wait();
        times.mark(2, stream_);
        look_at_sums<<<bench::full_grid(look_at_sums, threads), threads, 0, stream_>>>(values, elements_, pes_.size(),
                                                                                       number, wrong_.data());
        times.mark(3, stream_);
        if (waits) wait();
        bench::check(cudaGetLastError(), "launching a round");
    }
    void wait() { bench::check(cudaStreamSynchronize(stream_), "waiting for a round"); }
    [[nodiscard]] std::uint64_t wrong() const { return wrong_.read(0); }

private:
    bench::team& pes_;
    ncclComm_t nccl_;
    std::uint64_t elements_;
    bench::device_words words_;
    bench::device_words wrong_;
    cudaStream_t stream_ = nullptr;
};

/// All rounds once: their seconds, and those of kernels that compute, on average of the PEs.
std::pair<double, double> run_once(bench::team& pes, reduced_array& array, std::vector<kernel_times>& times,
                                   bool waits) {
    pes.meet();
    const double start = bench::now_seconds();
    for (std::size_t round = 0; round < times.size(); ++round) {
        array.round(static_cast<std::uint32_t>(round), waits, times[round]);
    }
    array.wait();
    const std::vector<double> ends = pes.gather(bench::now_seconds()), starts = pes.gather(start);
    double mine = 0, computing = 0;
    for (const kernel_times& round : times) mine += round.seconds();
    for (const double seconds : pes.gather(mine)) computing += seconds / pes.size();
    return {*std::ranges::max_element(ends) - *std::ranges::min_element(starts), computing};
}

void measure(bench::team& pes, const bench::arguments& args, reduced_array& array, bool waits) {
    const std::uint64_t steps = args.number("steps");
    std::vector<kernel_times> times(steps);
    std::vector<double> us, blocked;
    for (std::uint64_t run = 0; run <= args.number("runs"); ++run) {
        const auto [seconds, computing] = run_once(pes, array, times, waits);
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
    bench::check(cudaSetDevice(pes.rank()), "choosing the GPU");
    ncclUniqueId id{};
    if (pes.rank() == 0) check(ncclGetUniqueId(&id), "unique id");
    id = pes.from_first(id);
    ncclComm_t nccl = nullptr;
    check(ncclCommInitRank(&nccl, pes.size(), id, pes.rank()), "start");
    {
        reduced_array array(pes, nccl, args.number("elements"));
        for (const bool waits : {true, false}) measure(pes, args, array, waits);
    }
    check(ncclCommDestroy(nccl), "end");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(
            argc, argv,
            {{"pes", "1"}, {"elements", "16777216"}, {"steps", "20"}, {"runs", "5"}, {"timeout", "120"}, {"json", ""}});
        if (args.number("runs") == 0 || args.number("steps") == 0) throw usage_error("runs and steps: 1 at least");
        for (const std::string& pes : args.list("pes")) {
            bench::run_processes(std::stoi(pes), args.real("timeout"), [&](bench::team& team) { run_pe(team, args); });
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_all_reduce: %s\n", failure.what());
        return 1;
    }
}
