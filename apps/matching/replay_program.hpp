// The kernel that replays queues of events through matching engines.
#pragma once

#include "laneway/comm/matching/matching_engine.hpp"
#include "matching/replay.hpp"

namespace laneway::apps {

/// A queue in PE memory.
struct replayed_queue {
    matching_engine_ref engine;
    std::uint64_t first;  ///< of its events, among those of all queues of the PE
    std::uint32_t events;
};

/// A team takes a queue: a warp, or a block.
template <bool Blocks>
struct replay_program {
    static constexpr int cuda_warps = Blocks ? match_block_shared::max_warps : 4;
    static constexpr std::size_t shared_bytes = Blocks ? sizeof(match_block_shared) : 16;

    const replayed_queue* queues;
    std::uint32_t n_queues;
    const match_event* events;
    std::uint32_t* partners;  ///< of each event
    std::uint32_t* claimed;   ///< queues that teams have taken

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if constexpr (Blocks) {
            match_block<Ctx> team(ctx, reinterpret_cast<match_block_shared*>(ctx.shared()));
            replay_all(team, static_cast<std::uint32_t>(ctx.n_warps() * Ctx::warp_lanes));
        } else {
            match_warp<Ctx> team(ctx);
            replay_all(team, Ctx::warp_lanes);
        }
    }

private:
    template <class Team>
    LANEWAY_FN void replay_all(Team& team, std::uint32_t lanes) const {
        for (;;) {
            const std::uint32_t mine =
                of_first(team, [&] { return team.ctx().fetch_add(claimed, 1u, order::relaxed, scope::device); });
            if (mine >= n_queues || stops(team)) return;
            replay(team, lanes, queues[mine]);
        }
    }

    /// The team matches as if of the events that it takes at once it posted the receives first: which of them a message
    /// gets depends on the order of receives and on that of messages, and not on how these are interleaved. Unless
    /// messages must find their receives posted.
    template <class Team>
    LANEWAY_FN void replay(Team& team, std::uint32_t lanes, const replayed_queue& queue) const {
        const match_event* const from = events + queue.first;
        for (std::uint32_t next = 0, rounds = 0; next < queue.events; ++rounds) {
            const std::uint32_t at = next + team.number();
            const match_event event = at < queue.events ? from[at] : match_event{};
            const std::uint32_t rest = queue.events - next < lanes ? queue.events - next : lanes;
            const std::uint32_t n = queue.engine.rules.no_unexpected ? run_of_kind(team, rest, event) : rest;
            const bool active = team.number() < n, is_message = event.is_message != 0;
            note(queue, at, queue.engine.exchange_together(team, active, is_message, event.key, at));
            next += n;
            if (rounds % 32 == 31 && stops(team)) return;
        }
    }

    /// How many of the first `rest` events are messages, as the first one is, or receives.
    template <class Team>
    static LANEWAY_FN std::uint32_t run_of_kind(Team& team, std::uint32_t rest, const match_event& event) {
        const auto kind = static_cast<std::uint32_t>(team.from(event.is_message, 0).value);
        const bool other = team.number() < rest && event.is_message != kind;
        const std::uint32_t others_below = team.share(other).below;
        return team.share(team.number() < rest && !other && others_below == 0).all;
    }

    LANEWAY_FN void note(const replayed_queue& queue, std::uint32_t at, const match_result& found) const {
        if (found.outcome != match_outcome::matched) return;
        partners[queue.first + at] = found.handle;
        partners[queue.first + found.handle] = at;
    }

    /// What the first lane makes, for all.
    template <class Team, class Make>
    static LANEWAY_FN std::uint32_t of_first(Team& team, Make&& make) {
        const std::uint32_t made = team.number() == 0 ? make() : 0;
        return static_cast<std::uint32_t>(team.from(made, 0).value);
    }

    template <class Team>
    static LANEWAY_FN bool stops(Team& team) {
        return of_first(team, [&] {
                   auto& ctx = team.ctx();
                   const auto& env = ctx.environment();
                   const bool told = ctx.load(env.host_stop, order::relaxed, scope::system) != stop_word::none;
                   if (!told && !ctx.is_late()) return std::uint32_t{stopped(ctx)};
                   if (!told) (void)fail(ctx, status::timeout, operation::user_code);
                   return 1u;
               }) != 0;
    }
};

}  // namespace laneway::apps
