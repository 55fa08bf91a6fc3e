#include "color.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "laneway/graph/undirected.hpp"
#include "order.hpp"
#include "spread_colors.hpp"

namespace laneway::apps {

namespace {

class coloring {
public:
    virtual ~coloring() = default;
    virtual color_result run(const color_options& options) = 0;
};

template <class Vertex>
class colored_graph final : public coloring {
    using state = color_state<Vertex>;
    using clock = std::chrono::steady_clock;

public:
    /// `g` is symmetric.
    colored_graph(runtime& runtime, const graph::basic_csr<Vertex>& g, std::span<const std::uint32_t> parts)
        : runtime_(runtime), start_(clock::now()), offsets_(g.offsets), graph_(runtime, g, parts),
          turn_(runtime.allocate<Vertex>(g.vertices())),
          slates_(runtime.allocate<std::uint32_t>(state::slate_words(graph_.max_rows(), graph_.max_arcs()))),
          colors_(runtime.allocate<std::uint32_t>(graph_.max_rows())),
          list_(runtime.allocate<std::uint64_t>(state::list_entries(graph_.max_rows(), graph_.max_arcs()))),
          tiles_(graph_.tile_counts(), {.for_warps = true}), counters_(runtime.allocate<color_counters>(1)) {
        partition_seconds_ = std::chrono::duration<double>(clock::now() - start_).count();
    }

    color_result run(const color_options& options) override {
        const auto start = clock::now();
        begin(options);
        const state shared{graph_.ref(), turn_.ref(), slates_.ref(), colors_.ref(), list_.ref(), counters_.ref()};
        const auto box = runtime_.mailbox<color_message>(hear_color<Vertex>{shared});
        color_result result;
        result.partition_seconds =
            std::exchange(partition_seconds_, 0) + std::chrono::duration<double>(clock::now() - start).count();
        result.report = runtime_.run(spread_colors<Vertex>{shared}, tiles_, box);
        result.color = graph_.collect(colors_);
        for (const std::uint32_t color : result.color) result.colors = std::max(result.colors, color + 1);
        result.rounds = counters_.copy_out(0).front().rounds;
        return result;
    }

private:
    /// All words as they are before a run in this order.
    void begin(const color_options& options) {
        if (order_ != options.order || !options.sequence.empty()) {
            order_.reset();
            const std::vector<Vertex> turns = turns_in(options);
            for (int pe = 0; pe < runtime_.n_pes(); ++pe) turn_.copy_in(pe, turns);
            if (options.sequence.empty()) order_ = options.order;
        }
        if (!std::exchange(used_, true)) return;
        slates_.clear();
        colors_.clear();
        list_.clear();
        counters_.clear();
    }

    /// Place in the order of each vertex, as the division places vertices.
    std::vector<Vertex> turns_in(const color_options& options) const {
        const std::vector<Vertex> order = coloring_order<Vertex>(offsets_, options.order, options.sequence);
        std::vector<Vertex> turn(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) turn[graph_.division().place(order[i])] = static_cast<Vertex>(i);
        return turn;
    }

    runtime& runtime_;
    clock::time_point start_;
    std::vector<std::uint64_t> offsets_;
    distributed_graph<Vertex> graph_;
    symmetric_array<Vertex> turn_;
    std::optional<std::uint64_t> order_;  ///< that `turn_` holds, where that is one of a seed
    symmetric_array<std::uint32_t> slates_;
    symmetric_array<std::uint32_t> colors_;
    symmetric_array<std::uint64_t> list_;
    index_space tiles_;
    symmetric_array<color_counters> counters_;
    bool used_ = false;             ///< whether they may hold something
    double partition_seconds_ = 0;  ///< for the first result: later ones have not waited for it
};

std::shared_ptr<coloring> make_coloring(runtime& runtime, const graph::graph& graph, const color_options& options) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<coloring> {
            using made = colored_graph<Vertex>;
            if (graph::is_symmetric(g)) return std::make_shared<made>(runtime, g, options.parts);
            return std::make_shared<made>(runtime, graph::undirected(g), options.parts);
        },
        graph.arcs);
}

}  // namespace

color_result color(const graph::graph& graph, const color_options& options) {
    runtime runtime(options.job);
    return make_coloring(runtime, graph, options)->run(options);
}

color_result color(resident_graph& graph, const color_options& options) {
    return graph.with<coloring>(
        0, options.parts, [&](runtime& devices) { return make_coloring(devices, graph.host(), options); },
        [&](coloring& coloring) { return coloring.run(options); });
}

}  // namespace laneway::apps
