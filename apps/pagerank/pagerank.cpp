#include "pagerank.hpp"

#include <utility>

#include "pull_ranks.hpp"
#include "push_ranks.hpp"
#include "rank_rules.hpp"

namespace laneway::apps {

namespace {

/// Changes below this have converged. A change is a whole number and at most 2.
std::uint64_t limit_of(const pagerank_options& options, std::uint64_t vertices) {
    const double limit = std::min(options.tol * static_cast<double>(vertices), 3.0);
    return static_cast<std::uint64_t>(std::ceil(std::ldexp(limit, rank_bits)));
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

/// A graph turned round on the devices, with the words of its ranks.
class ranking {
public:
    virtual ~ranking() = default;
    virtual pagerank_result run(const pagerank_options& options) = 0;
};

template <bool Weighted, class Vertex>
class ranked_graph final : public ranking {
public:
    ranked_graph(runtime& runtime, const graph::basic_csr<Vertex>& g, std::span<const std::uint32_t> parts)
        : runtime_(runtime), vertices_(g.vertices()), graph_(runtime, g, Weighted, parts, rank_words::max_values),
          partition_seconds_(graph_.seconds()),
          shares_(runtime.allocate<float>(rank_words::share_copies * graph_.max_values())),
          totals_(runtime.allocate<std::uint64_t>(rank_words::total_copies * rank_words::totals_a_copy)),
          ranks_(runtime.allocate<std::uint64_t>(graph_.max_rows())),
          cut_rows_(runtime.allocate<cut_row>(graph_.max_tiles())), tiles_(graph_.tile_counts(), {.for_warps = true}),
          counters_(runtime.allocate<rank_counters>(1)), outcome_(runtime.allocate<rank_outcome>(1)),
          starts_(runtime.allocate<start_shares>(1)) {}

    pagerank_result run(const pagerank_options& options) override {
        const bool anywhere = options.personalization.empty() && options.dangling.empty();
        begin(options, anywhere);
        const rank_words words{shares_.ref(), totals_.ref()};
        const std::uint64_t limit = limit_of(options, vertices_);
        pagerank_result result;
        result.report = runtime_.run(
            pull_ranks<Weighted>{graph_.ref(), words, ranks_.ref(), cut_rows_.ref(), counters_.ref(), outcome_.ref(),
                                 starts_.ref(), anywhere, !options.nstart.empty(), vertices_, to_rank(options.alpha),
                                 limit, options.rounds.value_or(options.max_iter), options.rounds.has_value()},
            tiles_, runtime_.mailbox<rank_message>(hear_rank{words}));
        const std::vector<std::uint64_t> found = collect(graph_.division(), ranks_);
        result.rank.resize(found.size());
        std::transform(found.begin(), found.end(), result.rank.begin(), to_double);
        const rank_outcome end = outcome_.copy_out(0).front();
        result.rounds = end.rounds;
        result.residual = to_double(end.change);
        result.converged = end.rounds > 0 && end.change < limit;
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        return result;
    }

private:
    /// All words as they are before a run.
    void begin(const pagerank_options& options, bool anywhere) {
        if (std::exchange(used_, true)) {
            shares_.clear();
            totals_.clear();
            ranks_.clear();
            cut_rows_.clear();
            counters_.clear();
            outcome_.clear();
        }
        if (!anywhere) {
            if (starts_.size() < graph_.max_rows()) starts_ = runtime_.allocate<start_shares>(graph_.max_rows());
            distribute(graph_.division(), starts_of(options, vertices_), starts_);
        }
        if (!options.nstart.empty()) distribute(graph_.division(), parts_of_rank(options.nstart, vertices_), ranks_);
    }

    runtime& runtime_;
    std::uint64_t vertices_;
    mirrored_graph<Vertex> graph_;
    double partition_seconds_;  ///< for the first result: later ones have not waited for it
    symmetric_array<float> shares_;
    symmetric_array<std::uint64_t> totals_;
    symmetric_array<std::uint64_t> ranks_;
    symmetric_array<cut_row> cut_rows_;
    index_space tiles_;
    symmetric_array<rank_counters> counters_;
    symmetric_array<rank_outcome> outcome_;
    bool used_ = false;                     ///< whether they may hold something
    symmetric_array<start_shares> starts_;  ///< one a row once walks have started at some vertices rather than others
};

std::shared_ptr<ranking> make_ranking(runtime& runtime, const graph::graph& graph, const pagerank_options& options) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<ranking> {
            if (!uses_weights(graph, options))
                return std::make_shared<ranked_graph<false, Vertex>>(runtime, g, options.parts);
            return std::make_shared<ranked_graph<true, Vertex>>(runtime, g, options.parts);
        },
        graph.arcs);
}

/// Least 1 - alpha that push takes: residuals start with it, and of less they have too few bits.
constexpr double min_rest = 1e-9;

void require_sound(const graph::graph& graph, const pagerank_options& options) {
    if (!(options.alpha >= 0 && options.alpha <= 1)) throw usage_error("alpha: expected a number from 0 to 1");
    if (!(options.tol >= 0)) throw usage_error("tol: expected a number of 0 or more");
    const std::uint64_t vertices = graph.vertices();
    if (vertices == 0) throw usage_error("the graph has no vertices to rank");
    require_parts_of_rank("personalization", options.personalization, vertices);
    require_parts_of_rank("dangling", options.dangling, vertices);
    require_parts_of_rank("nstart", options.nstart, vertices);
    if (options.method == pagerank_method::pull) {
        if (!options.priorities || !options.fused)
            throw usage_error("priorities and fused are for method push: rounds have neither");
        return;
    }
    if (options.alpha > 1 - min_rest)
        throw usage_error("alpha: method push wants 1 - 1e-9 or less: nearer to 1 the ranks are those of rounding");
    if (!options.nstart.empty()) throw usage_error("nstart: ranks start at 0 with method push");
    if (options.rounds) throw usage_error("rounds: method push has none");
}

}  // namespace

pagerank_result pagerank(const graph::graph& graph, const pagerank_options& options) {
    require_sound(graph, options);
    if (options.method == pagerank_method::push) return push_ranks(graph, options);
    runtime runtime(options.job);
    return make_ranking(runtime, graph, options)->run(options);
}

pagerank_result pagerank(resident_graph& graph, const pagerank_options& options) {
    require_sound(graph.host(), options);
    if (options.method == pagerank_method::push) return push_ranks(graph, options);
    return graph.with<ranking>(
        uses_weights(graph.host(), options) ? 1 : 0, options.parts,
        [&](runtime& devices) { return make_ranking(devices, graph.host(), options); },
        [&](ranking& ranking) { return ranking.run(options); });
}

}  // namespace laneway::apps
