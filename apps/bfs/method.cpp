#include "method.hpp"

#include <cmath>

#include "bfs.hpp"
#include "sssp/shortest_paths.hpp"

namespace laneway::apps {

namespace {

/// Times the mean that the most arcs of a vertex are where few vertices have most of the arcs.
constexpr double hub_factor = 16;
/// Deviations of numbers at random, which are as wide as the root of their mean.
constexpr double random_deviations = 3;
/// Mean numbers of arcs from which levels pay, with hubs and without. Over several PEs barriers take about twice as
/// long: a Kronecker graph of 2^21 vertices takes one H200 0.81 ms by levels and two 1.50.
constexpr double hub_mean = 2, random_mean = 8, several_factor = 2;

bfs_result without_levels(resident_graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options) {
    shortest_paths_options o;
    o.job = options.job;
    o.unit_weights = true;
    o.delta = options.delta;
    o.priorities = options.priorities;
    o.fused = options.fused;
    o.parts = options.parts;
    shortest_paths_result found = shortest_paths(graph, sources, o);
    bfs_result result;
    result.distance = std::move(found.distance);
    result.reached = found.min_items;
    result.items = found.items;
    result.delta = found.delta;
    result.waves = found.waves;
    result.method = bfs_method::asynchronous;
    result.partition_seconds = found.partition_seconds;
    result.report = std::move(found.report);
    return result;
}

}  // namespace

bfs_method suitable_method(const degrees& of, int n_pes) {
    if (of.most > most_level_arcs) return bfs_method::asynchronous;
    const double mean = of.mean(), most = static_cast<double>(of.most), factor = n_pes > 1 ? several_factor : 1;
    const bool hubs = most >= hub_factor * mean && mean >= factor * hub_mean;
    const bool random = most >= mean + random_deviations * std::sqrt(mean) && mean >= factor * random_mean;
    return hubs || random ? bfs_method::levels : bfs_method::asynchronous;
}

bfs_result bfs(resident_graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options) {
    bfs_method method = options.method;
    const bool needs_asynchronous = options.delta || !options.priorities || !options.fused;
    if (method == bfs_method::automatic) {
        method = needs_asynchronous ? bfs_method::asynchronous : suitable_method(graph.degrees(), graph.n_pes());
    }
    if (method == bfs_method::asynchronous) return without_levels(graph, sources, options);
    if (needs_asynchronous) {
        throw usage_error("delta, priorities and fused are for method asynchronous: levels have no priority steps");
    }
    return bfs_by_levels(graph, sources, options);
}

bfs_result bfs(const graph::graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options) {
    workspace space(options.job);
    resident_graph resident(space, graph);
    return bfs(resident, sources, options);
}

}  // namespace laneway::apps
