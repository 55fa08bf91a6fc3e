#include "styles/pagerank/study.hpp"

#include <algorithm>
#include <bit>

#include "laneway/graph/generate.hpp"
#include "laneway/graph/partition.hpp"
#include "laneway/graph/split.hpp"
#include "styles/pagerank/problem.hpp"

namespace laneway::styles {

namespace {

constexpr std::uint64_t rounds = 4;
constexpr std::uint64_t damping = apps::whole_rank / 100 * 85;

LANEWAY_FN std::uint64_t settled_rank(std::uint64_t vertices, std::uint64_t sum, std::uint64_t dangling) {
    return (apps::whole_rank - damping) / vertices + apps::multiply_ranks(damping, sum + dangling / vertices);
}
LANEWAY_FN float share_of(std::uint64_t rank, std::uint64_t degree) {
    return degree == 0 ? 0 : static_cast<float>(rank / degree);
}

/// Makes new ranks of the sums, or first ones, and the shares that follow from them.
struct settle {
    pagerank_data data;
    symmetric_ptr<std::uint64_t> dangling;  ///< takes the rank of rows without arcs
    std::uint64_t vertices;
    std::uint64_t dangling_before;  ///< of all PEs
    bool first;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, data.size.local(ctx)->rows, [&](std::uint64_t row) {
            const std::uint64_t sum = data.sums.local(ctx)[row];
            const std::uint64_t rank =
                first ? apps::whole_rank / vertices : settled_rank(vertices, sum, dangling_before);
            const std::uint32_t degree = data.degrees.local(ctx)[row];
            if (degree == 0) atomic_add(ctx, dangling, rank);
            data.shares.local(ctx)[row] = share_of(rank, degree);
            data.ranks.local(ctx)[row] = rank;
            data.sums.local(ctx)[row] = 0;
        });
    }
};

/// The same on one core, with nothing but vectors.
std::vector<std::uint64_t> reference_ranks(const graph::csr32& g) {
    const std::uint64_t n = g.vertices();
    std::vector<std::uint64_t> ranks(n, apps::whole_rank / n);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::vector<std::uint64_t> sums(n);
        std::uint64_t dangling = 0;
        for (std::uint64_t v = 0; v < n; ++v) {
            const std::uint64_t degree = g.offsets[v + 1] - g.offsets[v];
            if (degree == 0) dangling += ranks[v];
            const auto share = static_cast<std::uint64_t>(share_of(ranks[v], degree));
            for (std::uint64_t a = g.offsets[v]; a < g.offsets[v + 1]; ++a) sums[g.heads[a]] += share;
        }
        for (std::uint64_t v = 0; v < n; ++v) ranks[v] = settled_rank(n, sums[v], dangling);
    }
    return ranks;
}

/// A Kronecker graph of 16 arcs a vertex.
graph::csr32 graph_with(std::uint64_t arcs) {
    const auto scale = static_cast<unsigned>(std::bit_width(arcs | 0x7f)) - 5;
    return std::get<graph::csr32>(graph::generate_kronecker({scale, arcs, false, 1, 1}).arcs);
}

class pagerank_study final : public study {
public:
    explicit pagerank_study(const study_options& options)
        : on_(options), graph_(graph_with(pes() << options.log2_messages >> std::countr_zero(rounds))),
          starts_(graph::equal_arc_ranges(graph_, pes())), reference_(reference_ranks(graph_)),
          size_(array<part_size>(1)), tails_(array<std::uint32_t>(max_arcs())),
          heads_(array<std::uint64_t>(max_arcs())), degrees_(array<std::uint32_t>(max_rows())),
          shares_(array<float>(max_rows())), ranks_(array<std::uint64_t>(max_rows())),
          sums_(array<std::uint64_t>(max_rows())), taken_(array<std::uint64_t>(1)), dangling_(array<std::uint64_t>(1)) {
        for (int pe = 0; pe < on_.n_pes(); ++pe) copy_in(pe);
    }

    [[nodiscard]] std::uint64_t messages() const override { return rounds * graph_.arcs(); }

    [[nodiscard]] std::string difference() override {
        for (std::size_t pe = 0; pe + 1 < starts_.size(); ++pe) {
            const auto found = ranks_.copy_out(static_cast<int>(pe));
            const auto rows = static_cast<std::ptrdiff_t>(starts_[pe + 1] - starts_[pe]);
            const auto expected = reference_.begin() + static_cast<std::ptrdiff_t>(starts_[pe]);
            const auto at = std::mismatch(found.begin(), found.begin() + rows, expected).first - found.begin();
            if (at == rows) continue;
            return "pagerank: the rank of vertex " + std::to_string(starts_[pe] + static_cast<std::uint64_t>(at)) +
                   " is wrong";
        }
        return {};
    }

private:
    [[nodiscard]] std::uint64_t pes() const { return static_cast<std::uint64_t>(on_.n_pes()); }
    template <class T>
    [[nodiscard]] symmetric_array<T> array(std::uint64_t size) {
        return on_.runtime().allocate<T>(size);
    }
    [[nodiscard]] std::uint64_t max_rows() const {
        std::uint64_t most = 0;
        for (std::size_t p = 0; p + 1 < starts_.size(); ++p) most = std::max(most, starts_[p + 1] - starts_[p]);
        return most;
    }
    [[nodiscard]] std::uint64_t max_arcs() const {
        std::uint64_t most = 0;
        for (std::size_t p = 0; p + 1 < starts_.size(); ++p) {
            most = std::max(most, graph_.offsets[starts_[p + 1]] - graph_.offsets[starts_[p]]);
        }
        return most;
    }

    /// The rows of one PE.
    void copy_in(int pe) {
        const std::uint64_t begin = starts_[static_cast<std::size_t>(pe)];
        const auto part = graph::slice(graph_, begin, starts_[static_cast<std::size_t>(pe) + 1]);
        std::vector<std::uint32_t> degrees(max_rows()), tails(max_arcs());
        std::vector<std::uint64_t> heads(max_arcs());
        for (std::uint64_t row = 0; row < part.vertices(); ++row) {
            degrees[row] = static_cast<std::uint32_t>(part.offsets[row + 1] - part.offsets[row]);
            for (std::uint64_t a = part.offsets[row]; a < part.offsets[row + 1]; ++a) {
                const auto after = std::upper_bound(starts_.begin(), starts_.end(), part.heads[a]) - 1;
                tails[a] = static_cast<std::uint32_t>(row);
                heads[a] = static_cast<std::uint64_t>(after - starts_.begin()) << 32 | (part.heads[a] - *after);
            }
        }
        size_.copy_in(pe, {{part.vertices(), part.arcs()}});
        degrees_.copy_in(pe, degrees);
        tails_.copy_in(pe, tails);
        heads_.copy_in(pe, heads);
    }

    void prepare(style which) override {
        data_ = {size_.ref(),   tails_.ref(), heads_.ref(), degrees_.ref(),
                 shares_.ref(), ranks_.ref(), sums_.ref(),  taken_.ref()[0]};
        work (*const starts[n_styles])(launcher&, const pagerank_data&) = {
            pagerank_coprocessor, pagerank_direct, pagerank_coalesced, pagerank_coalesced_aggregated, pagerank_laneway};
        push_ = starts[static_cast<int>(which)](on_, data_);
    }
    void reset() override {
        ranks_.clear();
        sums_.clear();
    }
    void run() override {
        std::uint64_t dangling = make_ranks(0, true);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            taken_.clear();
            push_();
            dangling = make_ranks(dangling, false);
        }
    }
    /// Returns the rank of all vertices without arcs.
    std::uint64_t make_ranks(std::uint64_t dangling_before, bool first) {
        dangling_.clear();
        on_.launch(settle{data_, dangling_.ref()[0], graph_.vertices(), dangling_before, first});
        std::uint64_t dangling = 0;
        for (int pe = 0; pe < on_.n_pes(); ++pe) dangling += dangling_.copy_out(pe)[0];
        return dangling;
    }

    launcher on_;
    graph::csr32 graph_;
    std::vector<std::uint64_t> starts_;  ///< PE p owns the vertices [starts[p], starts[p + 1])
    std::vector<std::uint64_t> reference_;
    symmetric_array<part_size> size_;
    symmetric_array<std::uint32_t> tails_;
    symmetric_array<std::uint64_t> heads_;
    symmetric_array<std::uint32_t> degrees_;
    symmetric_array<float> shares_;
    symmetric_array<std::uint64_t> ranks_;
    symmetric_array<std::uint64_t> sums_;
    symmetric_array<std::uint64_t> taken_;
    symmetric_array<std::uint64_t> dangling_;
    pagerank_data data_;
    work push_;
};

}  // namespace

std::unique_ptr<study> open_pagerank(const study_options& options) { return std::make_unique<pagerank_study>(options); }

}  // namespace laneway::styles
