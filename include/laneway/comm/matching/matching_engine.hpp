// Matching messages and receives of one communicator, in MPI's order: of all receives that take a message the one that
// was posted first gets it, and of all messages that a receive takes the one that arrived first.
//
// A warp deals with as many messages, or receives, as it has lanes. Each lane looks for the first entry of the other
// queue that suits it; where several want the same, the lowest lane keeps it and the others go on to their next one,
// until no two lanes want the same. Both sides prefer by one order each, so there is exactly one outcome in which
// nobody would rather have another who would rather have them, and it is that of matching one after the other: deferred
// acceptance (Gale and Shapley, 1962) with master lists (Irving, Manlove, Scott, 2008).
#pragma once

#include "laneway/comm/matching/match_queue.hpp"

namespace laneway {

enum class match_outcome : std::uint32_t {
    none,     ///< the lane had nothing to match
    matched,  ///< with `handle`
    queued,   ///< it waits
    full,     ///< the queue has no room for what all lanes bring: nothing has happened
    refused,  ///< it breaks a rule of the communicator: see match_rules
};

struct match_result {
    match_outcome outcome = match_outcome::none;
    std::uint32_t handle = 0;  ///< of what it was matched with, or found
    match_key key{};           ///< of that
};

/// Totals since the engine was made, in PE memory.
struct match_counts {
    std::uint64_t messages, receives;
    std::uint64_t unexpected;  ///< messages that had to wait
    std::uint64_t matches;
    std::uint64_t looks;  ///< entries that lanes have looked at: the depth of searches
};

/// Device view of an engine. The whole warp calls each function, together; one warp at a time.
struct matching_engine_ref {
    match_queue_ref posted;      ///< receives
    match_queue_ref unexpected;  ///< messages
    match_counts* counts = nullptr;
    match_rules rules;

    /// A message of each active lane has arrived; those of lower lanes before those of higher ones. Refused: one with
    /// a wildcard, or that no receive awaits where the rules say that one does.
    template <class Ctx>
    LANEWAY_FN match_result arrive(Ctx& ctx, bool active, const match_key& message, std::uint32_t handle) const;
    /// Each active lane posts a receive; the same.
    template <class Ctx>
    LANEWAY_FN match_result post(Ctx& ctx, bool active, const match_key& receive, std::uint32_t handle) const;
    /// The first message that waits and that the lane's receive would take; it goes on waiting.
    template <class Ctx>
    LANEWAY_FN match_result probe(Ctx& ctx, bool active, const match_key& receive) const;
    /// Whether a receive waits that takes this message. Any lane.
    [[nodiscard]] LANEWAY_FN bool is_awaited(const match_key& message) const;
    /// Takes back a receive that waits, by what it was posted with. `none`: it does not wait any more.
    template <class Ctx>
    LANEWAY_FN match_result cancel(Ctx& ctx, bool active, const match_key& receive, std::uint32_t handle) const;

private:
    [[nodiscard]] LANEWAY_FN bool breaks_rules(const match_key& receive) const {
        return (allowed_kinds() >> receive.wildcards() & 1) == 0;
    }
    /// Of receives, a bit each.
    [[nodiscard]] LANEWAY_FN std::uint32_t allowed_kinds() const {
        const std::uint32_t by_source = rules.no_any_source ? 0b0101 : 0b1111;
        return by_source & (rules.no_any_tag ? 0b0011 : 0b1111);
    }

    /// Whether no lower lane wants the same entry. `found`: 1 more than its number, or 0. The whole warp.
    template <class Ctx>
    static LANEWAY_FN bool is_first_for(Ctx& ctx, std::uint32_t found) {
        const std::uint32_t nothing = ~static_cast<std::uint32_t>(ctx.lane());  // no entry has such a number
        return elected(ctx, ctx.match(full_warp<Ctx>, found != 0 ? found : nothing));
    }
    static LANEWAY_FN match_result match_with(const match_entry& entry) {
        return {match_outcome::matched, entry.handle, entry.key};
    }
    template <class Ctx, class Search>
    static LANEWAY_FN std::uint32_t share(Ctx& ctx, Search& search);
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, std::uint64_t match_counts::*what, bool mine, lane_mask queued, bool is_matched,
                          std::uint64_t looks) const;
};

/// A lane's way through the receives that take its message, in their order: those of its key, and those with wildcards.
class receive_search {
public:
    /// `skip`: so many are for others.
    LANEWAY_FN receive_search(const match_queue_ref& posted, bool active, const match_key& message, std::uint32_t skip)
        : posted_(posted), message_(message) {
        for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
            next_[kind] = 0;
            if (active && posted.state->hanging[kind] != 0) seek(kind, posted.chains[chain(kind)].first);
        }
        choose();
        for (; skip > 0 && found() != 0; --skip) next();
    }

    /// 1 more than the number of the first entry that is left; 0: none.
    [[nodiscard]] LANEWAY_FN std::uint32_t found() const { return next_[first_]; }
    LANEWAY_FN void next() {
        seek(first_, posted_.entries[next_[first_] - 1].links[first_].next);
        choose();
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t looks() const { return looks_; }

private:
    [[nodiscard]] LANEWAY_FN std::uint32_t chain(std::uint32_t kind) const {
        return posted_.chain_of(message_.with_wildcards(kind));
    }
    LANEWAY_FN void seek(std::uint32_t kind, std::uint32_t at) {
        next_[kind] = posted_.seek(message_.with_wildcards(kind), at, looks_);
    }
    LANEWAY_FN void choose() {
        std::uint64_t least = ~std::uint64_t{0};
        first_ = 0;
        for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
            if (next_[kind] == 0 || posted_.entries[next_[kind] - 1].order >= least) continue;
            least = posted_.entries[next_[kind] - 1].order;
            first_ = kind;
        }
    }

    const match_queue_ref& posted_;
    match_key message_;
    std::uint32_t next_[match_kinds];  ///< by kind: 1 more than an entry's number; 0: none is left
    std::uint32_t first_ = 0;          ///< kind of the first of these
    std::uint64_t looks_ = 0;
};

/// A lane's way through the messages that its receive takes, in their order.
class message_search {
public:
    LANEWAY_FN message_search(const match_queue_ref& unexpected, bool active, const match_key& receive,
                              std::uint32_t skip)
        : unexpected_(unexpected), receive_(receive) {
        if (active) found_ = unexpected.seek(receive, unexpected.chains[unexpected.chain_of(receive)].first, looks_);
        for (; skip > 0 && found_ != 0; --skip) next();
    }

    [[nodiscard]] LANEWAY_FN std::uint32_t found() const { return found_; }
    LANEWAY_FN void next() {
        found_ = unexpected_.seek(receive_, unexpected_.entries[found_ - 1].links[receive_.wildcards()].next, looks_);
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t looks() const { return looks_; }

private:
    const match_queue_ref& unexpected_;
    match_key receive_;
    std::uint32_t found_ = 0;  ///< 1 more than an entry's number; 0: none is left
    std::uint64_t looks_ = 0;
};

LANEWAY_FN bool matching_engine_ref::is_awaited(const match_key& message) const {
    return receive_search(posted, true, message, 0).found() != 0;
}

/// Lanes that want the same entry go on to their next one, but for the lowest, until none has to. What this lane gets:
/// 1 more than the number of an entry, or 0.
template <class Ctx, class Search>
LANEWAY_FN std::uint32_t matching_engine_ref::share(Ctx& ctx, Search& search) {
    for (;;) {
        const bool loses = !is_first_for(ctx, search.found());
        if (ctx.ballot(full_warp<Ctx>, loses) == 0) return search.found();
        if (loses) search.next();
    }
}

template <class Ctx>
LANEWAY_FN match_result matching_engine_ref::arrive(Ctx& ctx, bool active, const match_key& message,
                                                    std::uint32_t handle) const {
    const bool comes = active && message.is_exact();
    match_result result{active && !comes ? match_outcome::refused : match_outcome::none};
    const lane_mask lanes = ctx.ballot(full_warp<Ctx>, comes);
    if (lanes == 0) return result;
    if (unexpected.state->n_free < static_cast<std::uint32_t>(Ctx::count_lanes(lanes))) {
        if (comes) result.outcome = match_outcome::full;
        return result;
    }
    // Without wildcards all messages of one key want the same receives: each knows at once which is its own.
    const bool mixed = posted.any_wildcards();
    const std::uint64_t same = comes ? message.bits() : ~static_cast<std::uint64_t>(ctx.lane());
    const auto skip = static_cast<std::uint32_t>(mixed ? 0 : rank_in(ctx, ctx.match(full_warp<Ctx>, same)));
    receive_search search(posted, comes, message, skip);
    const std::uint32_t found = share(ctx, search);
    if (found != 0) result = match_with(posted.entries[found - 1]);
    ctx.sync(full_warp<Ctx>);
    posted.remove(ctx, found != 0, found - 1);
    const bool waits = comes && found == 0 && !rules.no_unexpected;
    unexpected.append(ctx, waits, message, handle, allowed_kinds());
    if (comes && found == 0) result.outcome = waits ? match_outcome::queued : match_outcome::refused;
    count(ctx, &match_counts::messages, comes, ctx.ballot(full_warp<Ctx>, waits), found != 0, search.looks());
    return result;
}

template <class Ctx>
LANEWAY_FN match_result matching_engine_ref::post(Ctx& ctx, bool active, const match_key& receive,
                                                  std::uint32_t handle) const {
    const bool refused = active && breaks_rules(receive);
    const bool posts = active && !refused;
    const lane_mask lanes = ctx.ballot(full_warp<Ctx>, posts);
    match_result result{refused ? match_outcome::refused : match_outcome::none};
    if (lanes == 0) return result;
    if (posted.state->n_free < static_cast<std::uint32_t>(Ctx::count_lanes(lanes))) {
        if (posts) result.outcome = match_outcome::full;
        return result;
    }
    const bool all_exact = ctx.ballot(full_warp<Ctx>, posts && !receive.is_exact()) == 0;
    const std::uint64_t same = posts ? receive.bits() : ~static_cast<std::uint64_t>(ctx.lane());
    const auto skip = static_cast<std::uint32_t>(all_exact ? rank_in(ctx, ctx.match(full_warp<Ctx>, same)) : 0);
    message_search search(unexpected, posts, receive, skip);
    const std::uint32_t found = share(ctx, search);
    if (found != 0) result = match_with(unexpected.entries[found - 1]);
    ctx.sync(full_warp<Ctx>);
    unexpected.remove(ctx, found != 0, found - 1);
    const bool waits = posts && found == 0;
    posted.append(ctx, waits, receive, handle, 1u << receive.wildcards());
    if (waits) result.outcome = match_outcome::queued;
    count(ctx, &match_counts::receives, posts, 0, found != 0, search.looks());
    return result;
}

template <class Ctx>
LANEWAY_FN match_result matching_engine_ref::probe(Ctx& ctx, bool active, const match_key& receive) const {
    const bool refused = active && breaks_rules(receive);
    const message_search search(unexpected, active && !refused, receive, 0);
    const std::uint32_t found = search.found();
    match_result result{refused ? match_outcome::refused : match_outcome::none};
    if (found != 0) result = match_with(unexpected.entries[found - 1]);
    ctx.sync(full_warp<Ctx>);
    return result;
}

template <class Ctx>
LANEWAY_FN match_result matching_engine_ref::cancel(Ctx& ctx, bool active, const match_key& receive,
                                                    std::uint32_t handle) const {
    std::uint32_t found = 0;
    if (active) {
        found = posted.chains[posted.chain_of(receive)].first;
        const auto is_it = [&](const match_entry& entry) { return entry.handle == handle && entry.key == receive; };
        while (found != 0 && !is_it(posted.entries[found - 1])) {
            found = posted.entries[found - 1].links[receive.wildcards()].next;
        }
    }
    if (!is_first_for(ctx, found)) found = 0;  // two lanes take back one
    posted.remove(ctx, found != 0, found - 1);
    return found == 0 ? match_result{} : match_result{match_outcome::matched, handle, receive};
}

template <class Ctx>
LANEWAY_FN void matching_engine_ref::count(Ctx& ctx, std::uint64_t match_counts::*what, bool mine, lane_mask queued,
                                           bool is_matched, std::uint64_t looks) const {
    const lane_mask all = ctx.ballot(full_warp<Ctx>, mine), matched = ctx.ballot(full_warp<Ctx>, is_matched);
    const std::uint64_t looked = warp_sum(ctx, looks);
    if (ctx.lane() != 0) return;
    counts->*what += static_cast<std::uint64_t>(Ctx::count_lanes(all));
    counts->unexpected += static_cast<std::uint64_t>(Ctx::count_lanes(queued));
    counts->matches += static_cast<std::uint64_t>(Ctx::count_lanes(matched));
    counts->looks += looked;
}

}  // namespace laneway
