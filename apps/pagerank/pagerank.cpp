#include "pagerank.hpp"

#include <cmath>
#include <string>

#include "pull_ranks.hpp"

namespace laneway::apps {

namespace {

std::uint64_t to_rank(double value) { return static_cast<std::uint64_t>(std::ldexp(value, rank_bits)); }
double to_double(std::uint64_t rank) { return std::ldexp(static_cast<double>(rank), -rank_bits); }

/// Changes below this have converged. A change is a whole number and at most 2.
std::uint64_t limit_of(const pagerank_options& options, std::uint64_t vertices) {
    const double limit = std::min(options.tol * static_cast<double>(vertices), 3.0);
    return static_cast<std::uint64_t>(std::ceil(std::ldexp(limit, rank_bits)));
}

/// Throws usage_error unless `given` is empty or has a number for each vertex from which parts of rank can be made.
void require_parts_of_rank(const std::string& name, const std::vector<double>& given, std::uint64_t vertices) {
    if (given.empty()) return;
    if (given.size() != vertices) {
        throw usage_error(name + ": " + std::to_string(given.size()) + " numbers for " + std::to_string(vertices) +
                          " vertices");
    }
    double sum = 0;
    for (std::size_t v = 0; v < given.size(); ++v) {
        if (!(given[v] >= 0 && std::isfinite(given[v]))) {
            throw usage_error(name + ": entry " + std::to_string(v) + " is " + std::to_string(given[v]) +
                              ", not a finite number of 0 or more");
        }
        sum += given[v];
    }
    if (!(sum > 0 && std::isfinite(sum))) throw usage_error(name + ": the sum of all is " + std::to_string(sum));
}

/// The parts of 1 that `given` says, as whole ranks; equal ones where it is empty.
std::vector<std::uint64_t> parts_of_rank(const std::vector<double>& given, std::uint64_t vertices) {
    if (given.empty()) return std::vector<std::uint64_t>(vertices, whole_rank / vertices);
    double sum = 0;
    for (const double part : given) sum += part;
    std::vector<std::uint64_t> parts(vertices);
    std::transform(given.begin(), given.end(), parts.begin(), [&](double part) { return to_rank(part / sum); });
    return parts;
}

/// What each vertex gets of rank that follows no arc.
std::vector<start_shares> starts_of(const pagerank_options& options, std::uint64_t vertices) {
    const auto started = parts_of_rank(options.personalization, vertices);
    const auto dangling = options.dangling.empty() ? started : parts_of_rank(options.dangling, vertices);
    const std::uint64_t rest = whole_rank - to_rank(options.alpha);
    std::vector<start_shares> starts(vertices);
    for (std::uint64_t v = 0; v < vertices; ++v) starts[v] = {multiply_ranks(rest, started[v]), dangling[v]};
    return starts;
}

template <bool Weighted, class Vertex>
pagerank_result iterate(const graph::basic_csr<Vertex>& g, const pagerank_options& options) {
    runtime runtime(options.job);
    const mirrored_graph<Vertex> graph(runtime, g, Weighted, options.parts, rank_words::most_values);
    const bool anywhere = options.personalization.empty() && options.dangling.empty();
    const auto shares = runtime.allocate<float>(rank_words::share_copies * graph.most_values());
    const auto totals = runtime.allocate<std::uint64_t>(rank_words::total_copies * rank_words::totals_a_copy);
    auto ranks = runtime.allocate<std::uint64_t>(graph.most_rows());
    const auto cut_rows = runtime.allocate<cut_row>(graph.most_tiles());
    const auto next_tile = runtime.allocate<std::uint64_t>(2);
    const auto counters = runtime.allocate<rank_counters>(1);
    const auto outcome = runtime.allocate<rank_outcome>(1);
    auto starts = runtime.allocate<start_shares>(anywhere ? 1 : graph.most_rows());
    if (!anywhere) distribute(graph.division(), starts_of(options, g.vertices()), starts);
    if (!options.nstart.empty()) distribute(graph.division(), parts_of_rank(options.nstart, g.vertices()), ranks);
    const rank_words words{shares.ref(), totals.ref()};

    pagerank_result result;
    const std::uint64_t limit = limit_of(options, g.vertices());
    result.report =
        runtime.run(pull_ranks<Weighted>{graph.ref(), words, ranks.ref(), cut_rows.ref(), next_tile.ref(),
                                         counters.ref(), outcome.ref(), starts.ref(), anywhere, !options.nstart.empty(),
                                         g.vertices(), to_rank(options.alpha), limit,
                                         options.rounds.value_or(options.max_iter), options.rounds.has_value()},
                    runtime.mailbox<rank_message>(hear_rank{words}));
    const std::vector<std::uint64_t> found = collect(graph.division(), ranks);
    result.rank.resize(found.size());
    std::transform(found.begin(), found.end(), result.rank.begin(), to_double);
    const rank_outcome end = outcome.copy_out(0).front();
    result.rounds = end.rounds;
    result.residual = to_double(end.change);
    result.converged = end.rounds > 0 && end.change < limit;
    result.partition_seconds = graph.seconds();
    return result;
}

}  // namespace

pagerank_result pagerank(const graph::graph& graph, const pagerank_options& options) {
    if (!(options.alpha >= 0 && options.alpha <= 1)) throw usage_error("alpha: expected a number from 0 to 1");
    if (!(options.tol >= 0)) throw usage_error("tol: expected a number of 0 or more");
    const std::uint64_t vertices = graph.vertices();
    if (vertices == 0) throw usage_error("the graph has no vertices to rank");
    require_parts_of_rank("personalization", options.personalization, vertices);
    require_parts_of_rank("dangling", options.dangling, vertices);
    require_parts_of_rank("nstart", options.nstart, vertices);
    return std::visit(
        [&](const auto& g) {
            return options.weighted && g.weighted() ? iterate<true>(g, options) : iterate<false>(g, options);
        },
        graph.arcs);
}

}  // namespace laneway::apps
