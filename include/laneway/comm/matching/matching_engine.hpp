// Matching messages and receives of one communicator, in MPI's order: of all receives that take a message the one that
// was posted first gets it, and of all messages that a receive takes the one that arrived first.
//
// A team, which is a warp or a block, deals with as many messages, or receives, as it has lanes. Each lane looks for
// the first entry of the other queue that suits it; where several want the same, the lowest lane keeps it and the
// others go on to their next one, until no two lanes want the same. Both sides prefer by one order each, so there is
// exactly one outcome in which nobody would rather have another who would rather have them, and it is that of matching
// one after the other: deferred acceptance (Gale and Shapley, 1962) with master lists (Irving, Manlove, Scott, 2008).
#pragma once

#include "laneway/comm/matching/match_queue.hpp"
#include "laneway/comm/matching/match_result.hpp"

namespace laneway {

/// Device view of an engine. The whole warp, or the whole team, calls each function, together; one at a time.
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
    /// The same for any team, match_warp or match_block.
    template <class Team>
    LANEWAY_FN match_result arrive_together(Team& team, bool active, const match_key& message,
                                            std::uint32_t handle) const;
    template <class Team>
    LANEWAY_FN match_result post_together(Team& team, bool active, const match_key& receive,
                                          std::uint32_t handle) const;
    /// Lanes bring receives and messages together, each lane one of either: as if first the receives were posted, then
    /// the messages arrived, so that a receive is told to wait though a message of the same call has got it. What comes
    /// together is matched before it stands in a queue. Full: the queue of its side has no room for all that come.
    template <class Team>
    LANEWAY_FN match_result exchange_together(Team& team, bool active, bool is_message, const match_key& key,
                                              std::uint32_t handle) const;
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
        return (rules.allowed_kinds() >> receive.wildcards() & 1) == 0;
    }

    [[nodiscard]] static LANEWAY_FN bool is_single(std::uint32_t kinds) { return (kinds & (kinds - 1)) == 0; }
    [[nodiscard]] static LANEWAY_FN match_key reduced(const match_key& message, std::uint32_t kinds);
    static LANEWAY_FN match_result match_with(const match_entry& entry) {
        return {match_outcome::matched, entry.handle, entry.key};
    }
    template <class Team>
    LANEWAY_FN std::uint32_t find_receive(Team& team, bool active, const match_key& message,
                                          std::uint32_t& looks) const;
    template <class Team>
    LANEWAY_FN std::uint32_t find_message(Team& team, bool active, const match_key& receive, std::uint64_t by_kind,
                                          std::uint32_t& looks) const;
    template <class Team, class Search>
    static LANEWAY_FN std::uint32_t share(Team& team, Search& search);
    /// What is left of an exchange, of the lane and of the team.
    struct exchange {
        bool posts = false, comes = false;
        std::uint32_t receives = 0, messages = 0;
        std::uint64_t by_kind = 0;  ///< of the receives
        std::uint32_t matched = 0;  ///< so far
        std::uint32_t looks = 0;    ///< the lane's
    };
    template <class Team>
    LANEWAY_FN void count_left(Team& team, exchange& left, const match_key& key) const;
    template <class Team>
    LANEWAY_FN void take_waiting(Team& team, exchange& left, const match_key& receive, match_result& result) const;
    template <class Team>
    LANEWAY_FN void take_posted(Team& team, exchange& left, const match_key& message, match_result& result) const;
    template <class Team>
    LANEWAY_FN void meet(Team& team, exchange& left, const match_key& key, std::uint32_t handle,
                         match_result& result) const;
    template <class Team>
    LANEWAY_FN void count(Team& team, std::uint32_t receives, std::uint32_t messages, std::uint32_t unexpected,
                          std::uint32_t matched, std::uint32_t looks) const;
};

/// A lane's way through the receives that take its message, in their order: those of its key, and those with wildcards.
class receive_search {
public:
    /// `kinds`: of the receives that wait, a bit each.
    LANEWAY_FN receive_search(const match_queue_ref& posted, bool active, const match_key& message, std::uint32_t kinds)
        : posted_(posted), message_(message) {
        for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
            next_[kind] = 0;
            if (active && (kinds >> kind & 1) != 0) seek(kind, posted.chains[chain(kind)].first);
        }
        choose();
    }

    /// 1 more than the number of the first entry that is left; 0: none.
    [[nodiscard]] LANEWAY_FN std::uint32_t found() const { return found_; }
    LANEWAY_FN void next() {
        for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
            if (kind == first_) seek(kind, posted_.entries[found_ - 1].links[kind].next);
        }
        choose();
    }
    /// So many are for others.
    LANEWAY_FN void skip(std::uint32_t n) {
        for (; n > 0 && found_ != 0; --n) next();
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t looks() const { return looks_; }

private:
    [[nodiscard]] LANEWAY_FN std::uint32_t chain(std::uint32_t kind) const {
        return posted_.chain_of(message_.with_wildcards(kind));
    }
    LANEWAY_FN void seek(std::uint32_t kind, std::uint32_t at) {
        next_[kind] = posted_.seek(message_.with_wildcards(kind), at, looks_);
    }
    LANEWAY_FN void choose() {
        std::uint64_t least = ~std::uint64_t{0};
        found_ = 0;
        for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
            if (next_[kind] == 0 || posted_.entries[next_[kind] - 1].order >= least) continue;
            least = posted_.entries[next_[kind] - 1].order;
            first_ = kind;
            found_ = next_[kind];
        }
    }

    const match_queue_ref& posted_;
    match_key message_;
    std::uint32_t next_[match_kinds];  ///< by kind: 1 more than an entry's number; 0: none is left
    std::uint32_t found_ = 0;          ///< the first of these, and its kind
    std::uint32_t first_ = 0;
    std::uint32_t looks_ = 0;
};

/// A lane's way through the messages that its receive takes, in their order.
class message_search {
public:
    LANEWAY_FN message_search(const match_queue_ref& unexpected, bool active, const match_key& receive)
        : unexpected_(unexpected), receive_(receive) {
        if (active) found_ = unexpected.seek(receive, unexpected.chains[unexpected.chain_of(receive)].first, looks_);
    }

    [[nodiscard]] LANEWAY_FN std::uint32_t found() const { return found_; }
    LANEWAY_FN void next() {
        found_ = unexpected_.seek(receive_, unexpected_.entries[found_ - 1].links[receive_.wildcards()].next, looks_);
    }
    LANEWAY_FN void skip(std::uint32_t n) {
        for (; n > 0 && found_ != 0; --n) next();
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t looks() const { return looks_; }

private:
    const match_queue_ref& unexpected_;
    match_key receive_;
    std::uint32_t found_ = 0;  ///< 1 more than an entry's number; 0: none is left
    std::uint32_t looks_ = 0;
};

LANEWAY_FN bool matching_engine_ref::is_awaited(const match_key& message) const {
    return receive_search(posted, true, message, posted.kinds()).found() != 0;
}

/// Lanes that want the same entry go on to their next one, but for the lowest, until none has to. What this lane gets:
/// 1 more than the number of an entry, or 0.
template <class Team, class Search>
LANEWAY_FN std::uint32_t matching_engine_ref::share(Team& team, Search& search) {
    for (;;) {
        const bool wants = search.found() != 0;
        const bool loses = team.rank(wants, search.found()) != 0 && wants;
        if (!team.any(loses)) return search.found();
        if (loses) search.next();
    }
}

/// Messages that have this in common want the same receives, if those that wait are of these kinds.
LANEWAY_FN match_key matching_engine_ref::reduced(const match_key& message, std::uint32_t kinds) {
    if (!is_single(kinds)) return message;
    return message.with_wildcards((kinds & 0b0010) != 0   ? 1
                                  : (kinds & 0b0100) != 0 ? 2
                                  : (kinds & 0b1000) != 0 ? 3
                                                          : 0);
}

/// Of the lanes that want the same receives in the same order each leaves as many as there are such lanes below it. If
/// all receives are of one kind, that is all: messages that want one of them in common want all of them.
template <class Team>
LANEWAY_FN std::uint32_t matching_engine_ref::find_receive(Team& team, bool active, const match_key& message,
                                                           std::uint32_t& looks) const {
    const std::uint32_t kinds = posted.kinds();
    const std::uint32_t skip = team.rank(active, reduced(message, kinds).bits());
    receive_search search(posted, active, message, kinds);
    search.skip(skip);
    const std::uint32_t found = is_single(kinds) ? search.found() : share(team, search);
    looks = search.looks();
    return found;
}

/// The same; receives of one kind want other messages or the same. `by_kind`: how many there are of each.
template <class Team>
LANEWAY_FN std::uint32_t matching_engine_ref::find_message(Team& team, bool active, const match_key& receive,
                                                           std::uint64_t by_kind, std::uint32_t& looks) const {
    std::uint32_t kinds = 0;
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        kinds |= (match_total(by_kind, kind) != 0 ? 1u : 0u) << kind;
    }
    const std::uint32_t skip = team.rank(active, receive.bits());
    message_search search(unexpected, active, receive);
    search.skip(skip);
    const std::uint32_t found = is_single(kinds) ? search.found() : share(team, search);
    looks = search.looks();
    return found;
}

template <class Team>
LANEWAY_FN match_result matching_engine_ref::arrive_together(Team& team, bool active, const match_key& message,
                                                             std::uint32_t handle) const {
    const bool comes = active && message.is_exact();
    match_result result{active && !comes ? match_outcome::refused : match_outcome::none};
    const std::uint32_t all = team.share(comes).all;
    if (all == 0) return result;
    if (unexpected.state->n_free < all) {
        if (comes) result.outcome = match_outcome::full;
        return result;
    }
    std::uint32_t looks = 0;
    const bool any_posted = posted.length() != 0;
    const std::uint32_t found = any_posted ? find_receive(team, comes, message, looks) : 0;
    if (found != 0) result = match_with(posted.entries[found - 1]);
    const std::uint32_t matched = any_posted ? posted.remove(team, found != 0, found - 1) : 0;
    const bool waits = comes && found == 0 && !rules.no_unexpected;
    const std::uint32_t queued =
        matched < all ? unexpected.append(team, waits, message, handle, rules.allowed_kinds()) : 0;
    if (comes && found == 0) result.outcome = waits ? match_outcome::queued : match_outcome::refused;
    count(team, 0, all, queued, matched, looks);
    return result;
}

template <class Team>
LANEWAY_FN match_result matching_engine_ref::post_together(Team& team, bool active, const match_key& receive,
                                                           std::uint32_t handle) const {
    const bool refused = active && breaks_rules(receive);
    const bool posts = active && !refused;
    match_result result{refused ? match_outcome::refused : match_outcome::none};
    const match_share all = team.share(posts, posts ? 1u << receive.wildcards() : 0);
    if (all.all == 0) return result;
    if (posted.state->n_free < all.all) {
        if (posts) result.outcome = match_outcome::full;
        return result;
    }
    std::uint32_t looks = 0;
    const bool any_waits = unexpected.length() != 0;
    const std::uint32_t found = any_waits ? find_message(team, posts, receive, all.by_bit, looks) : 0;
    if (found != 0) result = match_with(unexpected.entries[found - 1]);
    const std::uint32_t matched = any_waits ? unexpected.remove(team, found != 0, found - 1) : 0;
    const bool waits = posts && found == 0;
    if (matched < all.all) (void)posted.append(team, waits, receive, handle, 1u << receive.wildcards());
    if (waits) result.outcome = match_outcome::queued;
    count(team, all.all, 0, 0, matched, looks);
    return result;
}

template <class Team>
LANEWAY_FN void matching_engine_ref::count_left(Team& team, exchange& left, const match_key& key) const {
    const match_share all = team.share(left.posts || left.comes, left.posts ? 1u << key.wildcards() : 0);
    left.by_kind = all.by_bit;
    left.receives = 0;
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) left.receives += match_total(all.by_bit, kind);
    left.messages = all.all - left.receives;
}

/// Receives that have come take messages that wait: no message that comes with them is as early.
template <class Team>
LANEWAY_FN void matching_engine_ref::take_waiting(Team& team, exchange& left, const match_key& receive,
                                                  match_result& result) const {
    std::uint32_t looks = 0;
    const std::uint32_t found = find_message(team, left.posts, receive, left.by_kind, looks);
    if (found != 0) result = match_with(unexpected.entries[found - 1]);
    left.matched += unexpected.remove(team, found != 0, found - 1);
    left.posts = left.posts && found == 0;
    left.looks += looks;
}

/// Messages that have come take receives that wait; the same.
template <class Team>
LANEWAY_FN void matching_engine_ref::take_posted(Team& team, exchange& left, const match_key& message,
                                                 match_result& result) const {
    std::uint32_t looks = 0;
    const std::uint32_t found = find_receive(team, left.comes, message, looks);
    if (found != 0) result = match_with(posted.entries[found - 1]);
    left.matched += posted.remove(team, found != 0, found - 1);
    left.comes = left.comes && found == 0;
    left.looks += looks;
}

/// What nothing that waits takes, among itself. Where all receives are of one kind, they and the messages fall into
/// classes of which all take all, so the first receive of a class gets its first message, and so on. Else messages have
/// to choose among receives with several keys, in the queue.
template <class Team>
LANEWAY_FN void matching_engine_ref::meet(Team& team, exchange& left, const match_key& key, std::uint32_t handle,
                                          match_result& result) const {
    std::uint32_t kinds = 0;
    for (std::uint32_t kind = 0; kind < match_kinds; ++kind) {
        kinds |= (match_total(left.by_kind, kind) != 0 ? 1u : 0u) << kind;
    }
    if (!is_single(kinds)) {
        (void)posted.append(team, left.posts, key, handle, 1u << key.wildcards());
        if (left.posts) result.outcome = match_outcome::queued;
        left.posts = false;
        team.sync();
        take_posted(team, left, key, result);
        left.receives = 0;
        return;
    }
    const match_key shared = left.comes ? reduced(key, kinds) : key;
    const std::uint32_t partner = team.partner(left.posts || left.comes, left.comes, shared.bits());
    const match_answer theirs = team.from(handle, partner);
    const bool met = theirs.any_asks && partner != no_lane;
    left.matched += team.share(met && left.comes).all;
    if (met && left.comes) result = {match_outcome::matched, static_cast<std::uint32_t>(theirs.value), shared};
    if (met && left.posts) result.outcome = match_outcome::queued;
    left.posts = left.posts && !met;
    left.comes = left.comes && !met;
}

template <class Team>
LANEWAY_FN match_result matching_engine_ref::exchange_together(Team& team, bool active, bool is_message,
                                                               const match_key& key, std::uint32_t handle) const {
    const bool refused = active && (is_message ? !key.is_exact() : breaks_rules(key));
    match_result result{refused ? match_outcome::refused : match_outcome::none};
    exchange left;
    left.posts = active && !refused && !is_message;
    left.comes = active && !refused && is_message;
    count_left(team, left, key);
    const bool no_receives = posted.state->n_free < left.receives;
    const bool no_messages = unexpected.state->n_free < left.messages;
    if ((left.posts && no_receives) || (left.comes && no_messages)) result.outcome = match_outcome::full;
    left.posts = left.posts && !no_receives;
    left.comes = left.comes && !no_messages;
    if (no_receives) left.receives = 0;
    if (no_messages) left.messages = 0;
    if (left.receives + left.messages == 0) return result;
    const std::uint32_t receives = left.receives, messages = left.messages;
    const bool any_waits = unexpected.length() != 0, any_posted = posted.length() != 0;
    if (any_waits && receives != 0) take_waiting(team, left, key, result);
    if (any_posted && messages != 0) take_posted(team, left, key, result);
    if (left.matched != 0) count_left(team, left, key);
    const std::uint32_t before = left.matched;
    if (left.receives != 0 && left.messages != 0) meet(team, left, key, handle, result);
    const std::uint32_t met = left.matched - before;
    if (left.receives > met) {
        (void)posted.append(team, left.posts, key, handle, 1u << key.wildcards());
        if (left.posts) result.outcome = match_outcome::queued;
    }
    std::uint32_t queued = 0;
    if (left.messages > met) {
        const bool waits = left.comes && !rules.no_unexpected;
        queued = unexpected.append(team, waits, key, handle, rules.allowed_kinds());
        if (left.comes) result.outcome = waits ? match_outcome::queued : match_outcome::refused;
    }
    count(team, receives, messages, queued, left.matched, left.looks);
    return result;
}

template <class Ctx>
LANEWAY_FN match_result matching_engine_ref::arrive(Ctx& ctx, bool active, const match_key& message,
                                                    std::uint32_t handle) const {
    match_warp<Ctx> warp(ctx);
    return arrive_together(warp, active, message, handle);
}

template <class Ctx>
LANEWAY_FN match_result matching_engine_ref::post(Ctx& ctx, bool active, const match_key& receive,
                                                  std::uint32_t handle) const {
    match_warp<Ctx> warp(ctx);
    return post_together(warp, active, receive, handle);
}

template <class Ctx>
LANEWAY_FN match_result matching_engine_ref::probe(Ctx& ctx, bool active, const match_key& receive) const {
    const bool refused = active && breaks_rules(receive);
    const message_search search(unexpected, active && !refused, receive);
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
    if (active && !breaks_rules(receive)) {  // else it has never waited, and there are no chains for it
        found = posted.chains[posted.chain_of(receive)].first;
        const auto is_it = [&](const match_entry& entry) { return entry.handle == handle && entry.key == receive; };
        while (found != 0 && !is_it(posted.entries[found - 1])) {
            found = posted.entries[found - 1].links[receive.wildcards()].next;
        }
    }
    match_warp<Ctx> warp(ctx);
    if (warp.rank(found != 0, found) != 0) found = 0;  // two lanes take back one
    (void)posted.remove(warp, found != 0, found - 1);
    warp.sync();
    return found == 0 ? match_result{} : match_result{match_outcome::matched, handle, receive};
}

/// The end of a call: behind it all is visible to the whole team.
template <class Team>
LANEWAY_FN void matching_engine_ref::count(Team& team, std::uint32_t receives, std::uint32_t messages,
                                           std::uint32_t unexpected_now, std::uint32_t matched,
                                           std::uint32_t looks) const {
    team.sync();
    auto& ctx = team.ctx();
    const std::uint32_t looked = warp_sum(ctx, looks);
    const auto add = [&](std::uint64_t& to, std::uint32_t n) {
        if (n != 0) ctx.fetch_add(&to, std::uint64_t{n}, order::relaxed, scope::device);
    };
    if (ctx.lane() == 0) add(counts->looks, looked);
    if (ctx.ballot(full_warp<typename Team::context_type>, looks > 1) != 0) {
        const std::uint64_t deepest = warp_max(ctx, looks);
        if (ctx.lane() == 0) ctx.fetch_max(&counts->deepest, deepest, order::relaxed, scope::device);
    }
    if (team.number() != 0) return;
    add(counts->receives, receives);
    add(counts->messages, messages);
    add(counts->unexpected, unexpected_now);
    add(counts->matches, matched);
}

}  // namespace laneway
