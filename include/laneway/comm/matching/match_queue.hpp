// One of the two queues of a matching engine: receives that wait for messages, or messages that wait for receives.
//
// Entries have an order, and hang in chains, one for all entries whose keys have the same hash. A receive hangs in the
// chain of its key, wildcards included; a message in that of its key, and in those of the keys with which receives may
// ask for it: with any source, any tag, or both. So a message finds the receives that take it in four chains, and a
// receive its messages in one, however long the queues are.
//
// One warp at a time uses a queue; its lanes work together, with plain accesses between barriers of the warp.
#pragma once

#include "laneway/comm/matching/match_key.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Kinds of key, by match_key::wildcards.
inline constexpr std::uint32_t match_kinds = 4;

/// Neighbours in a chain: 1 more than their numbers; 0: none.
struct match_link {
    std::uint32_t next, before;
};

struct match_entry {
    match_key key;
    std::uint64_t order;   ///< among all entries of the queue
    std::uint32_t handle;  ///< of the receive or the message; the caller's
    std::uint32_t kinds;   ///< of the keys in whose chains it hangs, a bit each
    match_link links[match_kinds];
    std::uint32_t leaves;  ///< 1 while lanes take it out
    std::uint32_t pad;
};

/// 1 more than the numbers of the first and last entry of a chain; 0: none.
struct match_chain {
    std::uint32_t first, last;
};

/// What changes, in PE memory.
struct match_queue_state {
    std::uint64_t next_order;
    std::uint32_t n_free;
    std::uint32_t max_length;
    std::uint32_t hanging[match_kinds];  ///< entries in chains of each kind
};

/// Device view. `capacity` entries, numbered from 0; `n_chains` of each kind is a power of two.
struct match_queue_ref {
    match_entry* entries = nullptr;
    match_chain* chains = nullptr;          ///< of all kinds, one kind behind the other; zeroed before use
    std::uint32_t* free_entries = nullptr;  ///< a stack, which holds all numbers before use
    match_queue_state* state = nullptr;
    std::uint32_t capacity = 0;
    std::uint32_t n_chains = 1;

    [[nodiscard]] LANEWAY_FN std::uint32_t length() const { return capacity - state->n_free; }
    [[nodiscard]] LANEWAY_FN bool any_wildcards() const {
        return (state->hanging[1] | state->hanging[2] | state->hanging[3]) != 0;
    }
    /// That of a key with or without wildcards.
    [[nodiscard]] LANEWAY_FN std::uint32_t chain_of(const match_key& key) const {
        return key.wildcards() * n_chains + (static_cast<std::uint32_t>(key.hash()) & (n_chains - 1));
    }
    /// The first entry with this key in a chain of its kind, from `at` on; 1 more than its number, or 0. Counts
    /// `looks`.
    [[nodiscard]] LANEWAY_FN std::uint32_t seek(const match_key& key, std::uint32_t at, std::uint64_t& looks) const {
        const std::uint32_t kind = key.wildcards();
        for (; at != 0; at = entries[at - 1].links[kind].next) {
            ++looks;
            const match_key& theirs = entries[at - 1].key;
            if (theirs == key || theirs.with_wildcards(kind) == key) break;
        }
        return at;
    }

    /// Appends an entry of each lane that has one, in the order of lanes. `kinds`: see match_entry. The whole warp,
    /// together, between barriers; there is room.
    template <class Ctx>
    LANEWAY_FN void append(Ctx& ctx, bool mine, const match_key& key, std::uint32_t handle, std::uint32_t kinds) const;

    /// Takes out an entry of each lane that has one, each another one. The same.
    template <class Ctx>
    LANEWAY_FN void remove(Ctx& ctx, bool mine, std::uint32_t number) const;

private:
    template <class Ctx>
    LANEWAY_FN void hang(Ctx& ctx, bool mine, std::uint32_t number, std::uint32_t kind) const;
    LANEWAY_FN void close_gap(std::uint32_t number, std::uint32_t kind) const;
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, bool mine, std::uint32_t kinds, bool come) const;
};

template <class Ctx>
LANEWAY_FN void match_queue_ref::append(Ctx& ctx, bool mine, const match_key& key, std::uint32_t handle,
                                        std::uint32_t kinds) const {
    const lane_mask lanes = ctx.ballot(full_warp<Ctx>, mine);
    if (lanes == 0) return;
    const auto rank = static_cast<std::uint32_t>(rank_in(ctx, lanes));
    std::uint32_t number = 0;
    if (mine) {
        number = free_entries[state->n_free - 1 - rank];
        entries[number] = {key, state->next_order + rank, handle, kinds, {}, 0, 0};
    }
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) hang(ctx, mine && (kinds >> kind & 1) != 0, number, kind);
    ctx.sync(full_warp<Ctx>);
    count(ctx, mine, kinds, true);
    ctx.sync(full_warp<Ctx>);
}

/// Lanes whose entries share a chain hang them one behind the other.
template <class Ctx>
LANEWAY_FN void match_queue_ref::hang(Ctx& ctx, bool mine, std::uint32_t number, std::uint32_t kind) const {
    if (ctx.ballot(full_warp<Ctx>, mine) == 0) return;
    const std::uint32_t none = ~static_cast<std::uint32_t>(ctx.lane());  // no chain has such a number
    const std::uint32_t chain = mine ? chain_of(entries[number].key.with_wildcards(kind)) : none;
    const lane_mask same = ctx.match(full_warp<Ctx>, chain);
    const lane_mask above = same & ~((lane_mask{2} << ctx.lane()) - 1);
    const std::uint32_t after =
        ctx.shuffle(full_warp<Ctx>, number + 1, above == 0 ? ctx.lane() : Ctx::first_lane(above));
    const std::uint32_t last = mine ? chains[chain].last : 0;
    ctx.sync(full_warp<Ctx>);  // all have read what the last of them changes
    if (!mine) return;
    match_link& link = entries[number].links[kind];
    if (above != 0) {
        link.next = after;
        entries[after - 1].links[kind].before = number + 1;
    } else {
        chains[chain].last = number + 1;
    }
    if (!elected(ctx, same)) return;
    link.before = last;
    if (last == 0) {
        chains[chain].first = number + 1;
    } else {
        entries[last - 1].links[kind].next = number + 1;
    }
}

template <class Ctx>
LANEWAY_FN void match_queue_ref::remove(Ctx& ctx, bool mine, std::uint32_t number) const {
    const lane_mask lanes = ctx.ballot(full_warp<Ctx>, mine);
    if (lanes == 0) return;
    if (mine) entries[number].leaves = 1;
    ctx.sync(full_warp<Ctx>);
    const std::uint32_t kinds = mine ? entries[number].kinds : 0;
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        if ((kinds >> kind & 1) != 0) close_gap(number, kind);
    }
    if (mine) free_entries[state->n_free + static_cast<std::uint32_t>(rank_in(ctx, lanes))] = number;
    ctx.sync(full_warp<Ctx>);
    count(ctx, mine, kinds, false);
    ctx.sync(full_warp<Ctx>);
}

/// Of neighbours that leave together, the first one closes the gap: so each lane changes other words. One lane.
LANEWAY_FN void match_queue_ref::close_gap(std::uint32_t number, std::uint32_t kind) const {
    const match_link& link = entries[number].links[kind];
    if (link.before != 0 && entries[link.before - 1].leaves != 0) return;
    std::uint32_t after = link.next;
    while (after != 0 && entries[after - 1].leaves != 0) after = entries[after - 1].links[kind].next;
    match_chain& chain = chains[chain_of(entries[number].key.with_wildcards(kind))];
    if (link.before == 0) {
        chain.first = after;
    } else {
        entries[link.before - 1].links[kind].next = after;
    }
    if (after == 0) {
        chain.last = link.before;
    } else {
        entries[after - 1].links[kind].before = link.before;
    }
}

/// Entries come, or go: as many fewer, or more, are free.
template <class Ctx>
LANEWAY_FN void match_queue_ref::count(Ctx& ctx, bool mine, std::uint32_t kinds, bool come) const {
    const auto changed = [come](std::uint32_t number, lane_mask lanes) {
        const auto by = static_cast<std::uint32_t>(Ctx::count_lanes(lanes));
        return come ? number + by : number - by;
    };
    const lane_mask lanes = ctx.ballot(full_warp<Ctx>, mine);
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        const lane_mask hanging = ctx.ballot(full_warp<Ctx>, mine && (kinds >> kind & 1) != 0);
        if (hanging != 0 && ctx.lane() == 0) state->hanging[kind] = changed(state->hanging[kind], hanging);
    }
    if (ctx.lane() != 0) return;
    state->n_free = capacity - changed(length(), lanes);
    if (!come) return;
    state->next_order += static_cast<std::uint64_t>(Ctx::count_lanes(lanes));
    if (length() > state->max_length) state->max_length = length();
}

}  // namespace laneway
