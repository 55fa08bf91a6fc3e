#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "both_ways.hpp"
#include "cdlp.hpp"
#include "laneway/base/interruption.hpp"
#include "number_of_labels.hpp"

namespace laneway::apps {

namespace {

using labels_of = std::vector<std::uint32_t>;

/// Of some labels the most frequent: the least one of several, or, for who keeps its own, that one and else the
/// greatest.
std::uint32_t most_frequent(labels_of& labels, std::optional<std::uint32_t> own) {
    std::sort(labels.begin(), labels.end());
    std::uint32_t best = 0;
    std::ptrdiff_t most = 0;
    for (auto from = labels.begin(); from != labels.end();) {
        const auto to = std::upper_bound(from, labels.end(), *from);
        const bool wins_ties = own && best != *own;  // labels rise
        if (to - from > most || (to - from == most && wins_ties)) best = *from, most = to - from;
        from = to;
    }
    return best;
}

class spreading {
public:
    explicit spreading(std::uint64_t vertices) : label_(vertices) {
        std::iota(label_.begin(), label_.end(), std::uint32_t{0});
    }

    [[nodiscard]] const labels_of& labels() const { return label_; }

    /// A round in which all vertices take labels at once; whether one is another than before.
    template <class Vertex>
    bool at_once(const graph::basic_csr<Vertex>& g) {
        labels_of next = label_;
        for (std::uint64_t v = 0; v < g.vertices(); ++v) {
            hear(g, v, false);
            if (!heard_.empty()) next[v] = most_frequent(heard_, {});
        }
        std::swap(next, label_);
        return next != label_;
    }

    /// One in which they come one by one.
    template <class Vertex>
    bool one_by_one(const graph::basic_csr<Vertex>& g, const std::vector<std::uint64_t>& order) {
        const labels_of before = label_;
        for (const std::uint64_t v : order) {
            hear(g, v, true);
            if (!heard_.empty()) label_[v] = most_frequent(heard_, label_[v]);
        }
        return label_ != before;
    }

private:
    template <class Vertex>
    void hear(const graph::basic_csr<Vertex>& g, std::uint64_t v, bool loops) {
        heard_.clear();
        for (std::uint64_t arc = g.offsets[v]; arc < g.offsets[v + 1]; ++arc) {
            leave_.poll();
            if (g.heads[arc] != v || loops) heard_.push_back(label_[g.heads[arc]]);
        }
    }

    labels_of label_, heard_;
    interruption_counter leave_;
};

/// Vertices class by class, by their numbers.
std::vector<std::uint64_t> by_class(std::span<const std::uint32_t> classes) {
    std::vector<std::uint64_t> order(classes.size());
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return classes[a] < classes[b]; });
    return order;
}

}  // namespace

cdlp_result labels_by_sorting(const graph::graph& graph, std::uint64_t rounds, std::span<const std::uint32_t> classes) {
    cdlp_result result;
    spreading spreading(graph.vertices());
    const auto repeat = [&](auto&& round) {
        for (; result.rounds < rounds && !result.converged; ++result.rounds) result.converged = !round();
    };
    std::visit(
        [&](const auto& csr) {
            if (classes.empty()) {
                with_both_ways(csr, [&](const auto& g) { repeat([&] { return spreading.at_once(g); }); });
            } else {
                const auto g = neighbors_of(csr);
                const auto order = by_class(classes);
                repeat([&] { return spreading.one_by_one(g, order); });
            }
        },
        graph.arcs);
    result.label = spreading.labels();
    result.labels = number_of_labels(result.label);
    return result;
}

}  // namespace laneway::apps
