// Searches on one distributed graph, for one choice of vertex and key types.
#pragma once

#include <span>

#include "graph/graph_part.hpp"
#include "laneway/flow/hub_shards_memory.hpp"
#include "laneway/flow/worklist.hpp"
#include "laneway/graph/light_first.hpp"
#include "laneway/runtime.hpp"
#include "relax_arcs.hpp"
#include "shortest_paths.hpp"

namespace laneway::apps {

/// What a search needs of one PE.
template <class Vertex>
struct search_part {
    /// The light arcs of hubs come first: the others need not be looked at before a hub's distance is final.
    search_part(const std::shared_ptr<device>& owner, const graph::csr_slice<Vertex>& rows,
                const std::vector<std::uint64_t>& starts, bool weighted)
        : search_part(owner, starts, weighted, weighted ? graph::light_first<Vertex>(rows, shard_arcs).rows() : rows) {}

    template <class Key>
    [[nodiscard]] worklist_share<relax_arcs<Vertex, Key>> share() const {
        const graph_rows<Vertex> rows = graph.rows();
        const bool weighted = rows.weights != nullptr;
        return {{rows.offsets, rows.heads, weighted ? rows.weights : unit.data(), weighted ? ~std::uint64_t{0} : 0},
                rows.ranges,
                rows.first,
                rows.count,
                hubs.ref(),
                hubs.shards()};
    }

    graph_part<Vertex> graph;
    hub_shards hubs;
    buffer<std::uint32_t> unit;  ///< the weight of arcs that have none of their own

private:
    search_part(const std::shared_ptr<device>& owner, const std::vector<std::uint64_t>& starts, bool weighted,
                const graph::csr_slice<Vertex>& rows)
        : graph(owner, rows, starts, weighted),
          hubs(owner, rows.offsets, weighted ? rows.weights : std::span<const std::uint32_t>{}), unit(owner, 1) {
        unit.copy_in(std::vector<std::uint32_t>{1});
    }
};

template <class Vertex, class Key, int Warps = 16>
class search {
public:
    search(runtime& runtime, std::vector<search_part<Vertex>>& parts, std::uint64_t vertices)
        : runtime_(runtime), parts_(parts), list_(runtime.machine(), shares(parts), vertices, {}) {}

    /// Fills `distance`, indexed as the parts are. False where a distance did not fit the key.
    bool run(std::span<const std::uint64_t> sources, const threshold_policy& policy, bool fused,
             shortest_paths_result& result) {
        list_.set_policy(policy);
        list_.set_fused(fused);
        list_.start_with({sources.begin(), sources.end()});
        result.report = run_keys(runtime_, list_);
        result.waves = list_.waves();
        result.items = result.report.items;
        result.key_bits = static_cast<int>(sizeof(Key) * 8);
        if (list_.overflowed()) return false;
        collect(result);
        return true;
    }

private:
    static std::vector<worklist_share<relax_arcs<Vertex, Key>>> shares(const std::vector<search_part<Vertex>>& parts) {
        std::vector<worklist_share<relax_arcs<Vertex, Key>>> all;
        for (const auto& part : parts) all.push_back(part.template share<Key>());
        return all;
    }

    void collect(shortest_paths_result& result) const {
        result.min_items = 0;
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            auto next = result.distance.begin() +
                        static_cast<std::ptrdiff_t>(parts_[static_cast<std::size_t>(pe)].graph.first());
            for (const Key key : list_.keys(pe)) {
                const bool reached = key != worklist_word<Key>::unreached;
                *next++ = reached ? static_cast<std::int64_t>(key) : -1;
                result.min_items += reached ? 1 : 0;
            }
        }
    }

    runtime& runtime_;
    std::vector<search_part<Vertex>>& parts_;
    worklist<Key, relax_arcs<Vertex, Key>, Warps> list_;
};

}  // namespace laneway::apps
