#include "shortest_paths.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "graph/division.hpp"
#include "search.hpp"
#include "search_options.hpp"

namespace laneway::apps {

namespace {

/// Average degree from which GPUs run 24 warps a block; on an H200 they take Kronecker graphs of degree 86 in three
/// quarters of the time, and New York, of degree 2.8, in 1.1 times.
constexpr std::uint64_t dense_degree = 12;

}  // namespace

class shortest_paths_solver::implementation {
public:
    virtual ~implementation() = default;
    virtual shortest_paths_result run(std::span<const std::uint64_t> sources,
                                      const shortest_paths_options& options) = 0;
};

namespace {

using clock = std::chrono::steady_clock;

bool uses_weights(const graph::graph& graph, const shortest_paths_options& options) {
    return graph.weighted() && !options.unit_weights;
}

template <class Vertex>
class solver final : public shortest_paths_solver::implementation {
public:
    solver(runtime& runtime, const graph::basic_csr<Vertex>& g, bool weighted, std::span<const std::uint32_t> parts)
        : runtime_(runtime), vertices_(g.vertices()) {
        const auto start = clock::now();
        division_.emplace(g, parts, static_cast<std::uint64_t>(runtime_.n_pes()),
                          [&](int pe, const auto& rows, const auto& starts) { add_part(pe, rows, starts, weighted); });
        dense_ = g.arcs() > dense_degree * g.vertices();
        delta_ = default_delta(g, weighted);
        partition_seconds_ = std::chrono::duration<double>(clock::now() - start).count();
    }

    shortest_paths_result run(std::span<const std::uint64_t> sources, const shortest_paths_options& options) override {
        const std::vector<std::uint64_t> start = places_of(sources, *division_);
        const threshold_policy policy = policy_of(options);
        shortest_paths_result result;
        result.distance.resize(vertices_);
        result.delta = policy.step;
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        bool fits = false;
        if constexpr (sizeof(Vertex) == 4) {
            fits = !needs_wide_ && (dense_ ? run_with(narrow_dense_, start, policy, options.fused, result)
                                           : run_with(narrow_, start, policy, options.fused, result));
        }
        needs_wide_ = !fits;
        if (needs_wide_) {
            narrow_.reset();
            narrow_dense_.reset();
        }
        if (!fits && !run_with(wide_, start, policy, options.fused, result)) {
            throw usage_error("distances do not fit 61 bits");
        }
        result.distance = division_->by_vertex(std::move(result.distance));
        return result;
    }

private:
    void add_part(int pe, const graph::csr_slice<Vertex>& rows, const std::vector<std::uint64_t>& starts,
                  bool weighted) {
        if (rows.vertices() + 2 * (rows.arcs() / shard_arcs) > id_ring_ref::max_ids) {
            throw usage_error("PE " + std::to_string(pe) + " would own " + std::to_string(rows.vertices()) +
                              " vertices, more than 2147483647: use more devices");
        }
        parts_.emplace_back(runtime_.machine().device(pe), rows, starts, weighted);
    }

    // About one open item for each working warp of the largest device: the threshold rises before devices run dry.
    // More devices want no more, as a search that is short of work is short of it everywhere.
    std::uint64_t default_low_water() {
        std::uint64_t items = 1;
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            const auto& d = *runtime_.machine().device(pe);
            if (d.is_gpu())
                items = std::max(items, static_cast<std::uint64_t>(d.multiprocessors()) * (dense_ ? 24 : 16));
        }
        return items;
    }

    threshold_policy policy_of(const shortest_paths_options& options) {
        threshold_policy policy;
        policy.step = options.delta.value_or(delta_);
        if (policy.step == 0) throw usage_error("delta: expected a number above 0");
        policy.first = options.priorities ? policy.step : ~std::uint64_t{0};
        policy.low_water = options.low_water.value_or(default_low_water());
        return policy;
    }

    template <class Search>
    bool run_with(std::unique_ptr<Search>& cached, std::span<const std::uint64_t> sources,
                  const threshold_policy& policy, bool fused, shortest_paths_result& result) {
        if (!cached) cached = std::make_unique<Search>(runtime_, parts_, vertices_);
        return cached->run(sources, policy, fused, result);
    }

    runtime& runtime_;
    std::uint64_t vertices_;
    std::optional<division<Vertex>> division_;
    std::vector<search_part<Vertex>> parts_;
    std::uint64_t delta_ = 1;       ///< where the options do not say it
    double partition_seconds_ = 0;  ///< for the first result: later ones have not waited for it
    bool needs_wide_ = false;
    bool dense_ = false;  ///< many arcs a vertex: memory, not the length of paths, sets the pace
    std::unique_ptr<search<Vertex, std::uint32_t>> narrow_;
    std::unique_ptr<search<Vertex, std::uint32_t, 24>> narrow_dense_;
    std::unique_ptr<search<Vertex, std::uint64_t>> wide_;
};

std::shared_ptr<shortest_paths_solver::implementation> make_solver(runtime& runtime, const graph::graph& graph,
                                                                   const shortest_paths_options& options) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<shortest_paths_solver::implementation> {
            return std::make_shared<solver<Vertex>>(runtime, g, uses_weights(graph, options), options.parts);
        },
        graph.arcs);
}

}  // namespace

shortest_paths_solver::shortest_paths_solver(const graph::graph& graph, const shortest_paths_options& options)
    : options_(options), runtime_(std::make_unique<runtime>(options.job)),
      implementation_(make_solver(*runtime_, graph, options)) {}

shortest_paths_solver::~shortest_paths_solver() = default;
shortest_paths_solver::shortest_paths_solver(shortest_paths_solver&&) noexcept = default;

shortest_paths_result shortest_paths_solver::run(std::span<const std::uint64_t> sources) {
    return implementation_->run(sources, options_);
}

shortest_paths_result shortest_paths(const graph::graph& graph, std::span<const std::uint64_t> sources,
                                     const shortest_paths_options& options) {
    return shortest_paths_solver(graph, options).run(sources);
}

shortest_paths_result shortest_paths(resident_graph& graph, std::span<const std::uint64_t> sources,
                                     const shortest_paths_options& options) {
    return graph.with<shortest_paths_solver::implementation>(
        uses_weights(graph.host(), options) ? 1 : 0, options.parts,
        [&](runtime& devices) { return make_solver(devices, graph.host(), options); },
        [&](auto& solver) { return solver.run(sources, options); });
}

}  // namespace laneway::apps
