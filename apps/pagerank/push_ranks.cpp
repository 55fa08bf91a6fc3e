#include "push_ranks.hpp"

#include <chrono>
#include <numeric>
#include <utility>

#include "graph/collect.hpp"
#include "laneway/flow/item_worklist.hpp"
#include "laneway/runtime.hpp"
#include "push_residuals.hpp"
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

/// One PE's rows, mirrors and words.
struct pushed_part {
    template <class Vertex>
    pushed_part(const std::shared_ptr<device>& owner, const graph::csr_slice<Vertex>& arcs,
                const mirrored_rows<Vertex>& words, const std::vector<std::uint64_t>& starts, bool weighted)
        : rows(arcs.vertices()), offsets(owner, arcs.offsets.size()), heads(owner, arcs.arcs()),
          weights(owner, weighted ? arcs.arcs() : 0), outgoing(owner, weighted ? rows : 0),
          owners(owner, words.mirrors.size()), residuals(owner, rows + words.mirrors.size()), ranks(owner, rows),
          first(owner, rows) {
        offsets.copy_in(arcs.offsets);
        heads.copy_in(words.sources);
        owners.copy_in(owners_of(words.mirrors, starts));
        if (!weighted) return;
        weights.copy_in(arcs.weights.data(), arcs.arcs());
        outgoing.copy_in(outgoing_of(arcs));
    }

    template <class Vertex>
    static std::vector<std::uint64_t> outgoing_of(const graph::csr_slice<Vertex>& arcs) {
        std::vector<std::uint64_t> outgoing(arcs.vertices());
        for (std::uint64_t row = 0; row < outgoing.size(); ++row) {
            const std::uint64_t begin = arcs.offsets[row], end = arcs.offsets[row + 1];
            outgoing[row] = std::accumulate(arcs.weights.begin() + static_cast<std::ptrdiff_t>(begin),
                                            arcs.weights.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{0});
        }
        return outgoing;
    }

    template <class Vertex>
    static std::vector<mirror_target> owners_of(const std::vector<Vertex>& mirrors,
                                                const std::vector<std::uint64_t>& starts) {
        std::vector<mirror_target> owners;
        owners.reserve(mirrors.size());
        std::uint32_t pe = 0;
        for (const Vertex place : mirrors) {  // ascending
            while (place >= starts[pe + 1]) ++pe;
            owners.push_back({pe, static_cast<std::uint32_t>(place - starts[pe])});
        }
        return owners;
    }

    [[nodiscard]] pushed_rows ref() {
        return {offsets.data(), heads.data(),     weights.data(), outgoing.data(),
                owners.data(),  residuals.data(), ranks.data(),   rows};
    }

    std::uint64_t rows;
    buffer<std::uint64_t> offsets;
    buffer<std::uint32_t> heads;
    buffer<std::uint32_t> weights;
    buffer<std::uint64_t> outgoing;
    buffer<mirror_target> owners;
    buffer<std::uint64_t> residuals;
    buffer<std::uint64_t> ranks;
    buffer<std::uint64_t> first;  ///< residual of each row
};

template <bool Weighted, class Vertex>
class pushed_graph final : public pushing {
public:
    pushed_graph(runtime& runtime, const graph::basic_csr<Vertex>& g, std::span<const std::uint32_t> parts)
        : runtime_(runtime), vertices_(g.vertices()), first_(runtime.allocate<first_residuals<Weighted>>(1)),
          claims_(runtime.allocate<std::uint64_t>(1)) {
        const auto start = clock::now();
        division_.emplace(g, parts, static_cast<std::uint64_t>(runtime.n_pes()),
                          [&](int pe, const graph::csr_slice<Vertex>& arcs, const auto& starts) {
                              auto words = mirror(pe, arcs, starts.back(), max_words);
                              parts_.emplace_back(runtime.machine().device(pe), arcs, words, starts, Weighted);
                              most_words_ = std::max(most_words_, arcs.vertices() + words.mirrors.size());
                              words_ += arcs.vertices() + words.mirrors.size();
                              mirrors_.push_back(std::move(words.mirrors));
                          });
        find_dangling(g);
        partition_seconds_ = std::chrono::duration<double>(clock::now() - start).count();
    }

    /// Where rank of dangling vertices goes where walks start, ranks are but for a factor those of walks that end
    /// there. Else what dangling vertices hold is known when walks from both kinds of starts have been followed.
    pagerank_result run(const pagerank_options& options) override {
        const auto starts = parts_of_rank(options.personalization, vertices_);
        const bool apart = !dangling_.empty() && !options.dangling.empty();
        const bool leaks = !dangling_.empty();
        const std::uint64_t epsilon = epsilon_of(options, leaks);
        pagerank_result result;
        pushed_ranks all = push(options, starts, epsilon, result);
        if (apart) {
            const auto to = parts_of_rank(options.dangling, vertices_);
            const pushed_ranks of_dangling = push(options, to, epsilon, result);
            const double each = options.alpha / (1 - options.alpha);
            const double held = dangling_rank(all) / (1 - each * dangling_rank(of_dangling));
            for (std::uint64_t v = 0; v < vertices_; ++v) all.rank[v] += each * held * of_dangling.rank[v];
            all.left += each * held * of_dangling.left;
        }
        const double sum = std::accumulate(all.rank.begin(), all.rank.end(), 0.0);
        for (double& rank : all.rank) rank /= sum;
        result.rank = std::move(all.rank);
        result.residual = all.left / sum;
        result.converged = result.residual < options.tol * static_cast<double>(vertices_);
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        return result;
    }

private:
    static constexpr std::uint64_t max_words = 0xffffffff;

    void find_dangling(const graph::basic_csr<Vertex>& g) {
        constexpr std::uint64_t max_arcs = 0xfffffffe;
        for (std::uint64_t v = 0; v < vertices_; ++v) {
            const std::uint64_t begin = g.offsets[v], end = g.offsets[v + 1];
            if (end - begin >= max_arcs) {
                throw usage_error("a vertex has 4294967294 arcs or more, which are too many for one item");
            }
            bool hands_on = end > begin;
            if constexpr (Weighted) {
                hands_on = std::any_of(g.weights.data() + begin, g.weights.data() + end, [](auto w) { return w > 0; });
            }
            if (!hands_on) dangling_.push_back(v);
        }
    }

    /// What a word may keep, so that all words together keep less than the tolerance of the sum of ranks. That is 1 but
    /// for what is kept; 1 - alpha of it at least where walks end at dangling vertices.
    [[nodiscard]] std::uint64_t epsilon_of(const pagerank_options& options, bool leaks) const {
        const double tolerance = options.tol * static_cast<double>(vertices_);
        const double all = tolerance / (1 + tolerance * options.alpha / (1 - options.alpha));
        return to_rank(std::min((leaks ? 1 - options.alpha : 1) * all / static_cast<double>(words_), 1.0));
    }

    [[nodiscard]] double dangling_rank(const pushed_ranks& ranks) const {
        double sum = 0;
        for (const std::uint64_t v : dangling_) sum += ranks.rank[v];
        return sum;
    }

    /// Follows walks that start as `starts` says until no word holds more than epsilon.
    pushed_ranks push(const pagerank_options& options, const std::vector<std::uint64_t>& starts, std::uint64_t epsilon,
                      pagerank_result& result) {
        const std::uint64_t alpha = to_rank(options.alpha);
        const std::uint64_t greatest =
            multiply_ranks(whole_rank - alpha, *std::max_element(starts.begin(), starts.end()));
        item_worklist_options list_options;
        list_options.policy = {push_priority(greatest) + 1, priority_step, low_water};
        // Each word has one item at most, which waits near or far, besides pieces that are near.
        list_options.items = std::clamp<std::uint64_t>(most_words_, 1024, channel_queue_ref::max_width);
        list_options.reserve_items = 1024;
        std::vector<push_application<Weighted>> applications;
        for (auto& part : parts_) applications.push_back({part.ref(), alpha, epsilon});
        begin(applications, starts, whole_rank - alpha);
        item_worklist<push_application<Weighted>> list(runtime_.machine(), applications, list_options);
        const run_report report = runtime_.run(begin_pushes<Weighted>{first_.ref(), claims_.ref()[0]}, list);
        if (result.report.devices.empty()) {
            result.report = report;
        } else {
            add_run(result.report, report);
        }
        result.sent += list.work().sent;
        result.pushes += list.work().done - list.work().sent;
        return collect();
    }

    void begin(const std::vector<push_application<Weighted>>& applications, const std::vector<std::uint64_t>& starts,
               std::uint64_t rest) {
        claims_.clear();
        std::vector<std::uint64_t> first(starts.size());
        std::transform(starts.begin(), starts.end(), first.begin(),
                       [&](std::uint64_t part) { return multiply_ranks(rest, part); });
        first = division_->by_place(std::move(first));
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            pushed_part& part = parts_[p];
            part.residuals.fill_bytes(0);
            part.ranks.fill_bytes(0);
            part.first.copy_in(first.data() + division_->starts()[p], part.rows);
            first_.copy_in(static_cast<int>(p), {{applications[p], part.first.data()}});
        }
    }

    /// What is left goes to the ranks: as good as one more round, in which nothing is handed on.
    [[nodiscard]] pushed_ranks collect() const {
        std::vector<std::uint64_t> ranks, kept(vertices_);
        std::uint64_t left = 0;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const std::uint64_t first = division_->starts()[p];
            const auto handed_on = parts_[p].ranks.copy_out();
            ranks.insert(ranks.end(), handed_on.begin(), handed_on.end());
            const auto residuals = parts_[p].residuals.copy_out();
            for (std::size_t word = 0; word < residuals.size(); ++word) {
                const std::uint64_t row = word < parts_[p].rows ? first + word : mirrors_[p][word - parts_[p].rows];
                kept[row] += residuals[word];
                left += residuals[word];
            }
        }
        pushed_ranks all{std::vector<double>(vertices_), to_double(left)};
        for (std::uint64_t place = 0; place < vertices_; ++place)
            all.rank[place] = to_double(ranks[place] + kept[place]);
        all.rank = division_->by_vertex(std::move(all.rank));
        return all;
    }

    static constexpr std::uint64_t priority_step = 1;
    static constexpr std::uint64_t low_water = 1;

    runtime& runtime_;
    std::uint64_t vertices_;
    std::optional<division<Vertex>> division_;
    std::vector<pushed_part> parts_;
    std::vector<std::vector<Vertex>> mirrors_;  ///< of each PE, by place
    std::vector<std::uint64_t> dangling_;       ///< vertices that hand their rank to none
    std::uint64_t words_ = 0;                   ///< of all PEs
    std::uint64_t most_words_ = 0;              ///< of one
    symmetric_array<first_residuals<Weighted>> first_;
    symmetric_array<std::uint64_t> claims_;
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
