#include "push_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "graph/collect.hpp"
#include "laneway/flow/item_worklist.hpp"
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
        : runtime_(runtime), vertices_(g.vertices()), first_(runtime.allocate<first_residuals<Weighted>>(1)) {
        const auto start = clock::now();
        division_.emplace(g, parts, static_cast<std::uint64_t>(runtime.n_pes()),
                          [&](int pe, const graph::csr_slice<Vertex>& arcs, const auto& starts) {
                              auto words = mirror(pe, arcs, starts.back(), max_words);
                              parts_.emplace_back(runtime.machine().device(pe), arcs, words, starts, Weighted);
                              const pushed_part& part = parts_.back();
                              most_words_ = std::max(most_words_, part.costs.size());
                              const auto mirrors = part.costs.begin() + static_cast<std::ptrdiff_t>(part.rows);
                              row_costs_ = std::accumulate(part.costs.begin(), mirrors, row_costs_);
                              mirror_costs_ = std::accumulate(mirrors, part.costs.end(), mirror_costs_);
                              mirrors_.push_back(std::move(words.mirrors));
                          });
        std::vector<std::uint64_t> words;
        for (const pushed_part& part : parts_) words.push_back(part.costs.size());
        words_.emplace(std::move(words), index_space_options{.max_rows = 1});
        find_dangling(g);
        partition_seconds_ = std::chrono::duration<double>(clock::now() - start).count();
    }

    /// Where rank of dangling vertices goes where walks start, ranks are but for a factor those of walks that end
    /// there. Else what dangling vertices hold is known when walks from both kinds of starts have been followed.
    pagerank_result run(const pagerank_options& options) override {
        const auto starts = parts_of_rank(options.personalization, vertices_);
        const bool apart = !dangling_.empty() && !options.dangling.empty();
        const bool leaks = !dangling_.empty();
        const double bound = bound_of(options, leaks);
        pagerank_result result;
        pushed_ranks all = push(options, starts, bound, result);
        if (apart) {
            const auto to = parts_of_rank(options.dangling, vertices_);
            const pushed_ranks of_dangling = push(options, to, bound, result);
            const double each = options.alpha / (1 - options.alpha);
            const double held = dangling_rank(all) / (1 - each * dangling_rank(of_dangling));
            for (std::uint64_t v = 0; v < vertices_; ++v) all.rank[v] += each * held * of_dangling.rank[v];
            all.left += each * held * of_dangling.left;
        }
        const double sum = std::accumulate(all.rank.begin(), all.rank.end(), 0.0);
        for (double& rank : all.rank) rank /= sum;
        result.rank = std::move(all.rank);
        result.residual = all.left / sum;
        result.converged = result.residual < tolerance_of(options);
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        return result;
    }

private:
    static constexpr std::uint64_t max_words = 0xffffffff;

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
    /// What all words may keep together, to be less than the tolerance of the sum of ranks. That is 1 but for what is
    /// kept; 1 - alpha of it at least where walks end at dangling vertices.
    [[nodiscard]] double bound_of(const pagerank_options& options, bool leaks) const {
        const double tolerance = tolerance_of(options);
        return (leaks ? 1 - options.alpha : 1) * tolerance / (1 + tolerance * options.alpha / (1 - options.alpha));
    }

    [[nodiscard]] double dangling_rank(const pushed_ranks& ranks) const {
        double sum = 0;
        for (const std::uint64_t v : dangling_) sum += ranks.rank[v];
        return sum;
    }

    /// Follows walks that start as `starts` says until all words keep less than the tolerance of the sum of ranks.
    /// Words that may keep a share of the bound each keep much less together, so they may keep more first, and less
    /// where that was too much.
    pushed_ranks push(const pagerank_options& options, const std::vector<std::uint64_t>& starts, double bound,
                      pagerank_result& result) {
        const double tolerance = tolerance_of(options);
        std::vector<std::vector<std::uint64_t>> residuals = first_residuals_of(starts, to_rank(options.alpha));
        for (pushed_part& part : parts_) part.ranks.fill_bytes(0);
        for (double times = max_times;;) {
            run_with(options, kept_by(times * bound), residuals, result);
            std::uint64_t left = 0, handed_on = 0;
            for (std::size_t p = 0; p < parts_.size(); ++p) {
                residuals[p] = parts_[p].residuals();
                left = std::accumulate(residuals[p].begin(), residuals[p].end(), left);
                const auto ranks = parts_[p].ranks.copy_out();
                handed_on = std::accumulate(ranks.begin(), ranks.end(), handed_on);
            }
            const double excess = to_double(left) / (tolerance * to_double(left + handed_on));
            if (times <= 1 || !(excess >= 1)) return {ranks_with(residuals), to_double(left)};
            times = std::max(1.0, times / std::max(1.25, std::pow(excess, 0.85)));  // what is left falls faster
        }
    }

    /// What a word may keep for each arc.
    struct kept_residuals {
        double row;
        double mirror;
    };
    [[nodiscard]] kept_residuals kept_by(double all) const {
        const double share = mirror_costs_ == 0 ? 0 : mirror_share;
        return {(1 - share) * all / static_cast<double>(row_costs_),
                share == 0 ? 0 : share * all / static_cast<double>(mirror_costs_)};
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
            residuals.emplace_back(own, own + parts_[p].rows);
            residuals.back().resize(parts_[p].costs.size());
        }
        return residuals;
    }

    /// Pushes until no word holds more than it may keep.
    void run_with(const pagerank_options& options, const kept_residuals& kept,
                  const std::vector<std::vector<std::uint64_t>>& residuals, pagerank_result& result) {
        const std::uint64_t later =
            mirror_costs_ == 0 ? 0 : static_cast<std::uint64_t>(std::max(0.0, 4 * std::log2(kept.row / kept.mirror)));
        std::uint64_t sooner = push_priority(0, 0);
        std::vector<push_application<Weighted>> applications;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            pushed_part& part = parts_[p];
            sooner = std::min(sooner, part.start_with(residuals[p], kept.row, kept.mirror));
            applications.push_back({part.ref(later), to_rank(options.alpha)});
            first_.copy_in(static_cast<int>(p), {{applications[p], part.first.data()}});
        }
        item_worklist_options list_options;
        list_options.policy = {sooner + 1, priority_step, low_water};
        // Each word has one item at most, which waits near or far, besides pieces that are near.
        list_options.items = std::clamp<std::uint64_t>(most_words_, 1024, channel_queue_ref::max_width);
        list_options.reserve_items = 1024;
        item_worklist<push_application<Weighted>> list(runtime_.machine(), applications, list_options);
        const run_report report = runtime_.run(begin_pushes<Weighted>{first_.ref()}, *words_, list);
        if (result.report.devices.empty()) {
            result.report = report;
        } else {
            add_run(result.report, report);
        }
        result.sent += list.work().sent;
        result.pushes += list.work().done - list.work().sent;
    }

    /// What is left goes to the ranks: as good as one more round, in which nothing is handed on.
    [[nodiscard]] std::vector<double> ranks_with(const std::vector<std::vector<std::uint64_t>>& residuals) const {
        std::vector<std::uint64_t> ranks;
        for (const pushed_part& part : parts_) {
            const auto handed_on = part.ranks.copy_out();
            ranks.insert(ranks.end(), handed_on.begin(), handed_on.end());
        }
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const std::uint64_t first = division_->starts()[p], rows = parts_[p].rows;
            for (std::size_t word = 0; word < residuals[p].size(); ++word) {
                ranks[word < rows ? first + word : mirrors_[p][word - rows]] += residuals[p][word];
            }
        }
        std::vector<double> all(vertices_);
        std::transform(ranks.begin(), ranks.end(), all.begin(), [](std::uint64_t rank) { return to_double(rank); });
        return division_->by_vertex(std::move(all));
    }

    static constexpr double max_times = 16;       ///< the bound: what words may keep first, in all
    static constexpr double mirror_share = 0.05;  ///< of it, for mirrors
    static constexpr std::uint64_t priority_step = 1;
    static constexpr std::uint64_t low_water = 1;

    runtime& runtime_;
    std::uint64_t vertices_;
    std::optional<division<Vertex>> division_;
    std::vector<pushed_part> parts_;
    std::vector<std::vector<Vertex>> mirrors_;  ///< of each PE, by place
    std::vector<std::uint64_t> dangling_;       ///< vertices that hand their rank to none
    std::uint64_t row_costs_ = 0;               ///< of all PEs
    std::uint64_t mirror_costs_ = 0;            ///< the same
    std::uint64_t most_words_ = 0;              ///< of a PE
    symmetric_array<first_residuals<Weighted>> first_;
    std::optional<index_space> words_;
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
