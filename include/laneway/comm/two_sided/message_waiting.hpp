// What lanes do while they wait for messages: they turn the shards of their PE and fetch payloads, so that two-sided
// messages make progress wherever somebody waits for one.
#pragma once

#include "laneway/comm/await_others.hpp"
#include "laneway/comm/two_sided/message_turn.hpp"
#include "laneway/simt/lone_lane.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// Which turns a warp's lanes take.
struct message_turns {
    std::uint32_t first = 0;  ///< another number for each warp, so that they begin with different shards
    bool assisted = false;    ///< a warp of its block takes turn after turn, and waits for nobody
};

template <class Ctx, class Out>
class message_waiting {
public:
    LANEWAY_FN message_waiting(const two_sided_ref& view, Out& out, const message_turns& turns)
        : view_(view), out_(out), home_(turns.first), turns_(2 * turns.first), assisted_(turns.assisted) {}

    /// What the lane waits for next is a matter of this shard: every second turn is for it.
    LANEWAY_FN void wait_for_shard(std::uint32_t number) { home_ = number; }

    /// The lanes of the mask, together: a turn of a shard, and a piece of a payload. Whether there was either. `team`:
    /// as in message_turn.
    LANEWAY_SLOW bool turn(Ctx& ctx, lane_mask mask, const shard_team<Ctx>* team = nullptr) {
        const fetch_queue<Ctx> fetches(view_);
        const bool worked = fetches.turn(ctx, mask, turns_ / 2);
        ++turns_;
        const std::uint32_t mine = (turns_ % 2 != 0 ? home_ : turns_ / 2) & (view_.n_shards - 1);
        const std::uint32_t number = ctx.shuffle(mask, mine, Ctx::first_lane(mask));
        const message_shard_ref& shard = view_.shards[number];
        if (mask == full_warp<Ctx>) return message_turn<Ctx>(view_, shard)(ctx, team) || worked;
        // Its mates are elsewhere, so one lane does it alone.
        const auto alone = once(ctx, mask, [&] {
            return std::uint32_t{
                as_lone_lane(ctx, [&]<class Alone>(Alone& one) { return message_turn<Alone>(view_, shard)(one); })};
        });
        ctx.sync(mask);
        return alone != 0 || worked;
    }
    /// The same, by those lanes of the mask that are here for messages of this communicator.
    LANEWAY_FN bool turn_with_mates(Ctx& ctx, lane_mask mask) { return turn(ctx, mates(ctx, mask, view_.number)); }
    /// Whether a warp does it for them: a lone lane would keep the shard from one that takes in 32 messages in a
    /// fraction of the time.
    [[nodiscard]] LANEWAY_FN bool is_assisted() const { return assisted_; }
    /// What else waiting lanes do for the program. The lanes of the mask, together.
    LANEWAY_FN status help(Ctx& ctx, lane_mask mask) { return out_.help(ctx, mask); }
    /// Turns of some shards, until there was something to do. The whole warp, together.
    LANEWAY_FN bool turn_some(Ctx& ctx, const shard_team<Ctx>& team) {
        for (std::uint32_t i = 0; i < view_.n_shards && i < some; ++i) {
            if (turn(ctx, full_warp<Ctx>, &team)) return true;
        }
        return false;
    }
    /// Whether something seems to be due, in some shards, others each time. One lane.
    [[nodiscard]] LANEWAY_FN bool seems_due(Ctx& ctx) {
        if (fetch_queue<Ctx>(view_).any(ctx)) return true;
        for (std::uint32_t i = 0; i < view_.n_shards && i < some; ++i) {
            const message_shard_ref& shard = view_.shards[seen_++ % view_.n_shards];
            if (message_turn<Ctx>(view_, shard).seems_due(ctx)) return true;
        }
        return false;
    }

    /// Waits until `done()` holds, for lanes that each wait for something of their own.
    template <class Done>
    LANEWAY_SLOW status wait(Ctx& ctx, const wait_site& site, Done&& done) {
        // A shard is one warp's at a time: on a GPU a lone lane would have it for tens of microseconds.
        const waiting_rules rules{.leaves_turns = Ctx::warp_lanes >= 32, .assisted = assisted_};
        return await_others(
            ctx, out_, site, static_cast<Done&&>(done), [&](lane_mask mask) { return turn_with_mates(ctx, mask); },
            rules);
    }
    /// The same for a warp, together; lane 0 looks. What it acquires is visible to all.
    template <class Done>
    LANEWAY_SLOW status wait_as_warp(Ctx& ctx, const wait_site& site, Done&& done) {
        return wait_together(ctx, full_warp<Ctx>, site, static_cast<Done&&>(done), [&] {
            (void)turn(ctx, full_warp<Ctx>);
            (void)out_.help(ctx, full_warp<Ctx>);  // the wait sees the end itself
        });
    }

    /// The same for lanes of the mask that wait together, as `site` tells, with so many looks at most; the elected one
    /// looks. Whether it holds.
    template <class Done>
    LANEWAY_SLOW bool wait_some(Ctx& ctx, lane_mask mask, const wait_site& site, int looks, Done&& done) {
        bool holds = false;
        const auto is_over = [&] {
            holds = done();
            return holds || --looks <= 0;
        };
        const status waited = wait_together(ctx, mask, site, is_over, [&] {
            const auto leaves_turns = [&] {  // the lane that looks says so for all
                const bool only_looks = assisted_ && static_cast<unsigned>(looks) % looks_a_turn<Ctx> != 0;
                return std::uint32_t{only_looks || out_.others_take_turns(ctx)};
            };
            if (once(ctx, mask, leaves_turns) != 0) return;
            (void)turn(ctx, mask);
            (void)out_.help(ctx, mask);  // the wait sees the end itself
        });
        return once(ctx, mask, [&] { return std::uint32_t{waited == status::ok && holds}; }) != 0;
    }

private:
    static constexpr std::uint32_t some = 16;

    const two_sided_ref& view_;
    Out& out_;
    std::uint32_t home_;  ///< of the shards, by its lower bits
    std::uint32_t turns_;
    bool assisted_;
    std::uint32_t seen_ = 0;  ///< shards, by seems_due
};

}  // namespace laneway
