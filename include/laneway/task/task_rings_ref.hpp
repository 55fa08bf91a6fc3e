// The rings of a pool, as the lanes of a PE see them: entries from the host, and the news that they are done.
//
// The host stores entries in a ring of its memory. The control warp looks at the next ones, over PCIe, and copies those
// that have come into a ring of PE memory: so one warp waits for the host, and all others look at memory that is near.
// There a word says how far entries have been claimed, and how much of the range at that place.
#pragma once

#include "laneway/memory/copy_bytes.hpp"
#include "laneway/queue/tagged_words.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/task/task_slot.hpp"

namespace laneway {

inline constexpr std::uint32_t max_news_shards = 4;
inline constexpr std::uint32_t max_task_ranges = 4;  ///< that a PE has at once

/// A range that a PE has, in PE memory.
struct task_range {
    task_piece piece;
    std::uint32_t record;
    std::uint32_t type;
    std::uint32_t count;
    std::uint32_t open;  ///< tasks that are not done
    // For warps that claim, perhaps late: when the range for which they have come is done, and another one is here.
    std::uint64_t claimed;  ///< tasks, and in the upper half the entry
    std::uint32_t tasks;    ///< as count
    std::uint32_t part;     ///< as in its piece

    /// Of `tasks`. A claim that comes too late adds to `claimed` as well, `max_claimed` at most: of 32,000 blocks at
    /// once it would not reach the upper half.
    static constexpr std::uint32_t max_tasks = std::uint32_t{1} << 31;
    static constexpr std::uint32_t max_claimed = 1 << 16;
};

/// Words in PE memory.
struct task_ring_words {
    alignas(destructive_bytes) std::uint64_t known;    ///< entries that have been copied from the host
    alignas(destructive_bytes) std::uint32_t claimed;  ///< entries of which nothing is left
    alignas(destructive_bytes) std::uint64_t is_open;  ///< whether the control warp copies what comes
    std::uint64_t promised;                            ///< entries that the host had filled at the last command
    struct {
        alignas(destructive_bytes) std::uint64_t announced;  ///< places of news that warps have claimed
    } shards[max_news_shards];
    alignas(destructive_bytes) task_range ranges[max_task_ranges];
};

/// What a warp has claimed for its block: entries, or tasks of a range.
struct claimed_tasks {
    std::uint32_t count = 0;
    std::uint32_t first = 0;
    std::uint32_t range = 0;  ///< 1 more than its number; 0: single tasks
    std::uint32_t part = 1;   ///< that a warp takes at a time
};

struct task_rings_ref {
    const std::uint64_t* entries = nullptr;  ///< host-visible: tagged words of entries
    const std::byte* tails = nullptr;        ///< host-visible: what of them is not in tagged words
    const std::uint64_t* filled = nullptr;   ///< host-visible: entries that the host has filled
    std::uint64_t* taken = nullptr;          ///< host-visible: of these, those that have been copied
    std::uint64_t* news = nullptr;           ///< host-visible: tagged words, of all shards
    std::byte* outcomes = nullptr;           ///< host-visible
    std::uint32_t* has_failed = nullptr;     ///< host-visible: whether a task has a status that is not 0
    std::uint64_t* life = nullptr;           ///< host-visible: changes while tasks get done, see show_life
    std::byte* slots = nullptr;              ///< PE memory: copies of entries
    std::uint32_t* free_for = nullptr;       ///< PE memory: of each slot the next entry that may be stored there
    task_ring_words* words = nullptr;        ///< PE memory
    ring_size ring;                          ///< of entries, both of them: all that a PE has find room
    ring_size news_ring;                     ///< of a shard, the same
    std::uint32_t slot_bytes = 48;
    std::uint32_t outcome_bytes = 16;
    std::uint32_t n_shards = 1;
    std::uint32_t n_blocks = 1;  ///< that claim

    [[nodiscard]] LANEWAY_FN task_slot& slot(std::uint32_t entry) const {
        return *reinterpret_cast<task_slot*>(slots + std::uint64_t{ring.place(entry)} * slot_bytes);
    }
    /// Arguments of a single task, task_piece of a range.
    [[nodiscard]] LANEWAY_FN std::byte* behind(std::uint32_t entry) const {
        return reinterpret_cast<std::byte*>(&slot(entry)) + sizeof(task_slot);
    }
    [[nodiscard]] LANEWAY_FN std::byte* outcome(std::uint32_t place) const {
        return outcomes + std::uint64_t{place} * outcome_bytes;
    }

    /// Whether the control warp copies what comes: between two commands, or what it has counted and not copied. The
    /// same.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool may_pass_on(Ctx& ctx) const {
        // Plain loads: this lane has stored all of them.
        return once(ctx, full_warp<Ctx>,
                    [&] { return std::uint32_t{words->is_open != 0 || words->known < words->promised}; }) != 0;
    }
    /// Lets warps have what the host has filled. The whole control warp.
    template <class Ctx>
    LANEWAY_FN void pass_on(Ctx& ctx) const {
        constexpr int max_rounds = 4;
        constexpr std::uint32_t few = 1, many = 8;
        std::uint64_t known = known_here(ctx);
        // What has come when one look finds nothing more than a few entries is all.
        if (copy_some<few>(ctx, known) < few * entries_at_once<Ctx>) return;
        for (int round = 0; round < max_rounds && copy_some<many>(ctx, known) == many * entries_at_once<Ctx>; ++round) {
        }
    }
    /// The number of entries that the host has filled so far: they count as created. The same.
    template <class Ctx>
    LANEWAY_FN void promise(Ctx& ctx) const {
        if (ctx.lane() != 0) return;
        // Partner: the host's store in task_rings::publish.
        const std::uint64_t now = ctx.load(filled, order::acquire, scope::system);
        ctx.store(&words->promised, now, order::relaxed, scope::device);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t created(Ctx& ctx) const {
        const std::uint64_t known = ctx.load(&words->known, order::relaxed, scope::device);
        const std::uint64_t promised = ctx.load(&words->promised, order::relaxed, scope::device);
        return known > promised ? known : promised;
    }

    /// Claims single tasks, a share of those that wait, so that other blocks find some as well, and `max_singles` at
    /// most; or tasks of a range, a part for each warp of the block. The whole warp; all lanes get the same.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN claimed_tasks claim(Ctx& ctx, std::uint32_t max_singles) const {
        std::uint32_t entry = 0, known = 0;
        if (ctx.lane() == 0) {
            entry = ctx.load(&words->claimed, order::relaxed, scope::device);
            // Partner: the release store in copy_some.
            known = static_cast<std::uint32_t>(ctx.load(&words->known, order::acquire, scope::device));
        }
        entry = ctx.shuffle(full_warp<Ctx>, entry, 0);
        known = ctx.shuffle(full_warp<Ctx>, known, 0);
        ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read slots
        const std::uint32_t waiting = known - entry;
        if (static_cast<std::int32_t>(waiting) <= 0) return {};  // the later load may have been served first
        std::uint32_t count = 0, place = 0;
        if (ctx.lane() == 0) {
            count = ctx.load(&slot(entry).count, order::relaxed, scope::device);
            place = ctx.load(&slot(entry).place, order::relaxed, scope::device);
        }
        count = ctx.shuffle(full_warp<Ctx>, count, 0);
        if (count != 0) {
            claimed_tasks mine;
            if (ctx.lane() == 0) mine = tasks_of_range(ctx, entry, place % max_task_ranges);
            return shuffle_value(ctx, full_warp<Ctx>, mine, 0);
        }
        claimed_tasks mine{singles_from(ctx, entry, waiting, max_singles), entry};
        const bool claimed =
            once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{pass(ctx, entry, mine.count)}; }) != 0;
        if (!claimed) mine.count = 0;
        return mine;
    }

    /// The entry has been read: another may be stored in its slot. One lane.
    template <class Ctx>
    LANEWAY_FN void let_go(Ctx& ctx, std::uint32_t entry, order o) const {
        // Partner: the load in copy_some.
        ctx.store(&free_for[ring.place(entry)], entry + ring.slots(), o, scope::device);
    }

    /// Tells the host that an entry is done. What its lanes have stored comes before. One lane.
    template <class Ctx>
    LANEWAY_FN void announce(Ctx& ctx, std::uint32_t shard, const task_news& news_of_it) const {
        const std::uint64_t place =
            ctx.fetch_add(&words->shards[shard].announced, std::uint64_t{1}, order::relaxed, scope::device);
        if constexpr (Ctx::tagged_order == order::relaxed) ctx.fence(order::release, scope::system);
        // Where the program is ending, bodies may have left their waits before they were over. Asked here, as all that
        // comes before the fence is on its way at the same time.
        if (stopped(ctx)) return;
        // Partner: the host's acquire loads in task_rings::take_news.
        const std::uint64_t at = (std::uint64_t{shard} << news_ring.log2) + news_ring.place(place);
        store_tagged(ctx, news + at * task_news::n_words, news_ring.tag(place), news_of_it, Ctx::tagged_order);
    }

private:
    /// Of the control warp: all lanes get the same.
    template <class Ctx>
    LANEWAY_FN std::uint64_t known_here(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] { return words->known; });  // this lane has stored it
    }
    /// That a load by all lanes of a warp shows.
    template <class Ctx>
    static constexpr std::uint32_t entries_at_once =
        Ctx::warp_lanes >= task_slot::n_words ? Ctx::warp_lanes / task_slot::n_words : 1;

    /// Copies the entries from `known` on that have come, `Looks` times as many as a load shows at most, and adds them
    /// to it. Returns how many. The whole control warp.
    template <std::uint32_t Looks, class Ctx>
    LANEWAY_FN std::uint32_t copy_some(Ctx& ctx, std::uint64_t& known) const {
        constexpr std::uint32_t at_once = entries_at_once<Ctx>, lanes = Ctx::warp_lanes;
        constexpr std::uint32_t words_a_lane = at_once * task_slot::n_words / lanes;
        // Copies: behind each atomic load the compiler would fetch the members anew, and the next load would wait.
        const ring_size of = ring;
        const std::uint64_t* const from = entries;
        const std::uint32_t* const free_from = free_for;
        std::uint64_t seen[Looks][words_a_lane];
        std::uint32_t free_now[Looks] = {};  // g++ does not see at -O1 that all are stored
        // All loads are on their way before the first word is looked at.
        for (std::uint32_t i = 0; i < Looks; ++i) {
            for (std::uint32_t k = 0; k < words_a_lane; ++k) {
                const std::uint32_t word = static_cast<std::uint32_t>(ctx.lane()) + k * lanes;
                const std::uint32_t place = of.place(known + i * at_once + word / task_slot::n_words);
                // Partner: the host's release stores.
                seen[i][k] = ctx.load(&from[std::uint64_t{place} * task_slot::n_words + word % task_slot::n_words],
                                      tagged_load_order<Ctx>, scope::system);
                // Partner: the store in let_go. An acquire load would hold up those that follow.
                if (k == 0) free_now[i] = ctx.load(&free_from[place], tagged_load_order<Ctx>, scope::device);
            }
        }
        std::uint32_t n = 0, behind = 0;
        for (std::uint32_t i = 0; i < Looks && n == i * at_once; ++i) {
            n += store_come<at_once>(ctx, known + i * at_once, seen[i], free_now[i], behind);
        }
        if (n == 0) return 0;
        if (ctx.ballot(full_warp<Ctx>, behind != 0) != 0) copy_tails(ctx, known, n);
        known += n;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() != 0) return n;
        // Partner: the acquire load in claim.
        ctx.store(&words->known, known, order::release, scope::device);
        // Partner: the host's acquire load in task_rings::put. All that it allows to overwrite has been seen.
        ctx.store(taken, known, Ctx::tagged_order, scope::system);
        return n;
    }
    /// Stores those of the entries from `first` on that are there whole, and have room. Returns how many; `behind`:
    /// whether more belongs to one of them.
    template <std::uint32_t Entries, std::size_t Words, class Ctx>
    LANEWAY_FN std::uint32_t store_come(Ctx& ctx, std::uint64_t first, const std::uint64_t (&seen)[Words],
                                        std::uint32_t free_now, std::uint32_t& behind) const {
        constexpr std::uint32_t lanes = Ctx::warp_lanes, n_words = task_slot::n_words;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        const std::uint32_t mine = lane / n_words;  // where a lane has several words they are of one entry
        bool here = free_now == static_cast<std::uint32_t>(first + mine);
        for (std::uint32_t k = 0; k < Words; ++k) {
            here = here && static_cast<std::uint32_t>(seen[k] >> 32) == ring.tag(first + mine);
        }
        const lane_mask all = ctx.ballot(full_warp<Ctx>, here);
        constexpr lane_mask whole = lanes >= n_words ? (lane_mask{1} << n_words % 32) - 1 : full_warp<Ctx>;
        std::uint32_t n = 0;
        while (n < Entries && (all >> (n * n_words) % 32 & whole) == whole) ++n;
        if (mine < n) {
            for (std::uint32_t k = 0; k < Words; ++k) {
                const std::uint32_t word = (lane + k * lanes) % n_words;
                const auto value = static_cast<std::uint32_t>(seen[k]);
                auto* const to = reinterpret_cast<std::uint32_t*>(&slot(static_cast<std::uint32_t>(first + mine)));
                ctx.store(to + word, value, order::relaxed, scope::device);
                if (word == 1) behind |= value & task_slot::has_tail;
            }
        }
        return n;
    }
    /// Brings what belongs to entries beside their words, and makes ranges of those that are. The whole control warp.
    template <class Ctx>
    LANEWAY_FN void copy_tails(Ctx& ctx, std::uint64_t first, std::uint32_t n) const {
        constexpr std::size_t word = 16;
        // It was stored before the words, which each lane has loaded by itself.
        if constexpr (Ctx::tagged_order == order::relaxed) ctx.fence(order::acquire, scope::system);
        ctx.sync(full_warp<Ctx>);
        const auto words_each =
            static_cast<std::uint32_t>((slot_bytes - sizeof(task_slot) - task_slot::behind_bytes) / word);
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < n * words_each; i += Ctx::warp_lanes) {
            const std::uint64_t entry = first + i / words_each;
            const std::size_t at = i % words_each * word;
            copy_words<word>(behind(static_cast<std::uint32_t>(entry)) + task_slot::behind_bytes + at,
                             tails + std::uint64_t{ring.place(entry)} * words_each * word + at, word, {});
        }
        ctx.sync(full_warp<Ctx>);
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < n; i += Ctx::warp_lanes) {
            const auto entry = static_cast<std::uint32_t>(first + i);
            if (slot(entry).count != 0) open_range(ctx, entry);
        }
    }
    /// Nothing is left of so many entries from this one on. False where that is known already. One lane.
    template <class Ctx>
    LANEWAY_FN bool pass(Ctx& ctx, std::uint32_t entry, std::uint32_t n) const {
        return ctx.compare_exchange(&words->claimed, entry, entry + n, order::relaxed, scope::device);
    }
    /// Claims parts of the range of an entry, by an addition: of all blocks that come at the same time each gets some.
    /// The entry's range may be done meanwhile, and another one in its place: then these are tasks of that one. One
    /// lane.
    template <class Ctx>
    LANEWAY_FN claimed_tasks tasks_of_range(Ctx& ctx, std::uint32_t entry, std::uint32_t place) const {
        task_range& range = words->ranges[place];
        const std::uint32_t part = ctx.load(&range.part, order::relaxed, scope::device);
        const std::uint64_t wanted = std::uint64_t{part} * static_cast<std::uint32_t>(ctx.n_warps());
        const auto share =
            static_cast<std::uint32_t>(wanted < task_range::max_claimed ? wanted : task_range::max_claimed);
        // Partner: the release store in open_range.
        const std::uint64_t seen = ctx.fetch_add(&range.claimed, std::uint64_t{share}, order::acquire, scope::device);
        const auto owner = static_cast<std::uint32_t>(seen >> 32), first = static_cast<std::uint32_t>(seen);
        // Partner: the same. While it is the range of `owner`, this is how many tasks that has.
        const std::uint32_t tasks = ctx.load(&range.tasks, order::acquire, scope::device);
        const bool same = ctx.load(&range.claimed, order::relaxed, scope::device) >> 32 == owner;
        const bool any = same && first < tasks;
        const bool over = owner != entry || !any || tasks - first <= share;
        if (over && pass(ctx, entry, 1)) let_go(ctx, entry, order::release);
        if (!any) return {};
        return {share < tasks - first ? share : tasks - first, first, place + 1, part};
    }
    /// Makes a range of an entry. One lane of the control warp.
    template <class Ctx>
    LANEWAY_FN void open_range(Ctx& ctx, std::uint32_t entry) const {
        const task_slot& from = slot(entry);
        const task_piece& piece = *reinterpret_cast<const task_piece*>(behind(entry));
        task_range& range = words->ranges[from.place];
        const std::uint64_t owner = std::uint64_t{entry} << 32;
        ctx.store(&range.claimed, owner + task_range::max_tasks, order::relaxed, scope::device);  // nothing is left
        // Partner: the acquire load in tasks_of_range: who sees it sees that the last range is gone.
        ctx.store(&range.tasks, from.count, order::release, scope::device);
        ctx.store(&range.part, piece.part, order::relaxed, scope::device);
        range.piece = piece;
        range.record = from.record;
        range.type = from.type;
        range.count = range.open = from.count;
        // Partner: the acquire addition in tasks_of_range.
        ctx.store(&range.claimed, owner, order::release, scope::device);
    }
    /// How many entries from this one on a warp claims: the single tasks among so many that its block may have. The
    /// whole warp; the first one is a single task.
    template <class Ctx>
    LANEWAY_FN std::uint32_t singles_from(Ctx& ctx, std::uint32_t entry, std::uint32_t waiting,
                                          std::uint32_t limit) const {
        constexpr std::uint32_t lanes = Ctx::warp_lanes;
        const std::uint32_t share = waiting / (2 * n_blocks), most = share < limit ? share : limit;
        std::uint32_t n = 1;
        while (n < most) {
            const std::uint32_t mine = n + static_cast<std::uint32_t>(ctx.lane());
            const bool single = mine < most && ctx.load(&slot(entry + mine).count, order::relaxed, scope::device) == 0;
            const lane_mask others = ~ctx.ballot(full_warp<Ctx>, single) & full_warp<Ctx>;
            if (others != 0) return n + static_cast<std::uint32_t>(Ctx::first_lane(others));
            n += lanes;
        }
        return n;
    }
};

}  // namespace laneway
