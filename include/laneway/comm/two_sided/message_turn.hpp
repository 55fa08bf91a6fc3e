// Turning a shard: taking what lanes ask and what has come, in their orders, and matching it. One warp, or a lone lane,
// at a time; where much waits, that warp and others of its block (shard_team.hpp).
#pragma once

#include "laneway/comm/two_sided/asked_requests.hpp"
#include "laneway/comm/two_sided/shard_lock.hpp"
#include "laneway/comm/two_sided/team_turn.hpp"

namespace laneway {

/// A warp's access to a shard; all members are for the whole warp, together. A lone lane is a warp of its own
/// (simt/lone_lane.hpp). None waits for what lanes may still have to do; words of a message that has begun to arrive
/// are about to come.
template <class Ctx>
class message_turn {
public:
    LANEWAY_FN message_turn(const two_sided_ref& view, const message_shard_ref& shard)
        : view_(view), shard_(shard), rings_(view, shard), sends_(view, shard), lock_(*shard.state) {}

    /// Whether there was anything to do, and nobody else at it. `team`: of the block, where the warp may call others.
    LANEWAY_SLOW bool operator()(Ctx& ctx, [[maybe_unused]] const shard_team<Ctx>* team = nullptr) const {
        if (once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{seems_due(ctx) && lock_.take(ctx)}; }) == 0)
            return false;
        ctx.sync(full_warp<Ctx>);  // what lane 0 has acquired is visible to all
        rings_.close_all(ctx);
        // Made here: most calls end before.
        const unexpected_places<Ctx> places(view_, shard_);
        const message_arrivals<Ctx> arrivals(view_, shard_);
        const asked_requests<Ctx> asked(view_, shard_, arrivals);
        std::uint64_t by_team = 0;
        if constexpr (Ctx::warp_lanes > 1) {
            if (team != nullptr) by_team = turn_together(ctx, *team);
        }
        bool worked = by_team != 0;
        if (view_.rules.is_unordered()) places.reclaim(ctx);
        for (int batch = 0; batch < max_batches && asked.take(ctx); ++batch) worked = true;
        worked = send_waiting(ctx) || worked;
        worked = arrivals.take(ctx) || worked;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            if (shard_.state->told_of != 0 && places.room() != 0 && have_all_come(ctx)) shard_.state->told_of = 0;
            if (worked) ++(by_team != 0 ? shard_.state->team_turns : shard_.state->turns);
            if (!view_.rules.is_unordered()) places.note_waiting(ctx);
        }
        if (rings_.may_open()) rings_.open_all(ctx);
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) end(ctx, asked.done() + arrivals.done() + by_team);
        ctx.sync(full_warp<Ctx>);
        return worked;
    }

    /// Whether something seems to be due. One lane.
    [[nodiscard]] LANEWAY_FN bool seems_due(Ctx& ctx) const {
        // All loads of a step are on their way at once.
        const std::uint64_t asked = ctx.load(shard_.asked.taken, order::relaxed, scope::device);
        const std::uint64_t chains = sends_.n_chains(ctx), first = rings_.next(ctx, 0);
        const std::uint32_t watchers = ctx.load(&shard_.state->watchers, order::relaxed, scope::device);
        const std::uint32_t posted = ctx.load(&shard_.state->posted, order::relaxed, scope::device);
        bool due = shard_.asked.any_at(ctx, asked);
        // What comes now would have to wait; who looks at the rings may take it at once, and looks for a while only.
        if (watchers != 0 && posted == 0 && chains == 0 && !due) return false;
        due = chunk_receiver::label_of(shard_.from[0].peek(ctx, first), first).bits != 0 || chains != 0 || due;
        for (int source = 1; source < ctx.n_pes() && !due; ++source) due = rings_.has_come(ctx, source);
        return due || (view_.rules.is_unordered() && rings_.is_any_past_kept_slots(ctx));
    }

    /// Whether so much waits at the shard that a team turns it. The whole warp, together.
    [[nodiscard]] LANEWAY_FN bool is_for_team(Ctx& ctx, const shard_team<Ctx>& team) const {
        if (view_.team_load == 0 || view_.rules.is_unordered()) return false;  // lanes match in tables themselves
        if (once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{team.may_lead(ctx)}; }) == 0) return false;
        return team_turn<Ctx>::load(ctx, shard_) >= view_.team_load;
    }

private:
    static constexpr int max_batches = Ctx::warp_lanes == 1 ? 8 : 4;

    /// What a team has taken; the rest is for this warp, as in any turn.
    LANEWAY_SLOW std::uint64_t turn_together(Ctx& ctx, const shard_team<Ctx>& team) const {
        if (!is_for_team(ctx, team)) return 0;
        std::uint64_t done = 0;
        const auto number = static_cast<std::uint32_t>(&shard_ - view_.shards);
        (void)team.lead(ctx, number, [&](auto& all) { done = team_turn<Ctx>(view_, shard_, all)(ctx); });
        return done;
    }

    /// Sends those messages that have waited and whose slot is free by now.
    LANEWAY_SLOW bool send_waiting(Ctx& ctx) const {
        const message_delivery<Ctx> delivery(view_);
        bool worked = false;
        std::uint64_t left = sends_.n_chains(ctx);
        for (int batch = 0; batch < max_batches && left > 0; ++batch) {
            bool mine = false;
            std::uint32_t number = 0;
            if (!sends_.take(ctx, mine, number)) break;
            delivery.send(ctx, shard_, mine, number);
            worked = true;
            left -= left < Ctx::warp_lanes ? left : Ctx::warp_lanes;
        }
        return worked;
    }
    /// Whether no message that a probe has told of lies in a ring. One lane.
    [[nodiscard]] LANEWAY_FN bool have_all_come(Ctx& ctx) const {
        if (view_.rules.is_unordered()) return false;  // there is no telling
        for (int source = 0; source < ctx.n_pes(); ++source) {
            if (rings_.has_come(ctx, source)) return false;
        }
        return true;
    }
    /// One lane, behind all that the others have done.
    LANEWAY_FN void end(Ctx& ctx, std::uint64_t done) const {
        const std::uint32_t posted = view_.rules.is_unordered() ? 0 : shard_.engine.posted.length();
        ctx.store(&shard_.state->posted, posted, order::relaxed, scope::device);
        message_delivery<Ctx>(view_).fence(ctx, ctx.pe());
        lock_.give_back(ctx, view_, done);
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
    ring_reader<Ctx> rings_;
    waiting_sends<Ctx> sends_;
    shard_lock<Ctx> lock_;
};

}  // namespace laneway
