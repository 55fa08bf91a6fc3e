// Times shortest paths and breadth-first search, and checks every result against Dijkstra's algorithm.
//
//   bench_shortest_paths --graph FILE | kronecker:SCALE:ARCS | uniform:SCALE:ARCS | grid:WIDTH:HEIGHT:ARCS
//                        --devices "cuda:0;cuda:0-3" --kinds "sssp;bfs" --runs 5 --json FILE
//   --deltas, --low-waters: lists to try; 0 and -1 take the default. --priorities 0, --fused 0: without the one or the
//   other.
#include <chrono>
#include <exception>

#include "bench_support.hpp"
#include "graph_input.hpp"
#include "peak_memory.hpp"
#include "sssp/shortest_paths.hpp"

namespace {

using namespace laneway;

struct bench_case {
    std::string devices;
    std::string kind;
    std::string delta;
    std::string low_water;
};

/// `seconds`: from launch to the last device's end; `call_seconds`: of the whole call, which clears the lists before
/// and fetches the distances after.
void tell(const bench::arguments& args, const bench_case& one, bool priorities,
          const apps::shortest_paths_result& result, const std::vector<double>& seconds,
          const std::vector<double>& call_seconds, bench::json_lines& json) {
    const auto time = bench::spread_of(seconds);
    const double work = static_cast<double>(result.items) / static_cast<double>(result.min_items);
    const auto device_peak = static_cast<double>(bench::device_peak_bytes(result.report));
    const auto host_peak = static_cast<double>(bench::host_peak_bytes());
    std::printf(
        "%-5s %-9s delta %-8llu low %-6s %9.3f ms (%.3f to %.3f)  work %.2f  carried %llu in %llu chunks  device %.4g "
        "MiB  host %.4g MiB\n",
        one.kind.c_str(), one.devices.c_str(), static_cast<unsigned long long>(result.delta), one.low_water.c_str(),
        time.median * 1e3, time.least * 1e3, time.most * 1e3, work,
        static_cast<unsigned long long>(result.report.carried), static_cast<unsigned long long>(result.report.chunks()),
        device_peak / (1 << 20), host_peak / (1 << 20));
    std::fflush(stdout);
    json.write({{"graph", args.text("graph")}, {"kind", one.kind}, {"devices", one.devices}},
               {{"median_s", time.median},
                {"min_s", time.least},
                {"max_s", time.most},
                {"work", work},
                {"call_median_s", bench::spread_of(call_seconds).median},
                {"delta", static_cast<double>(result.delta)},
                {"priorities", priorities ? 1.0 : 0.0},
                {"waves", static_cast<double>(result.waves)},
                {"runs", static_cast<double>(seconds.size())},
                {"carried", static_cast<double>(result.report.carried)},
                {"chunks", static_cast<double>(result.report.chunks())},
                {"device_peak_bytes", device_peak},
                {"host_peak_bytes", host_peak}});
}

void measure(const graph::graph& g, const bench::arguments& args, const bench_case& one, std::uint64_t source,
             const std::vector<std::int64_t>& expected, bench::json_lines& json) {
    apps::shortest_paths_options options;
    options.job.devices = one.devices;
    options.job.timeout_seconds = args.real("timeout");
    options.job.server_share = args.real("server-share");
    options.job.gpu_blocks = static_cast<int>(args.number("gpu-blocks"));
    options.unit_weights = one.kind == "bfs";
    options.priorities = args.number("priorities", 0, 1) != 0;
    options.fused = args.number("fused", 0, 1) != 0;
    if (one.delta != "0") options.delta = std::stoull(one.delta);
    if (one.low_water != "-1") options.low_water = std::stoull(one.low_water);
    bench::forget_host_peak();
    apps::shortest_paths_solver solver(g, options);
    std::vector<double> seconds, call_seconds;
    apps::shortest_paths_result result;
    for (std::uint64_t i = 0; i <= args.number("runs"); ++i) {
        const auto start = std::chrono::steady_clock::now();
        result = solver.run(source);
        const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
        if (result.distance != expected) throw device_fault("wrong distances on " + one.devices);
        if (i == 0) continue;  // the first run warms up
        seconds.push_back(result.report.run_seconds);
        call_seconds.push_back(whole.count());
    }
    tell(args, one, options.priorities, result, seconds, call_seconds, json);
}

void run(const bench::arguments& args) {
    const graph::graph g = bench::graph_of(args.text("graph"));
    const std::uint64_t source = bench::source_of(args, g);
    std::printf("%s: %llu vertices, %llu arcs, source %llu\n", args.text("graph").c_str(),
                static_cast<unsigned long long>(g.vertices()), static_cast<unsigned long long>(g.arc_count()),
                static_cast<unsigned long long>(source));
    bench::json_lines json(args.text("json"));
    for (const auto& kind : args.list("kinds")) {
        const auto start = std::chrono::steady_clock::now();
        const auto expected = apps::dijkstra(g, source, kind == "bfs");
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        std::printf("%-5s Dijkstra, one core: %.1f ms\n", kind.c_str(), took.count() * 1e3);
        json.write({{"graph", args.text("graph")}, {"kind", kind}, {"devices", "dijkstra, one core"}},
                   {{"median_s", took.count()}, {"runs", 1}});
        for (const auto& devices : args.list("devices")) {
            for (const auto& delta : args.list("deltas")) {
                for (const auto& low : args.list("low-waters")) {
                    measure(g, args, {devices, kind, delta, low}, source, expected, json);
                }
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(bench::arguments(argc, argv,
                             {{"graph", "data/USA-road-d.NY.gr.gz"},
                              {"devices", "cpu:2"},
                              {"kinds", "sssp;bfs"},
                              {"runs", "5"},
                              {"deltas", "0"},
                              {"low-waters", "-1"},
                              {"priorities", "1"},
                              {"fused", "1"},
                              {"source", "0"},
                              {"timeout", "20"},
                              {"server-share", "0"},
                              {"gpu-blocks", "0"},
                              {"json", ""}}));
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_shortest_paths: %s\n", failure.what());
        return 1;
    }
    return 0;
}
