// Triggered operations at the three levels of GPU-TN (LeBeane and others, SC 2017): each lane, each group of lanes, or
// the whole kernel sets off a transfer that the host has prepared. Then a ring all-reduce that was prepared once and
// runs five times by triggers alone. And a message whose handler runs when the transfer that it was prepared with is
// there. first_trigger.cpp is the shortest program.
//
// Usage: triggers [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/run/schedules/ring_all_reduce.hpp"
#include "laneway/runtime.hpp"

namespace example {

constexpr std::uint32_t items = 64;  ///< of work, on each PE
constexpr std::uint32_t groups = 8;  ///< of as many items each
constexpr std::uint32_t group_items = items / groups;

/// Tags of a PE. Lanes do not know where the data goes: that is the host's business.
constexpr std::uint32_t item_tag = 0, group_tag = items, kernel_tag = group_tag + groups, n_tags = kernel_tag + 1;

/// Computes all items of the PE, and triggers each, its group, and the kernel's tag.
struct compute {
    lw::symmetric_ref<std::uint32_t> results;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        for (std::uint64_t item = ctx.local_rank(); item < items; item += ctx.local_size()) {
            const auto i = static_cast<std::uint32_t>(item);
            results.local(ctx)[item] = i * i + static_cast<std::uint32_t>(ctx.pe());
            // What fails ends the run.
            (void)triggers.trigger(ctx, item_tag + i);                 // work-item: this result goes
            (void)triggers.trigger(ctx, group_tag + i / group_items);  // work-group: with the last item of a group
            (void)triggers.trigger(ctx, kernel_tag);                   // kernel: with the last item of the PE
        }
    }
};

void show_levels(lw::runtime& runtime) {
    const auto results = runtime.allocate<std::uint32_t>(items);
    const auto by_item = runtime.allocate<std::uint32_t>(items), by_group = runtime.allocate<std::uint32_t>(items);
    const auto by_kernel = runtime.allocate<std::uint32_t>(items);
    const auto arrived = runtime.allocate<std::uint64_t>(3);
    auto triggers = runtime.triggers({.tags = n_tags});
    for (int pe = 0; pe < runtime.n_pes(); ++pe) {
        const int next = (pe + 1) % runtime.n_pes();
        const auto put = [&](const lw::symmetric_array<std::uint32_t>& to, std::uint32_t first, std::uint32_t count,
                             std::uint64_t level) {
            return lw::trigger_operation::put(results.ref(), first, count, to.ref(), first, next)
                .signal(arrived.ref()[level]);
        };
        for (std::uint32_t i = 0; i < items; ++i) triggers.prepare(pe, item_tag + i, 1, put(by_item, i, 1, 0));
        for (std::uint32_t g = 0; g < groups; ++g) {
            triggers.prepare(pe, group_tag + g, group_items, put(by_group, g * group_items, group_items, 1));
        }
        triggers.prepare(pe, kernel_tag, items, put(by_kernel, 0, items, 2));
    }
    runtime.run(compute{results.ref()}, triggers);  // returns when all that was triggered is there
    bool same = triggers.waiting().empty();
    for (int pe = 0; pe < runtime.n_pes(); ++pe) {
        const auto wanted = results.copy_out((pe + runtime.n_pes() - 1) % runtime.n_pes());
        same = same && by_item.copy_out(pe) == wanted && by_group.copy_out(pe) == wanted &&
               by_kernel.copy_out(pe) == wanted;
    }
    const auto signals = arrived.copy_out(0);
    std::cout << "transfers to PE 0: " << signals[0] << " by items, " << signals[1] << " by groups, " << signals[2]
              << " by kernels, " << (same ? "all there" : "WRONG") << '\n';
}

/// Sums up a number of each PE, five times.
struct reduce {
    lw::ring_all_reduce_ref ring;
    lw::symmetric_ref<std::uint64_t> sum;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.local_rank() != 0) return;  // one lane of each PE
        const auto mine = sum.local(ctx);
        for (std::uint64_t round = 1; round <= 5; ++round) {
            mine[0] = round * (static_cast<std::uint64_t>(ctx.pe()) + 1);
            if (ring.start(ctx, triggers) != lw::status::ok) return;
            if (ring.wait(ctx, triggers, round) != lw::status::ok) return;
        }
    }
};

void show_schedule(lw::runtime& runtime) {
    const auto sum = runtime.allocate<std::uint64_t>(1);
    auto triggers = runtime.triggers();
    const lw::ring_all_reduce<std::uint64_t> ring(runtime.machine(), triggers, sum.ref(), 1);
    runtime.run(reduce{ring.ref(), sum.ref()}, triggers);
    const auto pes = static_cast<std::uint64_t>(runtime.n_pes());
    const std::uint64_t wanted = 5 * pes * (pes + 1) / 2;
    std::cout << "five all-reduces: " << (sum.copy_out(0)[0] == wanted ? "right" : "WRONG") << '\n';
}

/// Tells that the results of a PE are there; its handler adds them up.
struct results_of {
    int pe;
};
struct add_up {
    lw::symmetric_ref<std::uint32_t> results;
    lw::symmetric_ref<std::uint64_t> sum;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const results_of&) const {
        for (std::uint32_t i = 0; i < items; ++i) sum.local(ctx)[0] += results.local(ctx)[i];
    }
};
/// As compute, for the kernel's tag alone.
struct compute_all {
    lw::symmetric_ref<std::uint32_t> results;

    template <class Ctx, class Triggers, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Box&) const {
        for (std::uint64_t item = ctx.local_rank(); item < items; item += ctx.local_size()) {
            results.local(ctx)[item] = static_cast<std::uint32_t>(item) + 1;
            (void)triggers.trigger(ctx, 0);
        }
    }
};

void show_message(lw::runtime& runtime) {
    const auto results = runtime.allocate<std::uint32_t>(items), from_before = runtime.allocate<std::uint32_t>(items);
    const auto sum = runtime.allocate<std::uint64_t>(1);
    const auto box = runtime.mailbox<results_of>(add_up{from_before.ref(), sum.ref()});
    auto triggers = runtime.triggers().with(box);
    for (int pe = 0; pe < runtime.n_pes(); ++pe) {
        const int next = (pe + 1) % runtime.n_pes();
        const auto put = lw::trigger_operation::put(results.ref(), 0, items, from_before.ref(), 0, next);
        triggers.prepare(pe, 0, items, put.start(results_of{pe}));
    }
    runtime.run(compute_all{results.ref()}, triggers, box);
    bool right = true;
    for (int pe = 0; pe < runtime.n_pes(); ++pe) right = right && sum.copy_out(pe)[0] == items * (items + 1) / 2;
    std::cout << "messages behind transfers: " << (right ? "right" : "WRONG") << '\n';
}

}  // namespace example

int main(int argc, char** argv) {
    try {
        lw::options options;
        if (argc > 1) options.devices = argv[1];
        lw::runtime runtime(options);
        example::show_levels(runtime);
        example::show_schedule(runtime);
        example::show_message(runtime);
    } catch (const lw::error& error) {
        std::cerr << "triggers: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
