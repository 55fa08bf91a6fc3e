// Matching without an order: of the messages and receives with one source and tag any two find each other. For programs
// that promise not to use wildcards and allow overtaking.
//
// All lanes use a table at once, each by itself. Keys with the same hash share a bucket, whose entries hang in a chain.
// One word of the bucket has the chain's first entry and a version; every change of the chain is a compare-and-swap of
// this word, from the value that it had before the lane looked. So a lane that found no partner, and puts its own entry
// in front, knows that none has come meanwhile: of a message and a receive the one that comes second finds the first.
// All entries of a key that wait are messages, or all are receives.
//
// Entries prove themselves: each of an entry's two words has the lower bits of how often the entry has been used, and
// so has each link to it. Who finds another number in an entry than in the link looks again: the entry is used anew, or
// what has been stored is not there yet. So putting one in takes no release beside the caller's fence.
#pragma once

#include "laneway/comm/matching/match_result.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// A link is 0, for none, or the use number of an entry and 1 more than the entry's number.
struct unordered_entry {
    static constexpr int number_bits = 26, use_bits = 12, link_bits = number_bits + use_bits;
    static constexpr int low_key_bits = 64 - use_bits;
    static constexpr std::uint64_t links = (std::uint64_t{1} << link_bits) - 1;
    static constexpr std::uint64_t uses = (std::uint64_t{1} << use_bits) - 1;
    static_assert(link_bits + use_bits + (64 - low_key_bits) <= 64);

    std::uint64_t low;   ///< of the key, above the use number
    std::uint64_t high;  ///< the rest of the key, above the use number, above the link to the next entry of the chain

    [[nodiscard]] static constexpr LANEWAY_FN std::uint64_t link_to(std::uint64_t number, std::uint64_t use) {
        return use << number_bits | (number + 1);
    }
    [[nodiscard]] static constexpr LANEWAY_FN std::uint32_t number_of(std::uint64_t link) {
        return static_cast<std::uint32_t>(link & ((std::uint64_t{1} << number_bits) - 1)) - 1;
    }
    [[nodiscard]] static constexpr LANEWAY_FN std::uint64_t use_of(std::uint64_t link) { return link >> number_bits; }

    [[nodiscard]] static constexpr LANEWAY_FN unordered_entry of(std::uint64_t key, std::uint64_t use,
                                                                 std::uint64_t next) {
        return {key << use_bits | use, ((key >> low_key_bits) << use_bits | use) << link_bits | next};
    }
    /// Whether both words are of this use.
    [[nodiscard]] constexpr LANEWAY_FN bool is_of(std::uint64_t use) const {
        return (low & uses) == use && (high >> link_bits & uses) == use;
    }
    [[nodiscard]] constexpr LANEWAY_FN std::uint64_t key() const {
        return (high >> (link_bits + use_bits)) << low_key_bits | low >> use_bits;
    }
    [[nodiscard]] constexpr LANEWAY_FN std::uint64_t next() const { return high & links; }
};

/// Device view. Any lane, at any time, also in divergent code. Callers give each message that waits a handle below
/// `messages`, each receive one below `receives`; no two that wait have the same. So there is always room. Who gets a
/// match comes behind what its partner's lane did before the last release fence (scope device) ahead of its call: where
/// a handle names something that the lane has written, the lane has such a fence, one for all that it brings.
struct unordered_table_ref {
    std::uint64_t* buckets = nullptr;    ///< zeroed before use
    unordered_entry* entries = nullptr;  ///< of messages, by handle, and behind them of receives
    std::uint32_t n_buckets = 1;         ///< a power of two
    std::uint32_t messages = 0;
    std::uint32_t receives = 0;
    match_counts* counts = nullptr;  ///< of these lanes count how deep they search; null: nobody does

    /// A message has arrived. Matched with a receive, or queued; full: a handle that is too large; refused: a wildcard;
    /// none: the run is ending.
    template <class Ctx>
    LANEWAY_FN match_result arrive(Ctx& ctx, const match_key& message, std::uint32_t handle) const {
        if (handle >= messages) return {match_outcome::full};
        return put_or_take(ctx, message, handle);
    }
    /// The same for a receive.
    template <class Ctx>
    LANEWAY_FN match_result post(Ctx& ctx, const match_key& receive, std::uint32_t handle) const {
        if (handle >= receives) return {match_outcome::full};
        return put_or_take(ctx, receive, messages + handle);
    }
    /// Takes a receive for a message, if it sees one at first sight; `none` says nothing: arrive does.
    template <class Ctx>
    LANEWAY_FN match_result meet(Ctx& ctx, const match_key& message) const {
        std::uint64_t* const bucket = bucket_of(message);
        // Partner: the release in take, and callers' fences.
        const std::uint64_t word = ctx.load(bucket, order::acquire, scope::device);
        if ((word & locked) != 0) return {};
        const way_end end = walk(ctx, bucket, word, message.bits(), [&](std::uint32_t number, bool same_key) {
            return !same_key ? verdict::pass : is_message(number) ? verdict::leave : verdict::take;
        });
        if (end.changed || end.what != verdict::take || !take(ctx, bucket, word, end)) return {};
        return match_with(end.at, message);
    }
    /// Whether a receive with this key waits.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_awaited(Ctx& ctx, const match_key& message) const {
        const match_result found = change(ctx, message, nobody, [&](std::uint32_t number, bool same_key) {
            return !same_key ? verdict::pass : is_message(number) ? verdict::leave : verdict::see;
        });
        return found.outcome == match_outcome::matched;
    }
    /// A message with this key that waits; another lane may take it.
    template <class Ctx>
    LANEWAY_FN match_result probe(Ctx& ctx, const match_key& receive) const {
        if (!receive.is_exact()) return {match_outcome::refused};
        return change(ctx, receive, nobody, [&](std::uint32_t number, bool same_key) {
            return !same_key ? verdict::pass : is_message(number) ? verdict::see : verdict::leave;
        });
    }
    /// Takes such a message, of which `suits(handle)`.
    template <class Ctx, class Suits>
    LANEWAY_FN match_result take_message(Ctx& ctx, const match_key& receive, const Suits& suits) const {
        return change(ctx, receive, nobody, [&](std::uint32_t number, bool same_key) {
            if (!same_key) return verdict::pass;
            if (!is_message(number)) return verdict::leave;
            return suits(number) ? verdict::take : verdict::pass;
        });
    }
    /// Takes back a receive that waits. `none`: it does not wait any more.
    template <class Ctx>
    LANEWAY_FN match_result cancel(Ctx& ctx, const match_key& receive, std::uint32_t handle) const {
        if (!receive.is_exact() || handle >= receives) return {};
        return change(ctx, receive, nobody, [&](std::uint32_t number, bool same_key) {
            return same_key && number == messages + handle ? verdict::take : verdict::pass;
        });
    }

private:
    /// What becomes of an entry on a lane's way through a chain: nothing; it is taken; it is what the lane looks for;
    /// nothing, and none behind it is of interest.
    enum class verdict { pass, take, see, leave };

    static constexpr std::uint32_t nobody = ~std::uint32_t{0};
    // Of a bucket's word: the link to the first entry, whether a lane is changing the chain behind it, the version.
    static constexpr std::uint64_t locked = unordered_entry::links + 1;
    static constexpr std::uint64_t one_version = 2 * locked;
    static constexpr std::uint32_t max_looks = 16;  ///< before a lane makes sure that the chain is still the same

    /// Where a way through a chain has ended.
    struct way_end {
        verdict what = verdict::pass;
        std::uint64_t at = 0, before = 0, next = 0;  ///< links to the entry and its neighbours
        std::uint64_t behind = 0;                    ///< the word of the one before that has the link to the entry
        bool changed = false;                        ///< the chain, meanwhile
    };

    [[nodiscard]] LANEWAY_FN bool is_message(std::uint32_t number) const { return number < messages; }
    [[nodiscard]] LANEWAY_FN std::uint64_t* bucket_of(const match_key& key) const {
        return buckets + (key.hash() & (n_buckets - 1));
    }
    [[nodiscard]] static LANEWAY_FN std::uint64_t next_version(std::uint64_t word, std::uint64_t first) {
        return (word & ~(one_version - 1)) + one_version + first;
    }
    [[nodiscard]] LANEWAY_FN match_result match_with(std::uint64_t link, const match_key& key) const {
        const std::uint32_t number = unordered_entry::number_of(link);
        return {match_outcome::matched, is_message(number) ? number : number - messages, key};
    }
    template <class Ctx>
    LANEWAY_FN match_result put_or_take(Ctx& ctx, const match_key& key, std::uint32_t mine) const {
        if (!key.is_exact()) return {match_outcome::refused};
        return change(ctx, key, mine, [&](std::uint32_t number, bool same_key) {
            return !same_key ? verdict::pass : is_message(number) != is_message(mine) ? verdict::take : verdict::leave;
        });
    }
    template <class Ctx, class Judge>
    LANEWAY_FN match_result change(Ctx& ctx, const match_key& key, std::uint32_t mine, const Judge& judge) const;
    template <class Ctx, class Judge>
    LANEWAY_FN way_end walk(Ctx& ctx, std::uint64_t* bucket, std::uint64_t word, std::uint64_t key,
                            const Judge& judge) const;
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN unordered_entry look(Ctx& ctx, std::uint32_t number) const {
        return {ctx.load(&entries[number].low, order::relaxed, scope::device),
                ctx.load(&entries[number].high, order::relaxed, scope::device)};
    }
    template <class Ctx>
    LANEWAY_FN bool put(Ctx& ctx, std::uint64_t* bucket, std::uint64_t word, std::uint64_t key, std::uint32_t number,
                        std::uint64_t use) const;
    template <class Ctx>
    LANEWAY_FN bool take(Ctx& ctx, std::uint64_t* bucket, std::uint64_t word, const way_end& end) const;
};

/// Goes through the chain of a key and does what `judge` says; where nothing is taken, puts in `mine`, if there is
/// such. Begins anew as often as the chain has changed meanwhile.
template <class Ctx, class Judge>
LANEWAY_FN match_result unordered_table_ref::change(Ctx& ctx, const match_key& key, std::uint32_t mine,
                                                    const Judge& judge) const {
    std::uint64_t* const bucket = bucket_of(key);
    // Nobody else stores into an entry that does not wait. It is on its way with the bucket's word.
    std::uint64_t use = mine == nobody ? 0 : ctx.load(&entries[mine].low, order::relaxed, scope::device);
    bounded_spin spin;
    for (;;) {
        // Partner: the release in take, and callers' fences.
        const std::uint64_t word = ctx.load(bucket, order::acquire, scope::device);
        way_end end;
        end.changed = true;
        if ((word & locked) == 0) end = walk(ctx, bucket, word, key.bits(), judge);
        if (!end.changed) {
            if (end.what == verdict::take) {
                if (take(ctx, bucket, word, end)) return match_with(end.at, key);
            } else if (mine != nobody) {
                // Another number each time: what an attempt that failed has stored must not count for the next.
                use = (use + 1) & unordered_entry::uses;
                if (put(ctx, bucket, word, key.bits(), mine, use)) return {match_outcome::queued};
            } else {
                ctx.fence(scope::device);  // what has been read comes before the second look
                if (ctx.load(bucket, order::relaxed, scope::device) == word) {
                    return end.what == verdict::see ? match_with(end.at, key) : match_result{};
                }
            }
        }
        if (spin.next(ctx, {operation::insert, -1, key.tag}) != status::ok) return {};
    }
}

/// Entries may be used anew by others meanwhile: then links to them do not hold, or the bucket's word is another, and
/// what was read counts for nothing.
template <class Ctx, class Judge>
LANEWAY_FN unordered_table_ref::way_end unordered_table_ref::walk(Ctx& ctx, std::uint64_t* bucket, std::uint64_t word,
                                                                  std::uint64_t key, const Judge& judge) const {
    way_end end;
    std::uint32_t looked = 0;
    for (end.at = word & unordered_entry::links; end.at != 0; end.before = end.at, end.at = end.next) {
        const std::uint32_t number = unordered_entry::number_of(end.at);
        const unordered_entry entry = look(ctx, number);
        end.changed = !entry.is_of(unordered_entry::use_of(end.at)) ||
                      (++looked % max_looks == 0 && ctx.load(bucket, order::relaxed, scope::device) != word);
        if (end.changed) break;
        end.next = entry.next();
        end.what = judge(number, entry.key() == key);
        if (end.what != verdict::pass) break;
        end.behind = entry.high;
    }
    if (counts == nullptr || looked == 0) return end;
    ctx.fetch_add(&counts->looks, std::uint64_t{looked}, order::relaxed, scope::device);
    if (looked > 1) ctx.fetch_max(&counts->deepest, std::uint64_t{looked}, order::relaxed, scope::device);
    return end;
}

/// In front of the chain. Whether it has not changed meanwhile.
template <class Ctx>
LANEWAY_FN bool unordered_table_ref::put(Ctx& ctx, std::uint64_t* bucket, std::uint64_t word, std::uint64_t key,
                                         std::uint32_t number, std::uint64_t use) const {
    unordered_entry& entry = entries[number];
    const auto made = unordered_entry::of(key, use, word & unordered_entry::links);
    ctx.store(&entry.low, made.low, order::relaxed, scope::device);
    ctx.store(&entry.high, made.high, order::relaxed, scope::device);
    // Partner: the acquire load in change, for what the caller's fence has released; the entry proves itself.
    return ctx.compare_exchange(bucket, word, next_version(word, unordered_entry::link_to(number, use)),
                                behind_fence<Ctx>, scope::device);
}

/// The same: the first entry of a chain is taken with its word; for another one the chain is locked for two stores.
/// These have a release, as the entry before stays in use: whoever sees the chain unlocked passes the one that is taken
/// by. What was put in before is visible to who looks later, as a compare-and-swap carries on what a release began; and
/// the entry is used anew only when the caller has told that it was matched.
template <class Ctx>
LANEWAY_FN bool unordered_table_ref::take(Ctx& ctx, std::uint64_t* bucket, std::uint64_t word,
                                          const way_end& end) const {
    if (end.before == 0) {
        return ctx.compare_exchange(bucket, word, next_version(word, end.next), order::relaxed, scope::device);
    }
    // Partner: the acquire load in change.
    const std::uint64_t unlocked = word;
    if (!ctx.compare_exchange(bucket, word, word | locked, order::acq_rel, scope::device)) return false;
    // Versions come round: behind the lock the entry before says whether the chain is the one that was looked at.
    std::uint64_t* const link = &entries[unordered_entry::number_of(end.before)].high;
    const bool same = ctx.load(link, order::relaxed, scope::device) == end.behind;
    if (same) ctx.store(link, (end.behind & ~unordered_entry::links) | end.next, order::relaxed, scope::device);
    ctx.store(bucket, next_version(unlocked, unlocked & unordered_entry::links), order::release, scope::device);
    return same;
}

}  // namespace laneway
