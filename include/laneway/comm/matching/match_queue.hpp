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

/// What is known of an entry from the start.
struct alignas(16) match_entry_head {
    match_key key;
    std::uint64_t order;   ///< among all entries of the queue
    std::uint32_t handle;  ///< of the receive or the message; the caller's
    std::uint32_t kinds;   ///< of the keys in whose chains it hangs, a bit each
    std::uint32_t leaves;  ///< while lanes take it out: 1 more than the number of the one that does
    std::uint32_t pad;
};

struct match_entry : match_entry_head {
    match_link links[match_kinds];
};

/// 1 more than the numbers of the first and last entry of a chain; 0: none.
struct alignas(8) match_chain {
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
    template <class Team>
    LANEWAY_FN void hang(Team& team, bool mine, const match_key& key, std::uint32_t number, std::uint32_t kind) const;
    template <class Team>
    LANEWAY_FN void close_gaps(Team& team, bool mine, std::uint32_t number, std::uint32_t kind) const;
    [[nodiscard]] LANEWAY_FN std::uint32_t leaver(std::uint32_t link) const {
        return link != 0 ? entries[link - 1].leaves : 0;
    }
    /// One lane.
    LANEWAY_FN void count(const match_share& changed, bool come) const;
};

template <class Team>
LANEWAY_FN std::uint32_t match_queue_ref::append(Team& team, bool mine, const match_key& key, std::uint32_t handle,
                                                 std::uint32_t kinds) const {
    const match_share place = team.share(mine, mine ? kinds : 0);
    if (place.all == 0) return 0;
    std::uint32_t number = 0;
    if (mine) {
        number = free_entries[state->n_free - 1 - place.below];
        static_cast<match_entry_head&>(entries[number]) = {key, state->next_order + place.below, handle, kinds, 0, 0};
    }
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        if (match_total(place.by_bit, kind) != 0) hang(team, mine && (kinds >> kind & 1) != 0, key, number, kind);
    }
    if (team.number() == 0) count(place, true);
    return place.all;
}

/// Lanes whose entries share a chain hang them one behind the other.
template <class Team>
LANEWAY_FN void match_queue_ref::hang(Team& team, bool mine, const match_key& key, std::uint32_t number,
                                      std::uint32_t kind) const {
    const std::uint32_t at = mine ? chain_of(key.with_wildcards(kind)) : 0;
    const std::uint32_t last = mine ? chains[at].last : 0;  // before one of those that share the chain changes it
    const match_neighbours mates = team.neighbours(mine, at, number + 1);
    if (!mine) return;
    const bool is_first = mates.before == 0;
    entries[number].links[kind] = {mates.after, is_first ? last : mates.before};
    if (mates.after == 0) chains[at].last = number + 1;
    if (!is_first) return;
    if (last == 0) {
        chains[at].first = number + 1;
    } else {
        entries[last - 1].links[kind].next = number + 1;
    }
}

template <class Team>
LANEWAY_FN std::uint32_t match_queue_ref::remove(Team& team, bool mine, std::uint32_t number) const {
    if (mine) entries[number].leaves = team.number() + 1;
    const std::uint32_t kinds = mine ? entries[number].kinds : 0;
    const match_share place = team.share(mine, kinds);
    if (place.all == 0) return 0;
    if (mine) free_entries[state->n_free + place.below] = number;
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        if (match_total(place.by_bit, kind) != 0) close_gaps(team, (kinds >> kind & 1) != 0, number, kind);
    }
    if (team.number() == 0) count(place, false);
    return place.all;
}

/// Of neighbours that leave together, the first one closes the gap: so each lane changes other words. It finds the
/// first behind them that stays in a number of steps that is the logarithm of theirs.
template <class Team>
LANEWAY_FN void match_queue_ref::close_gaps(Team& team, bool mine, std::uint32_t number, std::uint32_t kind) const {
    const match_link link = mine ? entries[number].links[kind] : match_link{};
    std::uint32_t after = link.next, mate = leaver(link.next);
    for (;;) {
        const match_answer theirs = team.from(std::uint64_t{after} << 32 | mate, mate != 0 ? mate - 1 : no_lane);
        if (!theirs.any_asks) break;
        if (mate == 0) continue;
        after = static_cast<std::uint32_t>(theirs.value >> 32);
        mate = static_cast<std::uint32_t>(theirs.value);
    }
    if (!mine || leaver(link.before) != 0) return;
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
LANEWAY_FN void match_queue_ref::count(const match_share& changed, bool come) const {
    const auto with = [come](std::uint32_t number, std::uint32_t by) { return come ? number + by : number - by; };
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        const std::uint32_t by = match_total(changed.by_bit, kind);
        if (by != 0) state->hanging[kind] = with(state->hanging[kind], by);
    }
    state->n_free = capacity - with(length(), changed.all);
    if (!come) return;
    state->next_order += changed.all;
    if (length() > state->max_length) state->max_length = length();
}

}  // namespace laneway
