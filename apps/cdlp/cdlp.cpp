#include "cdlp.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "both_ways.hpp"
#include "number_of_labels.hpp"
#include "spread_labels.hpp"

namespace laneway::apps {

namespace {

class labelling {
public:
    virtual ~labelling() = default;
    virtual cdlp_result run(const cdlp_options& options) = 0;
};

template <class Vertex>
class labelled_graph final : public labelling {
public:
    /// `g` is symmetric. `in_classes`: whether rows take labels class by class.
    labelled_graph(runtime& runtime, const graph::basic_csr<Vertex>& g, std::span<const std::uint32_t> parts,
                   bool in_classes)
        : runtime_(runtime), graph_(runtime, g, false, parts, spread_labels::max_values),
          partition_seconds_(graph_.seconds()), rule_{1, in_classes},
          labels_(runtime.allocate<std::uint32_t>(rule_.copies() * graph_.max_values())),
          counts_(runtime.allocate<std::uint64_t>(2 * graph_.max_arcs())),
          most_(runtime.allocate<std::uint64_t>(graph_.max_rows())),
          turns_(runtime.allocate<std::uint32_t>(in_classes ? graph_.max_rows() : 0)),
          tiles_(graph_.tile_counts(), {.for_warps = true}), outcome_(runtime.allocate<label_outcome>(1)),
          sums_(runtime.collectives()) {}

    cdlp_result run(const cdlp_options& options) override {
        begin(options.classes);
        cdlp_result result;
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        result.report = runtime_.run(spread_labels{graph_.ref(), labels_.ref(), counts_.ref(), most_.ref(),
                                                   turns_.ref(), outcome_.ref(), rule_, options.rounds},
                                     tiles_, runtime_.mailbox<label_message>(hear_label{labels_.ref()}), sums_);
        const label_outcome end = outcome_.copy_out(0).front();
        result.rounds = end.rounds;
        result.converged = end.changed == 0;
        result.label = labels_after(end.rounds);
        result.labels = number_of_labels(result.label);
        return result;
    }

private:
    /// All words as they are before a run: an earlier one may have been left at any point.
    void begin(const std::vector<std::uint32_t>& classes) {
        if (std::exchange(used_, true)) {
            counts_.clear();
            most_.clear();
        }
        if (!classes.empty()) {
            rule_.classes = *std::max_element(classes.begin(), classes.end()) + 1;
            distribute(graph_.division(), classes, turns_);
        }
        const std::vector<std::uint64_t>& starts = graph_.division().starts();
        std::vector<std::uint32_t> own(starts.back());
        std::iota(own.begin(), own.end(), std::uint32_t{0});
        own = graph_.division().by_place(std::move(own));
        std::vector<std::uint32_t> first(labels_.size());
        for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
            std::fill(first.begin(), first.end(), spread_labels::unknown);
            std::copy(own.begin() + static_cast<std::ptrdiff_t>(starts[p]),
                      own.begin() + static_cast<std::ptrdiff_t>(starts[p + 1]), first.begin());
            labels_.copy_in(static_cast<int>(p), first);
        }
    }

    /// Of each vertex, from the copy that a run of so many rounds has written.
    std::vector<std::uint32_t> labels_after(std::uint64_t rounds) const {
        const std::vector<std::uint64_t>& starts = graph_.division().starts();
        const std::uint64_t copies = rule_.copies();
        std::vector<std::uint32_t> all;
        all.reserve(starts.back());
        for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
            const std::vector<std::uint32_t> part = labels_.copy_out(static_cast<int>(p));
            const auto begin = part.begin() + static_cast<std::ptrdiff_t>(rounds % copies * (part.size() / copies));
            all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(starts[p + 1] - starts[p]));
        }
        return graph_.division().by_vertex(std::move(all));
    }

    runtime& runtime_;
    mirrored_graph<Vertex> graph_;
    double partition_seconds_;  ///< for the first result: later ones have not waited for it
    label_rule rule_;
    symmetric_array<std::uint32_t> labels_;
    symmetric_array<std::uint64_t> counts_;
    symmetric_array<std::uint64_t> most_;
    symmetric_array<std::uint32_t> turns_;
    index_space tiles_;
    symmetric_array<label_outcome> outcome_;
    collectives_component sums_;
    bool used_ = false;
};

void require_labels(const graph::graph& graph, const std::vector<std::uint32_t>& classes) {
    const std::uint64_t n = graph.vertices();
    if (n >= spread_labels::unknown) {
        throw usage_error("label propagation takes graphs of at most 4294967294 vertices, not " + std::to_string(n));
    }
    if (classes.empty()) return;
    if (classes.size() != n) {
        throw usage_error(std::to_string(classes.size()) + " classes do not fit " + std::to_string(n) + " vertices");
    }
    const auto greatest = *std::max_element(classes.begin(), classes.end());
    if (greatest >= n) {
        throw usage_error("classes of " + std::to_string(n) + " vertices are numbers below that, not " +
                          std::to_string(greatest));
    }
}

std::shared_ptr<labelling> make_labelling(runtime& runtime, const graph::graph& graph, const cdlp_options& options) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& csr) {
            const bool in_classes = !options.classes.empty();
            const auto make = [&](const auto& g) -> std::shared_ptr<labelling> {
                return std::make_shared<labelled_graph<Vertex>>(runtime, g, options.parts, in_classes);
            };
            return in_classes ? make(neighbors_of(csr)) : with_both_ways(csr, make);
        },
        graph.arcs);
}

}  // namespace

cdlp_result label_propagation(const graph::graph& graph, const cdlp_options& options) {
    require_labels(graph, options.classes);
    runtime runtime(options.job);
    return make_labelling(runtime, graph, options)->run(options);
}

cdlp_result label_propagation(resident_graph& graph, const cdlp_options& options) {
    require_labels(graph.host(), options.classes);
    return graph.with<labelling>(
        options.classes.empty() ? 0 : 1, options.parts,
        [&](runtime& devices) { return make_labelling(devices, graph.host(), options); },
        [&](labelling& labelling) { return labelling.run(options); });
}

}  // namespace laneway::apps
