// What a PE has created and completed: its messages, its body's warps, and the work of its components.
#pragma once

#include "laneway/comm/termination.hpp"
#include "laneway/run/component.hpp"

namespace laneway {

/// The messages of a PE and the `initial` warps that run its body, for the termination detector: all that most programs
/// count. Those of runs before are in all counters, and in `initial`. `NonGenerating`: handlers post nothing, so a PE
/// whose bodies have all returned creates no work.
template <class Ctx, bool NonGenerating>
struct message_counters {
    const links_ref& links;
    std::uint64_t initial;

    static constexpr bool non_generating = NonGenerating;

    LANEWAY_FN bool is_passive(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>,
                    [&] { return ctx.load(&links.work->completed, order::relaxed, scope::device) == initial; });
    }

    LANEWAY_FN termination_reply look(Ctx& ctx) const {
        termination_reply sum;
        add_completed(ctx, sum);
        // The other lanes read what has been created after this: what was completed had been created by then, and where
        // all bodies are seen to have returned it is final.
        ctx.sync(full_warp<Ctx>);
        add_created(ctx, sum);
        std::uint64_t sums[] = {sum.served, sum.completed, sum.created};
        warp_sums(ctx, sums);
        termination_reply all;
        all.served = sums[0];
        all.completed = all.served + sums[1];
        all.created = initial + sums[2];
        if (non_generating) all.active = initial - sums[1];
        return all;
    }

    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}

    /// Each lane adds its part: bodies that have returned and messages that have been served,
    LANEWAY_FN void add_completed(Ctx& ctx, termination_reply& sum) const { add(ctx, 0, created_words, sum); }
    /// and then all that they have created.
    template <class Reply>
    LANEWAY_FN void add_created(Ctx& ctx, Reply& sum) const {
        add(ctx, created_words, own_words + ctx.n_pes(), sum);
    }

private:
    static constexpr int created_words = 4;  ///< the first of them
    static constexpr int own_words = 6;

    /// Adds up counters from `first` up to `last`. They are loaded at once, each by another lane where there are
    /// enough: an acquire load waits for its answer before the next may start.
    template <class Reply>
    LANEWAY_FN void add(Ctx& ctx, int first, int last, Reply& sum) const {
        for (int word = first + ctx.lane(); word < last; word += Ctx::warp_lanes) {
            work_counters& work = *links.work;
            const std::uint64_t* at = word < own_words ? &work.completed : &links.sent[word - own_words].messages;
            if (word == 1) at = &work.forwarded;
            if (word == 2) at = &work.served;
            if (word == 3) at = &work.replies_served;
            if (word == 4) at = &work.deferred;
            if (word == 5) at = &work.replied;
            // Partners: the release adds of servers and workers. What they created is counted later.
            const std::uint64_t value = ctx.load(at, order::acquire, scope::device);
            sum.completed += word <= 1 ? value : 0;
            sum.served += word == 2 || word == 3 ? value : 0;
            sum.created += word >= created_words ? value : 0;
            if constexpr (std::is_same_v<Reply, fed_reply>) sum.carried += word > created_words ? value : 0;
        }
    }
};

/// The same where components count work of their own, or take it from the host.
template <class Ctx, class List, class... Views>
struct pe_counters {
    message_counters<Ctx, false> messages;
    const view_list<Views...>& views;

    static constexpr bool components_count = (counts_work<Views> || ...);
    static constexpr bool non_generating = !List::forwards && !List::replies && !components_count;
    static constexpr bool fed_by_host = (takes_from_host<Views> || ...);
    using reply = std::conditional_t<fed_by_host, fed_reply, keyed_reply>;

    LANEWAY_FN auto look(Ctx& ctx) const {
        if constexpr (!components_count) {
            return message_counters<Ctx, non_generating>{messages.links, messages.initial}.look(ctx);
        } else {
            reply sum;
            messages.add_completed(ctx, sum);
            of_components([&](const auto& view) { view.add_completed(ctx, sum); });
            ctx.sync(full_warp<Ctx>);  // as in message_counters::look
            messages.add_created(ctx, sum);
            of_components([&](const auto& view) { view.add_created(ctx, sum); });
            if constexpr (fed_by_host) {
                views.each([&](const auto& view) {
                    if constexpr (requires { view.add_epoch(ctx, sum); }) view.add_epoch(ctx, sum);
                });
            }
            return total(ctx, sum);
        }
    }
    LANEWAY_FN bool is_passive(Ctx& ctx) const { return messages.is_passive(ctx); }

    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        views.each([&]<class View>(const View& view) {
            if constexpr (takes_from_host<View>) view.take_from_host(ctx, orders);
        });
    }

    LANEWAY_FN void apply(Ctx& ctx, std::uint64_t threshold) const {
        of_components([&](const auto& view) { view.apply(ctx, threshold); });
    }

private:
    template <class Use>
    LANEWAY_FN void of_components([[maybe_unused]] Use&& use) const {
        if constexpr (components_count) {
            views.each([&]<class View>(const View& view) {
                if constexpr (counts_work<View>) use(view);
            });
        }
    }

    /// The PE's counters, from each lane's part of them.
    LANEWAY_FN reply total(Ctx& ctx, const reply& part) const {
        reply all;
        std::uint64_t sums[] = {part.served, part.completed, part.created, part.deferred, part.active, part.kept};
        warp_sums(ctx, sums);
        static_cast<termination_reply&>(all) = {messages.initial + sums[2], sums[0] + sums[1], sums[3], sums[4],
                                                sums[0]};
        all.kept = sums[5];
        all.least = warp_min(ctx, part.least);
        if constexpr (fed_by_host) {
            std::uint64_t of_epochs[] = {part.carried, part.taken, part.host_served};
            warp_sums(ctx, of_epochs);
            all.carried = of_epochs[0];
            all.taken = of_epochs[1];
            all.host_served = of_epochs[2];
        }
        return all;
    }
};

/// What a program of these components counts.
template <class Ctx, class List, class... Views>
LANEWAY_FN auto counters_of(const links_ref& links, std::uint64_t initial, const view_list<Views...>& views) {
    using all = pe_counters<Ctx, List, Views...>;
    if constexpr (all::components_count || all::fed_by_host) {
        return all{{links, initial}, views};
    } else {
        return message_counters<Ctx, all::non_generating>{links, initial};
    }
}

}  // namespace laneway
