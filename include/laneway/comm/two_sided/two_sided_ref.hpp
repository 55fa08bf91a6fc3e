// What a PE keeps of a communicator, in its memory: a pool of requests, and shards, each with a matching engine, rings
// from and to all PEs, and a queue of what lanes ask of the engine.
//
// Messages of one PE to another are numbered by the tickets of the ring between them, and the shard reads the ring in
// this order: so they are matched in the order in which they were sent, whoever sends and whoever reads. The same holds
// of receives: lanes put them into the shard's queue, which one warp at a time takes from.
#pragma once

#include "laneway/comm/matching/matching_engine.hpp"
#include "laneway/comm/matching/unordered_table.hpp"
#include "laneway/comm/two_sided/free_numbers.hpp"
#include "laneway/comm/two_sided/message_request.hpp"
#include "laneway/comm/two_sided/number_queue.hpp"
#include "laneway/memory/device_heap_ref.hpp"
#include "laneway/memory/symmetric.hpp"

namespace laneway {

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
    std::uint32_t watchers;  ///< lanes that look at rings themselves, see direct_receive
    std::uint32_t posted;    ///< receives that waited when the last turn ended
    std::uint32_t opened;    ///< some ring may be open: no receive waits, and no message
    std::uint64_t waiting;   ///< messages that have had to wait so far; 0 where none waits, see unexpected_places
    alignas(destructive_bytes) std::uint64_t asked;  ///< of the queue `asked`
    alignas(destructive_bytes) std::uint64_t answered;
    std::uint64_t first_waiting;  ///< of the queue `sending`; others look at both
    std::uint64_t end_waiting;
    std::uint64_t arrived;  ///< messages so far that turns have taken; others look at it
    std::uint32_t n_free;   ///< places for unexpected messages
    std::uint32_t min_free;
    std::uint32_t vain_looks;  ///< at sends that wait
    std::uint32_t told_of;     ///< whether a probe has told of a message that may lie in its ring still
    std::uint32_t next_source;
    std::uint32_t kept_slots;  ///< of messages without an order that wait in them; others look at it
    std::uint32_t max_posted;  ///< receives without an order that waited at once, as turns have seen
    std::uint64_t turns;       ///< in which there was something to do, by a warp or a lane
    std::uint64_t team_turns;  ///< the same, begun by several warps of a block
    alignas(destructive_bytes) std::uint64_t returned;  ///< of the queue `returned`
    alignas(destructive_bytes) std::uint64_t reclaimed;
    /// Of a table, for what turns have matched; engines have their own. Lanes add receives that wait, and how deep
    /// they search.
    alignas(destructive_bytes) match_counts counts;
    std::uint64_t cancelled;  ///< receives of a table
    /// Further receives, each with its message: of a table those whose message was there before, of an engine those
    /// that took it from its ring themselves. Lanes add them.
    std::uint64_t met;
};

/// How far a ring has been read. Who holds the lock uses it; others look at `next`, and where it is open take that
/// message by a compare-and-swap of this word, see direct_receive.
struct ring_progress {
    static constexpr std::uint64_t open = std::uint64_t{1} << 63;

    std::uint64_t next;       ///< the ticket to read next; that message has not been taken. And perhaps `open`
    std::uint32_t overtaken;  ///< messages of the ring that `taken` tells of; 0 where it is open

    [[nodiscard]] static LANEWAY_FN std::uint64_t ticket_of(std::uint64_t next) { return next & ~open; }
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
    ring_progress* read = nullptr;         ///< n_pes: how far each of `from` has been read
    std::uint32_t* taken = nullptr;        ///< a slot of each of `from`: messages in it that came in before their turn
    std::uint32_t* kept = nullptr;         ///< the same, without an order: payloads that wait in it
    std::uint32_t* taken_of = nullptr;     ///< the same: which messages of a slot that lanes share have come in
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
    alignas(destructive_bytes) std::uint64_t completed;  ///< see communicator_ref::add_created
    alignas(destructive_bytes) std::uint32_t fetching;   ///< a bit for each queue of fetches that may not be empty
    free_numbers_words free_requests;
    free_numbers_words free_looks;
};

/// Receives whose payload is being fetched stand in queues, a receive in that of its number: lanes take pieces from the
/// head of a queue by compare-and-swap, of which one succeeds for each way to memory and back.
inline constexpr std::uint32_t max_fetch_queues = 32;

/// Device view of a communicator on a PE.
struct two_sided_ref {
    const message_shard_ref* shards = nullptr;
    request_slot* requests = nullptr;
    two_sided_counters* counters = nullptr;
    device_heap_ref payloads;          ///< of unexpected messages that came in slots
    free_numbers_ref free_requests;    ///< places of messages that are not in use
    free_numbers_ref free_looks;       ///< and those of probes and cancels
    std::uint64_t* fetches = nullptr;  ///< words of the queues of fetches, n_requests
    number_queue_ends* fetch_ends = nullptr;
    std::uint32_t n_fetch_queues = 1;      ///< a power of two
    symmetric_ref<std::uint64_t> answers;  ///< a word a request: that its payload has been fetched, see fetch_queue
    std::uint32_t n_shards = 1;            ///< a power of two
    std::uint32_t n_requests = 0;          ///< places of messages, a power of two
    std::uint32_t n_looks = 0;             ///< and behind them, places of probes and cancels
    std::uint32_t slot_payload = 0;        ///< bytes of the longest message that is sent at once
    std::uint32_t number = 0;              ///< of the communicator
    std::uint32_t team_load = 0;           ///< receives and messages for which a team turns a shard; 0: never
    std::uint32_t ring_looks = 0;          ///< of a lane at rings, before it puts a receive into the queue
    bool exact_length = false;             ///< every receive is as long as its message
    match_rules rules;

    /// Where a receive stands whose payload is being fetched.
    [[nodiscard]] LANEWAY_FN number_queue_ref fetch_queue_of(std::uint32_t receive) const {
        const std::uint32_t queue = receive % n_fetch_queues, places = n_requests / n_fetch_queues;
        return {fetches + queue * places, &fetch_ends[queue].drawn, &fetch_ends[queue].taken, places};
    }
    [[nodiscard]] LANEWAY_FN const message_shard_ref& shard_of(const match_key& key) const {
        return shards[shard_number(key)];
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t shard_number(const match_key& key) const {
        return rules.engine_of(key, n_shards);
    }
};

}  // namespace laneway
