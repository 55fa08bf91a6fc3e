#include "push_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "graph/collect.hpp"
#include "laneway/flow/item_work.hpp"
#include "laneway/runtime.hpp"
#include "pushed_part.hpp"
#include "rank_rules.hpp"

namespace laneway::apps {

namespace {

using clock = std::chrono::steady_clock;

/// A graph on the devices, with the words of its residuals and ranks.
class pushing {
public:
    virtual ~pushing() = default;
    virtual pagerank_result run(const pagerank_options& options) = 0;
};

/// Sums over vertices, in their order, as doubles.
struct pushed_ranks {
    std::vector<double> rank;  ///< with what has come last, and has not been handed on
    double left = 0;           ///< that, of all vertices and mirrors
};

template <bool Weighted, class Vertex>
class pushed_graph final : public pushing {
public:
    pushed_graph(runtime& runtime, const graph::basic_csr<Vertex>& g, std::span<const std::uint32_t> parts)
        : runtime_(runtime), vertices_(g.vertices()), rows_(runtime.allocate<pushed_rows>(1)),
          told_(runtime.allocate<std::uint64_t>(residual_words::told_numbers)) {
        const auto start = clock::now();
        std::uint64_t max_words = 0;
        division_.emplace(g, parts, static_cast<std::uint64_t>(runtime.n_pes()),
                          [&](int pe, const graph::csr_slice<Vertex>& arcs, const auto& starts) {
                              auto words = mirror(pe, arcs, starts.back(), residual_words::max_words);
                              parts_.emplace_back(runtime.machine().device(pe), arcs, words, starts, Weighted);
                              const pushed_part& part = parts_.back();
                              max_words = std::max(max_words, part.words());
                              row_costs_ += part.row_costs();
                              mirror_costs_ += part.mirror_costs();
                              mirrors_.push_back(std::move(words.mirrors));
                          });
        words_.emplace(runtime.allocate<std::uint64_t>(max_words));
        for (std::size_t p = 0; p < parts_.size(); ++p) rows_.copy_in(static_cast<int>(p), {parts_[p].ref()});
        find_dangling(g);
        partition_seconds_ = std::chrono::duration<double>(clock::now() - start).count();
    }

    /// Where rank of dangling vertices goes where walks start, ranks are but for a factor those of walks that end
    /// there. Else what dangling vertices hold is known when walks from both kinds of starts have been followed.
    pagerank_result run(const pagerank_options& options) override {
        const auto starts = parts_of_rank(options.personalization, vertices_);
        const bool apart = !dangling_.empty() && !options.dangling.empty();
        pagerank_result result;
        pushed_ranks all = push(options, starts, result);
        if (apart) {
            const auto to = parts_of_rank(options.dangling, vertices_);
            const pushed_ranks of_dangling = push(options, to, result);
            const double each = options.alpha / (1 - options.alpha);
            const double held = dangling_rank(all) / (1 - each * dangling_rank(of_dangling));
            for (std::uint64_t v = 0; v < vertices_; ++v) all.rank[v] += each * held * of_dangling.rank[v];
            all.left += each * held * of_dangling.left;
        }
        const double sum = std::accumulate(all.rank.begin(), all.rank.end(), 0.0);
        for (double& rank : all.rank) rank /= sum;
        result.rank = std::move(all.rank);
        result.residual = all.left / sum;
        result.converged = all.left == 0 || result.residual < tolerance_of(options);
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        return result;
    }

private:
    void find_dangling(const graph::basic_csr<Vertex>& g) {
        for (std::uint64_t v = 0; v < vertices_; ++v) {
            const std::uint64_t begin = g.offsets[v], end = g.offsets[v + 1];
            bool hands_on = end > begin;
            if constexpr (Weighted) {
                hands_on = std::any_of(g.weights.data() + begin, g.weights.data() + end, [](auto w) { return w > 0; });
            }
            if (!hands_on) dangling_.push_back(v);
        }
    }

    /// Of what is left with all vertices, for ranks whose sum is 1: more than all of it asks for no more.
    [[nodiscard]] double tolerance_of(const pagerank_options& options) const {
        return std::min(options.tol * static_cast<double>(vertices_), 3.0);
    }
    [[nodiscard]] double dangling_rank(const pushed_ranks& ranks) const {
        double sum = 0;
        for (const std::uint64_t v : dangling_) sum += ranks.rank[v];
        return sum;
    }

    /// Follows walks that start as `starts` says until what is left is less than the tolerance of the sum of ranks.
    pushed_ranks push(const pagerank_options& options, const std::vector<std::uint64_t>& starts,
                      pagerank_result& result) {
        push_rules rules = rules_of(options);
        rules.begun = begin(first_residuals_of(starts, rules.alpha));
        for (;;) {
            run(rules, result);
            if (rules.begun == 0 || rules.suffices(rules.begun, rules.taken)) break;
            if (!options.fused && result.report.run_seconds > options.job.timeout_seconds)
                throw timeout_error("deadline passed between two sweeps of residual push");
        }
        std::vector<std::vector<std::uint64_t>> residuals;
        for (std::size_t p = 0; p < parts_.size(); ++p) residuals.push_back(words_->copy_out(static_cast<int>(p)));
        return {ranks_with(residuals), to_double(rules.begun)};
    }

    [[nodiscard]] push_rules rules_of(const pagerank_options& options) const {
        push_rules rules;
        rules.alpha = to_rank(options.alpha);
        rules.tolerance = tolerance_of(options) * (1 - 0x1p-20);  // so that the sum of ranks, rounded, suffices as well
        rules.one_sweep = !options.fused;
        if (!options.priorities) return rules;
        rules.row_keeps = rows_keep / static_cast<double>(row_costs_);
        if (mirror_costs_ != 0) rules.mirror_keeps = mirrors_keep / static_cast<double>(mirror_costs_);
        return rules;
    }

    /// Words start with these; returns their sum.
    std::uint64_t begin(std::vector<std::vector<std::uint64_t>> residuals) {
        std::uint64_t sum = 0;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            sum = std::accumulate(residuals[p].begin(), residuals[p].end(), sum);
            residuals[p].resize(words_->size());
            words_->copy_in(static_cast<int>(p), residuals[p]);
            parts_[p].clear();
        }
        return sum;
    }

    /// Pushes until that suffices, or once where the rules say so; leaves in them what the next run begins with.
    void run(push_rules& rules, pagerank_result& result) {
        told_.clear();
        for (pushed_part& part : parts_) part.clear_account();
        const residual_words words{words_->ref(), told_.ref()};
        const run_report report = runtime_.run(push_residuals<Weighted>{rows_.ref(), words, rules},
                                               runtime_.mailbox<residual_message>(hear_residual{words}));
        if (result.report.devices.empty()) {
            result.report = report;
        } else {
            add_run(result.report, report);
        }
        for (const pushed_part& part : parts_) {
            const push_account account = part.account();
            rules.begun -= account.retired;
            rules.taken += static_cast<double>(account.taken);
            result.looks += account.looks;
            result.pushes += account.pushes;
            result.adds += account.adds;
            result.sent += account.sent;
            result.suppressed += account.suppressed;
        }
    }

    [[nodiscard]] std::vector<std::vector<std::uint64_t>> first_residuals_of(const std::vector<std::uint64_t>& starts,
                                                                             std::uint64_t alpha) const {
        std::vector<std::uint64_t> first(starts.size());
        std::transform(starts.begin(), starts.end(), first.begin(),
                       [&](std::uint64_t part) { return multiply_ranks(whole_rank - alpha, part); });
        first = division_->by_place(std::move(first));
        std::vector<std::vector<std::uint64_t>> residuals;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const std::uint64_t* const own = first.data() + division_->starts()[p];
            residuals.emplace_back(own, own + parts_[p].rows());
        }
        return residuals;
    }

    /// What is left goes to the ranks: as good as one more round, in which nothing is handed on.
    [[nodiscard]] std::vector<double> ranks_with(const std::vector<std::vector<std::uint64_t>>& residuals) const {
        std::vector<std::uint64_t> ranks;
        for (const pushed_part& part : parts_) {
            const auto handed_on = part.ranks();
            ranks.insert(ranks.end(), handed_on.begin(), handed_on.end());
        }
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const std::uint64_t first = division_->starts()[p], rows = parts_[p].rows();
            for (std::size_t word = 0; word < parts_[p].words(); ++word) {
                ranks[word < rows ? first + word : mirrors_[p][word - rows]] += residuals[p][word];
            }
        }
        std::vector<double> all(vertices_);
        std::transform(ranks.begin(), ranks.end(), all.begin(), [](std::uint64_t rank) { return to_double(rank); });
        return division_->by_vertex(std::move(all));
    }

    /// Of what is left, what all rows may keep together, and all mirrors: less than the whole.
    static constexpr double rows_keep = 0.8, mirrors_keep = 0.19;

    runtime& runtime_;
    std::uint64_t vertices_;
    std::optional<division<Vertex>> division_;
    std::vector<pushed_part> parts_;
    std::vector<std::vector<Vertex>> mirrors_;  ///< of each PE, by place
    std::vector<std::uint64_t> dangling_;       ///< vertices that hand their rank to none
    std::uint64_t row_costs_ = 0;               ///< of all PEs
    std::uint64_t mirror_costs_ = 0;            ///< the same
    symmetric_array<pushed_rows> rows_;
    symmetric_array<std::uint64_t> told_;
    std::optional<symmetric_array<std::uint64_t>> words_;
    double partition_seconds_ = 0;  ///< for the first result: later ones have not waited for it
};

std::shared_ptr<pushing> make_pushing(runtime& runtime, const graph::graph& graph, const pagerank_options& options) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<pushing> {
            if (!uses_weights(graph, options))
                return std::make_shared<pushed_graph<false, Vertex>>(runtime, g, options.parts);
            return std::make_shared<pushed_graph<true, Vertex>>(runtime, g, options.parts);
        },
        graph.arcs);
}

}  // namespace

pagerank_result push_ranks(const graph::graph& graph, const pagerank_options& options) {
    runtime runtime(options.job);
    return make_pushing(runtime, graph, options)->run(options);
}

pagerank_result push_ranks(resident_graph& graph, const pagerank_options& options) {
    return graph.with<pushing>(
        uses_weights(graph.host(), options) ? 1 : 0, options.parts,
        [&](runtime& devices) { return make_pushing(devices, graph.host(), options); },
        [&](pushing& pushing) { return pushing.run(options); });
}

}  // namespace laneway::apps
