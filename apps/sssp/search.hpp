// One distributed graph in device memory and the searches on it, for one choice of vertex and key types.
#pragma once

#include <span>

#include "graph/graph_part.hpp"
#include "laneway/comm/grid.hpp"
#include "laneway/comm/post_office.hpp"
#include "laneway/flow/hub_shards_memory.hpp"
#include "laneway/flow/priority_flow.hpp"
#include "laneway/flow/priority_worklist_memory.hpp"
#include "relax_arcs.hpp"
#include "shortest_paths.hpp"

namespace laneway::apps {

/// What a search needs of one PE beside its rows.
template <class Vertex>
struct search_part {
    search_part(const std::shared_ptr<device>& owner, const graph::csr_slice<Vertex>& rows,
                const std::vector<std::uint64_t>& starts, bool weighted)
        : graph(owner, rows, starts, weighted), hubs(owner, rows.offsets), overflowed(owner, 1) {}

    graph_part<Vertex> graph;
    hub_shards hubs;
    buffer<std::uint32_t> overflowed;
};

template <class Vertex, class Key, int Warps = 16>
class search {
public:
    using program = priority_flow<Key, relax_arcs<Vertex, Key>, Warps>;

    search(machine& machine, const options& job, std::vector<search_part<Vertex>>& parts, std::uint64_t vertices,
           const threshold_policy& policy, const run_deadline& until)
        : machine_(machine), job_(job), parts_(parts), policy_(policy),
          plan_(plan_program<program>(outline_of<program>(machine), job)), office_(machine, job, plan_, until) {
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            (void)until.left();
            const auto p = static_cast<std::size_t>(pe);
            lists_.emplace_back(machine.device(pe), parts[p].graph.count() + parts[p].hubs.shards(),
                                plan_.grids[p].worker_blocks());
            sent_keys_.emplace_back(machine.device(pe), machine.n_pes() > 1 ? vertices : 0);
        }
    }

    /// Fills `distance`, indexed as the parts are. False where a distance did not fit the key.
    bool run(std::span<const std::uint64_t> sources, const run_deadline& until, shortest_paths_result& result) {
        reset(sources);
        std::vector<program> programs;
        std::vector<launch_shape> shapes;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            programs.push_back(make_program(p));
            shapes.push_back(plan_.grids[p].shape);
        }
        const double seconds = machine_.run(programs, shapes, until, [&] { return office_.ring_fills(); });
        result.report = office_.report(seconds);
        result.items = office_.items();
        result.key_bits = static_cast<int>(sizeof(Key) * 8);
        for (const auto& part : parts_) {
            if (part.overflowed.copy_out()[0] != 0) return false;
        }
        collect(result);
        return true;
    }

private:
    void reset(std::span<const std::uint64_t> sources) {
        office_.reset();
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            auto& part = parts_[p];
            part.overflowed.fill_bytes(0);
            if (sent_keys_[p].size() > 0) sent_keys_[p].fill_bytes(0xff);
            lists_[p].reset(policy_.first);
            std::vector<std::uint32_t> own;
            for (const std::uint64_t source : sources) {
                const std::uint64_t id = source - part.graph.first();
                if (id < part.graph.count()) own.push_back(static_cast<std::uint32_t>(id));
            }
            lists_[p].start_with(own, 0);
        }
    }

    program make_program(std::size_t p) const {
        const int pe = static_cast<int>(p);
        const auto& part = parts_[p];
        const graph_rows<Vertex> rows = part.graph.rows();
        program made;
        made.links = office_.links(pe);
        made.chunk_bytes = plan_.chunk_bytes;
        made.waves = office_.waves(pe, policy_);
        made.handlers.routes = {{{lists_[p].ref()}}};
        made.application = {rows.offsets, rows.heads, rows.weights, part.overflowed.data()};
        made.hubs = part.hubs.ref();
        made.ranges = rows.ranges;
        made.first = rows.first;
        made.count = rows.count;
        made.sent_keys = sent_keys_[p].data();
        made.server_blocks = plan_.grids[p].server_blocks;
        return made;
    }

    void collect(shortest_paths_result& result) const {
        result.least_items = 0;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const std::vector<Key> keys = lists_[p].keys();
            for (std::size_t i = 0; i < parts_[p].graph.count(); ++i) {  // shards come after
                const bool reached = keys[i] != worklist_word<Key>::unreached;
                result.distance[parts_[p].graph.first() + i] = reached ? static_cast<std::int64_t>(keys[i]) : -1;
                result.least_items += reached ? 1 : 0;
            }
        }
    }

    machine& machine_;
    options job_;
    std::vector<search_part<Vertex>>& parts_;
    threshold_policy policy_;
    office_plan plan_;
    post_office office_;
    std::vector<priority_worklist<Key>> lists_;
    std::vector<buffer<Key>> sent_keys_;
};

}  // namespace laneway::apps
