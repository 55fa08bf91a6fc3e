#include <algorithm>
#include <numeric>

#include "both_ways.hpp"
#include "cdlp.hpp"
#include "laneway/base/interruption.hpp"
#include "number_of_labels.hpp"

namespace laneway::apps {

namespace {

/// The most frequent of some labels, the least one of several.
std::uint32_t most_frequent(std::vector<std::uint32_t>& labels) {
    std::sort(labels.begin(), labels.end());
    std::uint32_t best = 0;
    std::ptrdiff_t most = 0;
    for (auto from = labels.begin(); from != labels.end();) {
        const auto to = std::upper_bound(from, labels.end(), *from);
        if (to - from > most) best = *from, most = to - from;
        from = to;
    }
    return best;
}

}  // namespace

cdlp_result labels_by_sorting(const graph::graph& graph, std::uint64_t rounds) {
    cdlp_result result;
    result.label.resize(graph.vertices());
    std::iota(result.label.begin(), result.label.end(), std::uint32_t{0});
    const auto spread = [&](const auto& g) {
        std::vector<std::uint32_t> next = result.label, heard;
        interruption_counter leave;
        for (std::uint64_t v = 0; v < g.vertices(); ++v) {
            heard.clear();
            for (std::uint64_t arc = g.offsets[v]; arc < g.offsets[v + 1]; ++arc) {
                leave.poll();
                if (g.heads[arc] != v) heard.push_back(result.label[g.heads[arc]]);
            }
            if (!heard.empty()) next[v] = most_frequent(heard);
        }
        result.converged = next == result.label;
        result.label = std::move(next);
    };
    std::visit(
        [&](const auto& csr) {
            with_both_ways(csr, [&](const auto& g) {
                for (; result.rounds < rounds && !result.converged; ++result.rounds) spread(g);
            });
        },
        graph.arcs);
    result.labels = number_of_labels(result.label);
    return result;
}

}  // namespace laneway::apps
