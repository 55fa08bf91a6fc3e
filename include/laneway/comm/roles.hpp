// Which warps of a persistent kernel do what, and the loop that they all run.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Shares a PE's warps out. Where a warp is one lane (threads mode), every warp has all roles, block 0 control as well:
/// a CPU device needs no more threads than it has blocks. Elsewhere the first `server_blocks` blocks serve and the
/// others work; warp 0 of block 0 is the control warp.
struct roles {
    bool control = false;
    bool serves = false;
    bool works = false;
    int server_index = 0;   ///< among the PE's server warps
    int worker_index = 0;   ///< among the PE's working warps

    template <class Ctx>
    LANEWAY_FN roles(const Ctx& ctx, int server_blocks) {
        const int index = ctx.block() * ctx.n_warps() + ctx.warp();
        if constexpr (Ctx::warp_lanes == 1) {
            control = index == 0;
            serves = works = true;
            server_index = worker_index = index;
        } else {
            control = index == 0;
            serves = !control && ctx.block() < server_blocks;
            works = !control && !serves;
            server_index = index - 1;
            worker_index = index - count_servers(ctx.n_blocks(), ctx.n_warps(), server_blocks, false) - 1;
        }
    }

    static LANEWAY_FN int count_servers(int blocks, int warps, int server_blocks, bool one_lane) {
        if (one_lane) return blocks * warps;
        return server_blocks == 0 ? 0 : server_blocks * warps - 1;
    }
    static LANEWAY_FN int count_workers(int blocks, int warps, int server_blocks, bool one_lane) {
        if (one_lane) return blocks * warps;
        return blocks * warps - 1 - count_servers(blocks, warps, server_blocks, false);
    }
};

/// Runs a warp's roles in turns until the PE is told that all work everywhere is done, or the run is stopped. The whole
/// warp, together. `serve` and `work` return whether there was anything to do; `control` is run by lane 0 alone.
template <class Ctx, class Control, class Serve, class Work>
LANEWAY_FN void run_turns(Ctx& ctx, const roles& mine, const std::uint32_t* finished, Control&& control, Serve&& serve,
                          Work&& work) {
    for (unsigned turn = 1;; ++turn) {
        bool busy = false;
        if (mine.control && ctx.lane() == 0) control();
        if (mine.serves) busy = serve();
        if (mine.works) busy = work() || busy;
        if (busy && turn % 64 != 0) continue;
        // Relaxed: the words only ever go to 1, and whoever reads results waits for the end of the kernel.
        const std::uint32_t end = once(ctx, full_warp<Ctx>, [&]() -> std::uint32_t {
            return ctx.load(finished, order::relaxed, scope::device) | (stopped(ctx) ? 1u : 0u);
        });
        if (end != 0) return;
        if (!busy && !mine.control) ctx.pause();
        if (!busy && mine.control && Ctx::warp_lanes == 1) ctx.pause();
    }
}

}  // namespace laneway
