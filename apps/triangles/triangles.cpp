#include "triangles.hpp"

#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "count_triangles.hpp"
#include "graph/collect.hpp"
#include "laneway/runtime.hpp"
#include "orient.hpp"

namespace laneway::apps {

namespace {

/// What each vertex has counted: triangles, or where weights count, arcs among its neighbours.
struct corner_counts {
    std::vector<std::uint64_t> corners;
    double partition_seconds = 0;
    run_report report;
};

/// An oriented graph on the devices.
template <bool Weighted>
class counting {
public:
    virtual ~counting() = default;
    virtual corner_counts run() = 0;
    [[nodiscard]] virtual const std::vector<std::uint64_t>& degree() const = 0;
};

template <class Vertex, bool Weighted>
class counted_graph final : public counting<Weighted> {
    using clock = std::chrono::steady_clock;

public:
    counted_graph(runtime& runtime, const graph::basic_csr<Vertex>& given)
        : runtime_(runtime), start_(clock::now()), graph_(orient(given, Weighted)),
          division_(graph_.arcs, {}, static_cast<std::uint64_t>(runtime.n_pes()),
                    [&](int, const graph::csr_slice<Vertex>& rows, const auto&) { arcs_.push_back(rows.arcs()); }),
          counts_(runtime.allocate<row_counts>(1)), own_(runtime, max_rows(), max_arcs(), true),
          others_(runtime, max_rows(), max_arcs(), runtime.n_pes() > 1), tails_(runtime.allocate<Vertex>(max_arcs())),
          found_(runtime.allocate<std::uint64_t>(max_arcs())), corners_(runtime.allocate<std::uint64_t>(max_rows())),
          own_arcs_(arcs_, {.max_rows = 1}) {
        for (std::size_t p = 0; p < arcs_.size(); ++p) place(p);
        graph_.arcs = {};
        partition_seconds_ = std::chrono::duration<double>(clock::now() - start_).count();
    }

    corner_counts run() override {
        if (std::exchange(used_, true)) {
            found_.clear();
            corners_.clear();
        }
        corner_counts result;
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        result.report = runtime_.run(count_triangles<Vertex, Weighted>{own_.ref(), others_.ref(), counts_.ref(),
                                                                       tails_.ref(), found_.ref(), corners_.ref()},
                                     own_arcs_, runtime_.one_sided());
        result.corners = collect(division_, corners_);
        return result;
    }

    [[nodiscard]] const std::vector<std::uint64_t>& degree() const override { return graph_.degree; }

private:
    struct rows_memory {
        rows_memory(runtime& runtime, std::uint64_t rows, std::uint64_t arcs, bool used)
            : offsets(runtime.allocate<std::uint64_t>(used ? rows + 1 : 1)),
              heads(runtime.allocate<Vertex>(used ? arcs : 1)),
              weights(runtime.allocate<std::uint32_t>(used && Weighted ? arcs : 1)) {}

        [[nodiscard]] row_arrays<Vertex> ref() const { return {offsets.ref(), heads.ref(), weights.ref()}; }

        symmetric_array<std::uint64_t> offsets;
        symmetric_array<Vertex> heads;
        symmetric_array<std::uint32_t> weights;
    };

    [[nodiscard]] std::uint64_t max_arcs() const {
        return std::max<std::uint64_t>(1, *std::ranges::max_element(arcs_));
    }
    [[nodiscard]] std::uint64_t max_rows() const {
        const std::vector<std::uint64_t>& starts = division_.starts();
        std::uint64_t rows = 1;
        for (std::size_t p = 0; p + 1 < starts.size(); ++p) rows = std::max(rows, starts[p + 1] - starts[p]);
        return rows;
    }

    /// Copies a PE's rows.
    void place(std::size_t p) {
        const int pe = static_cast<int>(p);
        const std::vector<std::uint64_t>& starts = division_.starts();
        const auto rows = graph::slice(graph_.arcs, starts[p], starts[p + 1]);
        copy_in(own_.offsets, pe, std::span<const std::uint64_t>(rows.offsets));
        copy_in(own_.heads, pe, rows.heads);
        if constexpr (Weighted) copy_in(own_.weights, pe, rows.weights);
        std::vector<Vertex> tails;
        tails.reserve(rows.arcs());
        for (std::uint64_t row = 0; row < rows.vertices(); ++row) {
            tails.insert(tails.end(), rows.offsets[row + 1] - rows.offsets[row], static_cast<Vertex>(row));
        }
        copy_in(tails_, pe, std::span<const Vertex>(tails));
        std::vector<std::uint64_t> known = starts;
        known.insert(known.end(), arcs_.begin(), arcs_.end());
        auto& words = known_.emplace_back(runtime_.machine().device(pe), known.size());
        words.copy_in(known);
        counts_.copy_in(pe, {{{words.data()}, words.data() + starts.size()}});
    }
    template <class T>
    static void copy_in(symmetric_array<T>& to, int pe, std::span<const T> values) {
        std::vector<T> part(values.begin(), values.end());
        part.resize(to.size());
        to.copy_in(pe, part);
    }

    runtime& runtime_;
    clock::time_point start_;
    oriented_graph<Vertex> graph_;  ///< its arcs until the devices have them
    std::vector<std::uint64_t> arcs_;
    division<Vertex> division_;
    std::vector<buffer<std::uint64_t>> known_;  ///< what counts_ points to, one a PE
    symmetric_array<row_counts> counts_;
    rows_memory own_;
    rows_memory others_;
    symmetric_array<Vertex> tails_;
    symmetric_array<std::uint64_t> found_;
    symmetric_array<std::uint64_t> corners_;
    index_space own_arcs_;
    double partition_seconds_ = 0;  ///< for the first result: later ones have not waited for it
    bool used_ = false;
};

template <bool Weighted>
std::shared_ptr<counting<Weighted>> make_counting(runtime& runtime, const graph::graph& graph) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<counting<Weighted>> {
            return std::make_shared<counted_graph<Vertex, Weighted>>(runtime, g);
        },
        graph.arcs);
}

triangles_result triangles_of(counting<false>& counting) {
    corner_counts counted = counting.run();
    triangles_result result{std::move(counted.corners), 0, counted.partition_seconds, std::move(counted.report)};
    result.total = std::accumulate(result.triangles.begin(), result.triangles.end(), std::uint64_t{0}) / 3;
    return result;
}

clustering_result clustering_of(counting<true>& counting) {
    corner_counts counted = counting.run();
    clustering_result result{{}, 0, counted.partition_seconds, std::move(counted.report)};
    result.coefficient.reserve(counted.corners.size());
    for (std::size_t v = 0; v < counted.corners.size(); ++v) {
        const auto degree = static_cast<double>(counting.degree()[v]);
        const auto arcs = static_cast<double>(counted.corners[v]);
        result.coefficient.push_back(degree < 2 ? 0 : arcs / (degree * (degree - 1)));
    }
    const double sum = std::accumulate(result.coefficient.begin(), result.coefficient.end(), 0.0);
    result.average = result.coefficient.empty() ? 0 : sum / static_cast<double>(result.coefficient.size());
    return result;
}

}  // namespace

triangles_result triangles(const graph::graph& graph, const options& job) {
    runtime runtime(job);
    return triangles_of(*make_counting<false>(runtime, graph));
}

triangles_result triangles(resident_graph& graph) {
    return graph.with<counting<false>>(
        0, {}, [&](runtime& devices) { return make_counting<false>(devices, graph.host()); }, triangles_of);
}

clustering_result local_clustering(const graph::graph& graph, const options& job) {
    runtime runtime(job);
    return clustering_of(*make_counting<true>(runtime, graph));
}

clustering_result local_clustering(resident_graph& graph) {
    return graph.with<counting<true>>(
        0, {}, [&](runtime& devices) { return make_counting<true>(devices, graph.host()); }, clustering_of);
}

}  // namespace laneway::apps
