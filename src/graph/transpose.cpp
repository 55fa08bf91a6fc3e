#include "laneway/graph/transpose.hpp"

#include <algorithm>
#include <thread>

#include "laneway/base/in_threads.hpp"
#include "laneway/graph/partition.hpp"

namespace laneway::graph {
namespace {

// Each thread looks through all arcs and takes those that lead to its own vertices: so rows come out ascending, nothing
// is shared, and a thread writes to a part of the memory that its caches may hold. More threads would only look.
std::uint64_t threads_for(std::uint64_t arcs) {
    constexpr std::uint64_t min_arcs = std::uint64_t{1} << 20, most = 16;
    const std::uint64_t cores = std::max(std::thread::hardware_concurrency(), 1u);
    return std::clamp<std::uint64_t>(arcs / min_arcs, 1, std::min(cores, most));
}

}  // namespace

template <class Vertex>
basic_csr<Vertex> transpose(const basic_csr<Vertex>& graph, bool weights) {
    const std::uint64_t n = graph.vertices();
    const std::uint64_t threads = threads_for(graph.arcs());
    basic_csr<Vertex> result;
    result.offsets.assign(n + 1, 0);
    in_threads(equal_cuts(n, threads), [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        for (const Vertex head : graph.heads) {
            if (!going) return;
            if (head >= begin && head < end) ++result.offsets[head + std::uint64_t{1}];
        }
    });
    for (std::uint64_t v = 0; v < n; ++v) result.offsets[v + 1] += result.offsets[v];
    result.heads.resize(graph.arcs());
    if (weights) result.weights.resize(graph.weights.size());
    std::vector<std::uint64_t> next(result.offsets.begin(), result.offsets.end() - 1);
    in_threads(equal_arc_ranges(result, threads), [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        for (std::uint64_t v = 0; v < n && going; ++v) {
            for (std::uint64_t arc = graph.offsets[v]; arc < graph.offsets[v + 1]; ++arc) {
                const Vertex head = graph.heads[arc];
                if (head < begin || head >= end) continue;
                const std::uint64_t place = next[head]++;
                result.heads[place] = static_cast<Vertex>(v);
                if (!result.weights.empty()) result.weights[place] = graph.weights[arc];
            }
        }
    });
    return result;
}

template csr32 transpose(const csr32&, bool);
template csr64 transpose(const csr64&, bool);

}  // namespace laneway::graph
