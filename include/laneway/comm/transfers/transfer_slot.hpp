// What a PE keeps of the transfers that its lanes have posted, in symmetric memory.
//
// A slot holds a transfer from its post until it is done, and is used lap by lap: a handle is a slot and a lap, so it
// needs no release, and stays true for ever. Small transfers wait in one queue, a lane of a serving warp for each; of a
// larger one as many tokens wait in another as warps may share it, and whoever takes one takes a few pieces, and gives
// it back where more are left. A token may outlive its transfer: it then finds no piece left, or helps with the one
// that has come after.
#pragma once

#include "laneway/comm/host_calls_ref.hpp"
#include "laneway/comm/transfers/transfer.hpp"
#include "laneway/queue/warp_queue.hpp"

namespace laneway {

/// How many pieces a transfer has, and how many have been taken.
struct piece_word {
    std::uint64_t bits = 0;

    static LANEWAY_FN piece_word of(std::uint64_t pieces) { return {pieces << 32}; }
    [[nodiscard]] LANEWAY_FN std::uint32_t pieces() const { return static_cast<std::uint32_t>(bits >> 32); }
    [[nodiscard]] LANEWAY_FN std::uint32_t taken() const { return static_cast<std::uint32_t>(bits); }
};

struct alignas(destructive_bytes) transfer_slot {
    std::uint64_t pieces = 0;          ///< a piece_word
    std::uint32_t done = 0;            ///< pieces that are
    std::uint32_t finished = 0;        ///< laps that are over
    std::uint32_t arrived = 0;         ///< warps that have come to post it together
    std::uint32_t lap = 0;             ///< of the transfer
    std::uint32_t rows_a_piece = 1;    ///< 1 where a row has several pieces
    std::uint32_t pieces_a_row = 1;    ///< 1 where a piece has several rows
    std::uint64_t row_part_bytes = 0;  ///< of a row, that a piece has
    transfer_method method = transfer_method::warps;
    transfer what;

    /// The part of the transfer with this number.
    [[nodiscard]] LANEWAY_FN transfer_piece piece(std::uint32_t number) const {
        if (pieces_a_row == 1) {
            const std::uint64_t row = std::uint64_t{number} * rows_a_piece, left = what.rows() - row;
            return {row, left < rows_a_piece ? left : rows_a_piece, 0, what.row_bytes()};
        }
        const std::uint64_t row = number / pieces_a_row, first = number % pieces_a_row * row_part_bytes;
        const std::uint64_t left = what.row_bytes() - first;
        return {row, 1, first, left < row_part_bytes ? left : row_part_bytes};
    }
};

/// What has been moved by a method.
struct transfer_count {
    std::uint64_t transfers = 0;  ///< for which it was chosen
    std::uint64_t bytes = 0;      ///< that it has moved
};

/// Counters of a PE.
struct transfer_counters {
    alignas(destructive_bytes) std::uint64_t tickets = 0;      ///< of lanes, warps and blocks
    alignas(destructive_bytes) std::uint64_t together = 0;     ///< transfers that all warps have posted
    alignas(destructive_bytes) std::uint64_t completed = 0;    ///< of both
    alignas(destructive_bytes) std::uint32_t lent = 0;         ///< warps that may help, as the scheduler has found
    alignas(destructive_bytes) std::uint32_t helping = 0;      ///< warps that do
    std::uint32_t max_lent = 0;                                ///< most that have, at once
    alignas(destructive_bytes) std::uint64_t lent_pieces = 0;  ///< that they have carried out
    transfer_count by[n_transfer_methods];
};

/// Transfers under a key.
struct alignas(16) transfer_key {
    std::uint64_t posted = 0;
    std::uint64_t done = 0;
};

/// A contiguous copy, as host threads carry it out.
struct engine_copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::uint64_t bytes = 0;
    std::int32_t pe = 0;  ///< whose copy engine does it: where the source lies
};

/// Device view of all PEs' transfers: the same bits on every PE.
struct transfers_memory_ref {
    static constexpr std::uint32_t together_slots = 16;  ///< behind the others
    static constexpr std::uint32_t max_sharing = 256;    ///< warps, one transfer

    symmetric_ref<transfer_slot> slots;
    symmetric_ref<transfer_counters> counters;
    symmetric_ref<transfer_key> keys;
    symmetric_ref<warp_queue_words> words;  ///< of both queues
    symmetric_ref<std::uint64_t> small;
    symmetric_ref<std::uint64_t> tokens;
    transfer_method method = transfer_method::automatic;
    std::uint64_t lane_bytes = 0;
    std::uint64_t bulk_bytes = 0;
    std::uint64_t piece_bytes = 0;
    std::uint64_t engine_bytes = 0;
    std::uint32_t pieces_a_turn = 1;               ///< that a warp carries out before it looks at what else there is
    host_calls_ref<engine_copy, no_reply> engine;  ///< where `engine_bytes` is not 0
    std::uint32_t lends = 0;                       ///< 1: supervised

    [[nodiscard]] LANEWAY_FN std::uint32_t own_slots() const {
        return static_cast<std::uint32_t>(slots.size()) - together_slots;
    }
};

}  // namespace laneway
