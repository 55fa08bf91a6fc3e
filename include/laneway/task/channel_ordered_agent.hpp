// What warps do where a scheduler decides what they serve: they wait for orders, follow them and report. One of them,
// or a thread of the host, gives them.
#pragma once

#include "laneway/task/channel_agent.hpp"

namespace laneway {

/// Members are called as component.hpp says.
template <class Ctx, class Out, class View>
class channel_ordered_agent {
public:
    static constexpr bool polls = true;
    static constexpr bool attends = View::by == channel_scheduler::host_thread;

    LANEWAY_FN channel_ordered_agent(const View& view, Out& out, const roles& mine, std::byte* shared,
                                     block_team<Ctx>* team = nullptr, std::uint32_t component = 0)
        : view_(view), channels_(view, out, mine, shared, team, component),
          slot_(static_cast<std::uint32_t>(mine.team_number) * view.set.board.slots_a_block +
                static_cast<std::uint32_t>(mine.team_index)),
          works_(mine.works), gives_(View::by == channel_scheduler::one_warp && mine.works && mine.worker_index == 0) {}

    /// As channel_agent's, for bodies.
    template <class T>
    [[nodiscard]] LANEWAY_FN reserved_elements<T> talloc(Ctx& ctx, channel<T> to, std::uint32_t count = 1) {
        return channels_.talloc(ctx, to, count);
    }
    template <class T>
    LANEWAY_FN void enq(Ctx& ctx, const reserved_elements<T>& elements) {
        channels_.enq(ctx, elements);
    }
    template <class T>
    [[nodiscard]] LANEWAY_FN bool send(Ctx& ctx, int pe, channel<T> to, const std::type_identity_t<T>& element) {
        return channels_.send(ctx, pe, to, element);
    }
    LANEWAY_FN void enq_place(Ctx& ctx, std::uint32_t queue, std::uint32_t place) {
        channels_.enq_place(ctx, queue, place);
    }

    LANEWAY_FN void open(Ctx& ctx) {
        if (works_ && takes_orders() && ctx.lane() == 0) report(ctx, dispatch_report::present);
        channels_.open(ctx);
    }
    LANEWAY_FN void refresh(Ctx& ctx) { channels_.refresh(ctx); }
    LANEWAY_FN void close(Ctx& ctx) { channels_.close(ctx); }

    /// Shows a thread of the host what waits in some of the queues, where that has changed. The next turn goes on.
    LANEWAY_FN void attend(Ctx& ctx) {
        const channel_set_ref& set = view_.set;
        const std::uint32_t all = set.n_shards * set.queues_a_shard;
        const std::uint32_t end = all - next_shown_ < shown_a_turn ? all : next_shown_ + shown_a_turn;
        for (auto q = next_shown_ + static_cast<std::uint32_t>(ctx.lane()); q < end; q += Ctx::warp_lanes) {
            const std::uint32_t fill = set.queue(q).fill(ctx);
            if (fill == set.board.shown[q]) continue;
            set.board.shown[q] = fill;
            set.note_ready(ctx, q, fill);
            ctx.store(set.board.fills + q, fill, order::relaxed, scope::system);
        }
        next_shown_ = end == all ? 0 : end;
    }
    LANEWAY_FN bool poll(Ctx& ctx) {
        if (channels_.help_block(ctx)) return true;
        if (channels_.is_called_away(ctx)) return false;
        const bool gave = gives_ && give_orders(ctx);
        if (!takes_orders()) return gave;
        const bool served = follow_order(ctx);
        if (!served) channels_.note_idle();
        return (served && !channels_.waits_for_rooms()) || gave;
    }

private:
    static constexpr unsigned rounds_to_look_at_all = 16;
    static constexpr std::uint32_t shown_a_turn = 32;

    /// A scheduler serves only where nobody else would.
    [[nodiscard]] LANEWAY_FN bool takes_orders() const { return !gives_ || view_.set.board.workers == 1; }

    LANEWAY_FN void report(Ctx& ctx, std::uint64_t what) {
        // Partner: the scheduler's acquire load. What the dispatch has produced comes before.
        ctx.store(view_.set.board.reports + slot_, done_ << dispatch_report::number_at | what, order::release,
                  scope::system);
    }

    /// Serves the queue that the scheduler has named, if it has. The whole warp.
    LANEWAY_FN bool follow_order(Ctx& ctx) {
        const std::uint64_t told = once(ctx, full_warp<Ctx>, [&] {
            // Partner: the scheduler's release store.
            return ctx.load(view_.set.board.orders + slot_, order::acquire, scope::system);
        });
        const std::uint64_t number = channel_board_ref::number_of(told);
        if (number == done_) return false;
        ctx.sync(full_warp<Ctx>);
        const bool served = channels_.dispatch(ctx, static_cast<std::uint32_t>(told) - 1);
        done_ = number;
        std::uint64_t what = dispatch_report::present;
        if (served) {
            what |= dispatch_report::served | (channels_.chooser().history().stuck != 0 ? dispatch_report::stuck : 0) |
                    (channels_.chooser().history().is_short() ? dispatch_report::short_of : 0);
        }
        if (ctx.lane() == 0) report(ctx, what);
        return served;
    }

    /// Gives the best queue of each shard to warps without an order. The whole warp.
    LANEWAY_FN bool give_orders(Ctx& ctx) {
        const channel_set_ref& set = view_.set;
        const bool looks_at_all = ++rounds_ % rounds_to_look_at_all == 0;  // flags are hints
        bool gave = false;
        for (std::uint32_t i = 0; i < set.n_shards; ++i) {
            shard_ = shard_ + 1 < set.n_shards ? shard_ + 1 : 0;
            if (looks_at_all) channels_.chooser().correct_flags(ctx, shard_, set.flags_a_shard());
            const auto found = channels_.chooser().choose(ctx, shard_, rounds_);
            if (!found.exists) continue;
            const std::uint32_t warps = once(ctx, full_warp<Ctx>, [&] {
                return (set.queue(found.queue).fill(ctx) + Ctx::warp_lanes - 1) / Ctx::warp_lanes;
            });
            gave = give(ctx, found.queue, warps) || gave;
        }
        return gave;
    }
    /// Orders up to so many idle warps to serve a queue, from the slot on behind the last that got an order.
    LANEWAY_FN bool give(Ctx& ctx, std::uint32_t queue, std::uint32_t warps) {
        const channel_board_ref& board = view_.set.board;
        bool gave = false;
        for (std::uint32_t looked = 0; looked < board.slots && warps != 0; looked += Ctx::warp_lanes) {
            const std::uint32_t ahead = looked + static_cast<std::uint32_t>(ctx.lane());
            const std::uint32_t slot = (next_slot_ + ahead) % board.slots;
            const std::uint64_t last =
                ahead < board.slots ? ctx.load(board.orders + slot, order::relaxed, scope::system) : 0;  // its own
            // Partner: the release store in report.
            const std::uint64_t report =
                ahead < board.slots ? ctx.load(board.reports + slot, order::acquire, scope::system) : 0;
            const bool idle = channel_board_ref::is_idle(last, report);
            const lane_mask all = ctx.ballot(full_warp<Ctx>, idle);
            const bool mine = idle && static_cast<std::uint32_t>(rank_in(ctx, all)) < warps;
            const lane_mask given = ctx.ballot(full_warp<Ctx>, mine);
            hear(ctx, given, report);
            if (mine) {
                // Partner: the acquire load in follow_order.
                ctx.store(board.orders + slot, channel_board_ref::order(channel_board_ref::number_of(last) + 1, queue),
                          order::release, scope::system);
            }
            const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(given));
            warps -= count;
            gave = gave || count != 0;
        }
        if (gave) next_slot_ = (next_slot_ + 1) % board.slots;
        return gave;
    }
    /// What the last orders of these lanes' slots have brought is history from now on.
    LANEWAY_FN void hear(Ctx& ctx, lane_mask lanes, std::uint64_t report) {
        const bool served = (report & dispatch_report::served) != 0;
        const lane_mask any = ctx.ballot(full_warp<Ctx>, served) & lanes;
        if (any == 0) return;
        const bool stuck = (report & dispatch_report::stuck) != 0;
        const bool all_stuck = (ctx.ballot(full_warp<Ctx>, served && !stuck) & lanes) == 0;
        const bool is_short = (ctx.ballot(full_warp<Ctx>, (report & dispatch_report::short_of) != 0) & lanes) != 0;
        channels_.chooser().history().note(all_stuck, is_short);
    }

    const View& view_;
    channel_agent<Ctx, Out, View> channels_;
    std::uint32_t slot_;
    bool works_;
    bool gives_;
    std::uint64_t done_ = 0;  ///< number of the last order that has been followed
    unsigned rounds_ = 0;
    std::uint32_t shard_ = 0;
    std::uint32_t next_slot_ = 0;
    std::uint32_t next_shown_ = 0;  ///< queue
};

}  // namespace laneway
