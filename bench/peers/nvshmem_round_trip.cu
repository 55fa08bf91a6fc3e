// Times of lone operations with NVSHMEM between two PEs: a value with a signal, a bare signal, and barriers of all PEs
// inside a kernel. To be read beside bench_round_trip, which times the same operations in the same way.
//
//   nvshmem_round_trip --pes "2;4" --rounds 2000 --json FILE
// Times are a lane's own clock from before the operation to after it, in ns; the clock's step is 32 ns.
#include <cooperative_groups.h>

#include <algorithm>

#include "bench_support.hpp"
#include "nvshmem_process.cuh"

namespace {

using namespace laneway;

constexpr int threads = 256;

enum class what { put_signal, signal, barrier, grid_barrier };

struct words {
    std::uint64_t* value;   ///< symmetric: what the other PE puts here
    std::uint64_t* signal;  ///< symmetric: number of the last round
    std::uint64_t* source;  ///< symmetric: what this PE puts
    std::uint64_t* times;   ///< one a round
    std::uint64_t* wrong;   ///< values that were not those announced
};

__device__ void send(const words& w, std::uint64_t round, int to, bool with_value) {
    if (with_value) {
        *w.source = 3 * round;
        nvshmem_uint64_put_signal(w.value, w.source, 1, w.signal, round, NVSHMEM_SIGNAL_SET, to);
    } else {
        nvshmemx_signal_op(w.signal, round, NVSHMEM_SIGNAL_SET, to);
    }
}

/// PE 0 sends a signal, and another value with it where asked; the other PE sends both back.
__device__ void pass(const words& w, bool asking, int other, std::uint64_t rounds, bool with_value) {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        const std::uint64_t start = bench::device_now_ns();
        if (asking) send(w, round, other, with_value);
        bench::wait_until([&] { return nvshmem_uint64_test(w.signal, NVSHMEM_CMP_GE, round) != 0; });
        if (with_value && *static_cast<volatile std::uint64_t*>(w.value) != 3 * round) ++*w.wrong;
        if (asking) {
            w.times[round - 1] = bench::device_now_ns() - start;
        } else {
            send(w, round, other, with_value);
        }
    }
}

__global__ void time_operations(what kind, words w, int me, int n_pes, std::uint64_t rounds) {
    const bool first = blockIdx.x == 0 && threadIdx.x == 0;
    if (kind == what::put_signal || kind == what::signal) {
        if (first && (me == 0 || me == n_pes - 1)) {
            pass(w, me == 0, me == 0 ? n_pes - 1 : 0, rounds, kind == what::put_signal);
        }
        return;
    }
    const auto grid = cooperative_groups::this_grid();
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t start = bench::device_now_ns();
        if (kind == what::grid_barrier) grid.sync();
        if (blockIdx.x == 0) nvshmemx_barrier_all_block();
        if (kind == what::grid_barrier) grid.sync();
        if (first) w.times[round] = bench::device_now_ns() - start;
    }
}

void measure(bench::team& pes, const bench::arguments& args, what kind, const std::string& name) {
    std::uint64_t rounds = args.number("rounds");
    const bench::symmetric_words symmetric(3);
    const bench::device_words own(rounds + 1);
    words w{symmetric.data(), symmetric.data() + 1, symmetric.data() + 2, own.data(), own.data() + rounds};
    int me = pes.rank(), n_pes = pes.size(), blocks = 1;
    void* values[] = {&kind, &w, &me, &n_pes, &rounds};
    const auto* const kernel = reinterpret_cast<const void*>(time_operations);
    if (kind == what::grid_barrier &&
        nvshmemx_collective_launch_query_gridsize(kernel, threads, values, 0, &blocks) != 0) {
        throw system_error("NVSHMEM names no size for the grid");
    }
    nvshmem_barrier_all();
    if (nvshmemx_collective_launch(kernel, static_cast<unsigned>(blocks), threads, values, 0, nullptr) != 0) {
        throw system_error("NVSHMEM cannot launch");
    }
    bench::check(cudaDeviceSynchronize(), name.c_str());
    for (const std::uint64_t wrong : pes.gather(own.read(rounds))) {
        if (wrong != 0) throw device_fault(name + ": a signal came before its value");
    }
    if (me != 0) return;
    std::vector<std::uint64_t> times(rounds);
    bench::check(cudaMemcpy(times.data(), own.data(), rounds * 8, cudaMemcpyDeviceToHost), "times");
    std::ranges::sort(times);
    const auto quantile = [&](double share) {
        return static_cast<double>(times[static_cast<std::size_t>(share * static_cast<double>(rounds - 1))]);
    };
    const std::string devices = bench::gpu_names(n_pes);
    std::printf("%-10s %-22s %9zu times   median %8.0f ns   99 %% %8.0f ns   99.9 %% %8.0f ns\n", devices.c_str(),
                name.c_str(), times.size(), quantile(0.5), quantile(0.99), quantile(0.999));
    bench::json_lines(args.text("json"))
        .write({{"benchmark", "round_trip"}, {"devices", devices}, {"operation", name}},
               {{"times", static_cast<double>(rounds)},
                {"median_ns", quantile(0.5)},
                {"p99_ns", quantile(0.99)},
                {"p999_ns", quantile(0.999)},
                {"blocks", blocks}});
}

void run_pe(bench::team& pes, const bench::arguments& args) {
    const bench::nvshmem_process nvshmem(pes, 1 << 20);
    measure(pes, args, what::put_signal, "nvshmem put_signal");
    measure(pes, args, what::signal, "nvshmem signal");
    measure(pes, args, what::barrier, "nvshmem barrier");
    measure(pes, args, what::grid_barrier, "nvshmem grid barrier");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv, {{"pes", "2"}, {"rounds", "2000"}, {"timeout", "60"}, {"json", ""}});
        (void)args.number("rounds", 1, 1u << 28);
        for (const std::uint64_t pes : args.numbers("pes", ';', 2, bench::team::most)) {
            bench::run_processes(static_cast<int>(pes), args.real("timeout"), [&](bench::team& t) { run_pe(t, args); });
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nvshmem_round_trip: %s\n", failure.what());
        return 1;
    }
}
