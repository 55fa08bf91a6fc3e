// A few tasks of a batch at a time, on their way between the host's memory and a worker. Batches lie in memory of the
// host: a warp that read one argument after the other across PCIe would wait for most of its time.
#pragma once

#include "laneway/memory/copy_bytes.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/task/task_slot.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// A warp's part of shared memory.
struct task_stage {
    static constexpr std::size_t part_bytes = 256;

    alignas(16) std::byte arguments[part_bytes];
    std::byte results[part_bytes];

    /// How many tasks of a type find room; 0 where it is not worth it, or where results may come later, from others.
    template <class Ctx, class Type>
    static constexpr std::uint32_t tasks() {
        if (Ctx::warp_lanes == 1 || spawns_tasks<Type>) return 0;
        const std::size_t larger = std::max(sizeof(typename Type::arguments), result_bytes_of<typename Type::result>);
        const std::size_t room = std::min<std::size_t>(part_bytes / larger, 32);
        return room < 2 ? 0 : static_cast<std::uint32_t>(room);
    }

    /// Fetches the arguments of tasks `first` to `first + count` of a piece. The whole warp; a barrier follows.
    template <class Type, class Ctx>
    LANEWAY_FN void fetch(Ctx& ctx, const task_piece& piece, std::uint32_t first, std::uint32_t count) {
        constexpr std::size_t bytes = sizeof(typename Type::arguments);
        copy_bytes(arguments, piece.arguments + first * bytes, count * bytes, share_of(ctx));
    }
    /// Brings their results to the host. The same, behind a barrier.
    template <class Type, class Ctx>
    LANEWAY_FN void deliver(Ctx& ctx, const task_piece& piece, std::uint32_t first, std::uint32_t count) const {
        constexpr std::size_t bytes = result_bytes_of<typename Type::result>;
        copy_bytes(piece.results + first * bytes, results, count * bytes, share_of(ctx));
    }

    template <class Ctx>
    static LANEWAY_FN copy_share share_of(const Ctx& ctx) {
        return {static_cast<std::uint64_t>(ctx.lane()), static_cast<std::uint64_t>(Ctx::warp_lanes)};
    }
};

}  // namespace laneway
