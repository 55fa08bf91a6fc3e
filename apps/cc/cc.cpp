#include "cc.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "join_components.hpp"
#include "laneway/graph/undirected.hpp"
#include "numbering.hpp"

namespace laneway::apps {

namespace {

class joining {
public:
    virtual ~joining() = default;
    virtual cc_result run() = 0;
};

template <class Vertex>
class joined_graph final : public joining {
    using clock = std::chrono::steady_clock;

public:
    /// `g` is symmetric.
    joined_graph(runtime& runtime, const graph::basic_csr<Vertex>& g, std::span<const std::uint32_t> parts)
        : runtime_(runtime), start_(clock::now()), graph_(runtime, g, parts),
          parent_(runtime.allocate<Vertex>(graph_.max_rows())), rows_(graph_.row_counts(), {.max_rows = 1}),
          tiles_(graph_.tile_counts(), {.for_warps = true}), sums_(runtime.collectives()),
          partition_seconds_(std::chrono::duration<double>(clock::now() - start_).count()) {}

    cc_result run() override {
        cc_result result;
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        const join_components<Vertex> body{graph_.ref(), parent_.ref()};
        result.report = runtime_.run(body, rows_, tiles_, runtime_.one_sided(), sums_);
        number_components(graph_.collect(parent_), result);
        return result;
    }

private:
    runtime& runtime_;
    clock::time_point start_;
    distributed_graph<Vertex> graph_;
    symmetric_array<Vertex> parent_;
    index_space rows_, tiles_;
    collectives_component sums_;
    double partition_seconds_;  ///< for the first result: later ones have not waited for it
};

std::shared_ptr<joining> make_joining(runtime& runtime, const graph::graph& graph, const cc_options& options) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<joining> {
            using made = joined_graph<Vertex>;
            if (graph::is_symmetric(g)) return std::make_shared<made>(runtime, g, options.parts);
            return std::make_shared<made>(runtime, graph::undirected(g), options.parts);
        },
        graph.arcs);
}

}  // namespace

cc_result connected_components(const graph::graph& graph, const cc_options& options) {
    runtime runtime(options.job);
    return make_joining(runtime, graph, options)->run();
}

cc_result connected_components(resident_graph& graph, const cc_options& options) {
    return graph.with<joining>(
        0, options.parts, [&](runtime& devices) { return make_joining(devices, graph.host(), options); },
        [&](joining& joining) { return joining.run(); });
}

}  // namespace laneway::apps
