#include "order.hpp"

#include <array>
#include <bit>
#include <random>
#include <string>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway::apps {

template <class Vertex>
std::vector<Vertex> coloring_order(std::span<const std::uint64_t> offsets, std::uint64_t seed) {
    const std::uint64_t n = offsets.size() - 1;
    std::vector<Vertex> shuffled(n);
    for (std::uint64_t v = 0; v < n; ++v) shuffled[v] = static_cast<Vertex>(v);
    std::mt19937_64 random(seed);  // std::shuffle differs from library to library
    interruption_counter leave;
    for (std::uint64_t i = n; i > 1; --i) {
        leave.poll();
        std::swap(shuffled[i - 1], shuffled[random() % i]);
    }

    // By counting, stably.
    const auto level = [&](std::uint64_t v) {
        return 64 - static_cast<std::size_t>(std::bit_width(offsets[v + 1] - offsets[v]));
    };
    std::array<std::uint64_t, 66> starts{};
    for (std::uint64_t v = 0; v < n; ++v) ++starts[level(v) + 1];
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    std::vector<Vertex> order(n);
    for (const Vertex v : shuffled) order[starts[level(v)]++] = v;
    return order;
}

template <class Vertex>
std::vector<Vertex> coloring_order(std::span<const std::uint64_t> offsets, std::uint64_t seed,
                                   std::span<const std::uint64_t> sequence) {
    const std::uint64_t n = offsets.size() - 1;
    if (sequence.empty()) return coloring_order<Vertex>(offsets, seed);
    if (sequence.size() != n) {
        throw usage_error("sequence: " + std::to_string(sequence.size()) + " places for " + std::to_string(n) +
                          " vertices");
    }
    std::vector<bool> seen(n);
    for (const std::uint64_t v : sequence) {
        if (v >= n || seen[v]) {
            throw usage_error("sequence: vertex " + std::to_string(v) +
                              (v < n ? " stands there twice" : " is outside a graph of " + std::to_string(n)));
        }
        seen[v] = true;
    }
    return {sequence.begin(), sequence.end()};
}

template std::vector<std::uint32_t> coloring_order(std::span<const std::uint64_t>, std::uint64_t);
template std::vector<std::uint64_t> coloring_order(std::span<const std::uint64_t>, std::uint64_t);
template std::vector<std::uint32_t> coloring_order(std::span<const std::uint64_t>, std::uint64_t,
                                                   std::span<const std::uint64_t>);
template std::vector<std::uint64_t> coloring_order(std::span<const std::uint64_t>, std::uint64_t,
                                                   std::span<const std::uint64_t>);

}  // namespace laneway::apps
