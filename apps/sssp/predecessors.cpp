// Trees of shortest paths, made of the distances after a search.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "laneway/base/error.hpp"
#include "laneway/base/in_threads.hpp"
#include "laneway/graph/partition.hpp"
#include "shortest_paths.hpp"

namespace laneway::apps {

namespace {

constexpr std::int64_t none = -1;

template <class Vertex>
class tree_builder {
public:
    tree_builder(const graph::basic_csr<Vertex>& g, std::span<const std::int64_t> distance, bool unit_weights)
        : graph_(g), distance_(distance), unit_(unit_weights || !g.weighted()), before_(g.vertices(), none) {}

    std::vector<std::int64_t> build(std::span<const std::uint64_t> sources) {
        follow_positive_arcs();
        if (!unit_ && std::find(graph_.weights.begin(), graph_.weights.end(), 0u) != graph_.weights.end())
            follow_zero_arcs(sources);
        return std::move(before_);
    }

private:
    [[nodiscard]] std::int64_t weight(std::uint64_t arc) const { return unit_ ? 1 : graph_.weights[arc]; }

    // The least of all vertices that may stand before `head` wins, whichever thread comes first. Relaxed: the words are
    // read after the threads have been joined.
    void propose(std::uint64_t head, std::int64_t tail) {
        std::atomic_ref<std::int64_t> word(before_[head]);
        std::int64_t seen = word.load(std::memory_order_relaxed);
        while ((seen == none || tail < seen) && !word.compare_exchange_weak(seen, tail, std::memory_order_relaxed)) {
        }
    }

    // An arc above 0 leads to a greater distance, so these cannot close a circle.
    void follow_positive_arcs() {
        constexpr std::uint64_t arcs_each = std::uint64_t{1} << 20, most = 64;
        const std::uint64_t cores = std::max(std::thread::hardware_concurrency(), 1u);
        const auto cuts = graph::equal_arc_ranges(
            graph_, std::clamp<std::uint64_t>(graph_.arcs() / arcs_each, 1, std::min(cores, most)));
        in_threads(cuts, [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
            for (std::uint64_t v = begin; v < end && going; ++v) {
                if (distance_[v] < 0) continue;
                for (std::uint64_t arc = graph_.offsets[v]; arc < graph_.offsets[v + 1]; ++arc) {
                    const std::uint64_t head = graph_.heads[arc];
                    const std::int64_t length = weight(arc);
                    if (length > 0 && distance_[head] == distance_[v] + length)
                        propose(head, static_cast<std::int64_t>(v));
                }
            }
        });
    }

    // Arcs of weight 0 join vertices of one distance. Those that have a place in a tree hand it on, breadth first: a
    // vertex comes behind one that is a step nearer, so there is no circle either.
    void follow_zero_arcs(std::span<const std::uint64_t> sources) {
        std::vector<bool> placed(graph_.vertices());
        for (std::uint64_t v = 0; v < graph_.vertices(); ++v) placed[v] = before_[v] != none;
        for (const std::uint64_t source : sources) placed[source] = true;
        std::vector<std::uint64_t> front;
        for (std::uint64_t v = 0; v < graph_.vertices(); ++v) {
            if (placed[v]) front.push_back(v);
        }
        while (!front.empty()) {
            std::vector<std::uint64_t> next;
            for (const std::uint64_t v : front) hand_on(v, placed, next);
            for (const std::uint64_t v : next) placed[v] = true;
            front = std::move(next);
        }
    }

    void hand_on(std::uint64_t v, const std::vector<bool>& placed, std::vector<std::uint64_t>& next) {
        for (std::uint64_t arc = graph_.offsets[v]; arc < graph_.offsets[v + 1]; ++arc) {
            const std::uint64_t head = graph_.heads[arc];
            if (graph_.weights[arc] != 0 || distance_[head] != distance_[v] || placed[head]) continue;
            if (before_[head] == none) next.push_back(head);
            propose(head, static_cast<std::int64_t>(v));
        }
    }

    const graph::basic_csr<Vertex>& graph_;
    std::span<const std::int64_t> distance_;
    bool unit_;
    std::vector<std::int64_t> before_;
};

}  // namespace

std::vector<std::int64_t> predecessors(const graph::graph& graph, std::span<const std::int64_t> distance,
                                       std::span<const std::uint64_t> sources, bool unit_weights) {
    if (distance.size() != graph.vertices())
        throw usage_error("predecessors: " + std::to_string(distance.size()) + " distances for " +
                          std::to_string(graph.vertices()) + " vertices");
    for (const std::uint64_t source : sources) {
        if (source >= graph.vertices()) throw usage_error("predecessors: a source is outside the graph");
    }
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) {
            return tree_builder<Vertex>(g, distance, unit_weights).build(sources);
        },
        graph.arcs);
}

}  // namespace laneway::apps
