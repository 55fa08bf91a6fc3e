// What a PE holds of a graph whose residuals are pushed, on the host's side.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "graph/mirrors.hpp"
#include "laneway/base/error.hpp"
#include "laneway/simt/device.hpp"
#include "push_residuals.hpp"
#include "rank_rules.hpp"

namespace laneway::apps {

/// One PE's rows, mirrors and words.
struct pushed_part {
    template <class Vertex>
    pushed_part(const std::shared_ptr<device>& owner, const graph::csr_slice<Vertex>& arcs,
                const mirrored_rows<Vertex>& mirrored, const std::vector<std::uint64_t>& starts, bool weighted)
        : rows(arcs.vertices()), offsets(owner, arcs.offsets.size()), heads(owner, arcs.arcs()),
          weights(owner, weighted ? arcs.arcs() : 0), outgoing(owner, weighted ? rows : 0),
          owners(owner, mirrored.mirrors.size()), words(owner, rows + mirrored.mirrors.size()), ranks(owner, rows),
          first(owner, words.size()) {
        offsets.copy_in(arcs.offsets);
        heads.copy_in(mirrored.sources);
        owners.copy_in(owners_of(mirrored.mirrors, starts));
        costs.assign(words.size(), 0);
        for (const std::uint32_t word : mirrored.sources) costs[word] += word < rows ? 0 : 1;
        for (std::uint64_t row = 0; row < rows; ++row) {
            const std::uint64_t count = arcs.offsets[row + 1] - arcs.offsets[row];
            if (count >= max_arcs) {
                throw usage_error("a vertex has 4294967294 arcs or more, which are too many for one item");
            }
            costs[row] = std::max(static_cast<std::uint32_t>(count), 1u);
        }
        if (!weighted) return;
        weights.copy_in(arcs.weights.data(), arcs.arcs());
        outgoing.copy_in(outgoing_of(arcs));
    }

    template <class Vertex>
    static std::vector<std::uint64_t> outgoing_of(const graph::csr_slice<Vertex>& arcs) {
        std::vector<std::uint64_t> outgoing(arcs.vertices());
        for (std::uint64_t row = 0; row < outgoing.size(); ++row) {
            const std::uint64_t begin = arcs.offsets[row], end = arcs.offsets[row + 1];
            outgoing[row] = std::accumulate(arcs.weights.begin() + static_cast<std::ptrdiff_t>(begin),
                                            arcs.weights.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{0});
        }
        return outgoing;
    }

    template <class Vertex>
    static std::vector<mirror_target> owners_of(const std::vector<Vertex>& mirrors,
                                                const std::vector<std::uint64_t>& starts) {
        std::vector<mirror_target> owners;
        owners.reserve(mirrors.size());
        std::uint32_t pe = 0;
        for (const Vertex place : mirrors) {  // ascending
            while (place >= starts[pe + 1]) ++pe;
            owners.push_back({pe, static_cast<std::uint32_t>(place - starts[pe])});
        }
        return owners;
    }

    [[nodiscard]] pushed_rows ref(std::uint64_t later) {
        return {offsets.data(), heads.data(), weights.data(), outgoing.data(), owners.data(), words.data(),
                ranks.data(),   rows,         later};
    }

    /// Words that may keep so much for each arc are to start with these residuals, and hold none yet; returns the first
    /// priority that a row has.
    std::uint64_t start_with(const std::vector<std::uint64_t>& residuals, double row_keeps, double mirror_keeps) {
        std::uint64_t sooner = push_priority(0, 0);
        std::vector<push_word> empty(costs.size());
        for (std::size_t word = 0; word < empty.size(); ++word) {
            const double each = word < rows ? row_keeps : mirror_keeps;
            empty[word].limit = to_rank(std::min(each * costs[word], 1.0));
            if (word < rows) sooner = std::min(sooner, push_priority(residuals[word], empty[word].limit));
        }
        words.copy_in(empty);
        first.copy_in(residuals);
        return sooner;
    }
    [[nodiscard]] std::vector<std::uint64_t> residuals() const {
        const std::vector<push_word> held = words.copy_out();
        std::vector<std::uint64_t> made(held.size());
        std::transform(held.begin(), held.end(), made.begin(), [](const push_word& word) { return word.residual; });
        return made;
    }

    static constexpr std::uint64_t max_arcs = 0xfffffffe;

    std::uint64_t rows;
    std::vector<std::uint32_t> costs;  ///< of a word: arcs that leave a row, that lead to a mirror
    buffer<std::uint64_t> offsets;
    buffer<std::uint32_t> heads;
    buffer<std::uint32_t> weights;
    buffer<std::uint64_t> outgoing;
    buffer<mirror_target> owners;
    buffer<push_word> words;
    buffer<std::uint64_t> ranks;
    buffer<std::uint64_t> first;  ///< residual that each word starts with
};

}  // namespace laneway::apps
