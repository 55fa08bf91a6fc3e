#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/in_threads.hpp"
#include "laneway/graph/generate.hpp"
#include "random.hpp"

namespace laneway::graph {
namespace {

struct edge {
    std::uint32_t tail;
    std::uint32_t head;
};

struct edge_array {
    std::unique_ptr<edge[]> data;
    std::uint64_t size = 0;
};

// Pieces of 0..n-1, one a thread.
std::vector<std::uint64_t> pieces(std::uint64_t n) {
    return equal_cuts(n, std::clamp(std::thread::hardware_concurrency(), 1u, 32u));
}

// A random permutation of 0..2^bits-1 without a table: each round is a bijection.
class renaming {
public:
    renaming(unsigned bits, std::uint64_t seed)
        : mask_((std::uint64_t{1} << bits) - 1), shift_(bits / 2 + 1), random_(seed, 1) {
        for (auto& [factor, summand] : rounds_) factor = random_.next() | 1, summand = random_.next();
    }

    [[nodiscard]] std::uint32_t operator()(std::uint64_t v) const {
        for (const auto& [factor, summand] : rounds_) {
            v = (v * factor + summand) & mask_;
            v ^= v >> shift_;
        }
        return static_cast<std::uint32_t>(v);
    }

private:
    std::uint64_t mask_;
    unsigned shift_;
    random_sequence random_;
    std::pair<std::uint64_t, std::uint64_t> rounds_[4];
};

// One descent through the levels of the adjacency matrix: each picks a quarter, by 16 random bits.
edge descend(unsigned scale, random_sequence random) {
    constexpr std::uint64_t a = 37356, ab = 49807, abc = 62259;  // 0.57, 0.76 and 0.95 of 2^16
    std::uint32_t tail = 0, head = 0;
    std::uint64_t bits = 0;
    for (unsigned level = 0; level < scale; ++level, bits >>= 16) {
        if (level % 4 == 0) bits = random.next();
        const std::uint64_t r = bits & 0xffff;
        tail = tail << 1 | (r >= ab);
        head = head << 1 | (((r >= a) ^ (r >= ab)) | (r >= abc));
    }
    return {tail, head};
}

edge_array make_edges(const kronecker_options& o) {
    edge_array edges;
    edges.size = o.symmetric ? o.arcs / 2 : o.arcs;
    edges.data = std::make_unique_for_overwrite<edge[]>(edges.size);
    const renaming rename(o.scale, o.seed);
    in_threads(pieces(edges.size),
               [&, data = edges.data.get()](std::uint64_t begin, std::uint64_t end, keep_going& going) {
                   for (std::uint64_t i = begin; i < end && going; ++i) {
                       const edge e = descend(o.scale, random_sequence(o.seed, i + 2));
                       data[i] = {rename(e.tail), rename(e.head)};
                   }
               });
    return edges;
}

// Each thread owns a range of rows and reads all edges: no atomics, and rows keep the order of the edges.
template <class F>
void for_each_arc(const edge_array& edges, bool symmetric, std::uint64_t vertices, F f) {
    in_threads(pieces(vertices), [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        const std::uint64_t rows = end - begin;
        for (std::uint64_t i = 0; i < edges.size && going; ++i) {
            const auto [tail, head] = edges.data[i];
            if (tail - begin < rows) f(tail, head, i);
            if (symmetric && head - begin < rows) f(head, tail, i);
        }
    });
}

}  // namespace

graph generate_kronecker(const kronecker_options& options) {
    if (options.scale > 31) throw usage_error("scale " + std::to_string(options.scale) + " is over the limit of 31");
    if (options.symmetric && options.arcs % 2 != 0)
        throw usage_error(std::to_string(options.arcs) + " arcs are odd: a symmetric graph has two an edge");
    if (options.max_weight == 0) throw usage_error("the greatest weight of a Kronecker graph is 0, not 1 or more");
    const edge_array edges = make_edges(options);
    const std::uint64_t n = std::uint64_t{1} << options.scale;
    csr32 csr;
    csr.offsets.assign(n + 1, 0);
    csr.heads.resize(options.arcs);
    csr.weights.resize(options.arcs);
    // Cell v + 1 counts row v, then holds its start, and at the end its end.
    auto* cursor = csr.offsets.data() + 1;
    for_each_arc(edges, options.symmetric, n, [&](std::uint64_t row, std::uint32_t, std::uint64_t) { ++cursor[row]; });
    std::uint64_t total = 0;
    for (std::uint64_t v = 0; v < n; ++v) total += std::exchange(cursor[v], total);
    for_each_arc(edges, options.symmetric, n, [&](std::uint64_t row, std::uint32_t head, std::uint64_t i) {
        const std::uint64_t at = cursor[row]++;
        csr.heads[at] = head;
        csr.weights[at] = random_weight(options.seed, i, options.max_weight);
    });
    graph result;
    result.arcs = std::move(csr);
    result.ids.vertices = n;
    return result;
}

}  // namespace laneway::graph
