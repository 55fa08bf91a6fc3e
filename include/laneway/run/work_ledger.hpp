// What a PE has created and completed: its messages, its body's warps, and the work of its components.
#pragma once

#include "laneway/comm/waves.hpp"
#include "laneway/run/component.hpp"

namespace laneway {

/// Counts a PE's work for the waves: `initial` warps that run the body, messages, posts that handlers made, and what a
/// component counts. Where handlers post nothing and no component has work of its own, a PE whose bodies have all
/// returned creates no work.
template <class Ctx, class List, class... Views>
struct work_ledger {
    const links_ref& links;
    const view_list<Views...>& views;
    std::uint64_t initial;

    static constexpr bool components_count = (counts_work<Views> || ...);
    static constexpr bool closed = !List::posts_onward && !List::replies && !components_count;
    static constexpr bool fed_by_host = (takes_from_host<Views> || ...);
    using reply = std::conditional_t<components_count, keyed_reply, wave_reply>;

    LANEWAY_FN bool at_rest(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>,
                    [&] { return ctx.load(&links.work->completed, order::relaxed, scope::device) == initial; });
    }

    LANEWAY_FN reply look(Ctx& ctx) const {
        reply sum;
        add(ctx, 0, 1, sum);
        of_components([&](const auto& view) { view.add_completed(ctx, sum); });
        // Where closed, what bodies have created is final when all are seen to have returned: it is read after them.
        if constexpr (closed || components_count) ctx.sync(full_warp<Ctx>);
        add(ctx, 1, own_words + ctx.n_pes(), sum);
        of_components([&](const auto& view) { view.add_created(ctx, sum); });
        return total(ctx, sum);
    }

    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        views.each([&]<class View>(const View& view) {
            if constexpr (takes_from_host<View>) view.take_from_host(ctx, orders);
        });
    }

    LANEWAY_FN void apply(Ctx& ctx, std::uint64_t threshold) const {
        of_components([&](const auto& view) { view.apply(ctx, threshold); });
    }

private:
    static constexpr int own_words = 6;

    /// Adds up counters `first` to `last`. They are loaded at once, each by another lane where there are enough: an
    /// acquire load waits for its answer before the next may start.
    LANEWAY_FN void add(Ctx& ctx, int first, int last, wave_reply& sum) const {
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
            sum.created += word >= 4 ? value : 0;
        }
    }

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
        if constexpr (components_count) {
            std::uint64_t sums[] = {part.served, part.completed, part.created, part.deferred, part.busy, part.kept};
            warp_sums(ctx, sums);
            static_cast<wave_reply&>(all) = {initial + sums[2], sums[0] + sums[1], sums[3], sums[4], sums[0]};
            all.kept = sums[5];
            all.least = warp_min(ctx, part.least);
        } else {
            std::uint64_t sums[] = {part.served, part.completed, part.created};
            warp_sums(ctx, sums);
            all.served = sums[0];
            all.completed = all.served + sums[1];
            all.created = initial + sums[2];
            if (closed) all.busy = initial - sums[1];
        }
        return all;
    }
};

}  // namespace laneway
