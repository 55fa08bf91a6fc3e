// The rings of a pool, as the lanes of a PE see them: tasks from the host, and the news that they are done.
#pragma once

#include "laneway/simt/context.hpp"
#include "laneway/task/task_slot.hpp"

namespace laneway {

inline constexpr std::uint32_t max_task_shards = 16;

/// Words of a shard in PE memory.
struct task_shard {
    alignas(destructive_bytes) std::uint64_t known;      ///< entries that the control warp has passed on
    alignas(destructive_bytes) std::uint64_t claimed;    ///< of these, those that warps have claimed
    alignas(destructive_bytes) std::uint64_t announced;  ///< places of news that warps have claimed
};

/// Entries that a warp has claimed.
struct claimed_tasks {
    std::uint32_t shard = 0;
    std::uint32_t count = 0;
    std::uint64_t first = 0;
    std::uint64_t known = 0;  ///< entries that there were
};

struct task_rings_ref {
    std::byte* slots = nullptr;             ///< host-visible: of all shards
    const std::uint64_t* filled = nullptr;  ///< host-visible, a shard each: slots that the host has filled
    std::uint64_t* news = nullptr;          ///< host-visible: task_news of all shards
    task_shard* shards = nullptr;           ///< PE memory
    std::uint64_t* is_open = nullptr;       ///< PE memory: whether the control warp passes on what comes
    std::uint64_t slots_a_shard = 1;        ///< a power of two
    std::uint64_t news_a_shard = 1;         ///< a power of two; all entries that the PE has at once find room
    std::uint64_t slot_bytes = 64;
    std::uint32_t n_shards = 1;
    std::uint32_t warps_a_shard = 1;

    [[nodiscard]] LANEWAY_FN task_slot& slot(std::uint32_t shard, std::uint64_t number) const {
        return *reinterpret_cast<task_slot*>(slots + (shard * slots_a_shard + number % slots_a_shard) * slot_bytes);
    }

    /// Lets warps take what the host has filled. One lane a shard.
    template <class Ctx>
    LANEWAY_FN void pass_on(Ctx& ctx, std::uint32_t shard) const {
        // Partner: the host's release store.
        const std::uint64_t now = ctx.load(filled + shard, order::acquire, scope::system);
        std::uint64_t& known = shards[shard].known;
        // Partner: the acquire load in claim.
        if (now != ctx.load(&known, order::relaxed, scope::device)) {
            ctx.store(&known, now, order::release, scope::device);
        }
    }

    /// Claims an entry, or more where the shard holds many for each of its warps. One lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN claimed_tasks claim(Ctx& ctx, std::uint32_t shard) const {
        claimed_tasks mine{shard, 0, ctx.load(&shards[shard].claimed, order::relaxed, scope::device)};
        for (;;) {
            // Partner: the release store in pass_on. What the host has stored is seen behind it.
            mine.known = ctx.load(&shards[shard].known, order::acquire, scope::device);
            if (mine.first >= mine.known) return mine;
            const std::uint64_t share = (mine.known - mine.first) / (2 * warps_a_shard);
            const std::uint64_t count = share < 1 ? 1 : share < max_claim ? share : max_claim;
            if (ctx.compare_exchange(&shards[shard].claimed, mine.first, mine.first + count, order::relaxed,
                                     scope::device)) {
                mine.count = static_cast<std::uint32_t>(count);
                return mine;
            }
        }
    }

    /// The entry has been read: the host may fill its slot again. One lane.
    template <class Ctx>
    LANEWAY_FN void give_back(Ctx& ctx, std::uint32_t shard, std::uint64_t number) const {
        // Partner: the host's acquire load.
        ctx.store(&slot(shard, number).free_for, number + slots_a_shard, order::release, scope::system);
    }

    /// Tells the host that an entry is done, and how long each of its tasks took. One lane.
    template <class Ctx>
    LANEWAY_FN void announce(Ctx& ctx, std::uint32_t shard, std::uint32_t record, std::uint64_t nanoseconds) const {
        const std::uint64_t place =
            ctx.fetch_add(&shards[shard].announced, std::uint64_t{1}, order::relaxed, scope::device);
        // Partner: the host's acquire load. Outcomes come before.
        ctx.store(news + shard * news_a_shard + place % news_a_shard,
                  task_news::of(place, news_a_shard, record, nanoseconds), order::release, scope::system);
    }

private:
    static constexpr std::uint64_t max_claim = 32;
};

}  // namespace laneway
