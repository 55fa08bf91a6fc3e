// What a PE keeps of a communicator, in its memory: a pool of requests, and shards, each with a matching engine, rings
// from and to all PEs, and a queue of what lanes ask of the engine.
//
// Messages of one PE to another are numbered by the tickets of the ring between them, and the shard reads the ring in
// this order: so they are matched in the order in which they were sent, whoever sends and whoever reads. The same holds
// of receives: lanes put them into the shard's queue, which one warp at a time takes from.
#pragma once

#include "laneway/comm/matching/matching_engine.hpp"
#include "laneway/comm/matching/unordered_table.hpp"
#include "laneway/comm/two_sided/message_request.hpp"
#include "laneway/memory/device_heap_ref.hpp"
#include "laneway/memory/symmetric.hpp"

namespace laneway {

/// A queue of numbers that many lanes put in and take out, of a capacity that they never exceed. Words say in which lap
/// of the queue they were put there.
struct number_queue_ref {
    std::uint64_t* words = nullptr;  ///< zeroed before use
    std::uint64_t* drawn = nullptr;
    std::uint64_t* taken = nullptr;
    std::uint32_t capacity = 1;  ///< a power of two

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// A place for each lane; those that come together to one queue draw theirs with one add.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t draw(Ctx& ctx) const {
        const lane_mask here = ctx.converged();
        const lane_mask mask = ctx.match(here, reinterpret_cast<std::uint64_t>(drawn));
        const auto lanes = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        const std::uint64_t first =
            once(ctx, mask, [&] { return ctx.fetch_add(drawn, lanes, order::relaxed, scope::device); });
        return first + static_cast<std::uint64_t>(rank_in(ctx, mask));
    }
    /// Puts a number into a place that the lane has drawn.
    template <class Ctx>
    LANEWAY_FN void put(Ctx& ctx, std::uint64_t place, std::uint32_t number) const {
        // Partner: the acquire load in at.
        ctx.store(word(place), lap<Ctx>(place) << 32 | number, order::release, scope::device);
    }
    /// The number at a place, `none` where it has not been put there. What its lane wrote before is visible.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t at(Ctx& ctx, std::uint64_t place) const {
        // Partner: the release store in put.
        const std::uint64_t seen = ctx.load(word(place), order::acquire, scope::device);
        return seen >> 32 == lap<Ctx>(place) ? static_cast<std::uint32_t>(seen) : none;
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool any(Ctx& ctx) const {
        return any_at(ctx, ctx.load(taken, order::relaxed, scope::device));
    }
    /// The same where `taken` was this when it was looked at.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool any_at(Ctx& ctx, std::uint64_t place) const {
        return ctx.load(word(place), order::relaxed, scope::device) >> 32 == lap<Ctx>(place);
    }

private:
    // By shifts: a division takes a GPU as long as a load.
    [[nodiscard]] LANEWAY_FN std::uint64_t* word(std::uint64_t place) const { return words + (place & (capacity - 1)); }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t lap(std::uint64_t place) const {
        return (place >> Ctx::first_lane(capacity)) % 0xffff'ffff + 1;
    }
};

/// An unexpected message. What it brought in a slot is in a piece of the PE's heap for such payloads, or, where that
/// has no room, still in its slot, which the sender then cannot use.
struct alignas(16) unexpected_message {
    match_key key;
    message_form form;
    std::uint32_t in_ring;  ///< 1: the payload has its slot still
    std::uint32_t synchronous;
    std::uint64_t bytes;
    payload_place place;
    std::uint64_t words[short_pieces];
    std::byte* payload;    ///< in_slot: where that is
    std::uint64_t ticket;  ///< in_ring: of the slot
};

/// Places for unexpected messages beyond those that may wait, and entries of engines: a warp's batch may take them.
inline constexpr std::uint32_t spare_places = 32;

/// What changes of a shard. But for `lock`, `watchers`, the ends of `asked` and `returned`, what lanes count, and
/// counters that others look at, whoever holds the lock uses it.
struct shard_state {
    alignas(destructive_bytes) std::uint32_t lock;
    std::uint32_t watchers;                          ///< lanes that look at rings themselves, see direct_receive
    std::uint32_t posted;                            ///< receives that waited when the last turn ended
    alignas(destructive_bytes) std::uint64_t asked;  ///< of the queue `asked`
    alignas(destructive_bytes) std::uint64_t answered;
    std::uint64_t first_waiting;  ///< of the queue `sending`; others look at both
    std::uint64_t end_waiting;
    std::uint64_t arrived;  ///< messages so far; others look at it
    std::uint32_t n_free;   ///< places for unexpected messages
    std::uint32_t least_free;
    std::uint32_t overtaken;  ///< messages that `taken` tells of
    std::uint32_t told_of;    ///< whether a probe has told of a message that may lie in its ring still
    std::uint32_t next_source;
    std::uint32_t kept_slots;  ///< of messages without an order that wait in them; others look at it
    std::uint32_t max_posted;  ///< receives without an order that waited at once, as turns have seen
    alignas(destructive_bytes) std::uint64_t returned;  ///< of the queue `returned`
    alignas(destructive_bytes) std::uint64_t reclaimed;
    /// Of a table, for what turns have matched; engines have their own. Lanes add receives that wait, and looks.
    alignas(destructive_bytes) match_counts counts;
    std::uint64_t cancelled;  ///< receives of a table
    std::uint64_t met;        ///< further receives, each with its message, which was there before; lanes add them
};

/// 1 more than the numbers of the first and last request of a chain; 0: none. Each has the next in `other`, and the one
/// before in `before`.
struct send_chain {
    std::uint32_t first, last;
};

struct message_shard_ref {
    matching_engine_ref engine;            ///< or, where the rules leave messages no order:
    unordered_table_ref table;             ///< by places of messages and numbers of requests
    const chunk_sender* to = nullptr;      ///< n_pes
    const chunk_receiver* from = nullptr;  ///< n_pes
    std::uint64_t* next = nullptr;         ///< n_pes: the ticket to read next; that message has not been taken
    std::uint32_t* taken = nullptr;        ///< a slot of each of `from`: messages in it that came in before their turn
    std::uint32_t* kept = nullptr;         ///< the same, without an order: payloads that wait in it
    number_queue_ref asked;                ///< requests that want something of the engine, or wait for room
    send_chain* sends = nullptr;           ///< a slot of each of `to`: sends that wait for it, see waiting_sends
    std::uint32_t* sending = nullptr;      ///< as many places: a queue of the chains with something in them
    unexpected_message* unexpected = nullptr;
    std::uint32_t* free_places = nullptr;  ///< a stack
    number_queue_ref returned;             ///< places that lanes have emptied, see unordered_post
    shard_state* state = nullptr;
};

/// Counters of a PE.
struct two_sided_counters {
    alignas(destructive_bytes) std::uint64_t completed;      ///< see communicator_ref::add_created
    alignas(destructive_bytes) std::uint64_t fetches_drawn;  ///< of the queue `fetches`
    alignas(destructive_bytes) std::uint64_t fetches_taken;
};

/// Device view of a communicator on a PE.
struct two_sided_ref {
    const message_shard_ref* shards = nullptr;
    request_slot* requests = nullptr;
    two_sided_counters* counters = nullptr;
    device_heap_ref payloads;              ///< of unexpected messages that came in slots
    number_queue_ref fetches;              ///< receives whose payload is being fetched
    symmetric_ref<std::uint64_t> answers;  ///< a word a request: that its payload has been fetched, see fetch_queue
    std::uint32_t n_shards = 1;            ///< a power of two
    std::uint32_t n_requests = 0;          ///< places of messages, a power of two
    std::uint32_t n_looks = 0;             ///< and behind them, places of probes and cancels
    std::uint32_t slot_payload = 0;        ///< bytes of the longest message that is sent at once
    std::uint32_t number = 0;              ///< of the communicator
    bool exact_length = false;             ///< every receive is as long as its message
    match_rules rules;

    [[nodiscard]] LANEWAY_FN const message_shard_ref& shard_of(const match_key& key) const {
        return shards[shard_number(key)];
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t shard_number(const match_key& key) const {
        return rules.engine_of(key, n_shards);
    }
};

}  // namespace laneway
