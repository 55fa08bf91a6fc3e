#include "pagerank.hpp"

#include <cmath>

#include "pull_ranks.hpp"

namespace laneway::apps {

namespace {

std::uint64_t to_rank(double value) { return static_cast<std::uint64_t>(std::ldexp(value, rank_bits)); }
double to_double(std::uint64_t rank) { return std::ldexp(static_cast<double>(rank), -rank_bits); }

template <class Vertex>
pagerank_result iterate(const graph::basic_csr<Vertex>& g, const pagerank_options& options) {
    runtime runtime(options.job);
    const mirrored_graph<Vertex> graph(runtime, g, options.parts, rank_words::most_values);
    const auto shares = runtime.allocate<float>(rank_words::share_copies * graph.most_values());
    const auto totals = runtime.allocate<std::uint64_t>(rank_words::total_copies * rank_words::totals_a_copy);
    const auto ranks = runtime.allocate<std::uint64_t>(graph.most_rows());
    const auto cut_rows = runtime.allocate<cut_row>(graph.most_tiles());
    const auto next_tile = runtime.allocate<std::uint64_t>(2);
    const auto counters = runtime.allocate<rank_counters>(1);
    const auto outcome = runtime.allocate<rank_outcome>(1);
    const rank_words words{shares.ref(), totals.ref()};

    pagerank_result result;
    // A change is at most 2.
    const std::uint64_t tolerance = to_rank(std::min(options.tolerance, 3.0));
    result.report =
        runtime.run(pull_ranks{graph.ref(), words, ranks.ref(), cut_rows.ref(), next_tile.ref(), counters.ref(),
                               outcome.ref(), g.vertices(), to_rank(options.damping), tolerance, options.rounds},
                    runtime.mailbox<rank_message>(hear_rank{words}));
    const std::vector<std::uint64_t> found = collect(graph.division(), ranks);
    result.rank.resize(found.size());
    std::transform(found.begin(), found.end(), result.rank.begin(), to_double);
    const rank_outcome end = outcome.copy_out(0).front();
    result.rounds = end.rounds;
    result.change = to_double(end.change);
    result.partition_seconds = graph.seconds();
    return result;
}

}  // namespace

pagerank_result pagerank(const graph::graph& graph, const pagerank_options& options) {
    if (!(options.damping >= 0 && options.damping <= 1)) throw usage_error("damping: expected a number from 0 to 1");
    if (!(options.tolerance >= 0)) throw usage_error("tolerance: expected a number of 0 or more");
    if (graph.vertices() == 0) throw usage_error("the graph has no vertices to rank");
    return std::visit([&](const auto& g) { return iterate(g, options); }, graph.arcs);
}

}  // namespace laneway::apps
