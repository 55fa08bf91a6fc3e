// The host half of an item worklist: work items of any type on the PEs of a machine, and the runs that do them.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/flow/item_overflow.hpp"
#include "laneway/flow/item_queues_memory.hpp"
#include "laneway/flow/item_work.hpp"
#include "laneway/flow/item_worklist_ref.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_feed.hpp"

namespace laneway {

/// The part of an item worklist that copies share.
template <class Application, int Warps>
class item_worklist_memory final : public session_feed {
public:
    using ref_type = item_worklist_ref<Application, Warps>;
    using item = typename Application::item;

    item_worklist_memory(const machine& machine, std::vector<Application> applications,
                         const item_worklist_options& options)
        : machine_(&machine), applications_(std::move(applications)), options_(options) {
        if (applications_.size() != static_cast<std::size_t>(machine.n_pes()))
            throw usage_error("an item worklist has an application for each of " + std::to_string(machine.n_pes()) +
                              " PEs, not " + std::to_string(applications_.size()));
        check(options_);
        starts_.resize(applications_.size());
    }

    void must_exist(int pe) const {
        if (pe >= 0 && pe < machine_->n_pes()) return;
        throw usage_error("start_with: PE " + std::to_string(pe) + ", where there are 0 to " +
                          std::to_string(machine_->n_pes() - 1));
    }
    void start_with(int pe, const std::vector<item>& items) {
        must_exist(pe);
        auto& entries = starts_[static_cast<std::size_t>(pe)];
        for (const item& one : items) entries.push_back(entry::of(one));
    }

    [[nodiscard]] const item_worklist_options& options() const { return options_; }
    [[nodiscard]] const item_work& work() const { return work_; }

    void begin(machine& machine, const comm_plan& plan, const run_deadline& until) {
        if (&machine != machine_) throw usage_error("an item worklist belongs to the runtime that it was made for");
        if (in_session_) throw usage_error("the item worklist belongs to a session that has not been stopped");
        allocate(machine, plan, until);
        if (!goes_on_) start(until);
        for (std::size_t p = 0; p < queues_.size(); ++p) {
            overflow_->begin(static_cast<int>(p), !options_.fused);
            queues_[p].begin(!options_.fused, looks_through_, threshold_, overflow_->view(static_cast<int>(p)));
            epochs_[p].copy_in(std::vector<std::uint64_t>(epochs_[p].size()));
            // At the start each PE counts as one that has nothing to do: whoever has much shares it out.
            loans_[p].copy_in(std::vector<std::uint32_t>(loans_[p].size(), 1));
        }
        goes_on_ = false;
        ++work_.waves;
    }
    [[nodiscard]] ref_type ref(int pe) const {
        const auto p = static_cast<std::size_t>(pe);
        return {{queues_[p].ref(),
                 {applications_[p]},
                 counters_[p].data(),
                 options_.priorities,
                 options_.priorities && !options_.fused},
                epochs_[p].data(),
                !options_.fused,
                options_.stealing ? loans_[p].data() : nullptr,
                options_.stealing ? loans_[p].data() + machine_->n_pes() : nullptr};
    }
    [[nodiscard]] threshold_policy policy() const {
        threshold_policy policy = options_.policy;
        policy.first = threshold_;
        return policy;
    }
    void end(const run_report& report) {
        work_.rises += report.rises;
        waiting_items left;
        for (const auto& queues : queues_) add(left, queues.waiting());
        note_spilled(left);
        goes_on_ = !options_.fused && next_wave(left);
        read_counters();
        if (!goes_on_) audit(left);
        virtual_ns_ += left.ended_ns;
        if (goes_on_) refuse_late();
    }
    [[nodiscard]] std::string account() const override {
        std::string text;
        for (std::size_t p = 0; p < queues_.size(); ++p) {
            if (!queues_[p].is_lost()) text += told_of(static_cast<int>(p), queues_[p].waiting());
        }
        return text;
    }

    [[nodiscard]] bool goes_on() const { return goes_on_; }

    // In a session: what host threads give comes through its inboxes.
    [[nodiscard]] std::uint64_t filled() const override { return 0; }
    [[nodiscard]] bool any_wait() const override { return false; }
    void attach(machine& machine, const comm_plan& plan) override {
        if (!options_.fused) throw usage_error("item_worklist_options.fused: a session has no waves");
        goes_on_ = false;
        begin(machine, plan, run_deadline(endless_seconds));
    }
    void connect(resident_program&) override { in_session_ = true; }
    void disconnect(bool) noexcept override { in_session_ = false; }
    void audit() override {
        waiting_items left;
        for (const auto& queues : queues_) add(left, queues.waiting());
        note_spilled(left);
        read_counters();
        audit(left);
    }

private:
    static constexpr double endless_seconds = 1e9;

    using entry = typename receive_item<Application>::entry;

    static void check(const item_worklist_options& options) {
        if (options.priorities && options.policy.step == 0)
            throw usage_error("item_worklist_options.policy: expected a step above 0");
        if (options.stealing && !items_move<Application>)
            throw usage_error("item_worklist_options.stealing: the application does not say that its items move");
        if (options.stealing && !options.fused)
            throw usage_error(
                "item_worklist_options.stealing: a wave ends with the items that it began with: fused only");
    }

    /// Each working block has queues of its own, so what a run needs depends on its grids.
    void allocate(machine& machine, const comm_plan& plan, const run_deadline& until) {
        std::vector<std::uint32_t> rings;
        for (const auto& grid : plan.grids) rings.push_back(grid.worker_blocks());
        if (rings == rings_) return;
        rings_.clear();
        queues_.clear();
        counters_.clear();
        epochs_.clear();
        loans_.clear();
        overflow_.reset();
        goes_on_ = are_empty_ = false;
        for (int pe = 0; pe < machine_->n_pes(); ++pe) {
            (void)until.left();
            const auto& device = machine_->device(pe);
            queues_.emplace_back(device, sizeof(entry), rings[static_cast<std::size_t>(pe)], machine_->n_pes(),
                                 options_);
            counters_.emplace_back(device, 1);
            epochs_.emplace_back(device, static_cast<std::size_t>(machine_->n_pes()));
            loans_.emplace_back(device, static_cast<std::size_t>(2 * machine_->n_pes()));
        }
        overflow_ = std::make_shared<item_overflow<entry>>(machine);
        machine.attach(overflow_);
        rings_ = std::move(rings);
    }

    void start(const run_deadline& until) {
        seconds_ = until.seconds();
        limit_ = wait_limit(wait_limit::seconds(seconds_));
        work_ = {};
        begun_ = 0;
        virtual_ns_ = 0;
        // Those that a PE has no room for are gone as well: the next run is one of its own.
        const auto starts = std::exchange(starts_, std::vector<std::vector<entry>>(starts_.size()));
        threshold_ = options_.priorities ? options_.policy.first : ~std::uint64_t{0};
        looks_through_ = false;
        const bool are_empty = std::exchange(are_empty_, false);  // there may be no room for what follows
        for (std::size_t p = 0; p < queues_.size(); ++p) {
            if (!are_empty) queues_[p].clear();
            if (!are_empty) overflow_->clear(static_cast<int>(p));
            counters_[p].copy_in({item_counters{}});
            queues_[p].start_with(reinterpret_cast<const std::byte*>(starts[p].data()), starts[p].size());
            begun_ += starts[p].size();
        }
        min_far_ = ~std::uint64_t{0};
    }

    /// Whether there is one; where nothing else is left the threshold rises to what waits for it.
    bool next_wave(const waiting_items& left) {
        min_far_ = std::min(min_far_, left.min_far);
        looks_through_ = left.far > 0 && left.far == left.all();
        if (looks_through_) {
            threshold_ = options_.policy.above(threshold_, min_far_);
            min_far_ = ~std::uint64_t{0};
            ++work_.rises;
        }
        return left.all() > 0;
    }

    /// Nothing has been left: the next run goes on with the queues as they are.
    void audit(const waiting_items& left) {
        work_.audit(left);
        are_empty_ = true;
    }

    void note_spilled(const waiting_items& left) {
        work_.spilled = left.spilled;
        work_.overflowed = left.overflowed;
    }

    void read_counters() {
        item_counters sum;
        for (const auto& counters : counters_) item_work::add(sum, counters.copy_out()[0]);
        work_.take(sum);
        work_.started = begun_ + sum.started;
    }

    /// The deadline is that of all waves together. Virtual time begins anew with each, and stands still between them.
    void refuse_late() {
        const bool is_virtual = machine_->device(0)->id().kind == device_kind::checked;
        if (is_virtual ? static_cast<double>(virtual_ns_) * 1e-9 < seconds_ : !limit_.is_over()) return;
        goes_on_ = false;
        throw timeout_error("deadline passed between two waves of an item worklist, after " +
                            std::to_string(work_.waves) + " waves" + account());
    }

    const machine* machine_;
    std::vector<Application> applications_;
    item_worklist_options options_;
    std::vector<std::vector<entry>> starts_;
    std::vector<std::uint32_t> rings_;  ///< of each PE's queues
    std::vector<item_queues_memory> queues_;
    std::vector<buffer<item_counters>> counters_;
    std::vector<buffer<std::uint64_t>> epochs_;
    std::vector<buffer<std::uint32_t>> loans_;  ///< of each PE: whom it has asked, then who has asked it
    std::shared_ptr<item_overflow<entry>> overflow_;
    bool goes_on_ = false;
    bool are_empty_ = false;      ///< the queues, as the run before has left them
    bool looks_through_ = false;  ///< the next wave looks through what was put off
    std::uint64_t threshold_ = 0;
    std::uint64_t min_far_ = 0;  ///< priority of what has been put off since the last rise
    item_work work_;
    std::uint64_t begun_ = 0;  ///< items with which the host began
    bool in_session_ = false;
    wait_limit limit_{wait_limit::seconds(0)};  ///< of all waves of a run
    std::uint64_t virtual_ns_ = 0;              ///< of the waves so far, on checked devices
    double seconds_ = 0;
};

/// Items that run where they belong and make others, as `Application` says (item_route.hpp), until none is left. A
/// component: run_items(runtime, list), or runtime.run(body, list) with a body that pushes the first items. For one run
/// at a time, or for one session, `runtime.start(list)`, in which host threads give items. A handle: copies are the
/// same list.
template <class Application, int Warps = 16>
class item_worklist {
    using memory = item_worklist_memory<Application, Warps>;

public:
    using ref_type = item_worklist_ref<Application, Warps>;
    using session_ref_type = item_worklist_session_ref<Application, Warps>;
    using item = typename Application::item;

    /// One application a PE of the machine. Throws usage_error where that is not so, and for options that cannot be.
    item_worklist(const machine& machine, std::vector<Application> applications,
                  const item_worklist_options& options = {})
        : memory_(std::make_shared<memory>(machine, std::move(applications), options)) {}

    /// The next run or session starts with these items on a PE, besides those that were given before. They are kept
    /// there as they are: neither on_send nor on_receive is asked, so what on_receive would note of them the caller
    /// does.
    void start_with(int pe, const std::vector<item>& items) { memory_->start_with(pe, items); }

    [[nodiscard]] const item_worklist_options& options() const { return memory_->options(); }
    /// What became of the items of the last run, or of all its waves, or of the last session that has been stopped.
    [[nodiscard]] const item_work& work() const { return memory_->work(); }

    /// What makes `session.post` give an item to a PE, which keeps it as it is: neither on_send nor on_receive is
    /// asked. Any thread. Throws usage_error for a PE that does not exist.
    [[nodiscard]] addressed_message<item_start<Application>> proposal(int pe, const item& made) const {
        memory_->must_exist(pe);
        return {pe, {made}};
    }

    // As a component: see run/component.hpp.

    /// A new run starts with the items that it was given; one that follows a wave goes on with what is left.
    void begin(machine& machine, const comm_plan& plan, const run_deadline& until) {
        memory_->begin(machine, plan, until);
    }
    [[nodiscard]] ref_type ref(int pe) const { return memory_->ref(pe); }
    [[nodiscard]] session_ref_type session_ref(int pe) const { return {memory_->ref(pe)}; }
    [[nodiscard]] bool has_threshold() const { return memory_->options().priorities; }
    [[nodiscard]] threshold_policy policy() const { return memory_->policy(); }
    /// Throws device_fault where the account of items does not add up.
    void end(const run_report& report) { memory_->end(report); }
    [[nodiscard]] std::string account() const { return memory_->account(); }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return memory_; }

    /// Whether items wait for another wave.
    [[nodiscard]] bool goes_on() const { return memory_->goes_on(); }

private:
    std::shared_ptr<memory> memory_;
};

/// Does all items of a list: in one run, or where options.fused is false in as many as there are waves. The report is
/// that of all of them. Throws as runtime::run does.
template <class Runtime, class Application, int Warps>
run_report run_items(Runtime& runtime, item_worklist<Application, Warps>& list) {
    run_report all = runtime.run(list);
    while (list.goes_on()) add_run(all, runtime.run(list));
    return all;
}

}  // namespace laneway
