// One of the two queues of a matching engine: receives that wait for messages, or messages that wait for receives.
//
// Entries have an order, and hang in chains, one for all entries whose keys have the same hash. A receive hangs in the
// chain of its key, wildcards included; a message in that of its key, and in those of the keys with which receives may
// ask for it: with any source, any tag, or both. So a message finds the receives that take it in four chains, and a
// receive its messages in one, however long the queues are.
//
// One team at a time uses a queue, a warp or a block; its lanes work together, with plain accesses between barriers.
#pragma once

#include "laneway/comm/matching/match_key.hpp"
#include "laneway/comm/matching/match_team.hpp"

namespace laneway {

/// Kinds of key, by match_key::wildcards.
inline constexpr std::uint32_t match_kinds = 4;

/// Neighbours in a chain: 1 more than their numbers; 0: none.
struct alignas(8) match_link {
    std::uint32_t next, before;
};

/// The first 32 bytes are all that is written of most: stores to places that lie apart are what a batch costs most.
struct alignas(16) match_entry {
    match_key key;
    std::uint64_t order;   ///< among all entries of the queue
    std::uint32_t handle;  ///< of the receive or the message; the caller's
    std::uint32_t kinds;   ///< of the keys in whose chains it hangs, a bit each
    match_link links[match_kinds];
    std::uint64_t leaves;  ///< set where it has neighbours, by the lane that takes it out: see match_queue_ref::leaver
};

/// 1 more than the numbers of the first and last entry of a chain; 0: none.
struct alignas(8) match_chain {
    std::uint32_t first, last;
};

/// What changes, in PE memory.
struct alignas(16) match_queue_state {
    std::uint64_t next_order;
    std::uint64_t removals;              ///< calls of remove so far
    std::uint32_t hanging[match_kinds];  ///< entries in chains of each kind
    std::uint32_t n_free;
    std::uint32_t max_length;
};

/// Device view. `capacity` entries, numbered from 0; `n_chains` of each kind is a power of two.
struct match_queue_ref {
    match_entry* entries = nullptr;
    match_chain* chains = nullptr;          ///< of each kind that is asked for, one behind the other; zeroed before use
    std::uint32_t* free_entries = nullptr;  ///< a stack, which holds all numbers before use
    match_queue_state* state = nullptr;
    std::uint32_t capacity = 0;
    std::uint32_t n_chains = 1;

    [[nodiscard]] LANEWAY_FN std::uint32_t length() const { return capacity - state->n_free; }
    /// Of the keys in whose chains something hangs, a bit each.
    [[nodiscard]] LANEWAY_FN std::uint32_t kinds() const {
        std::uint32_t found = 0;
        for (std::uint32_t kind = 0; kind < match_kinds; ++kind) found |= (state->hanging[kind] != 0 ? 1u : 0u) << kind;
        return found;
    }
    /// That of a key with or without wildcards.
    [[nodiscard]] LANEWAY_FN std::uint32_t chain_of(const match_key& key) const {
        return key.wildcards() * n_chains + (static_cast<std::uint32_t>(key.hash()) & (n_chains - 1));
    }
    /// The first entry with this key in a chain of its kind, from `at` on; 1 more than its number, or 0. Counts
    /// `looks`.
    [[nodiscard]] LANEWAY_FN std::uint32_t seek(const match_key& key, std::uint32_t at, std::uint32_t& looks) const {
        const std::uint32_t kind = key.wildcards();
        for (; at != 0; at = entries[at - 1].links[kind].next) {
            ++looks;
            const match_key& theirs = entries[at - 1].key;
            if (theirs == key || theirs.with_wildcards(kind) == key) break;
        }
        return at;
    }

    /// Appends an entry of each lane that has one, in the order of lanes. `kinds`: see match_entry. The whole team,
    /// together; there is room. How many these are. What has changed is visible behind the team's next barrier.
    template <class Team>
    LANEWAY_FN std::uint32_t append(Team& team, bool mine, const match_key& key, std::uint32_t handle,
                                    std::uint32_t kinds) const;

    /// Takes out an entry of each lane that has one, each another one. The same.
    template <class Team>
    LANEWAY_FN std::uint32_t remove(Team& team, bool mine, std::uint32_t number) const;

private:
    static constexpr std::uint32_t lane_bits = 11;  ///< of match_entry::leaves; the call of remove is behind them
    static_assert(match_block_shared::max_lanes < 1u << lane_bits);

    template <class Team>
    LANEWAY_FN match_link hang(Team& team, bool mine, const match_key& key, std::uint32_t number,
                               std::uint32_t kind) const;
    template <class Team>
    LANEWAY_FN void close_gaps(Team& team, bool mine, std::uint32_t number, std::uint32_t kind,
                               std::uint64_t call) const;
    /// 1 more than the number of the lane that takes out an entry in this call; 0: it stays, or there is none.
    [[nodiscard]] LANEWAY_FN std::uint32_t leaver(std::uint32_t link, std::uint64_t call) const {
        const std::uint64_t leaves = link != 0 ? entries[link - 1].leaves : 0;
        return leaves >> lane_bits == call ? static_cast<std::uint32_t>(leaves) & ((1u << lane_bits) - 1) : 0;
    }
    [[nodiscard]] LANEWAY_FN bool has_neighbours(const match_entry& entry) const {
        std::uint32_t links = 0;
        for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
            if ((entry.kinds >> kind & 1) != 0) links |= entry.links[kind].next | entry.links[kind].before;
        }
        return links != 0;
    }
    /// One lane.
    LANEWAY_FN void count(const match_share& changed, bool come) const;
};

template <class Team>
LANEWAY_FN std::uint32_t match_queue_ref::append(Team& team, bool mine, const match_key& key, std::uint32_t handle,
                                                 std::uint32_t kinds) const {
    const match_share place = team.share(mine, mine ? kinds : 0);
    if (place.all == 0) return 0;
    const std::uint32_t number = mine ? free_entries[state->n_free - 1 - place.below] : 0;
    const std::uint64_t order = state->next_order + place.below;
    match_link link{};
    if (match_total(place.by_bit, 0) != 0) link = hang(team, mine && (kinds & 1) != 0, key, number, 0);
    match_entry& entry = entries[number];
    if (mine) {
        entry.key = key;
        entry.order = order;
        entry.handle = handle;
        entry.kinds = kinds;
        entry.links[0] = link;
    }
    for (std::uint32_t kind = 1; kind < match_kinds; ++kind) {
        if (match_total(place.by_bit, kind) == 0) continue;
        const bool hangs = mine && (kinds >> kind & 1) != 0;
        link = hang(team, hangs, key, number, kind);
        if (hangs) entry.links[kind] = link;
    }
    if (team.number() == 0) count(place, true);
    return place.all;
}

/// Lanes whose entries share a chain hang them one behind the other.
template <class Team>
LANEWAY_FN match_link match_queue_ref::hang(Team& team, bool mine, const match_key& key, std::uint32_t number,
                                            std::uint32_t kind) const {
    const std::uint32_t at = mine ? chain_of(key.with_wildcards(kind)) : 0;
    const std::uint32_t last = mine ? chains[at].last : 0;  // before one of those that share the chain changes it
    const match_neighbours mates = team.neighbours(mine, at, number + 1);
    if (!mine) return {};
    if (mates.before == 0 && mates.after == 0 && last == 0) {
        chains[at] = {number + 1, number + 1};
        return {};
    }
    if (mates.after == 0) chains[at].last = number + 1;
    if (mates.before != 0) return {mates.after, mates.before};
    if (last == 0) {
        chains[at].first = number + 1;
    } else {
        entries[last - 1].links[kind].next = number + 1;
    }
    return {mates.after, last};
}

template <class Team>
LANEWAY_FN std::uint32_t match_queue_ref::remove(Team& team, bool mine, std::uint32_t number) const {
    const std::uint64_t call = state->removals + 1;
    const std::uint32_t kinds = mine ? entries[number].kinds : 0;
    if (mine && has_neighbours(entries[number])) entries[number].leaves = call << lane_bits | (team.number() + 1);
    const match_share place = team.share(mine, kinds);
    if (place.all == 0) return 0;
    if (mine) free_entries[state->n_free + place.below] = number;
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        if (match_total(place.by_bit, kind) != 0) close_gaps(team, (kinds >> kind & 1) != 0, number, kind, call);
    }
    if (team.number() == 0) count(place, false);
    return place.all;
}

/// Of neighbours that leave together, the first one closes the gap: so each lane changes other words. It finds the
/// first behind them that stays in a number of steps that is the logarithm of theirs.
template <class Team>
LANEWAY_FN void match_queue_ref::close_gaps(Team& team, bool mine, std::uint32_t number, std::uint32_t kind,
                                            std::uint64_t call) const {
    const match_link link = mine ? entries[number].links[kind] : match_link{};
    std::uint32_t after = link.next, mate = leaver(link.next, call);
    for (;;) {
        const match_answer theirs = team.from(std::uint64_t{after} << 32 | mate, mate != 0 ? mate - 1 : no_lane);
        if (!theirs.any_asks) break;
        if (mate == 0) continue;
        after = static_cast<std::uint32_t>(theirs.value >> 32);
        mate = static_cast<std::uint32_t>(theirs.value);
    }
    if (!mine || leaver(link.before, call) != 0) return;
    match_chain& chain = chains[chain_of(entries[number].key.with_wildcards(kind))];
    if (link.before == 0 && after == 0) {
        chain = {0, 0};
        return;
    }
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

/// Entries come, or go: as many fewer, or more, are free. Read and written as a whole: a load behind a store to the
/// same line takes the way to the second-level cache.
LANEWAY_FN void match_queue_ref::count(const match_share& changed, bool come) const {
    match_queue_state now = *state;
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        const std::uint32_t by = match_total(changed.by_bit, kind);
        now.hanging[kind] = come ? now.hanging[kind] + by : now.hanging[kind] - by;
    }
    if (come) {
        now.n_free -= changed.all;
        now.next_order += changed.all;
        now.max_length = capacity - now.n_free > now.max_length ? capacity - now.n_free : now.max_length;
    } else {
        now.n_free += changed.all;
        ++now.removals;
    }
    *state = now;
}

}  // namespace laneway
