// The host half of a worklist: keys of a distributed graph's vertices, and the runs that lower them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/flow/halo_copies_memory.hpp"
#include "laneway/flow/item_work.hpp"
#include "laneway/flow/priority_worklist_memory.hpp"
#include "laneway/flow/worklist_ref.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_feed.hpp"

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

/// How far a worklist is that is worked off in several runs.
struct worklist_waves {
    bool goes_on = false;  ///< something waits for another run
    bool looks_through = false;
    std::uint64_t threshold = 0;
    std::uint64_t min_far = ~std::uint64_t{0};  ///< no key that has been put off since the last rise is below
    std::uint64_t rises = 0;
    std::uint64_t count = 0;
    wait_limit limit{wait_limit::seconds(0)};  ///< of all of them together

    /// Behind a run: whether another follows. Where nothing else is left the threshold rises to what waits for it.
    void end(const waiting_ids& left, const threshold_policy& policy) {
        min_far = std::min(min_far, left.min_far);
        goes_on = left.near + left.far > 0;
        looks_through = left.near == 0 && left.far > 0;
        if (!looks_through) return;
        threshold = policy.above(threshold, min_far);
        min_far = ~std::uint64_t{0};
        ++rises;
    }
};

/// The part of a worklist that copies share.
template <class Key, class Application, int Warps>
class worklist_memory final : public session_feed {
public:
    using ref_type = worklist_ref<Key, Application, Warps>;

    worklist_memory(const machine& machine, std::vector<worklist_share<Application>> shares, std::uint64_t vertices,
                    const threshold_policy& first_policy)
        : policy(first_policy), machine_(&machine), shares_(std::move(shares)), vertices_(vertices) {}

    threshold_policy policy;
    bool fused = true;
    std::vector<std::uint64_t> starts;
    Key start_key = 0;

    void begin(machine& machine, const comm_plan& plan, const run_deadline& until) {
        if (&machine != machine_) throw usage_error("a worklist belongs to the runtime whose devices hold its graph");
        if (in_session_) throw usage_error("the worklist belongs to a session that has not been stopped");
        allocate(machine, plan, until);
        if (!waves_.goes_on) start(until);
        waves_.goes_on = false;
        ++waves_.count;
        if (fused) return;
        for (auto& list : lists_) list.begin_wave(waves_.looks_through, waves_.threshold);
    }
    [[nodiscard]] bool has_threshold() const { return policy.first != ~std::uint64_t{0}; }
    /// Of the run, or of the next wave, whose threshold nothing but the host moves.
    [[nodiscard]] threshold_policy current_policy() const {
        threshold_policy now = policy;
        if (!fused) now.first = waves_.threshold;
        return now;
    }
    void end() {
        if (fused) return;
        waiting_ids left;
        for (const auto& list : lists_) list.add_waiting(left);
        waves_.end(left, policy);
        const bool is_virtual = machine_->device(0)->id().kind == device_kind::checked;
        if (!waves_.goes_on || is_virtual || !waves_.limit.is_over()) return;
        waves_.goes_on = false;
        throw timeout_error("deadline passed between two waves of a worklist, after " + std::to_string(waves_.count) +
                            " waves");
    }
    [[nodiscard]] const worklist_waves& waves() const { return waves_; }
    /// The next run is the first of its own, whatever waits.
    void forget_waves() { waves_.goes_on = false; }
    /// Empties all lists, and puts the first ids into them.
    void start(const run_deadline& until) {
        waves_ = {};
        waves_.limit = wait_limit(wait_limit::seconds(until.seconds()));
        waves_.threshold = policy.first;
        for (std::size_t p = 0; p < shares_.size(); ++p) {
            halos_[p].reset();
            lists_[p].reset(policy.first);
            std::vector<std::uint32_t> own;
            for (const std::uint64_t vertex : starts) {
                const std::uint64_t id = vertex - shares_[p].first;
                if (id < shares_[p].count) own.push_back(static_cast<std::uint32_t>(id));
            }
            lists_[p].start_with(own, start_key);
        }
    }
    [[nodiscard]] ref_type ref(int pe) const {
        const auto p = static_cast<std::size_t>(pe);
        const auto& share = shares_[p];
        return {lists_[p].ref(!fused), share.application, share.hubs,      share.ranges,
                share.first,           share.count,       halos_[p].ref(), fused && has_threshold()};
    }
    [[nodiscard]] addressed_message<key_message<Key>> proposal_for(std::uint64_t vertex, Key key) const {
        if (vertex >= vertices_) {
            throw usage_error("vertex " + std::to_string(vertex) + " does not exist: the worklist's graph has " +
                              std::to_string(vertices_));
        }
        if (key >= worklist_word<Key>::unreached) {
            throw usage_error("key " + std::to_string(key) + ": keys are less than " +
                              std::to_string(worklist_word<Key>::unreached));
        }
        std::size_t p = 0;
        while (vertex - shares_[p].first >= shares_[p].count) ++p;
        return {static_cast<int>(p), {key, static_cast<std::uint32_t>(vertex - shares_[p].first)}};
    }
    [[nodiscard]] bool overflowed() const {
        return std::any_of(lists_.begin(), lists_.end(), [](const auto& list) { return list.overflowed(); });
    }
    [[nodiscard]] std::vector<Key> keys(int pe) const {
        const auto p = static_cast<std::size_t>(pe);
        std::vector<Key> all = lists_[p].keys();
        all.resize(shares_[p].count);  // shards of hubs come after
        return all;
    }
    void forget_keys() {
        for (auto& list : lists_) list.forget_keys();
        for (auto& halo : halos_) halo.reset();
    }

    // In a session: what host threads propose comes through its inboxes.
    [[nodiscard]] std::uint64_t filled() const override { return 0; }
    [[nodiscard]] bool any_wait() const override { return false; }
    void attach(machine& machine, const comm_plan& plan) override {
        if (!fused) throw usage_error("a session has no waves: see worklist::set_fused");
        waves_.goes_on = false;
        begin(machine, plan, run_deadline(endless_seconds));
    }
    void connect(resident_program&) override { in_session_ = true; }
    void disconnect(bool) noexcept override { in_session_ = false; }

private:
    static constexpr double endless_seconds = 1e9;

    /// Each working block has rings of its own, so what a run needs depends on its grids.
    void allocate(machine& machine, const comm_plan& plan, const run_deadline& until) {
        std::vector<std::uint32_t> rings;
        for (const auto& grid : plan.grids) rings.push_back(grid.worker_blocks());
        if (rings == rings_) return;
        waves_.goes_on = false;
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
    std::vector<std::uint32_t> rings_;  ///< of each PE's list
    std::vector<priority_worklist<Key>> lists_;
    std::vector<halo_copies<Key>> halos_;
    worklist_waves waves_;
    bool in_session_ = false;
};

/// Keys of vertices that start with some and spread over arcs, as `Application` says (worklist_ref.hpp), until none
/// falls any more. A component: `runtime.run(list)`; a body may propose keys as well. For one run at a time, or for one
/// session, `runtime.start(list)`, in which host threads propose keys. A handle: copies are the same list.
template <class Key, class Application, int Warps = 16>
class worklist {
    using memory = worklist_memory<Key, Application, Warps>;

public:
    using ref_type = worklist_ref<Key, Application, Warps>;

    /// One share a PE of the machine. The graph has `vertices`. Work below the policy's threshold runs, the rest waits.
    /// Throws usage_error for a threshold that rises by steps of 0.
    worklist(const machine& machine, std::vector<worklist_share<Application>> shares, std::uint64_t vertices,
             const threshold_policy& policy)
        : memory_(std::make_shared<memory>(machine, std::move(shares), vertices, rising(policy))) {}

    /// The next run or session starts with these vertices, which have one key; waves that an earlier run has left are
    /// given up, here and by the other setters. Throws usage_error for a vertex or a key that cannot be.
    void start_with(std::vector<std::uint64_t> vertices, Key key = 0) {
        std::sort(vertices.begin(), vertices.end());
        vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
        if (!vertices.empty()) (void)memory_->proposal_for(vertices.back(), key);
        memory_->starts = std::move(vertices);
        memory_->start_key = key;
        memory_->forget_waves();
    }

    /// Of the next runs and sessions.
    void set_policy(const threshold_policy& policy) {
        memory_->policy = rising(policy);
        memory_->forget_waves();
    }

    /// Whether one run does all, as is the default; else each run does what waited when it began, and run_keys starts
    /// one after the other. Not for sessions.
    void set_fused(bool fused) {
        memory_->fused = fused;
        memory_->forget_waves();
    }
    /// Runs that the last call of run_keys has taken.
    [[nodiscard]] std::uint64_t waves() const { return memory_->waves().count; }
    [[nodiscard]] std::uint64_t rises() const { return memory_->waves().rises; }
    /// Whether something waits for another run.
    [[nodiscard]] bool goes_on() const { return memory_->waves().goes_on; }

    /// Key of every vertex of a PE after a run, or an epoch of a session that its own thread asks for; there
    /// worklist_word<Key>::unreached where it has none.
    [[nodiscard]] std::vector<Key> keys(int pe) const { return memory_->keys(pe); }

    /// Whether a key that does not fit was proposed in the last run or session: then keys are greater than they could
    /// be, or missing.
    [[nodiscard]] bool overflowed() const { return memory_->overflowed(); }

    // In a session.

    /// What makes `session.post` propose a key for a vertex of the graph. Any thread. Throws usage_error for a vertex
    /// or a key that cannot be.
    [[nodiscard]] addressed_message<key_message<Key>> proposal(std::uint64_t vertex, Key key) const {
        return memory_->proposal_for(vertex, key);
    }
    /// From here on no vertex has a key. The thread of the session, when nothing is left: behind quiesce, while no
    /// other thread posts.
    void forget_keys() { memory_->forget_keys(); }

    // As a component, see run/component.hpp.

    /// Empties the list, and puts the first vertices into it. Throws usage_error for another runtime's machine.
    void begin(machine& machine, const comm_plan& plan, const run_deadline& until) {
        memory_->begin(machine, plan, until);
    }
    [[nodiscard]] ref_type ref(int pe) const { return memory_->ref(pe); }
    [[nodiscard]] bool has_threshold() const { return memory_->has_threshold(); }
    [[nodiscard]] threshold_policy policy() const { return memory_->current_policy(); }
    void end(const run_report&) { memory_->end(); }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return memory_; }

private:
    static const threshold_policy& rising(const threshold_policy& policy) {
        if (policy.first != ~std::uint64_t{0} && policy.step == 0) {
            throw usage_error("threshold_policy: expected a step above 0 where there is a first threshold");
        }
        return policy;
    }

    std::shared_ptr<memory> memory_;
};

/// Runs until no key falls any more: one run, or, where the list is not fused, as many as there are waves. The report
/// is that of all of them. Throws as runtime::run does.
template <class Runtime, class Key, class Application, int Warps>
run_report run_keys(Runtime& runtime, worklist<Key, Application, Warps>& list) {
    run_report all = runtime.run(list);
    while (list.goes_on()) add_run(all, runtime.run(list));
    all.rises += list.rises();
    return all;
}

}  // namespace laneway
