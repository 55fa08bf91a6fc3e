#include "near_far.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "graph/graph_part.hpp"
#include "laneway/flow/halo_copies_memory.hpp"
#include "laneway/flow/item_worklist.hpp"
#include "laneway/runtime.hpp"
#include "near_far_items.hpp"
#include "search_options.hpp"

namespace laneway::apps {

namespace {

using clock = std::chrono::steady_clock;

bool uses_weights(const graph::graph& graph, const near_far_options& options) {
    return graph.weighted() && !options.unit_weights;
}

class searcher {
public:
    virtual ~searcher() = default;
    virtual near_far_result run(std::span<const std::uint64_t> sources, const near_far_options& options) = 0;
};

/// One PE's rows, distances and halo copies.
template <class Vertex>
struct near_far_part {
    near_far_part(const std::shared_ptr<device>& owner, const graph::csr_slice<Vertex>& rows,
                  const std::vector<std::uint64_t>& starts, bool weighted)
        : graph(owner, rows, starts, weighted), distances(owner, rows.vertices()),
          halo(owner, starts.back(), static_cast<int>(starts.size()) - 1) {}

    [[nodiscard]] near_far_application<Vertex> application() const {
        return {graph.rows(), distances.data(), halo.ref()};
    }

    graph_part<Vertex> graph;
    buffer<std::uint64_t> distances;
    halo_copies<std::uint64_t> halo;
};

template <class Vertex>
class near_far_searcher final : public searcher {
public:
    near_far_searcher(runtime& runtime, const graph::basic_csr<Vertex>& g, bool weighted,
                      std::span<const std::uint32_t> parts)
        : runtime_(runtime), delta_(default_delta(g, weighted)) {
        const auto start = clock::now();
        division_.emplace(g, parts, static_cast<std::uint64_t>(runtime.n_pes()),
                          [&](int pe, const graph::csr_slice<Vertex>& rows, const auto& starts) {
                              require_short_rows(rows);
                              parts_.emplace_back(runtime.machine().device(pe), rows, starts, weighted);
                              max_rows_ = std::max(max_rows_, rows.vertices());
                          });
        partition_seconds_ = std::chrono::duration<double>(clock::now() - start).count();
    }

    near_far_result run(std::span<const std::uint64_t> sources, const near_far_options& options) override {
        const item_worklist_options sizes = options_of(options);
        std::vector<near_far_application<Vertex>> applications;
        for (auto& part : parts_) applications.push_back(part.application());
        item_worklist<near_far_application<Vertex>> list(runtime_.machine(), applications, sizes);
        start(places_of(sources, *division_), list);
        near_far_result result;
        result.report = run_items(runtime_, list);
        result.work = list.work();
        result.delta = sizes.policy.step;
        result.partition_seconds = std::exchange(partition_seconds_, 0);
        collect(result);
        return result;
    }

private:
    static void require_short_rows(const graph::csr_slice<Vertex>& rows) {
        for (std::uint64_t row = 0; row < rows.vertices(); ++row) {
            if (rows.offsets[row + 1] - rows.offsets[row] < 0xfffffffe) continue;
            throw usage_error("a vertex has 4294967294 arcs or more, which are too many for one item");
        }
    }

    item_worklist_options options_of(const near_far_options& options) const {
        item_worklist_options list;
        list.policy.step = options.delta.value_or(delta_);
        if (list.policy.step == 0) throw usage_error("delta: expected a number above 0");
        list.policy.first = list.policy.step;
        list.policy.low_water = options.low_water.value_or(1);
        list.priorities = options.priorities;
        list.fused = options.fused;
        // Of each kind, near and far, in the PE's memory.
        constexpr std::uint64_t most = channel_queue_ref::max_width;
        list.items = options.items.value_or(std::clamp<std::uint64_t>(4 * max_rows_, 1024, most));
        list.reserve_items = options.reserve_items.value_or(std::min(2 * list.items, most));
        using entry = typename receive_item<near_far_application<Vertex>>::entry;
        list.overflow_items =
            std::max<std::uint64_t>(1, options.overflow_bytes / (sizeof(entry) * parts_.size()));  // 0 is the default
        return list;
    }

    void start(const std::vector<std::uint64_t>& places, item_worklist<near_far_application<Vertex>>& list) {
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            near_far_part<Vertex>& part = parts_[p];
            part.halo.reset();
            if (part.distances.size() > 0) part.distances.fill_bytes(0xff);
            std::vector<near_far_item> items;
            for (const std::uint64_t place : places) {
                const std::uint64_t row = place - part.graph.first();
                if (row >= part.graph.count()) continue;
                const std::uint64_t none = 0;
                part.distances.copy_in(&none, 1, row);
                items.push_back({0, place});
            }
            list.start_with(static_cast<int>(p), items);
        }
    }

    void collect(near_far_result& result) const {
        for (const auto& part : parts_) {
            for (const std::uint64_t distance : part.distances.copy_out()) {
                result.distance.push_back(static_cast<std::int64_t>(distance));  // all ones is -1
                result.min_items += ~distance != 0 ? 1 : 0;
            }
        }
        result.distance = division_->by_vertex(std::move(result.distance));
    }

    runtime& runtime_;
    std::optional<division<Vertex>> division_;
    std::vector<near_far_part<Vertex>> parts_;
    std::uint64_t max_rows_ = 0;
    std::uint64_t delta_;
    double partition_seconds_ = 0;
};

std::shared_ptr<searcher> make_searcher(runtime& runtime, const graph::graph& graph, const near_far_options& options) {
    return std::visit(
        [&]<class Vertex>(const graph::basic_csr<Vertex>& g) -> std::shared_ptr<searcher> {
            return std::make_shared<near_far_searcher<Vertex>>(runtime, g, uses_weights(graph, options), options.parts);
        },
        graph.arcs);
}

}  // namespace

near_far_result near_far(const graph::graph& graph, std::span<const std::uint64_t> sources,
                         const near_far_options& options) {
    runtime devices(options.job);
    return make_searcher(devices, graph, options)->run(sources, options);
}

near_far_result near_far(resident_graph& graph, std::span<const std::uint64_t> sources,
                         const near_far_options& options) {
    return graph.with<searcher>(
        uses_weights(graph.host(), options) ? 1 : 0, options.parts,
        [&](runtime& devices) { return make_searcher(devices, graph.host(), options); },
        [&](searcher& found) { return found.run(sources, options); });
}

}  // namespace laneway::apps
