#include "method.hpp"

#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "bfs.hpp"
#include "sssp/shortest_paths.hpp"

namespace laneway::apps {

namespace {

/// Least share of the arcs that hubs have in a network of hubs: one vertex of many arcs does not make levels few.
constexpr double hub_arcs = 0.03;
/// Least share of the vertices that lie a deviation above the mean where numbers of arcs are random; it is a seventh.
constexpr double random_vertices = 0.05;
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

/// Nothing where there is no memory for it; `why` has the error then.
template <class Search>
std::optional<bfs_result> if_memory_lasts(const Search& search, std::exception_ptr& why) {
    try {
        return search();
    } catch (const system_error&) {
        why = std::current_exception();
    } catch (const cuda_error&) {
        why = std::current_exception();
    } catch (const std::bad_alloc&) {
        why = std::current_exception();
    }
    return {};
}

/// Levels take more memory, for a directed graph twice as much: where there is not enough, it goes without them. Where
/// that fails as well the first error is told, from which the second may follow.
bfs_result by_suitable_method(resident_graph& graph, std::span<const std::uint64_t> sources,
                              const bfs_options& options) {
    const auto asynchronous = [&] { return without_levels(graph, sources, options); };
    if (suitable_method(graph.degrees(), graph.n_pes()) != bfs_method::levels) return asynchronous();
    std::exception_ptr first, second;
    std::optional<bfs_result> found = if_memory_lasts([&] { return bfs_by_levels(graph, sources, options); }, first);
    if (!found) found = if_memory_lasts(asynchronous, second);
    if (!found) std::rethrow_exception(first);
    return std::move(*found);
}

}  // namespace

bfs_method suitable_method(const degrees& of, int n_pes) {
    if (of.most > max_level_arcs) return bfs_method::asynchronous;
    const double mean = of.mean(), factor = n_pes > 1 ? several_factor : 1;
    const auto arcs = static_cast<double>(of.arcs), vertices = static_cast<double>(of.vertices);
    const bool hubs = static_cast<double>(of.of_hubs) >= hub_arcs * arcs && mean >= factor * hub_mean;
    const bool random =
        static_cast<double>(of.above_mean) >= random_vertices * vertices && mean >= factor * random_mean;
    return hubs || random ? bfs_method::levels : bfs_method::asynchronous;
}

bfs_result bfs(resident_graph& graph, std::span<const std::uint64_t> sources, const bfs_options& options) {
    bfs_method method = options.method;
    const bool needs_asynchronous = options.delta || !options.priorities || !options.fused;
    if (method == bfs_method::automatic && needs_asynchronous) method = bfs_method::asynchronous;
    if (method == bfs_method::automatic && !options.pull) method = bfs_method::levels;
    if (method == bfs_method::automatic) return by_suitable_method(graph, sources, options);
    if (method == bfs_method::asynchronous) {
        if (!options.pull) throw usage_error("pull is for method levels: without levels nothing is pulled");
        return without_levels(graph, sources, options);
    }
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
