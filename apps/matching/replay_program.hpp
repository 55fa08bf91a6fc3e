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

struct replay_program {
    static constexpr int cuda_warps = 4;

    const replayed_queue* queues;
    std::uint32_t n_queues;
    const match_event* events;
    std::uint32_t* partners;  ///< of each event
    std::uint32_t* claimed;   ///< queues that warps have taken

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (;;) {
            const std::uint32_t mine =
                once(ctx, full_warp<Ctx>, [&] { return ctx.fetch_add(claimed, 1u, order::relaxed, scope::device); });
            if (mine >= n_queues || stops(ctx)) return;
            replay(ctx, queues[mine]);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void replay(Ctx& ctx, const replayed_queue& queue) const {
        const match_event* const from = events + queue.first;
        std::uint32_t* const to = partners + queue.first;
        for (std::uint32_t next = 0; next < queue.events;) {
            const std::uint32_t at = next + static_cast<std::uint32_t>(ctx.lane());
            const bool there = at < queue.events;
            const match_event event = there ? from[at] : match_event{};
            const std::uint32_t kind = ctx.shuffle(full_warp<Ctx>, event.is_message, 0);
            // Those of one kind that follow each other.
            const lane_mask others = ctx.ballot(full_warp<Ctx>, !there || event.is_message != kind);
            const int run = others == 0 ? Ctx::warp_lanes : Ctx::first_lane(others);
            const bool active = ctx.lane() < run;
            const match_result found = kind != 0 ? queue.engine.arrive(ctx, active, event.key, at)
                                                 : queue.engine.post(ctx, active, event.key, at);
            if (found.outcome == match_outcome::matched) {
                to[at] = found.handle;
                to[found.handle] = at;
            }
            next += static_cast<std::uint32_t>(run);
            if ((next & 1023) < static_cast<std::uint32_t>(run) && stops(ctx)) return;
        }
    }

    template <class Ctx>
    static LANEWAY_FN bool stops(Ctx& ctx) {
        return once(ctx, full_warp<Ctx>, [&] {
                   const auto& env = ctx.environment();
                   const bool told = ctx.load(env.host_stop, order::relaxed, scope::system) != stop_word::none;
                   if (!told && ctx.now_ns() <= ctx.deadline_ns()) return std::uint32_t{stopped(ctx)};
                   if (!told) (void)fail(ctx, status::timeout, operation::user_code);
                   return 1u;
               }) != 0;
    }
};

}  // namespace laneway::apps
