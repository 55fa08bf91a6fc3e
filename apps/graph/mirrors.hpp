// Mirrors: copies that a PE keeps of values of other PEs' vertices, where its own rows need them. The host's part.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/graph/split.hpp"

namespace laneway::apps {

/// Where a value of a PE's row is to be known as well: at `index` of `pe`'s values. Every PE has the values of its own
/// rows first, and the mirrors behind them.
struct mirror_target {
    std::uint32_t pe;
    std::uint32_t index;
};

/// What the rows of one PE need of others.
template <class Vertex>
struct mirrored_rows {
    std::vector<Vertex> mirrors;         ///< the vertices, ascending; PEs own ranges, so those of a PE are neighbours
    std::vector<std::uint32_t> sources;  ///< one an arc: index of its head's value
};

/// `rows`: of one PE of a graph with `vertices`. Throws usage_error, naming `pe`, where it would have more than
/// `max_values` rows and mirrors together; they number less than 2^32.
template <class Vertex>
mirrored_rows<Vertex> mirror(int pe, const graph::csr_slice<Vertex>& rows, std::uint64_t vertices,
                             std::uint64_t max_values) {
    const auto own = [&](std::uint64_t vertex) { return vertex - rows.first < rows.vertices(); };
    std::vector<std::uint64_t> needed(vertices / 64 + 1);  // a bit a vertex
    interruption_counter leave;
    for (const Vertex head : rows.heads) {
        leave.poll();
        if (!own(head)) needed[head / 64] |= std::uint64_t{1} << head % 64;
    }
    std::uint64_t values = rows.vertices();
    for (const std::uint64_t bits : needed) values += static_cast<std::uint64_t>(std::popcount(bits));
    if (values > max_values) {
        throw usage_error("PE " + std::to_string(pe) + " would own " + std::to_string(rows.vertices()) +
                          " vertices and mirror " + std::to_string(values - rows.vertices()) +
                          " of others, together more than " + std::to_string(max_values) + ": use more devices");
    }
    mirrored_rows<Vertex> result;
    std::vector<std::uint32_t> before(needed.size());  // index of the first mirror of a word
    result.mirrors.reserve(values - rows.vertices());
    for (std::size_t word = 0; word < needed.size(); ++word) {
        before[word] = static_cast<std::uint32_t>(rows.vertices() + result.mirrors.size());
        for (std::uint64_t bits = needed[word]; bits != 0; bits &= bits - 1) {
            result.mirrors.push_back(static_cast<Vertex>(word * 64 + static_cast<unsigned>(std::countr_zero(bits))));
        }
    }
    result.sources.reserve(rows.arcs());
    for (const Vertex head : rows.heads) {
        leave.poll();
        const std::uint64_t lower = needed[head / 64] & ((std::uint64_t{1} << head % 64) - 1);
        result.sources.push_back(own(head) ? static_cast<std::uint32_t>(head - rows.first)
                                           : before[head / 64] + static_cast<std::uint32_t>(std::popcount(lower)));
    }
    return result;
}

/// The targets of a PE's rows: those of row i are [offsets[i], offsets[i + 1]), by PE.
struct mirror_targets {
    std::vector<std::uint64_t> offsets;
    std::vector<mirror_target> targets;
};

/// `starts`: division::starts(); `mirrors`: of every PE.
template <class Vertex>
mirror_targets targets_of(std::size_t pe, const std::vector<std::uint64_t>& starts,
                          const std::vector<std::vector<Vertex>>& mirrors) {
    const std::uint64_t first = starts[pe];
    const std::uint64_t end = starts[pe + 1];
    // Calls each(row, target) for all targets, by PE.
    const auto for_all = [&](auto&& each) {
        for (std::size_t other = 0; other < mirrors.size(); ++other) {
            const std::vector<Vertex>& list = mirrors[other];
            const std::uint64_t rows = starts[other + 1] - starts[other];
            const auto from = std::lower_bound(list.begin(), list.end(), first);
            const auto to = std::lower_bound(from, list.end(), end);
            for (auto vertex = from; vertex != to; ++vertex) {
                const std::uint64_t index = rows + static_cast<std::uint64_t>(vertex - list.begin());
                each(*vertex - first,
                     mirror_target{static_cast<std::uint32_t>(other), static_cast<std::uint32_t>(index)});
            }
        }
    };
    mirror_targets result;
    result.offsets.assign(end - first + 1, 0);
    for_all([&](std::uint64_t row, const mirror_target&) { ++result.offsets[row + 1]; });
    for (std::uint64_t row = 0; row < end - first; ++row) result.offsets[row + 1] += result.offsets[row];
    result.targets.resize(result.offsets.back());
    std::vector<std::uint64_t> next(result.offsets.begin(), result.offsets.end() - 1);
    for_all([&](std::uint64_t row, const mirror_target& target) { result.targets[next[row]++] = target; });
    return result;
}

}  // namespace laneway::apps
