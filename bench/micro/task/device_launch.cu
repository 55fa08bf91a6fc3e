// What it takes to launch a user's kernel from a kernel that stays on the GPU: by the device itself, as a graph that
// was instantiated for device launch, or by a thread of the host.
//
//   bench_device_launch --launches 100 --runs 20 --json FILE
// One lane stays. It asks for a kernel of one lane, which raises a flag, and waits for that: times are its own clock's.
// "call returns" is the part until its launch has returned, or its request to the host is stored. At last it launches
// until it is refused: so many launches does the device allow while one kernel stays.
#include <atomic>
#include <exception>

#include "bench_support.hpp"
#include "laneway/simt/cuda/check.hpp"

namespace {

using namespace laneway;
using cuda_backend::check;
using word = unsigned long long;

/// A graph may not be launched again before it has ended, so several take turns.
constexpr int n_graphs = 8;
constexpr word patience_ns = 1'000'000'000;

struct launch_times {
    word returned_ns;
    word seen_ns;
};

/// What the lane that stays tells the host; in memory of the host.
struct stay_report {
    static constexpr int most = 1000;

    word asked;           ///< launches that the host has been asked for
    std::uint32_t made;   ///< launches that had run in time
    std::uint32_t error;  ///< of the launch that was refused
    launch_times times[most];
};

struct stay_work {
    cudaGraphExec_t graphs[n_graphs];
    word* flag;  ///< launches that have run
    stay_report* report;
    int launches;
};

__device__ word now_ns() {
    word ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void raise(word* flag) { atomicAdd(flag, 1ull); }

__device__ bool runs_in_time(const word* flag, word wanted, word begin) {
    word seen = 0;
    do {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(flag));
        if (now_ns() - begin > patience_ns) return false;
    } while (seen < wanted);
    return true;
}

template <bool ByHost>
__global__ void stay(const stay_work work) {
    constexpr word between_ns = 50'000;  // a graph has ended when it is its turn again
    stay_report& report = *work.report;
    for (int i = 0; i < work.launches; ++i) {
        const cudaGraphExec_t graph = work.graphs[i % n_graphs];
        const word begin = now_ns();
        if constexpr (ByHost) {
            asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(&report.asked), "l"(word(i + 1)));
        } else {
            const cudaError_t code = cudaGraphLaunch(graph, cudaStreamGraphFireAndForget);
            report.error = static_cast<std::uint32_t>(code);
            if (code != cudaSuccess) return;
        }
        const word returned = now_ns();
        if (!runs_in_time(work.flag, word(i + 1), begin)) return;
        report.times[i] = {returned - begin, now_ns() - begin};
        report.made = static_cast<std::uint32_t>(i + 1);
        while (now_ns() - returned < between_ns) {
        }
    }
}

/// A graph of what `record` puts into a stream, to be launched from the device as well as from the host.
template <class Record>
cudaGraphExec_t graph_of(cudaStream_t stream, Record&& record) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
    record();
    check(cudaStreamEndCapture(stream, &graph), "capturing a graph");
    check(cudaGraphInstantiate(&made, graph, cudaGraphInstantiateFlagDeviceLaunch), "instantiating for device launch");
    check(cudaGraphDestroy(graph), "a graph");
    check(cudaGraphUpload(made, stream), "uploading a graph");
    return made;
}

class launcher {
public:
    launcher() {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        check(cudaStreamCreateWithFlags(&children_, cudaStreamNonBlocking), "stream");
        check(cudaMalloc(&work_.flag, sizeof(word)), "memory");
        check(cudaMallocHost(&work_.report, sizeof(stay_report)), "memory");
        for (auto& graph : work_.graphs) graph = graph_of(stream_, [&] { raise<<<1, 1, 0, stream_>>>(work_.flag); });
    }

    /// From a kernel that itself is a graph: only such a kernel may launch others.
    const stay_report& by_device(int launches) {
        begin(launches);
        const cudaGraphExec_t all = graph_of(stream_, [&] { stay<false><<<1, 1, 0, stream_>>>(work_); });
        check(cudaGraphLaunch(all, stream_), "launching a graph");
        check(cudaStreamSynchronize(stream_), "waiting for a graph");
        check(cudaGraphExecDestroy(all), "a graph");
        return *work_.report;
    }
    const stay_report& by_host(int launches) {
        begin(launches);
        stay<true><<<1, 1, 0, stream_>>>(work_);
        const std::atomic_ref<word> asked(work_.report->asked);
        word done = 0;
        while (done < static_cast<word>(launches) && cudaStreamQuery(stream_) == cudaErrorNotReady) {
            for (int look = 0; look < 1000; ++look) {  // between two questions to the driver
                for (; done < asked; ++done) raise<<<1, 1, 0, children_>>>(work_.flag);
            }
        }
        check(cudaStreamSynchronize(stream_), "waiting for a kernel");
        return *work_.report;
    }

private:
    void begin(int launches) {
        check(cudaDeviceSynchronize(), "waiting for kernels");
        work_.launches = launches;
        *work_.report = {};
        check(cudaMemset(work_.flag, 0, sizeof(word)), "memory");
        check(cudaDeviceSynchronize(), "memory");
    }

    cudaStream_t stream_ = nullptr;
    cudaStream_t children_ = nullptr;
    stay_work work_{};
};

class measurement {
public:
    measurement(const bench::arguments& args, int launches)
        : launches_(launches), runs_(static_cast<int>(args.number("runs", 1, 1000))), json_(args.text("json")) {}

    template <class Run>
    void measure(const char* style, Run&& run) {
        std::vector<double> returned, seen;
        for (int r = 0; r <= runs_; ++r) {
            const stay_report& told = run(launches_);
            if (told.made != static_cast<std::uint32_t>(launches_)) {
                throw device_fault(std::string(style) + ": launch " + std::to_string(told.made) +
                                   " was refused, or had not run after a second: error " + std::to_string(told.error));
            }
            if (r == 0) continue;  // warms up
            for (int i = 0; i < launches_; ++i) {
                returned.push_back(static_cast<double>(told.times[i].returned_ns) * 1e-3);
                seen.push_back(static_cast<double>(told.times[i].seen_ns) * 1e-3);
            }
        }
        tell(style, "call returns", bench::spread_of(returned));
        tell(style, "kernel has run", bench::spread_of(seen));
    }
    void tell_most(const stay_report& told) {
        std::printf("%-10s %u launches while one kernel stays; the next one: %s\n", "device", told.made,
                    cudaGetErrorName(static_cast<cudaError_t>(told.error)));
        json_.write({{"benchmark", "device_launch"}, {"style", "device"}, {"what", "most launches"}},
                    {{"launches", told.made}});
    }

private:
    void tell(const char* style, const char* what, const bench::spread& us) {
        std::printf("%-10s %-16s least %8.2f us   median %8.2f us   most %8.2f us\n", style, what, us.least, us.median,
                    us.most);
        json_.write({{"benchmark", "device_launch"}, {"style", style}, {"what", what}},
                    {{"least_us", us.least}, {"median_us", us.median}, {"most_us", us.most}});
    }

    int launches_;
    int runs_;
    bench::json_lines json_;
};

void run(const bench::arguments& args) {
    launcher made;
    measurement measured(args, static_cast<int>(args.number("launches", 1, 100)));
    measured.measure("host", [&](int launches) -> const stay_report& { return made.by_host(launches); });
    measured.measure("device", [&](int launches) -> const stay_report& { return made.by_device(launches); });
    measured.tell_most(made.by_device(stay_report::most));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run({argc, argv, {{"launches", "100"}, {"runs", "20"}, {"json", ""}}});
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_device_launch: %s\n", e.what());
        return 1;
    }
}
