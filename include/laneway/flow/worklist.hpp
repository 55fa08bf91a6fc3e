// The host half of a worklist: keys of a distributed graph's vertices, and the runs that lower them.
#pragma once

#include <algorithm>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/flow/halo_copies_memory.hpp"
#include "laneway/flow/priority_worklist_memory.hpp"
#include "laneway/flow/worklist_ref.hpp"
#include "laneway/run/component_host.hpp"

namespace laneway {

/// What a PE owns of the graph.
template <class Application>
struct worklist_share {
    Application application;
    vertex_ranges ranges;
    std::uint64_t first = 0;  ///< vertices [first, first + count)
    std::uint64_t count = 0;
    hub_shards_ref hubs;
    std::uint64_t shards = 0;  ///< of hubs
};

/// Keys of vertices that start with some and spread over arcs, as `Application` says (worklist_ref.hpp), until none
/// falls any more. A component: `runtime.run(list)`; a body may propose keys as well. For one run at a time.
template <class Key, class Application, int Warps = 16>
class worklist {
public:
    using ref_type = worklist_ref<Key, Application, Warps>;

    /// One share a PE of the machine. The graph has `vertices`. Work below the policy's threshold runs, the rest waits.
    worklist(const machine& machine, std::vector<worklist_share<Application>> shares, std::uint64_t vertices,
             const threshold_policy& policy)
        : machine_(&machine), shares_(std::move(shares)), vertices_(vertices), policy_(policy) {}

    /// The next run starts with these vertices, distinct ones, which have one key.
    void start_with(std::vector<std::uint64_t> vertices, Key key = 0) {
        starts_ = std::move(vertices);
        start_key_ = key;
    }

    /// Of the next runs.
    void set_policy(const threshold_policy& policy) { policy_ = policy; }

    /// Empties the list, and puts the first vertices into it. Throws usage_error for another runtime's machine.
    void begin(machine& machine, const comm_plan& plan, const run_deadline& until) {
        if (&machine != machine_) throw usage_error("a worklist belongs to the runtime whose devices hold its graph");
        allocate(machine, plan, until);
        for (std::size_t p = 0; p < shares_.size(); ++p) {
            halos_[p].reset();
            lists_[p].reset(policy_.first);
            std::vector<std::uint32_t> own;
            for (const std::uint64_t vertex : starts_) {
                const std::uint64_t id = vertex - shares_[p].first;
                if (id < shares_[p].count) own.push_back(static_cast<std::uint32_t>(id));
            }
            lists_[p].start_with(own, start_key_);
        }
    }
    [[nodiscard]] ref_type ref(int pe) const {
        const auto p = static_cast<std::size_t>(pe);
        const auto& share = shares_[p];
        return {lists_[p].ref(), share.application, share.hubs,     share.ranges,
                share.first,     share.count,       halos_[p].ref()};
    }
    [[nodiscard]] threshold_policy policy() const { return policy_; }

    /// Key of every vertex of a PE after a run; worklist_word<Key>::unreached where it has none.
    [[nodiscard]] std::vector<Key> keys(int pe) const {
        const auto p = static_cast<std::size_t>(pe);
        std::vector<Key> all = lists_[p].keys();
        all.resize(shares_[p].count);  // shards of hubs come after
        return all;
    }

private:
    /// Each working block has rings of its own, so what a run needs depends on its grids.
    void allocate(machine& machine, const comm_plan& plan, const run_deadline& until) {
        std::vector<std::uint32_t> rings;
        for (const auto& grid : plan.grids) rings.push_back(grid.worker_blocks());
        if (rings == rings_) return;
        rings_.clear();
        lists_.clear();
        halos_.clear();
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            (void)until.left();
            const auto p = static_cast<std::size_t>(pe);
            lists_.emplace_back(machine.device(pe), shares_[p].count + shares_[p].shards, rings[p]);
            halos_.emplace_back(machine.device(pe), vertices_, machine.n_pes());
        }
        rings_ = std::move(rings);
    }

    const machine* machine_;
    std::vector<worklist_share<Application>> shares_;
    std::uint64_t vertices_;
    threshold_policy policy_;
    std::vector<std::uint64_t> starts_;
    Key start_key_ = 0;
    std::vector<std::uint32_t> rings_;  ///< of each PE's list
    std::vector<priority_worklist<Key>> lists_;
    std::vector<halo_copies<Key>> halos_;
};

}  // namespace laneway
