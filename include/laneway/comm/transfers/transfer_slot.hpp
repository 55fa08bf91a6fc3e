// What a PE keeps of the transfers that its lanes have posted, in symmetric memory.
//
// A slot holds a transfer from its post until it is done, and is used lap by lap: a handle is a slot and a lap, so it
// needs no release, and stays true for ever. What can be carried out stands in an array of its own, a word for each
// slot, which a warp reads side by side: how many pieces the slot's transfer has, and how many have been taken. Any
// warp takes the next piece by an add to that word. It may come too late: it then finds no piece left, or gets one of
// the transfer that has come after, which is as good.
#pragma once

#include "laneway/comm/host_calls_ref.hpp"
#include "laneway/comm/transfers/transfer.hpp"
#include "laneway/transport/remote_ptr.hpp"

namespace laneway {

/// How many pieces a transfer has, how many have been taken, and whether it is a lane's.
struct piece_word {
    static constexpr std::uint64_t max_pieces = std::uint64_t{1} << 31;

    std::uint64_t bits = 0;

    static LANEWAY_FN piece_word of(std::uint64_t pieces, bool is_lanes) {
        return {pieces << 32 | std::uint64_t{is_lanes} << 63};
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t pieces() const { return static_cast<std::uint32_t>(bits << 1 >> 33); }
    [[nodiscard]] LANEWAY_FN std::uint32_t taken() const { return static_cast<std::uint32_t>(bits); }
    [[nodiscard]] LANEWAY_FN bool is_open() const { return taken() < pieces(); }
    [[nodiscard]] LANEWAY_FN bool is_lanes() const { return bits >> 63 != 0; }
};

struct alignas(destructive_bytes) transfer_slot {
    std::uint32_t done = 0;            ///< pieces that are
    std::uint32_t finished = 0;        ///< laps that are over
    std::uint32_t lap = 0;             ///< of the transfer
    std::uint32_t rows_a_piece = 1;    ///< 1 where a row has several pieces
    std::uint32_t pieces_a_row = 1;    ///< 1 where a piece has several rows
    std::uint64_t row_part_bytes = 0;  ///< of a row, that a piece has
    transfer_method method = transfer_method::warps;
    transfer what;

    /// The part of the transfer with this number.
    [[nodiscard]] LANEWAY_FN transfer_piece piece(std::uint32_t number) const {
        if (what.rows() == 1 && pieces_a_row > 1) return part(0, number * row_part_bytes);  // without a division
        if (pieces_a_row == 1) {
            const std::uint64_t row = std::uint64_t{number} * rows_a_piece, left = what.rows() - row;
            return {row, left < rows_a_piece ? left : rows_a_piece, 0, what.row_bytes()};
        }
        return part(number / pieces_a_row, number % pieces_a_row * row_part_bytes);
    }

private:
    [[nodiscard]] LANEWAY_FN transfer_piece part(std::uint64_t row, std::uint64_t first) const {
        const std::uint64_t left = what.row_bytes() - first;
        return {row, 1, first, left < row_part_bytes ? left : row_part_bytes};
    }
};

/// What has been moved by a method.
struct transfer_count {
    std::uint64_t transfers = 0;  ///< for which it was chosen
    std::uint64_t bytes = 0;      ///< that it has moved
};

/// Counters of a PE. They run on from run to run.
struct transfer_counters {
    static constexpr std::uint32_t together_slots = 16;

    alignas(destructive_bytes) std::uint64_t tickets = 0;    ///< of lanes, warps and blocks
    alignas(destructive_bytes) std::uint64_t together = 0;   ///< transfers that all warps have posted
    alignas(destructive_bytes) std::uint64_t completed = 0;  ///< of both
    /// What nobody has taken yet, in lanes that have something to do: one a small transfer, a warp's a piece. A signed
    /// number, as who takes may count before who has posted does.
    alignas(destructive_bytes) std::uint64_t waiting = 0;
    std::uint32_t newest = 0;                                  ///< slot that was posted last, about
    alignas(destructive_bytes) std::uint32_t lent = 0;         ///< warps that may help, as the scheduler has found
    alignas(destructive_bytes) std::uint32_t helping = 0;      ///< warps that do
    std::uint32_t max_lent = 0;                                ///< most that have, at once
    alignas(destructive_bytes) std::uint64_t lent_pieces = 0;  ///< that they have carried out
    transfer_count by[n_transfer_methods];
    /// Warps that have come to post a transfer together, for each of the slots of such.
    alignas(destructive_bytes) std::uint32_t arrived[together_slots] = {};
};

/// Transfers under a key.
struct alignas(16) transfer_key {
    std::uint64_t posted = 0;
    std::uint64_t done = 0;
};

/// A copy of rows, as host threads carry it out.
struct engine_copy {
    remote_ptr<std::byte> to{};
    remote_ptr<const std::byte> from{};
    std::uint64_t to_pitch = 0;
    std::uint64_t from_pitch = 0;
    std::uint64_t row_bytes = 0;
    std::uint64_t rows = 0;
    std::int32_t pe = 0;  ///< whose copy engine does it: where the source lies
};

/// Device view of all PEs' transfers: the same bits on every PE.
struct transfers_memory_ref {
    static constexpr std::uint32_t together_slots = transfer_counters::together_slots;  ///< behind the others
    static constexpr std::uint32_t look_slots = 32;  ///< that a warp looks at side by side

    symmetric_ref<transfer_slot> slots;
    symmetric_ref<std::uint64_t> work;  ///< a piece_word for each slot; as many as whole looks have
    symmetric_ref<transfer_counters> counters;
    symmetric_ref<transfer_key> keys;
    transfer_method method = transfer_method::automatic;
    std::uint64_t lane_bytes = 0;
    std::uint64_t bulk_bytes = 0;
    std::uint64_t piece_bytes = 0;
    std::uint64_t engine_bytes = 0;
    std::uint32_t pieces_a_turn = 1;               ///< that a warp carries out before it looks at what else there is
    host_calls_ref<engine_copy, no_reply> engine;  ///< where `engine_bytes` is not 0
    std::uint32_t lends = 0;                       ///< 1: supervised
    std::uint32_t slot_bits = 0;                   ///< slots of lanes' tickets: a power of two

    [[nodiscard]] LANEWAY_FN std::uint32_t own_slots() const { return 1u << slot_bits; }
};

}  // namespace laneway
