#include "color.hpp"

#include <chrono>

#include "laneway/graph/undirected.hpp"
#include "order.hpp"
#include "spread_colors.hpp"

namespace laneway::apps {

namespace {

/// Place in the order of each vertex, as the division places vertices.
template <class Vertex>
std::vector<Vertex> turns(const graph::basic_csr<Vertex>& g, std::uint64_t seed, const division<Vertex>& division) {
    const std::vector<Vertex> order = coloring_order(g, seed);
    std::vector<Vertex> turn(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) turn[division.place(order[i])] = static_cast<Vertex>(i);
    return turn;
}

template <class Vertex>
color_result spread(const graph::basic_csr<Vertex>& g, const color_options& options) {
    using state = color_state<Vertex>;
    const auto start = std::chrono::steady_clock::now();
    runtime runtime(options.job);
    const distributed_graph<Vertex> graph(runtime, g, options.parts);
    auto turn = runtime.allocate<Vertex>(g.vertices());
    const auto order = turns(g, options.order, graph.division());
    for (int pe = 0; pe < runtime.n_pes(); ++pe) turn.copy_in(pe, order);
    const std::uint64_t rows = graph.most_rows(), arcs = graph.most_arcs();
    const auto slates = runtime.allocate<std::uint32_t>(state::slate_words(rows, arcs));
    const auto colors = runtime.allocate<std::uint32_t>(rows);
    const auto list = runtime.allocate<std::uint64_t>(state::list_entries(rows, arcs));
    const auto next_tile = runtime.allocate<std::uint64_t>(2);
    const auto counters = runtime.allocate<color_counters>(1);
    const state shared{graph.ref(), turn.ref(),      slates.ref(),  colors.ref(),
                       list.ref(),  next_tile.ref(), counters.ref()};
    const auto box = runtime.mailbox<color_message>(hear_color<Vertex>{shared});

    color_result result;
    result.partition_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.report = runtime.run(spread_colors<Vertex>{shared}, box);
    result.color = graph.collect(colors);
    for (const std::uint32_t color : result.color) result.colors = std::max(result.colors, color + 1);
    result.rounds = counters.copy_out(0).front().rounds;
    return result;
}

}  // namespace

color_result color(const graph::graph& graph, const color_options& options) {
    return std::visit(
        [&](const auto& g) {
            return graph::is_symmetric(g) ? spread(g, options) : spread(graph::undirected(g), options);
        },
        graph.arcs);
}

}  // namespace laneway::apps
