// The concept of an aggregation agent: how small messages of many lanes become chunks for each PE.
//
// A scheme is a type with three parts: `memory` (host: what all PEs need beside rings), `view` (what one PE's lanes
// know of it) and `agent` (one lane's access). Chunks leave through the library's rings and are served by its server
// warps, so schemes differ in nothing but the aggregating.
#pragma once

#include <algorithm>

#include "laneway/base/options.hpp"
#include "laneway/comm/aggregation_buffer.hpp"
#include "laneway/comm/comm_resources.hpp"
#include "laneway/comm/links.hpp"
#include "laneway/simt/machine.hpp"
#include "walks.hpp"

namespace laneway::study {

/// Knobs of a study run.
struct study_options {
    /// Devices, deadline, seed; chunk_bytes is the size of a buffer for one PE, age_ns when it leaves half empty,
    /// host_threads and host_slots are those of the indirect scheme through the host.
    options job;
    /// Blocks of a PE that share aggregation buffers in PE memory; a PE has at least one set of aggregation buffers.
    int blocks_per_set = 8;
    /// Groups of lanes that the queue of an indirect scheme in PE memory holds for each aggregating warp.
    std::uint32_t queue_slots = 4;
    /// Part of a block's warps that repack in the indirect scheme in PE memory, or send on in the hierarchical one.
    double aggregator_share = 0.25;

    /// That part of a block's `warps`, one at least.
    [[nodiscard]] int aggregators(int warps) const {
        return std::clamp(static_cast<int>(warps * aggregator_share), 1, std::max(1, warps - 1));
    }
};

/// Grid of one PE in a study run.
struct study_grid {
    pe_grid grid;
    int lanes = 1;         ///< of a warp
    int helper_warps = 0;  ///< of each working block: they call agent::turn and post nothing
    int workers = 1;       ///< working warps of the PE
    int helpers = 0;       ///< helping warps of the PE

    [[nodiscard]] int worker_blocks() const { return grid.shape.blocks - grid.server_blocks; }
};

/// Where a lane stands in the grid.
struct place {
    int team_lanes = 1;    ///< working lanes of its block
    int worker_block = 0;  ///< number of its block among the working ones
    int helper_index = 0;  ///< of a helping warp among those of the PE
    int helpers = 0;
};

/// One lane's access. A scheme whose lanes meet each other names this in `meets`: they call finish() when they will
/// post no more. Members but for post and finish are called by whole warps.
template <class Agent, class Ctx, class Message>
concept aggregation_agent = requires(Agent& agent, Ctx& ctx, bool active, int pe, const Message& message) {
    { Agent::meets } -> std::convertible_to<bool>;
    /// All lanes of the block, before any other member; a block barrier follows.
    {agent.open(ctx)};
    /// Hands over the messages of the active lanes to their PEs, which are not the own one. May wait.
    { agent.post(ctx, active, pe, message) } -> std::same_as<status>;
    /// This lane posts no more. Any lane, once; does not wait.
    {agent.finish(ctx)};
    /// What helping warps do again and again; where a warp has one lane, all warps.
    {agent.turn(ctx)};
    /// The PE's last working warp, when all its lanes are done: returns when all their messages have been counted as
    /// sent.
    { agent.drain(ctx) } -> std::same_as<status>;
};

/// What a functor posts into: checks, serves what goes to the own PE, and leaves the rest to the agent.
template <class Ctx, class Agent, class Handler>
class study_box {
public:
    LANEWAY_FN study_box(Agent& agent, const Handler& handler) : agent_(agent), handler_(handler) {}

    /// As sender::post. Any lane; where agents meet, a lane that posts no more must say so by finish().
    template <class Message>
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& message) {
        return post_if(ctx, true, pe, message);
    }
    /// Posts where `active`; other lanes come along.
    template <class Message>
    LANEWAY_FN status post_if(Ctx& ctx, bool active, int pe, const Message& message) {
        if (failed_ != status::ok) return failed_;
        if (active && (pe < 0 || pe >= ctx.n_pes())) return failed_ = fail(ctx, status::bad_pe, operation::post, pe);
        if (++calls_ % 64 == 0) {
            if (stopped(ctx)) return failed_ = status::stopped;
            if constexpr (Ctx::warp_lanes == 1) agent_.turn(ctx);  // here no other warp does
        }
        const bool own = active && pe == ctx.pe();
        posted_ += active ? 1 : 0;
        if (ctx.n_pes() > 1) failed_ = agent_.post(ctx, active && !own, pe, message);
        if (own) {
            ++direct_;
            handler_(ctx, message);
        }
        return failed_;
    }
    LANEWAY_FN void finish(Ctx& ctx) requires(Agent::meets) { agent_.finish(ctx); }

    /// The largest count of the block. All its working lanes, together.
    LANEWAY_FN status longest(Ctx& ctx, std::uint64_t count, std::uint64_t& most) requires(Agent::meets) {
        return agent_.longest(ctx, count, most);
    }

    /// Adds what this lane has posted to the PE's counters. Once, at the end.
    LANEWAY_FN void account(Ctx& ctx, work_counters& work) const {
        if (posted_ == 0) return;
        ctx.fetch_add(&work.posted, posted_, order::relaxed, scope::device);
        ctx.fetch_add(&work.direct, direct_, order::relaxed, scope::device);
    }

private:
    Agent& agent_;
    const Handler& handler_;
    status failed_ = status::ok;
    std::uint64_t calls_ = 0;
    std::uint64_t posted_ = 0;
    std::uint64_t direct_ = 0;
};

}  // namespace laneway::study
