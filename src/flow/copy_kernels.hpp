// Bodies that copy between a packet's buffer and memory where its elements are not side by side.
#pragma once

#include "laneway/flow/layout.hpp"
#include "laneway/memory/copy_bytes.hpp"

namespace laneway::flow {

/// A packet's bytes, packed, and the memory that they come from or go to.
struct copy_ends {
    std::byte* packed = nullptr;
    std::byte* memory = nullptr;
    bool packs = true;  ///< from the memory into the packet
};

template <std::size_t Bytes>
LANEWAY_FN void move_word(const copy_ends& ends, std::uint64_t packed, std::int64_t offset) {
    auto* const in_packet = reinterpret_cast<byte_word<Bytes>*>(ends.packed + packed);
    auto* const in_memory = reinterpret_cast<byte_word<Bytes>*>(ends.memory + offset);
    if (ends.packs) {
        *in_packet = *in_memory;
    } else {
        *in_memory = *in_packet;
    }
}

/// Of a strided layout; Bytes divides all its numbers and the addresses.
template <std::size_t Bytes>
struct copy_strided {
    copy_ends ends;
    std::uint64_t begin = 0;  ///< of the packet, among the message's bytes
    std::uint64_t words = 0;
    std::uint64_t row_bytes = 1;
    int levels = 0;
    stride level[layout::max_levels] = {};

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < words; i += ctx.size()) {
            const std::uint64_t at = begin + i * Bytes, row = at / row_bytes;
            move_word<Bytes>(ends, i * Bytes, offset_of(row) + static_cast<std::int64_t>(at - row * row_bytes));
        }
    }

private:
    [[nodiscard]] LANEWAY_FN std::int64_t offset_of(std::uint64_t row) const {
        std::int64_t offset = 0;
        for (int i = levels - 1; i >= 0; --i) {
            const std::uint64_t outer = row / level[i].count;
            offset += static_cast<std::int64_t>(row - outer * level[i].count) * level[i].bytes;
            row = outer;
        }
        return offset;
    }
};

/// Of pieces, whose packed bytes count from the buffer's first one. Warps take tiles of neighbouring words, in which a
/// lane looks for its first piece once.
template <std::size_t Bytes>
struct copy_scattered {
    static constexpr std::uint64_t words_of_lane = 16;

    copy_ends ends;
    const layout_run* runs = nullptr;
    std::uint64_t n_runs = 0;
    std::uint64_t words = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        constexpr auto lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        constexpr std::uint64_t tile = lanes * words_of_lane;
        const std::uint64_t lane = ctx.rank() % lanes, step = ctx.size() / lanes * tile;
        for (std::uint64_t first = ctx.rank() / lanes * tile + lane; first < words; first += step) {
            std::uint64_t run = run_with(first * Bytes);
            for (std::uint64_t k = 0, i = first; k < words_of_lane && i < words; ++k, i += lanes) {
                while (run + 1 < n_runs && runs[run + 1].packed <= i * Bytes) ++run;
                const auto within = static_cast<std::int64_t>(i * Bytes - runs[run].packed);
                move_word<Bytes>(ends, i * Bytes, runs[run].offset + within);
            }
        }
    }

private:
    [[nodiscard]] LANEWAY_FN std::uint64_t run_with(std::uint64_t packed) const {
        std::uint64_t low = 0, high = n_runs;  // the run is in [low, high)
        while (high - low > 1) {
            const std::uint64_t middle = low + (high - low) / 2;
            if (runs[middle].packed <= packed) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }
};

}  // namespace laneway::flow
