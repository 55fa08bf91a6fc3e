#include "indegree.hpp"

#include <algorithm>
#include <chrono>

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
        : rows_(runtime.allocate<graph_rows<Vertex>>(1)), claims_(runtime.allocate<std::uint64_t>(1)) {
        const auto take = [&](int pe, const graph::csr_slice<Vertex>& rows, const std::vector<std::uint64_t>& starts) {
            if (rows.vertices() >> 32 != 0) {
                throw usage_error("PE " + std::to_string(pe) + " would own " + std::to_string(rows.vertices()) +
                                  " vertices, more than 4294967295: use more devices");
            }
            parts_.emplace_back(runtime.machine().device(pe), rows, starts);
            rows_.copy_in(pe, {parts_.back().rows()});
            most_rows_ = std::max(most_rows_, rows.vertices());
        };
        division<Vertex>(graph, {}, static_cast<std::uint64_t>(runtime.n_pes()), take);
    }

    [[nodiscard]] counted_graph<Vertex> ref() const { return {rows_.ref(), claims_.ref()[0]}; }
    [[nodiscard]] std::uint64_t most_rows() const { return most_rows_; }
    [[nodiscard]] std::uint64_t rows(int pe) const { return parts_[static_cast<std::size_t>(pe)].count(); }

private:
    std::vector<graph_part<Vertex>> parts_;
    symmetric_array<graph_rows<Vertex>> rows_;
    symmetric_array<std::uint64_t> claims_;
    std::uint64_t most_rows_ = 0;
};

template <class Vertex>
indegree_result count(const graph::basic_csr<Vertex>& g, const indegree_options& options) {
    indegree_result result;
    runtime runtime(options.job);
    const auto start = clock::now();
    const distributed_graph<Vertex> graph(runtime, g);
    result.partition_seconds = std::chrono::duration<double>(clock::now() - start).count();
    const auto in_degree = runtime.allocate<std::uint64_t>(graph.most_rows());
    const auto box = runtime.mailbox<std::uint32_t>(count_arc{in_degree.ref()});
    result.report = options.walk == arc_walk::lists ? runtime.run(walk_lists<Vertex>{graph.ref()}, box)
                                                    : runtime.run(walk_arcs<Vertex>{graph.ref()}, box);
    result.in_degree.reserve(g.vertices());
    for (int pe = 0; pe < runtime.n_pes(); ++pe) {
        const auto part = in_degree.copy_out(pe);
        result.in_degree.insert(result.in_degree.end(), part.begin(),
                                part.begin() + static_cast<std::ptrdiff_t>(graph.rows(pe)));
    }
    return result;
}

}  // namespace

indegree_result indegree(const graph::graph& graph, const indegree_options& options) {
    return std::visit([&](const auto& g) { return count(g, options); }, graph.arcs);
}

}  // namespace laneway::apps
