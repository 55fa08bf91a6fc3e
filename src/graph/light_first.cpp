#include "laneway/graph/light_first.hpp"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/in_threads.hpp"

namespace laneway::graph {
namespace {

constexpr unsigned bucket_bits = 8;

/// Sorts a row by the upper bits of weights: one pass counts, one moves.
template <class Vertex>
void sort_row(std::span<const Vertex> heads, std::span<const std::uint32_t> weights, Vertex* to_heads,
              std::uint32_t* to_weights) {
    const std::uint32_t greatest = *std::max_element(weights.begin(), weights.end());
    const auto bits = static_cast<unsigned>(std::bit_width(greatest));
    const unsigned shift = bits > bucket_bits ? bits - bucket_bits : 0;
    std::uint64_t next[1u << bucket_bits] = {};
    for (const std::uint32_t w : weights) ++next[w >> shift];
    std::uint64_t total = 0;
    for (std::uint64_t& place : next) total += std::exchange(place, total);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const std::uint64_t at = next[weights[i] >> shift]++;
        to_heads[at] = heads[i];
        to_weights[at] = weights[i];
    }
}

/// Ranges of rows with about as many arcs each, one a thread.
std::vector<std::uint64_t> even_cuts(const std::vector<std::uint64_t>& offsets) {
    const std::uint64_t n_threads = std::clamp(std::thread::hardware_concurrency(), 1u, 32u);
    std::vector<std::uint64_t> cuts{0};
    for (std::uint64_t t = 1; t <= n_threads; ++t) {
        const std::uint64_t arcs = offsets.back() / n_threads * t;
        const auto row = std::upper_bound(offsets.begin(), offsets.end(), arcs) - offsets.begin() - 1;
        cuts.push_back(t == n_threads ? offsets.size() - 1 : std::max(cuts.back(), static_cast<std::uint64_t>(row)));
    }
    return cuts;
}

}  // namespace

template <class Vertex>
light_first<Vertex>::light_first(const csr_slice<Vertex>& rows, std::uint64_t more_than)
    : heads_(std::make_unique_for_overwrite<Vertex[]>(rows.arcs())),
      weights_(std::make_unique_for_overwrite<std::uint32_t[]>(rows.arcs())), rows_{rows.first,
                                                                                    rows.offsets,
                                                                                    {heads_.get(), rows.arcs()},
                                                                                    {weights_.get(), rows.arcs()}} {
    in_threads(even_cuts(rows.offsets), [&](std::uint64_t begin, std::uint64_t end, keep_going& going) {
        for (std::uint64_t row = begin; row < end && going; ++row) {
            const std::uint64_t first = rows.offsets[row], count = rows.offsets[row + 1] - first;
            const auto heads = rows.heads.subspan(first, count);
            const auto weights = rows.weights.subspan(first, count);
            if (count > more_than) {
                sort_row<Vertex>(heads, weights, heads_.get() + first, weights_.get() + first);
            } else {
                std::copy(heads.begin(), heads.end(), heads_.get() + first);
                std::copy(weights.begin(), weights.end(), weights_.get() + first);
            }
        }
    });
}

template class light_first<std::uint32_t>;
template class light_first<std::uint64_t>;

}  // namespace laneway::graph
