#include "indegree.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "count_arcs.hpp"
#include "graph/division.hpp"
#include "laneway/runtime.hpp"

namespace laneway::apps {

arc_walk parse_arc_walk(const std::string& text) {
    if (text == "lists") return arc_walk::lists;
    if (text == "arcs") return arc_walk::arcs;
    throw usage_error("walk must be lists or arcs, not " + text);
}

namespace {

using clock = std::chrono::steady_clock;

/// A graph in the PEs' memory.
template <class Vertex>
class distributed_graph {
public:
    distributed_graph(runtime& runtime, const graph::basic_csr<Vertex>& graph)
        : rows_(runtime.allocate<graph_rows<Vertex>>(1)) {
        const auto take = [&](int pe, const graph::csr_slice<Vertex>& rows, const std::vector<std::uint64_t>& starts) {
            if (rows.vertices() >> 32 != 0) {
                throw usage_error("PE " + std::to_string(pe) + " would own " + std::to_string(rows.vertices()) +
                                  " vertices, more than 4294967295: use more devices");
            }
            parts_.emplace_back(runtime.machine().device(pe), rows, starts);
            rows_.copy_in(pe, {parts_.back().rows()});
            row_counts_.push_back(rows.vertices());
            arc_counts_.push_back(rows.arcs());
        };
        division<Vertex>(graph, {}, static_cast<std::uint64_t>(runtime.n_pes()), take);
    }

    [[nodiscard]] counted_graph<Vertex> ref() const { return {rows_.ref()}; }
    /// Of each PE.
    [[nodiscard]] const std::vector<std::uint64_t>& row_counts() const { return row_counts_; }
    [[nodiscard]] const std::vector<std::uint64_t>& arc_counts() const { return arc_counts_; }

private:
    std::vector<graph_part<Vertex>> parts_;
    symmetric_array<graph_rows<Vertex>> rows_;
    std::vector<std::uint64_t> row_counts_, arc_counts_;
};

class counting {
public:
    virtual ~counting() = default;
    virtual indegree_result run(arc_walk walk) = 0;
};

template <class Vertex>
class counted final : public counting {
public:
    counted(runtime& runtime, const graph::basic_csr<Vertex>& g)
        : runtime_(runtime), vertices_(g.vertices()), start_(clock::now()), graph_(runtime, g),
          partition_seconds_(std::chrono::duration<double>(clock::now() - start_).count()),
          lists_(graph_.row_counts(), {.max_rows = 1}), arcs_(graph_.arc_counts(), {.max_rows = 16}),
          in_degree_(runtime.allocate<std::uint64_t>(std::ranges::max(graph_.row_counts()))) {}

    indegree_result run(arc_walk walk) override {
        indegree_result result;
        if (std::exchange(used_, true)) in_degree_.clear();
        const auto box = runtime_.mailbox<std::uint32_t>(count_arc{in_degree_.ref()});
        result.report = walk == arc_walk::lists ? runtime_.run(walk_lists<Vertex>{graph_.ref()}, lists_, box)
                                                : runtime_.run(walk_arcs<Vertex>{graph_.ref()}, arcs_, box);
        result.in_degree.reserve(vertices_);
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            const auto part = in_degree_.copy_out(pe);
            const auto rows = static_cast<std::ptrdiff_t>(graph_.row_counts()[static_cast<std::size_t>(pe)]);
            result.in_degree.insert(result.in_degree.end(), part.begin(), part.begin() + rows);
        }
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        return result;
    }

private:
    runtime& runtime_;
    std::uint64_t vertices_;
    clock::time_point start_;
    distributed_graph<Vertex> graph_;
    double partition_seconds_;  ///< for the first result: later ones have not waited for it
    index_space lists_, arcs_;
    symmetric_array<std::uint64_t> in_degree_;
    bool used_ = false;  ///< whether it may hold something
};

std::shared_ptr<counting> make_counting(runtime& runtime, const graph::graph& graph) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<counting> {
            return std::make_shared<counted<Vertex>>(runtime, g);
        },
        graph.arcs);
}

}  // namespace

indegree_result indegree(const graph::graph& graph, const indegree_options& options) {
    runtime runtime(options.job);
    return make_counting(runtime, graph)->run(options.walk);
}

indegree_result indegree(resident_graph& graph, const indegree_options& options) {
    return graph.with<counting>(
        0, {}, [&](runtime& devices) { return make_counting(devices, graph.host()); },
        [&](counting& counting) { return counting.run(options.walk); });
}

}  // namespace laneway::apps
