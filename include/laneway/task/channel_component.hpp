// The host half of a graph of channels, as a component of a run.
#pragma once

#include <bit>

#include "laneway/run/component_host.hpp"
#include "laneway/task/channel_account.hpp"
#include "laneway/task/channel_graph_ref.hpp"
#include "laneway/task/channel_remote_plan.hpp"
#include "laneway/task/channel_scheduling.hpp"
#include "laneway/task/channel_table.hpp"

namespace laneway {

/// Adds a channel for what arrives for each kernel whose elements may move: a dispatch's worth from each of `pes` PEs.
/// Returns the number of the first. Throws usage_error where these are too many channels.
template <class... Kernels>
std::uint32_t add_arrivals(std::vector<channel_plan>& plans, int pes) {
    const auto first = static_cast<std::uint32_t>(plans.size());
    if (pes == 1) return first;
    constexpr std::uint32_t max_lanes = 32;
    const channel_options options{.width = max_lanes, .levels = static_cast<std::uint32_t>(pes), .name = "arrivals"};
    std::uint32_t number = 0;
    const auto add = [&]<class Kernel>() {
        if (moves_elements<Kernel>) plans.push_back({options, sizeof(moved_element<Kernel>), false, true, number});
        ++number;
    };
    (add.template operator()<Kernels>(), ...);
    if (plans.size() > max_channels) {
        throw usage_error("a graph has at most " + std::to_string(max_channels) +
                          " channels, one for what arrives for each kernel whose elements move among them");
    }
    return first;
}

/// Adds the channels that a graph has beside the user's: of what moves, whose first it returns the number of, and of
/// what arrives in rooms. Marks those whose elements take a block.
template <class... Kernels>
std::uint32_t add_inner_channels(std::vector<channel_plan>& plans, int pes, std::uint32_t rooms) {
    std::vector<bool> receives;
    (receives.push_back(receives_elements<Kernels>), ...);
    const std::size_t of_user = plans.size();
    const std::uint32_t first_arrivals = add_arrivals<Kernels...>(plans, pes);
    add_remote(plans, of_user, receives, pes, rooms);
    const bool takes_block[] = {(width_of<Kernels> == task_width::block)...};
    for (auto& plan : plans) plan.takes_block = takes_block[plan.consumer];
    return first_arrivals;
}

/// Says what warps do by themselves, and marks the channels whose elements they, or their blocks, may keep in
/// `stack_bytes`. Elements of what moves or was sent are not kept, as their places are not the warp's.
template <class Policy, class... Kernels>
warp_plan plan_warps(std::vector<channel_plan>& plans, std::uint64_t stack_bytes) {
    warp_plan made{.choose = scheduler_of<Policy> == channel_scheduler::every_warp};
    using view = channel_graph_ref<Policy, Kernels...>;
    if (!view::keeps) return made;
    const bool keeps[] = {element_copy<Kernels...>::template fits<Kernels>...};
    made.stack_bytes = stack_bytes;
    made.by_block = view::blocks_keep;
    made.slot_bytes = sizeof(element_copy<Kernels...>);
    for (auto& plan : plans) {
        plan.is_kept = keeps[plan.consumer] && !plan.is_after && !plan.is_arrivals && plan.rooms_a_pe == 0;
        if (plan.is_after) made.frame_bytes = std::max(made.frame_bytes, plan.element_bytes);
    }
    made.frame_bytes = (made.frame_bytes + 15) / 16 * 16;  // elements are aligned by 16 at most
    return made;
}

/// The view of a PE whose channels have this memory.
template <class Policy, class... Kernels>
channel_graph_ref<Policy, Kernels...> graph_ref_of(const channel_store& store, int pe, const Policy& policy,
                                                   const task_types<Kernels...>& kernels,
                                                   std::uint32_t first_arrivals) {
    const channel_memory& memory = store.memories()[static_cast<std::size_t>(pe)];
    return {memory.ref(),
            policy,
            kernels,
            memory.finished(),
            memory.worker_blocks(),
            {memory.moving(), memory.ref_on_device(), store.requests(), first_arrivals}};
}

/// A graph as a component of runs, as component.hpp says. Refers to its graph, which a run takes once. `numbers`: of
/// the kernels, as the table has them.
template <class Policy, class... Kernels>
class channel_component {
public:
    using ref_type = channel_graph_ref<Policy, Kernels...>;

    static constexpr const char* name = "a graph of channels";

    /// Throws usage_error for a graph that cannot run.
    channel_component(const machine& owner, channel_table& table, channel_store& store,
                      std::vector<std::uint32_t> numbers, graph_use use, const Policy& policy,
                      const task_types<Kernels...>& kernels)
        : owner_(owner), table_(table), store_(store), numbers_(std::move(numbers)), use_(use), policy_(policy),
          kernels_(kernels) {
        (void)table.plans_for(numbers_, use);
    }

    [[nodiscard]] const machine* owner() const { return &owner_; }
    [[nodiscard]] const void* identity() const { return &store_; }
    void take_place(std::uint32_t place) { graph_ = place; }
    void begin(machine& machine, const comm_plan& plan, const run_deadline& until) {
        std::vector<channel_plan> plans = table_.plans_for(numbers_, use_);
        first_arrivals_ = add_inner_channels<Kernels...>(plans, machine.n_pes(), table_.rooms());
        const warp_plan warps = plan_warps<Policy, Kernels...>(plans, table_.stack_bytes());
        store_.prepare(machine, plan, plans, warps, until);
        store_.set_graph(graph_);
        store_.set_boards(plan, scheduler_of<Policy>);
        table_.fill(store_.memories());
        if constexpr (scheduler_of<Policy> == channel_scheduler::host_thread) {
            if (machine.n_processes() > 1) throw usage_error("a thread of the host schedules in jobs of one process");
            using by = channel_scheduling::rank_function;
            const auto made = std::make_shared<channel_scheduling>(
                store_.memories(), by([policy = policy_](const auto&... of) { return channel_rank(policy, of...); }));
            machine.attach(made);
            store_.keep_scheduling(made);
        }
    }
    [[nodiscard]] ref_type ref(int pe) const { return graph_ref_of(store_, pe, policy_, kernels_, first_arrivals_); }
    void end(const run_report&) {
        store_.keep_scheduling(nullptr);
        audit_channels(store_);
        store_.note_emptied();
    }
    [[nodiscard]] std::string account() const { return failure_text(store_, owner_.fault()); }

private:
    const machine& owner_;
    channel_table& table_;
    channel_store& store_;
    std::vector<std::uint32_t> numbers_;
    graph_use use_;
    Policy policy_;
    task_types<Kernels...> kernels_;
    std::uint32_t first_arrivals_ = 0;
    std::uint32_t graph_ = 0;  ///< see channel_in_fault
};

}  // namespace laneway
