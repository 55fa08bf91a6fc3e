// The host half of two-sided messages: their memory on all PEs, and what stands in it when a run has ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "laneway/comm/matching/matching_memory.hpp"
#include "laneway/comm/two_sided/message_rings.hpp"
#include "laneway/comm/two_sided/two_sided_ref.hpp"
#include "laneway/memory/device_heap.hpp"
#include "laneway/memory/symmetric_array.hpp"

namespace laneway {

struct communicator_options {
    /// Operations of a PE that may go on at once, a power of two; sends that are done at once take no place.
    std::uint32_t requests = 4096;
    /// Messages that may wait for a receive on a PE, in each engine. Further ones wait with their senders.
    std::uint32_t unexpected = 1024;
    /// Memory of a PE, of all its engines together, for what such messages of more than 56 bytes bring; each takes a
    /// power of two. Where it is used up, they keep their slots of the ring, and senders wait as soon as it is full.
    std::uint64_t unexpected_bytes = std::uint64_t{1} << 20;
    /// Matching engines of a PE, a power of two; more than one where no receive asks for any source. They share
    /// messages out by source; where no receive asks for any tag either, by source and tag, and without an order by
    /// source and 32 neighbouring tags.
    std::uint32_t engines = 1;
    std::uint32_t ring_slots = 64;       ///< messages on their way from one PE to another, a power of two
    std::uint32_t eager_bytes = 1024;    ///< longer messages stay with the sender until a receive is there
    match_rules rules{};                 ///< what the program promises
    bool exact_length = false;           ///< and that each receive is as long as its message
    std::uint32_t host_operations = 16;  ///< of host threads for each rank at once, in a session
    std::uint32_t host_bytes = 65536;    ///< of the longest message that host threads send or receive
    /// Receives and messages that wait at an engine from which on warps of a block that have nothing else to do match
    /// them together; 0: never.
    std::uint32_t team_load = 128;
    /// Looks of a lane, or warp, at the rings themselves before its `recv` goes to the queues, where it takes some ten
    /// times as long; others turn the engine's queues more seldom meanwhile. 0: as suits the device.
    std::uint32_t ring_looks = 0;
};

/// What the engines of a PE have done so far, and in how many turns: by one warp or lane, or begun by several warps.
struct communicator_statistics : matching_statistics {
    std::uint64_t turns = 0, team_turns = 0;
    std::uint64_t slots = 0;         ///< of rings in which messages have come; lanes may have shared some
    std::uint32_t engines_used = 0;  ///< those that have had a message or a receive
};

/// A message that nobody has received, or a request that nobody has waited for.
struct pending_message {
    int pe = 0;
    enum class kind { unexpected, receive, send } what = kind::unexpected;
    match_key key;            ///< of a send: its destination and tag
    std::uint64_t bytes = 0;  ///< of the message, or the room of a receive
    bool waited = false;      ///< a lane waits for it

    /// "receive of any tag from PE 2"; "unexpected message of 8 bytes, tag 3 from PE 0".
    [[nodiscard]] std::string text() const;
};

/// For one communicator; on the host, between runs.
class two_sided_memory {
public:
    /// Throws usage_error for options that cannot be.
    two_sided_memory(machine& machine, const communicator_options& options, std::uint32_t number);

    [[nodiscard]] two_sided_ref ref(int pe) const;
    [[nodiscard]] std::uint64_t held_bytes() const;
    /// As new, behind a run that has failed; handles of its requests are refused also then.
    void clear();

    /// What stands in the queues: requests, then unexpected messages in their order.
    [[nodiscard]] std::vector<pending_message> pending() const;
    /// The same for people, PE by PE, and whether ranks wait for each other in a circle. Empty where nothing stands.
    [[nodiscard]] std::string account() const;
    [[nodiscard]] communicator_statistics statistics(int pe) const;
    /// Of the memory for payloads of unexpected messages; refused: those that kept their slots.
    [[nodiscard]] quota_statistics unexpected_memory(int pe) const;
    /// Whether all rings are empty and no request is open, as behind a run that has ended well.
    [[nodiscard]] bool is_passive() const;

private:
    /// Of one engine of a PE.
    struct shard_memory {
        shard_memory(const std::shared_ptr<device>& owner, const communicator_options& options, int n_pes);

        std::optional<matching_engine> engine;
        std::optional<unordered_table> table;  ///< one of the two
        buffer<ring_progress> read;
        buffer<std::uint32_t> taken;
        buffer<std::uint32_t> kept;
        buffer<std::uint32_t> taken_of;
        buffer<std::uint64_t> asked;
        buffer<send_chain> sends;
        buffer<std::uint32_t> sending;
        buffer<unexpected_message> unexpected;
        buffer<std::uint32_t> free_places;
        buffer<std::uint64_t> returned;
        buffer<shard_state> state;
    };
    /// Of a PE.
    struct part {
        std::vector<std::unique_ptr<shard_memory>> shards;
        buffer<message_shard_ref> refs;
        buffer<request_slot> requests;
        buffer<std::uint32_t> free_requests;
        buffer<std::uint32_t> free_looks;
        buffer<std::uint64_t> fetches;
        buffer<number_queue_ends> fetch_ends;
        buffer<two_sided_counters> counters;
        std::unique_ptr<device_heap> payloads;  ///< of unexpected messages
    };

    void make_parts();
    [[nodiscard]] matching_statistics statistics(const shard_memory& shard) const;
    [[nodiscard]] static std::uint64_t slots_taken(const shard_memory& shard);
    [[nodiscard]] std::uint64_t matching_bytes() const;
    [[nodiscard]] message_shard_ref ref_of(const shard_memory& shard, const message_rings& rings, int pe) const;
    void add_requests(int pe, std::vector<pending_message>& all) const;
    [[nodiscard]] std::uint64_t on_their_way(int pe) const;
    [[nodiscard]] std::uint64_t mates_on_their_way(int pe, std::size_t shard) const;
    void add_unexpected(int pe, const shard_memory& shard, std::vector<pending_message>& all) const;

    machine& machine_;
    communicator_options options_;
    std::uint32_t number_;
    std::vector<std::unique_ptr<message_rings>> rings_;  ///< by engine
    std::vector<part> parts_;                            ///< by PE
    symmetric_array<std::uint64_t> answers_;
};

}  // namespace laneway
