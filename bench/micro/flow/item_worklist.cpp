// Item worklists: how many items shortest paths on a grid take with and without priorities, in one run and in waves,
// and how long that takes; the worklist of keys beside it.
//
//   bench_item_worklist --devices "cpu:4;cuda:0-3" --side 1000 --repeats 5 --json FILE
// Weights are at random from 1 to 1,000, arcs go both ways, the search starts in a corner. Counts of work are those of
// the repeat with the median time. Each distance is compared with Dijkstra's.
#include <exception>
#include <random>
#include <vector>

#include "bench_support.hpp"
#include "laneway/graph/csr.hpp"
#include "peak_memory.hpp"
#include "sssp/near_far.hpp"
#include "sssp/shortest_paths.hpp"

namespace {

using namespace laneway;

graph::graph grid(std::uint64_t side) {
    std::mt19937_64 random(side);
    std::vector<std::uint32_t> right(side * side), down(side * side);
    for (auto& weight : right) weight = static_cast<std::uint32_t>(1 + random() % 1000);
    for (auto& weight : down) weight = static_cast<std::uint32_t>(1 + random() % 1000);
    graph::basic_csr<std::uint32_t> csr;
    csr.offsets.assign(1, 0);
    for (std::uint64_t v = 0; v < side * side; ++v) {
        const auto add = [&](bool exists, std::uint64_t head, std::uint32_t weight) {
            if (!exists) return;
            csr.heads.push_back(static_cast<std::uint32_t>(head));
            csr.weights.push_back(weight);
        };
        add(v >= side, v - side, v >= side ? down[v - side] : 0);
        add(v % side != 0, v - 1, v % side != 0 ? right[v - 1] : 0);
        add(v % side != side - 1, v + 1, right[v]);
        add(v + side < side * side, v + side, down[v]);
        csr.offsets.push_back(csr.heads.size());
    }
    graph::graph made;
    made.arcs = std::move(csr);
    made.ids.vertices = side * side;
    return made;
}

class measurement {
public:
    measurement(const bench::arguments& args, bench::json_lines& json)
        : args_(args), json_(json), graph_(grid(args.number("side"))),
          expected_(apps::dijkstra(graph_, std::uint64_t{0}, false)) {}

    void run(const std::string& devices) {
        for (const bool priorities : {true, false}) {
            for (const bool fused : {true, false}) items(devices, priorities, fused);
        }
        keys(devices);
    }

private:
    struct sample {
        double seconds = 0;
        std::uint64_t min_items = 0;
        std::uint64_t device_peak = 0;
        item_work work;
        bool operator<(const sample& other) const { return seconds < other.seconds; }
    };

    template <class Options>
    void set_up(Options& o, const std::string& devices) const {
        o.job.devices = devices;
        o.job.timeout_seconds = args_.real("timeout");
        if (args_.number("delta") != 0) o.delta = args_.number("delta");
    }

    void items(const std::string& devices, bool priorities, bool fused) {
        apps::near_far_options o;
        set_up(o, devices);
        o.priorities = priorities;
        o.fused = fused;
        const std::uint64_t source = 0;
        tell(devices, priorities ? "items, priorities" : "items, none", fused ? "one run" : "waves", [&] {
            const auto found = apps::near_far(graph_, std::span(&source, 1), o);
            if (found.distance != expected_) throw device_fault("wrong distances");
            return sample{found.report.run_seconds, found.min_items, bench::device_peak_bytes(found.report),
                          found.work};
        });
    }

    void keys(const std::string& devices) {
        apps::shortest_paths_options o;
        set_up(o, devices);
        tell(devices, "keys, priorities", "one run", [&] {
            const auto found = apps::shortest_paths(graph_, 0, o);
            if (found.distance != expected_) throw device_fault("wrong distances");
            sample one{found.report.run_seconds, found.min_items, bench::device_peak_bytes(found.report), {}};
            one.work.done = found.items;
            one.work.sent = found.report.carried;
            one.work.rises = found.report.rises;
            one.work.waves = 1;
            return one;
        });
    }

    template <class Run>
    void tell(const std::string& devices, const std::string& list, const std::string& mode, Run&& run) {
        std::vector<sample> samples;
        bench::forget_host_peak();
        for (std::uint64_t i = 0; i < args_.number("repeats"); ++i) samples.push_back(run());
        std::sort(samples.begin(), samples.end());
        const sample& middle = samples[samples.size() / 2];
        const item_work& work = middle.work;
        const auto least = static_cast<double>(middle.min_items);
        std::printf(
            "%-10s %-18s %-8s %9.2f %11llu done %6.2f x least %11llu useful %9llu sent %9llu suppressed %6llu "
            "rises %6llu runs\n",
            devices.c_str(), list.c_str(), mode.c_str(), 1e3 * middle.seconds, count(work.done),
            static_cast<double>(work.done) / least, count(work.useful), count(work.sent), count(work.suppressed),
            count(work.rises), count(work.waves));
        std::vector<std::pair<std::string, double>> numbers{
            {"side", static_cast<double>(args_.number("side"))},
            {"seconds", middle.seconds},
            {"least_seconds", samples.front().seconds},
            {"most_seconds", samples.back().seconds},
            {"min_items", least},
            {"done", static_cast<double>(work.done)},
            {"sent", static_cast<double>(work.sent)},
            {"rises", static_cast<double>(work.rises)},
            {"runs", static_cast<double>(work.waves)},
            {"device_peak_bytes", static_cast<double>(middle.device_peak)},
            {"host_peak_bytes", static_cast<double>(bench::host_peak_bytes())}};
        if (work.useful != 0) {  // the worklist of keys does not count these
            numbers.emplace_back("useful", static_cast<double>(work.useful));
            numbers.emplace_back("suppressed", static_cast<double>(work.suppressed));
        }
        json_.write({{"devices", devices}, {"list", list}, {"mode", mode}}, numbers);
    }
    static unsigned long long count(std::uint64_t n) { return n; }

    const bench::arguments& args_;
    bench::json_lines& json_;
    graph::graph graph_;
    std::vector<std::int64_t> expected_;
};

}  // namespace

int main(int argc, char** argv) try {
    const bench::arguments args(argc, argv,
                                {{"devices", "cpu:1;cpu:4"},
                                 {"side", "1000"},
                                 {"delta", "0"},
                                 {"repeats", "3"},
                                 {"timeout", "600"},
                                 {"json", ""}});
    bench::json_lines json(args.text("json"));
    measurement all(args, json);
    std::printf("devices    list               mode     median ms\n");
    for (const auto& devices : args.list("devices")) all.run(devices);
} catch (const std::exception& e) {
    std::fprintf(stderr, "bench_item_worklist: %s\n", e.what());
    return dynamic_cast<const laneway::usage_error*>(&e) != nullptr ? 2 : 1;
}
