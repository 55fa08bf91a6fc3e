#include "bfs.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "expand_levels.hpp"
#include "laneway/graph/transpose.hpp"
#include "laneway/graph/undirected.hpp"

namespace laneway::apps {

namespace {

using source_list = std::span<const std::uint64_t>;

void require_sources(source_list sources, std::uint64_t vertices) {
    if (sources.empty()) throw usage_error("a search needs a source");
    for (const std::uint64_t source : sources) {
        if (source >= vertices) {
            throw usage_error("source " + std::to_string(source) + " is outside a graph of " +
                              std::to_string(vertices) + " vertices");
        }
    }
}

template <class Vertex>
void require_short_rows(const graph::basic_csr<Vertex>& graph) {
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
        const std::uint64_t arcs = graph.offsets[v + 1] - graph.offsets[v];
        if (arcs > max_level_arcs) {
            throw usage_error("levels take at most " + std::to_string(max_level_arcs) +
                              " arcs from a vertex, and vertex " + std::to_string(v) + " has " + std::to_string(arcs));
        }
    }
}

class searching {
public:
    virtual ~searching() = default;
    virtual bfs_result run(source_list sources, bool pull) = 0;
};

template <class Vertex>
class searched_graph final : public searching {
public:
    searched_graph(runtime& runtime, const graph::basic_csr<Vertex>& g, std::span<const std::uint32_t> parts)
        : runtime_(runtime), vertices_(g.vertices()), arcs_(g.arcs()), graph_(runtime, g, parts),
          words_(graph_.max_rows() / 32 + 1), levels_(runtime.allocate<std::uint32_t>(graph_.max_rows())),
          list_(runtime.allocate<std::uint32_t>(graph_.max_rows())), reached_(runtime.allocate<std::uint64_t>(1)),
          told_(runtime.allocate<std::uint32_t>(vertices_ / 32 + 1)),
          frontier_(runtime.allocate<std::uint32_t>(2 * words_ * static_cast<std::uint64_t>(runtime.n_pes()))),
          pieces_(runtime.allocate<row_piece>(max_pieces(g))), n_pieces_(runtime.allocate<std::uint64_t>(1)),
          outcome_(runtime.allocate<level_outcome>(1)), sums_(runtime.collectives()) {
        partition_seconds_ = graph_.seconds();
        if (graph::is_symmetric(g)) return;
        inward_.emplace(runtime, graph::transpose(g),
                        parts.empty() ? parts_of_ranges() : std::vector(parts.begin(), parts.end()));
        partition_seconds_ += inward_->seconds();
    }

    bfs_result run(source_list sources, bool pull) override {
        begin(sources);
        const level_state<Vertex> state{graph_.ref(), levels_.ref(), list_.ref(), reached_.ref()};
        const expand_levels<Vertex> body{state,           inward_ ? inward_->ref() : graph_.ref(),
                                         frontier_.ref(), told_.ref(),
                                         pieces_.ref(),   n_pieces_.ref(),
                                         seeds_->ref(),   outcome_.ref(),
                                         words_,          vertices_,
                                         arcs_,           pull};
        bfs_result result;
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        result.report = runtime_.run(body, runtime_.one_sided<level_message>(hear_level<Vertex>{state}), sums_);
        const level_outcome end = outcome_.copy_out(0).front();
        result.levels = end.levels;
        result.pulled = end.pulled;
        for (const std::uint32_t level : graph_.collect(levels_)) {
            result.distance.push_back(std::int64_t{level} - 1);
            result.reached += level > 0 ? 1 : 0;
        }
        result.items = result.reached;
        return result;
    }

private:
    /// Pieces of rows that a PE may have to list: those of all rows of the graph.
    static std::uint64_t max_pieces(const graph::basic_csr<Vertex>& g) {
        std::uint64_t pieces = 0;
        for (std::uint64_t v = 0; v < g.vertices(); ++v) {
            pieces += expand_levels<Vertex>::pieces_of(g.offsets[v + 1] - g.offsets[v]);
        }
        return std::max<std::uint64_t>(pieces, 1);
    }
    /// PE of each vertex, as the ranges say.
    [[nodiscard]] std::vector<std::uint32_t> parts_of_ranges() const {
        const std::vector<std::uint64_t>& starts = graph_.division().starts();
        std::vector<std::uint32_t> parts;
        for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
            parts.insert(parts.end(), starts[p + 1] - starts[p], static_cast<std::uint32_t>(p));
        }
        return parts;
    }

    /// All words as they are before a run.
    void begin(source_list sources) {
        if (std::exchange(used_, true)) {
            levels_.clear();
            reached_.clear();
            told_.clear();
            n_pieces_.clear();
        }
        const std::vector<std::uint64_t>& starts = graph_.division().starts();
        std::vector<std::vector<std::uint32_t>> seeds(starts.size() - 1, {0});
        for (const std::uint64_t source : sources) {
            const std::uint64_t place = graph_.division().place(source);
            const auto p =
                static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), place) - starts.begin() - 1);
            ++seeds[p][0];
            seeds[p].push_back(static_cast<std::uint32_t>(place - starts[p]));
        }
        if (!seeds_ || seeds_->size() <= sources.size()) {
            seeds_.emplace(runtime_.allocate<std::uint32_t>(sources.size() + 1));
        }
        for (std::size_t p = 0; p < seeds.size(); ++p) {
            seeds[p].resize(seeds_->size());
            seeds_->copy_in(static_cast<int>(p), seeds[p]);
        }
    }

    runtime& runtime_;
    std::uint64_t vertices_;
    std::uint64_t arcs_;
    distributed_graph<Vertex> graph_;
    std::optional<distributed_graph<Vertex>> inward_;  ///< where arcs do not all lead back
    std::uint64_t words_;                              ///< of a bit a row, for each PE
    symmetric_array<std::uint32_t> levels_;
    symmetric_array<std::uint32_t> list_;
    symmetric_array<std::uint64_t> reached_;
    symmetric_array<std::uint32_t> told_;
    symmetric_array<std::uint32_t> frontier_;
    symmetric_array<row_piece> pieces_;
    symmetric_array<std::uint64_t> n_pieces_;
    symmetric_array<level_outcome> outcome_;
    std::optional<symmetric_array<std::uint32_t>> seeds_;
    collectives_component sums_;
    double partition_seconds_ = 0;  ///< for the first result: later ones have not waited for it
    bool used_ = false;
};

std::shared_ptr<searching> make_searching(runtime& runtime, const graph::graph& graph, const bfs_options& options) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<searching> {
            require_short_rows(g);
            return std::make_shared<searched_graph<Vertex>>(runtime, g, options.parts);
        },
        graph.arcs);
}

}  // namespace

bfs_result bfs_by_levels(const graph::graph& graph, source_list sources, const bfs_options& options) {
    require_sources(sources, graph.vertices());
    runtime runtime(options.job);
    return make_searching(runtime, graph, options)->run(sources, options.pull);
}

bfs_result bfs_by_levels(resident_graph& graph, source_list sources, const bfs_options& options) {
    require_sources(sources, graph.host().vertices());
    return graph.with<searching>(
        0, options.parts, [&](runtime& devices) { return make_searching(devices, graph.host(), options); },
        [&](searching& searching) { return searching.run(sources, options.pull); });
}

}  // namespace laneway::apps
