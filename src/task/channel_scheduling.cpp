#include "laneway/task/channel_scheduling.hpp"

#include <chrono>
#include <system_error>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr unsigned looks_before_sleep = 4096;
constexpr std::chrono::microseconds sleep{20};

}  // namespace

channel_scheduling::channel_scheduling(const std::vector<channel_memory>& memories, rank_function rank)
    : rank_(std::move(rank)) {
    for (const auto& memory : memories) parts_.emplace_back(memory.ref(), memory.warp_lanes());
    try {
        thread_ = std::thread([this] { keep(); });
    } catch (const std::system_error& failed) {
        throw system_error("a thread that schedules channels: " + failed.code().message());
    }
}

channel_scheduling::~channel_scheduling() {
    ends_ = true;
    thread_.join();
}

void channel_scheduling::keep() {
    for (unsigned idle = 0; !ends_;) {
        bool gave = false;
        for (part& pe : parts_) gave = look_at(pe) || gave;
        idle = gave ? 0 : idle + 1;
        if (idle == 0) continue;
        if (idle < looks_before_sleep) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(sleep);
        }
    }
}

/// Gives the best queue of each shard to warps without an order.
bool channel_scheduling::look_at(part& pe) {
    bool gave = false;
    for (std::uint32_t shard = 0; shard < pe.set.n_shards; ++shard) {
        ++pe.turn;
        std::uint32_t ready = 0;
        const std::uint64_t best = best_of(pe, shard, ready);
        if (best == 0) continue;
        const auto queue = static_cast<std::uint32_t>(best % channel_rank_queues);
        const std::uint32_t warps = (ready + pe.warp_lanes - 1) / pe.warp_lanes;
        gave = give(pe, shard * pe.set.queues_a_shard + queue, warps) || gave;
    }
    return gave;
}

/// The highest rank of a queue of the shard; 0: none holds anything. `ready`: what it holds.
std::uint64_t channel_scheduling::best_of(part& pe, std::uint32_t shard, std::uint32_t& ready) const {
    std::uint64_t best = 0;
    for (std::uint32_t q = 0; q < pe.set.queues_a_shard; ++q) {
        // Relaxed: what lies in the queue is claimed by warps, which look for themselves.
        const std::uint32_t fill =
            std::atomic_ref(pe.set.board.fills[shard * pe.set.queues_a_shard + q]).load(std::memory_order_relaxed);
        if (fill == 0) continue;
        const std::uint32_t channel = pe.set.channel_of(q);
        const std::uint64_t mine = rank_(pe.set.load(channel, q, fill), pe.set.channels[channel].at_least, q,
                                         pe.set.queues_a_shard, pe.history, pe.turn);
        if (mine <= best) continue;
        best = mine;
        ready = fill;
    }
    return best;
}

bool channel_scheduling::give(part& pe, std::uint32_t queue, std::uint32_t warps) {
    const channel_board_ref& board = pe.set.board;
    bool gave = false;
    for (std::uint32_t looked = 0; looked < board.slots && warps != 0; ++looked) {
        const std::uint32_t slot = (pe.next_slot + looked) % board.slots;
        const std::atomic_ref order(board.orders[slot]);
        const std::uint64_t before = order.load(std::memory_order_relaxed);  // its own
        // Partner: the release store in channel_ordered_agent::report.
        const std::uint64_t report = std::atomic_ref(board.reports[slot]).load(std::memory_order_acquire);
        if (!channel_board_ref::is_idle(before, report)) continue;
        pe.history.note_report(report);
        // Partner: the acquire load in channel_ordered_agent::follow_order.
        order.store(channel_board_ref::order(channel_board_ref::number_of(before) + 1, queue),
                    std::memory_order_release);
        --warps;
        gave = true;
    }
    if (gave) pe.next_slot = (pe.next_slot + 1) % board.slots;
    return gave;
}

}  // namespace laneway
