#include <cmath>
#include <limits>
#include <string>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/graph/generate.hpp"
#include "random.hpp"

namespace laneway::graph {
namespace {

constexpr std::uint8_t right = 1, down = 2;

std::uint64_t edge_count(const grid_options& o) { return (o.width - 1) * o.height + o.width * (o.height - 1); }

std::uint64_t kept_edges(const grid_options& o) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (o.width == 0 || o.height == 0 || o.width > most / o.height)
        throw usage_error("a grid of " + std::to_string(o.width) + " x " + std::to_string(o.height) +
                          " is outside 1.." + std::to_string(most) + " vertices");
    if (o.max_weight == 0) throw usage_error("the greatest weight of a grid is 0, not 1 or more");
    const std::uint64_t edges = edge_count(o);
    if (o.arcs % 2 != 0 || o.arcs > 2 * edges)
        throw usage_error(std::to_string(o.arcs) + " arcs are odd or more than the grid's " +
                          std::to_string(2 * edges));
    if (o.arcs > 0) return o.arcs / 2;
    if (!(o.keep >= 0 && o.keep <= 1)) throw usage_error("the share of edges to keep is outside 0..1");
    return static_cast<std::uint64_t>(std::llround(o.keep * static_cast<double>(edges)));
}

// Which of its edges to the right and down each vertex keeps: exactly `wanted` in all, every choice equally likely
// (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S).
std::vector<std::uint8_t> choose_edges(const grid_options& o, std::uint64_t wanted) {
    std::vector<std::uint8_t> kept(o.width * o.height, 0);
    std::uint64_t left = edge_count(o);
    random_sequence random(o.seed);
    const auto take = [&] {
        const bool chosen = random.below(left--) < wanted;
        wanted -= chosen;
        return chosen;
    };
    interruption_counter leave;
    for (std::uint64_t y = 0, v = 0; y < o.height; ++y) {
        for (std::uint64_t x = 0; x < o.width; ++x, ++v) {
            leave.poll();
            if (x + 1 < o.width && take()) kept[v] |= right;
            if (y + 1 < o.height && take()) kept[v] |= down;
        }
    }
    return kept;
}

}  // namespace

graph generate_grid(const grid_options& options) {
    const std::uint64_t edges = kept_edges(options), width = options.width, n = width * options.height;
    const std::vector<std::uint8_t> kept = choose_edges(options, edges);
    csr32 csr;
    csr.offsets.reserve(n + 1);
    csr.heads.reserve(2 * edges);
    csr.weights.reserve(2 * edges);
    const auto add = [&](std::uint64_t owner, std::uint8_t edge, std::uint64_t head) {
        if (!(kept[owner] & edge)) return;
        csr.heads.push_back(static_cast<std::uint32_t>(head));
        csr.weights.push_back(random_weight(options.seed, 2 * owner + (edge == down), options.max_weight));
    };
    interruption_counter leave;
    for (std::uint64_t v = 0; v < n; ++v) {
        leave.poll();
        if (v >= width) add(v - width, down, v - width);
        if (v >= 1) add(v - 1, right, v - 1);
        add(v, right, v + 1);
        add(v, down, v + width);
        csr.offsets.push_back(csr.heads.size());
    }
    graph result;
    result.arcs = std::move(csr);
    result.ids.vertices = n;
    return result;
}

}  // namespace laneway::graph
