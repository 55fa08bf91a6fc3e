// The graph programs over growing lists of devices, on one graph: time of a run with the graph on the devices, speed-up
// over the first list, messages, and memory: the most that a device has held at once, graph and buffers included, and
// the most that the process has held on the host during these runs, the input included. All lists must give the same
// answer; ranks that are pushed, the same to twice what their tolerance allows.
//
//   bench_graphs --devices "cuda:0;cuda:0-1;cuda:0-3" --graph kronecker:21:180000000
//   bench_graphs --devices "cuda:0;cuda:0-1;cuda:0-3" --graph uniform:24:268435456 --source busiest
//   bench_graphs --devices "cuda:0;cuda:0-1" --graph kronecker:21:180000000 --partition k21
//   bench_graphs --devices "cuda:0;cuda:0-3" --graph USA-road-d.NY.gr.gz --programs "bfs;cc;sssp"
//
// With --partition PREFIX, n devices have the parts in PREFIX.part.n, a line for each vertex, as METIS and
// metis_parts.py write them; with --partition dealt, eight ranges each, dealt in turn, and with dealt:PREFIX the parts
// in PREFIX.part.8n, dealt in turn. Rows tell how the graph was divided: "even", what was given, or "own" of programs
// that take no parts.
#include <cmath>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "bench_support.hpp"
#include "bfs/bfs.hpp"
#include "cc/cc.hpp"
#include "cc/routed_components.hpp"
#include "cdlp/cdlp.hpp"
#include "color/color.hpp"
#include "graph_input.hpp"
#include "laneway/graph/partition.hpp"
#include "laneway/runtime.hpp"
#include "pagerank/pagerank.hpp"
#include "peak_memory.hpp"
#include "sssp/near_far.hpp"
#include "sssp/shortest_paths.hpp"
#include "triangles/triangles.hpp"
#include "workspace/workspace.hpp"

namespace {

using namespace laneway;

/// What one run gave: a digest of its answer, or ranks that are not the same to the last bit, and its account.
struct outcome {
    std::uint64_t digest = 0;
    run_report report;
    std::vector<double> ranks = {};
    double allowed = 0;  ///< between the ranks of two runs, all together

    [[nodiscard]] bool agrees_with(const outcome& other) const {
        double difference = 0;
        for (std::size_t v = 0; v < ranks.size(); ++v) difference += std::abs(ranks[v] - other.ranks[v]);
        return digest == other.digest && difference <= allowed;
    }
};

/// Of an average rank: what may be left with each vertex. Groute's choice.
constexpr double rank_tolerance = 0.01;

/// PE of each vertex; empty: contiguous ranges with equal arcs.
using partition = std::vector<std::uint32_t>;

using program = std::function<outcome(apps::resident_graph&, const options&, const partition&, std::uint64_t source)>;

template <class Values>
outcome outcome_of(const Values& values, const run_report& report) {
    outcome result{.report = report};
    for (std::size_t i = 0; i < values.size(); ++i) {
        result.digest += (i + 1) * std::hash<typename Values::value_type>{}(values[i]) * 0x9e3779b97f4a7c15u;
    }
    return result;
}

outcome paths(apps::resident_graph& graph, const options& job, const partition& parts, std::uint64_t source,
              bool unit_weights) {
    apps::shortest_paths_options o;
    o.job = job;
    o.parts = parts;
    o.unit_weights = unit_weights;
    const auto r = apps::shortest_paths(graph, std::span(&source, 1), o);
    return outcome_of(r.distance, r.report);
}

outcome ranks(apps::resident_graph& graph, const options& job, const partition& parts, apps::pagerank_method method) {
    apps::pagerank_options o;
    o.job = job;
    o.parts = parts;
    o.weighted = false;
    o.tol = rank_tolerance / static_cast<double>(graph.host().vertices());
    o.method = method;
    auto r = apps::pagerank(graph, o);
    if (!r.converged) throw device_fault("ranks have not converged");
    if (method == apps::pagerank_method::pull) return outcome_of(r.rank, r.report);
    const double allowed = 4 * o.alpha / (1 - o.alpha) * rank_tolerance;
    return {0, r.report, std::move(r.rank), allowed};
}

const std::map<std::string, program> programs{
    {"sssp", [](auto& graph, const auto& job, const auto& parts,
                auto source) { return paths(graph, job, parts, source, false); }},
    {"bfs", [](auto& graph, const auto& job, const auto& parts,
               auto source) { return paths(graph, job, parts, source, true); }},
    {"sssp-near-far",
     [](auto& graph, const auto& job, const auto& parts, auto source) {
         apps::near_far_options o;
         o.job = job;
         o.parts = parts;
         const auto r = apps::near_far(graph, std::span(&source, 1), o);
         return outcome_of(r.distance, r.report);
     }},
    {"bfs-levels",
     [](auto& graph, const auto& job, const auto& parts, auto source) {
         const auto r = apps::bfs_by_levels(graph, std::span(&source, 1), {job, parts, true});
         return outcome_of(r.distance, r.report);
     }},
    {"bfs-push",
     [](auto& graph, const auto& job, const auto& parts, auto source) {
         const auto r = apps::bfs_by_levels(graph, std::span(&source, 1), {job, parts, false});
         return outcome_of(r.distance, r.report);
     }},
    {"cc",
     [](auto& graph, const auto& job, const auto& parts, auto) {
         const auto r = apps::connected_components(graph, {job, parts});
         return outcome_of(r.component, r.report);
     }},
    {"cc-router",
     [](auto& graph, const auto& job, const auto&, auto) {
         const auto r = apps::components_by_router(graph.host(), {job});
         return outcome_of(r.component, r.report);
     }},
    {"pagerank", [](auto& graph, const auto& job, const auto& parts,
                    auto) { return ranks(graph, job, parts, apps::pagerank_method::pull); }},
    {"pagerank-push", [](auto& graph, const auto& job, const auto& parts,
                         auto) { return ranks(graph, job, parts, apps::pagerank_method::push); }},
    {"triangles",
     [](auto& graph, const auto&, const auto&, auto) {
         const auto r = apps::triangles(graph);
         return outcome_of(r.triangles, r.report);
     }},
    {"lcc",
     [](auto& graph, const auto&, const auto&, auto) {
         const auto r = apps::local_clustering(graph);
         return outcome_of(r.coefficient, r.report);
     }},
    {"color",
     [](auto& graph, const auto& job, const auto& parts, auto) {
         apps::color_options o;
         o.job = job;
         o.parts = parts;
         const auto r = apps::color(graph, o);
         return outcome_of(r.color, r.report);
     }},
    {"cdlp", [](auto& graph, const auto& job, const auto& parts, auto) {
         const auto r = apps::label_propagation(graph, {job, 10, parts, {}});
         return outcome_of(r.label, r.report);
     }}};

/// These divide their work by themselves.
const std::set<std::string> without_parts{"cc-router", "triangles", "lcc"};

/// Of `prefix.part.n_parts`, a line for each vertex.
partition partition_in(const std::string& prefix, std::uint64_t n_parts, std::uint64_t vertices) {
    const std::string name = prefix + ".part." + std::to_string(n_parts);
    std::ifstream file(name);
    if (!file) throw usage_error("partition: " + name + " cannot be read");
    partition parts;
    for (std::uint32_t part = 0; file >> part;) parts.push_back(part);
    if (parts.size() == vertices) return parts;
    throw usage_error("partition: " + name + " has " + std::to_string(parts.size()) + " parts for " +
                      std::to_string(vertices) + " vertices");
}

/// None for one device, and for even ranges.
partition partition_of(const std::string& division, std::uint64_t n_pes, const graph::graph& graph) {
    if (division == "even" || n_pes == 1) return {};
    if (division == "dealt") {
        return std::visit([&](const auto& csr) { return graph::dealt_parts(csr, n_pes); }, graph.arcs);
    }
    const std::string dealt = "dealt:";
    if (!division.starts_with(dealt)) return partition_in(division, n_pes, graph.vertices());
    partition parts = partition_in(division.substr(dealt.size()), graph::dealt_pieces * n_pes, graph.vertices());
    for (std::uint32_t& part : parts) part %= static_cast<std::uint32_t>(n_pes);
    return parts;
}

void tell(const bench::arguments& args, const graph::graph& graph, const std::string& name, const std::string& devices,
          const std::string& divided, double speed_up, const bench::spread& time, const run_report& report,
          bench::json_lines& json) {
    const double per_second = static_cast<double>(graph.arc_count()) / time.median;
    const auto device_peak = static_cast<double>(bench::device_peak_bytes(report));
    const auto host_peak = static_cast<double>(bench::host_peak_bytes());
    std::printf(
        "%-13s %-10s %10.3f ms   speed-up %5.2f   arcs/s %.3g   posted %.3g   device %.4g MiB   host %.4g MiB\n",
        name.c_str(), devices.c_str(), time.median * 1e3, speed_up, per_second, static_cast<double>(report.posted),
        device_peak / (1 << 20), host_peak / (1 << 20));
    std::fflush(stdout);
    json.write({{"bench", "graphs"},
                {"graph", args.text("graph")},
                {"program", name},
                {"devices", devices},
                {"partition", divided}},
               {{"vertices", static_cast<double>(graph.vertices())},
                {"arcs", static_cast<double>(graph.arc_count())},
                {"median_s", time.median},
                {"min_s", time.least},
                {"max_s", time.most},
                {"speed_up", speed_up},
                {"posted", static_cast<double>(report.posted)},
                {"device_peak_bytes", device_peak},
                {"host_peak_bytes", host_peak}});
}

void measure(const bench::arguments& args, const graph::graph& graph, const std::string& name,
             bench::json_lines& json) {
    const auto known = programs.find(name);
    if (known == programs.end()) throw usage_error("there is no program " + name);
    const std::uint64_t source = bench::source_of(args, graph);
    double first_time = 0;
    outcome before;
    for (const auto& devices : args.list("devices")) {
        options job;
        job.devices = devices;
        job.timeout_seconds = args.real("timeout");
        job.server_share = args.real("server-share");
        apps::workspace workspace(job, ~std::uint64_t{0});
        apps::resident_graph resident(workspace, graph);
        const bool takes_parts = without_parts.count(name) == 0;
        const auto n_pes = static_cast<std::uint64_t>(resident.n_pes());
        const partition parts = takes_parts ? partition_of(args.text("partition"), n_pes, graph) : partition{};
        const std::string divided = !takes_parts ? "own" : parts.empty() ? "even" : args.text("partition");
        bench::forget_host_peak();
        std::vector<double> seconds;
        outcome last;
        for (std::uint64_t i = 0; i < args.number("runs", 1, 1u << 20) + 1; ++i) {
            last = known->second(resident, job, parts, source);
            if (i > 0) seconds.push_back(last.report.run_seconds);  // the first one puts the graph there
        }
        if (first_time > 0 && !last.agrees_with(before)) throw device_fault(name + ": another answer on " + devices);
        before = last;
        const bench::spread time = bench::spread_of(seconds);
        if (first_time == 0) first_time = time.median;
        tell(args, graph, name, devices, divided, first_time / time.median, time, last.report, json);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(
            argc, argv,
            {{"devices", "cpu:1;cpu:2"},
             {"programs",
              "sssp;sssp-near-far;bfs;bfs-levels;bfs-push;cc;cc-router;pagerank;pagerank-push;color;triangles;lcc;"
              "cdlp"},
             {"graph", "kronecker:12:65536"},
             {"partition", "even"},
             {"source", "0"},
             {"runs", "3"},
             {"server-share", "0"},
             {"timeout", "60"},
             {"json", ""}});
        bench::json_lines json(args.text("json"));
        const graph::graph graph = bench::graph_of(args.text("graph"));
        for (const auto& name : args.list("programs")) measure(args, graph, name, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_graphs: %s\n", e.what());
        return 1;
    }
}
