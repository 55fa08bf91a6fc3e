// Which warps of a persistent kernel do what.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// server_share of programs that send nothing: one block serves, for nothing.
inline constexpr double share_for_nothing = 1e-9;
/// The same of components that ask for warps that flush, which are where others serve; a lone block does without.
inline constexpr double share_for_flushers = share_for_nothing / 2;

/// Where a PE's server warps lie: in whole blocks, the first ones, or so many in every block.
struct server_layout {
    int blocks = 0;
    int warps_a_block = 0;  ///< then no whole block serves

    LANEWAY_FN server_layout(int whole_blocks = 0, int warps_of_each_block = 0)
        : blocks(whole_blocks), warps_a_block(warps_of_each_block) {}

    [[nodiscard]] LANEWAY_FN bool any() const { return blocks + warps_a_block > 0; }
};

/// Shares a PE's warps out. Where a warp is one lane (threads mode), every warp has all roles, block 0 control as well:
/// a CPU device needs no more threads than it has blocks, and a thread that has time serves for those that compute.
/// Elsewhere warp 0 of block 0 is the control warp, and either the first blocks serve and the others work, or the first
/// warps of each block serve and the others work, and serve as well while they have no work. With
/// `flushers`, and where there are servers, the last warp of each working block sends messages that have waited long
/// enough, as a functor that computes for long would not, and takes turns at the work of components that lanes may wait
/// for, which may be functions of a user's own.
struct roles {
    bool control = false;
    bool serves = false;
    bool works = false;
    bool flushes = false;
    bool assisted = false;  ///< works, and a warp of its block flushes
    bool claims = false;    ///< any warp may serve what has arrived, see server.hpp
    int server_index = 0;   ///< among the PE's server warps
    /// Among the PE's working warps. Neighbours lie in different blocks: where there is work for a few warps only, all
    /// multiprocessors have a part of it.
    int worker_index = 0;
    int team_number = 0;  ///< of its block, among the PE's working blocks
    int team_index = 0;   ///< among the working warps of its block
    int team_warps = 1;   ///< working warps of its block

    template <class Ctx>
    LANEWAY_FN roles(const Ctx& ctx, server_layout servers, bool flushers = false) {
        const int index = ctx.block() * ctx.n_warps() + ctx.warp();
        if constexpr (Ctx::warp_lanes == 1) {
            control = index == 0;
            serves = works = true;
            server_index = worker_index = team_number = index;
            claims = ctx.n_blocks() * ctx.n_warps() > 1;
        } else {
            const int controls = ctx.block() == 0 ? 1 : 0;
            const int behind_control = ctx.warp() - controls;
            const int flushing = flushers && servers.any() ? 1 : 0;
            control = index == 0;
            serves = !control && (ctx.block() < servers.blocks || behind_control < servers.warps_a_block);
            flushes = flushing != 0 && !control && !serves && ctx.warp() == ctx.n_warps() - 1;
            works = !control && !serves && !flushes;
            assisted = works && flushing != 0;
            claims = servers.warps_a_block > 0;
            server_index = servers.blocks > 0 ? index - 1 : ctx.block() * servers.warps_a_block + behind_control;
            team_number = ctx.block() - servers.blocks;
            team_index = behind_control - servers.warps_a_block;
            team_warps = ctx.n_warps() - controls - servers.warps_a_block - flushing;
            worker_index = number_across_blocks(ctx, servers.blocks, team_index, team_warps + controls);
        }
    }

    /// Number of a warp with this index in its block, where working blocks have so many, but for the control warp.
    template <class Ctx>
    static LANEWAY_FN int number_across_blocks(const Ctx& ctx, int server_blocks, int index, int warps_a_block) {
        const bool first_lacks_it = server_blocks == 0 && index == warps_a_block - 1;
        return index * (ctx.n_blocks() - server_blocks) + ctx.block() - server_blocks - (first_lacks_it ? 1 : 0);
    }

    static LANEWAY_FN int count_servers(int blocks, int warps, server_layout servers, bool one_lane) {
        if (one_lane) return blocks * warps;
        return servers.blocks > 0 ? servers.blocks * warps - 1 : servers.warps_a_block * blocks;
    }
    static LANEWAY_FN int count_workers(int blocks, int warps, server_layout servers, bool one_lane,
                                        bool flushers = false) {
        if (one_lane) return blocks * warps;
        const int others = flushers && servers.any() ? blocks - servers.blocks : 0;
        return blocks * warps - 1 - count_servers(blocks, warps, servers, false) - others;
    }
};

/// Of a GPU's blocks, for bodies that do not say it: the share that suits random updates and shortest paths on roads.
inline constexpr double default_server_share = 0.36;

}  // namespace laneway
