// Triggered operations as a component of a program: what lanes of the body hold.
#pragma once

#include "laneway/comm/await_others.hpp"
#include "laneway/comm/termination_ref.hpp"
#include "laneway/comm/triggers/host_triggers_ref.hpp"
#include "laneway/comm/triggers/trigger_preparation.hpp"
#include "laneway/comm/triggers/trigger_starter.hpp"
#include "laneway/run/component.hpp"

namespace laneway {

/// In a block's shared memory.
struct alignas(16) trigger_hint {
    std::uint32_t any;      ///< somebody has seen that pieces are left to take
    std::uint32_t arrived;  ///< warps that have come to trigger_block, of all calls so far
    std::uint32_t passed;   ///< calls of trigger_block that all warps have come to
};

/// A lane's access to the tags of its PE. What fails ends the run; comm/triggers/trigger_rounds.hpp says how.
template <class Ctx, class Out, class Starters>
class triggers_agent {
public:
    static constexpr bool polls = true;
    static constexpr bool assists = true;

    LANEWAY_FN triggers_agent(Ctx& ctx, Out& out, const trigger_ref& view, const trigger_items<Starters>& items,
                              const roles& mine, std::byte* shared)
        : rounds_(ctx, view), items_(items), out_(out), hint_(*reinterpret_cast<trigger_hint*>(shared)),
          team_(mine.team_warps) {}

    /// Adds `n` to the count of a tag of the own PE, also before it has been prepared. Any lane, also in divergent
    /// code; one atomic. What the lane wrote before goes with the data of the round that the add is part of.
    LANEWAY_FN status trigger(Ctx& ctx, std::uint32_t tag, std::uint32_t n = 1) { return rounds_.trigger(ctx, tag, n); }
    /// The same, once for a whole warp: all its lanes, together; what any of them wrote before goes with the data.
    LANEWAY_FN status trigger_warp(Ctx& ctx, std::uint32_t tag, std::uint32_t n = 1) {
        ctx.sync(full_warp<Ctx>);
        const auto result =
            once(ctx, full_warp<Ctx>, [&] { return static_cast<std::uint32_t>(rounds_.trigger(ctx, tag, n)); });
        return static_cast<status>(result);
    }
    /// The same, once for a whole block, when the last of its working warps has called it: all of them, whole, with the
    /// same tag. Nobody waits here, but a warp that is a whole call ahead of another one.
    LANEWAY_SLOW status trigger_block(Ctx& ctx, std::uint32_t tag, std::uint32_t n = 1) {
        if (tag >= rounds_.tags()) return fail(ctx, status::bad_tag, operation::trigger, -1, tag, rounds_.tags());
        const status waited = wait_for_block(ctx, tag);
        if (waited != status::ok) return waited;
        ctx.sync(full_warp<Ctx>);
        go_before(ctx, &hint_.arrived);
        const auto result = once(ctx, full_warp<Ctx>, [&] { return arrive(ctx, tag, n); });
        return static_cast<status>(result);
    }
    /// Adds to the count of a tag of any PE: as trigger, and what the lane wrote, on whatever PE, comes before. Two
    /// atomics in the other PE's memory, of which neither is waited for; warps of that PE find them.
    LANEWAY_FN status trigger_on(Ctx& ctx, int pe, std::uint32_t tag, std::uint32_t n = 1) {
        return trigger_arrivals<Ctx>(ctx, rounds_).trigger_on(ctx, pe, tag, n);
    }
    /// Takes the operation from a tag of the own PE, so that another one can be prepared; triggers that no round has
    /// used stay. False, and nothing has happened, where the tag has none, or its round is open. Any lane.
    LANEWAY_FN bool disarm(Ctx& ctx, std::uint32_t tag) { return trigger_preparation<Ctx>(rounds_).disarm(ctx, tag); }
    /// Prepares an operation of the own PE, for a tag that has none or has fired once for all. Any lane.
    LANEWAY_FN status prepare(Ctx& ctx, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& op,
                              firing how = firing::once) {
        return trigger_preparation<Ctx>(rounds_).prepare(ctx, tag, threshold, op, how, [] {});
    }
    /// The same where it starts a message, or a task of the own PE.
    template <class Item, bool WhenDone>
    LANEWAY_FN status prepare(Ctx& ctx, std::uint32_t tag, std::uint32_t threshold,
                              const starting_operation<Item, WhenDone>& op, firing how = firing::once) {
        const trigger_operation numbered = numbered_operation<Starters>(op);
        if (Starters::template stays<Item> && numbered.pe() != ctx.pe()) {
            return fail(ctx, status::bad_range, operation::prepare, numbered.pe(), tag);
        }
        const auto keep = [&] { *reinterpret_cast<Item*>(items_.at(ctx, tag)) = op.item; };
        return trigger_preparation<Ctx>(rounds_).prepare(ctx, tag, threshold, numbered, how, keep);
    }

    /// Waits until a tag of the own PE has fired `rounds` times in all, and what it did is done: sources may be used
    /// again. Any lanes; they look after triggered operations meanwhile. The deadline's error names the tag, its count
    /// and its threshold.
    LANEWAY_SLOW status wait_fired(Ctx& ctx, std::uint32_t tag, std::uint64_t rounds) {
        if (tag >= rounds_.tags()) {
            return fail(ctx, status::bad_tag, operation::trigger, -1, tag, rounds_.tags());
        }
        const auto site = [&] { return wait_site{operation::trigger, -1, tag, rounds_.word(ctx, tag).told()}; };
        // Partner: trigger_rounds::end_round, behind the fence of close_round.
        return await(ctx, site, [&] { return reaches(ctx, &rounds_.slot(tag).fired, rounds, scope::device); });
    }
    /// Waits until a signal word of the own PE is `value` or more: what came with it is there. Any lanes, as above.
    LANEWAY_SLOW status wait_signal(Ctx& ctx, symmetric_ptr<std::uint64_t> word, std::uint64_t value) {
        if (!exists(ctx, word)) return refuse_address(ctx, operation::signal, ctx.pe(), word);
        const std::uint64_t* const at = address(ctx, word);
        const auto site = [&] { return wait_site{operation::signal, ctx.pe(), value}; };
        // Partner: the fence of trigger_rounds::close_round.
        return await(ctx, site, [&] { return reaches(ctx, at, value, scope::system); });
    }

    // As a component.
    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) hint_ = {};
    }
    LANEWAY_FN bool poll(Ctx& ctx) {
        const auto any = once(ctx, full_warp<Ctx>, [&] { return ctx.load(&hint_.any, order::relaxed, scope::block); });
        if (any == 0) return false;
        const std::uint32_t tag = take_piece(ctx, full_warp<Ctx>);
        if (tag != trigger_rounds<Ctx>::no_tag) {
            if (ctx.lane() == 0) watch(ctx, tag);
            return true;
        }
        if (ctx.lane() == 0) ctx.store(&hint_.any, 0u, order::relaxed, scope::block);
        return false;
    }
    /// One lane looks for the block's idle warps: at pieces that are left, at calls of other PEs, and at some of the
    /// cells, others each time.
    LANEWAY_FN void refresh(Ctx& ctx) {
        look_at_cells(ctx, next_cell_, 0, 1, 8);
        take_calls(ctx);
        if (rounds_.any_piece(ctx)) ctx.store(&hint_.any, 1u, order::relaxed, scope::block);
    }
    LANEWAY_FN void assist(Ctx& ctx) { (void)turn(ctx, full_warp<Ctx>); }
    LANEWAY_FN void close(Ctx&) {}

protected:
    trigger_rounds<Ctx> rounds_;
    const trigger_items<Starters>& items_;

private:
    LANEWAY_FN std::uint32_t take_piece(Ctx& ctx, lane_mask mask) {
        return rounds_.take_piece(ctx, mask, [&](std::uint32_t tag, const trigger_operation& op) {
            if (items_.start(ctx, out_, tag, op)) return true;
            (void)check_deadline(ctx, {operation::start, op.pe(), tag});  // too late it ends the run
            return false;
        });
    }

    /// Until all warps have come to the calls that this one has come to before.
    LANEWAY_FN status wait_for_block(Ctx& ctx, std::uint32_t tag) {
        const std::uint32_t before = calls_++;
        return wait_together(
            ctx, full_warp<Ctx>, {operation::trigger, -1, tag, rounds_.word(ctx, tag).told()},
            [&] { return ctx.load(&hint_.passed, order::relaxed, scope::block) == before; }, [] {});
    }
    /// One lane of a warp.
    LANEWAY_FN std::uint32_t arrive(Ctx& ctx, std::uint32_t tag, std::uint32_t n) {
        const std::uint32_t all = calls_ * static_cast<std::uint32_t>(team_);
        // Partner: itself, in other warps. The last one comes behind what all have done.
        if (ctx.fetch_add(&hint_.arrived, 1u, order::acq_rel, scope::block) + 1 != all) return 0;
        come_behind(ctx, &hint_.arrived);
        const status result = rounds_.trigger(ctx, tag, n);
        ctx.store(&hint_.passed, calls_, order::relaxed, scope::block);
        return static_cast<std::uint32_t>(result);
    }

    LANEWAY_FN void take_calls(Ctx& ctx) {
        const std::uint32_t tag = trigger_arrivals<Ctx>(ctx, rounds_).take_calls(ctx);
        if (tag != trigger_rounds<Ctx>::no_tag) watch(ctx, tag);
    }

    /// The lanes of the mask, together, look at cells, each at another, and carry out a piece.
    LANEWAY_SLOW bool turn(Ctx& ctx, lane_mask mask) {
        const std::uint32_t first = ctx.shuffle(mask, next_cell_, Ctx::first_lane(mask));
        look_at_cells(ctx, first, static_cast<std::uint32_t>(rank_in(ctx, mask)),
                      static_cast<std::uint32_t>(Ctx::count_lanes(mask)), Ctx::warp_lanes == 1 ? 8 : 1);
        if (elected(ctx, mask)) take_calls(ctx);
        ctx.sync(mask);
        const std::uint32_t tag = take_piece(ctx, mask);
        if (tag == trigger_rounds<Ctx>::no_tag) return false;
        if (elected(ctx, mask)) watch(ctx, tag);
        return true;
    }

    /// This is the `number`th of `lanes` lanes that look at `each` cells each, from `first` on.
    LANEWAY_FN void look_at_cells(Ctx& ctx, std::uint32_t first, std::uint32_t number, std::uint32_t lanes,
                                  std::uint32_t each) {
        trigger_arrivals<Ctx> arrivals(ctx, rounds_);
        const std::uint32_t cells = arrivals.cells(ctx);
        for (std::uint32_t i = 0; i < each && i * lanes < cells; ++i, first += lanes) {
            if (first >= cells) first = 0;
            if (first + number >= cells) continue;
            const std::uint32_t tag = arrivals.look(ctx, first + number);
            if (tag != trigger_rounds<Ctx>::no_tag) watch(ctx, tag);
        }
        next_cell_ = first;
    }

    /// After a piece of work: operations that trigger each other in a circle would go on for ever.
    LANEWAY_FN void watch(Ctx& ctx, std::uint32_t tag) {
        if (!ctx.is_late() || stopped(ctx)) return;
        (void)fail(ctx, status::timeout, operation::trigger, -1, tag, rounds_.word(ctx, tag).told());
    }

    template <class Site, class Done>
    LANEWAY_FN status await(Ctx& ctx, Site&& site, Done&& done) {
        return await_others(ctx, out_, site, static_cast<Done&&>(done),
                            [&](lane_mask mask) { return turn(ctx, mates(ctx, mask, rounds_.memory())); });
    }

    Out& out_;
    trigger_hint& hint_;
    int team_;                 ///< working warps of the block
    std::uint32_t calls_ = 0;  ///< of trigger_block
    std::uint32_t next_cell_ = 0;
};

/// The same in a session, where the control warp takes what host threads leave.
template <class Ctx, class Out, class Starters>
class session_triggers_agent : public triggers_agent<Ctx, Out, Starters> {
public:
    static constexpr bool attends = true;

    LANEWAY_FN session_triggers_agent(Ctx& ctx, Out& out, const trigger_ref& view, const trigger_items<Starters>& items,
                                      const roles& mine, std::byte* shared, const host_triggers_ref& host)
        : triggers_agent<Ctx, Out, Starters>(ctx, out, view, items, mine, shared), host_(host) {}

    LANEWAY_FN void attend(Ctx& ctx) {
        if (ctx.lane() == 0 && *host_.is_open != 0) host_.take(ctx, this->rounds_, this->items_);
    }

private:
    const host_triggers_ref& host_;
};

/// Device view of the component on a PE. `Starters`: of what its operations start, see
/// comm/triggers/trigger_starter.hpp.
template <class Starters>
struct triggers_component_ref {
    using routes_type = typename Starters::routes_type;
    static constexpr bool servers_post = Starters::forwards;
    static constexpr std::size_t shared_bytes = sizeof(trigger_hint);
    static constexpr bool counts_work = true;
    /// Each lane has twice the registers, and fewer warps poll beside one whose fence waits for all that its
    /// multiprocessor loads.
    static constexpr int cuda_warps = 16;

    trigger_ref tags;
    trigger_items<Starters> items;

    [[nodiscard]] routes_type handlers() const { return items.handlers(tags); }

    template <class Ctx, class Out>
    LANEWAY_FN triggers_agent<Ctx, Out, Starters> agent(Ctx& ctx, Out& out, const roles& mine,
                                                        std::byte* shared) const {
        return {ctx, out, tags, items, mine, shared};
    }
    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        if (ctx.lane() == 0) sum.completed += trigger_counts<Ctx>::completed(ctx, tags);
    }
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        if (ctx.lane() == 0) sum.created += trigger_counts<Ctx>::created(ctx, tags);
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

/// The same in a session.
template <class Starters>
struct triggers_session_ref : triggers_component_ref<Starters> {
    static constexpr bool takes_from_host = true;

    host_triggers_ref host;

    template <class Ctx, class Out>
    LANEWAY_FN session_triggers_agent<Ctx, Out, Starters> agent(Ctx& ctx, Out& out, const roles& mine,
                                                                std::byte* shared) const {
        return {ctx, out, this->tags, this->items, mine, shared, host};
    }
    template <class Ctx>
    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        trigger_rounds<Ctx> rounds(ctx, this->tags);
        host.handle_orders(ctx, rounds, this->items, orders);
    }
};

}  // namespace laneway
