#include "laneway/task/channel_scheduling.hpp"

namespace laneway {

channel_scheduling::channel_scheduling(const std::vector<channel_memory>& memories, rank_function rank)
    : rank_(std::move(rank)) {
    for (const auto& memory : memories) parts_.emplace_back(memory.ref(), memory.warp_lanes());
}

bool channel_scheduling::turn(host_context& ctx, int) {
    if (!is_on_) return false;
    bool gave = false;
    for (part& pe : parts_) gave = look_at(ctx, pe) || gave;
    return gave;
}

/// Gives the best queue of each shard to warps without an order.
bool channel_scheduling::look_at(host_context& ctx, part& pe) {
    bool gave = false;
    ++pe.turn;  // the same for all shards, so that each has its turns of age
    for (std::uint32_t shard = 0; shard < pe.set.n_shards; ++shard) {
        std::uint32_t ready = 0;
        const std::uint64_t best = best_of(ctx, pe, shard, ready);
        if (best == 0) continue;
        pe.history.note_choice(best);
        const auto queue = static_cast<std::uint32_t>(best % channel_rank_queues);
        const std::uint32_t warps = (ready + pe.warp_lanes - 1) / pe.warp_lanes;
        gave = give(ctx, pe, shard * pe.set.queues_a_shard + queue, warps) || gave;
    }
    return gave;
}

/// The highest rank of a queue of the shard; 0: none holds anything. `ready`: what it holds.
std::uint64_t channel_scheduling::best_of(host_context& ctx, part& pe, std::uint32_t shard,
                                          std::uint32_t& ready) const {
    std::uint64_t best = 0;
    for (std::uint32_t q = 0; q < pe.set.queues_a_shard; ++q) {
        // Relaxed: what lies in the queue is claimed by warps, which look for themselves.
        const std::uint32_t fill =
            ctx.load(pe.set.board.fills + shard * pe.set.queues_a_shard + q, order::relaxed, scope::system);
        if (fill == 0) continue;
        const std::uint32_t channel = pe.set.channel_of(q);
        const std::uint64_t mine = rank_(pe.set.load(channel, q, fill), pe.set.channels[channel].rule, q,
                                         pe.set.queues_a_shard, pe.history, pe.turn);
        if (mine <= best) continue;
        best = mine;
        ready = fill;
    }
    return best;
}

bool channel_scheduling::give(host_context& ctx, part& pe, std::uint32_t queue, std::uint32_t warps) {
    const channel_board_ref& board = pe.set.board;
    bool gave = false;
    for (std::uint32_t looked = 0; looked < board.slots && warps != 0; ++looked) {
        const std::uint32_t slot = (pe.next_slot + looked) % board.slots;
        const std::uint64_t before = ctx.load(board.orders + slot, order::relaxed, scope::system);  // its own
        // Partner: the release store in channel_ordered_agent::report.
        const std::uint64_t report = ctx.load(board.reports + slot, order::acquire, scope::system);
        if (!channel_board_ref::is_idle(before, report)) continue;
        pe.history.note_report(report);
        // Partner: the acquire load in channel_ordered_agent::follow_order.
        ctx.store(board.orders + slot, channel_board_ref::order(channel_board_ref::number_of(before) + 1, queue),
                  order::release, scope::system);
        --warps;
        gave = true;
    }
    if (gave) pe.next_slot = (pe.next_slot + 1) % board.slots;
    return gave;
}

}  // namespace laneway
