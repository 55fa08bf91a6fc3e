// The task of molecular dynamics: a worker of a pool advances one universe by some steps.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/task/task_type.hpp"
#include "lennard_jones.hpp"

namespace laneway::apps {

/// The lanes of a pool's worker, or the first `most` of them: the others have numbers behind all work.
template <class Ctx, class Worker>
class task_lanes {
public:
    LANEWAY_FN task_lanes(Ctx& ctx, const Worker& worker, std::uint32_t most)
        : ctx_(ctx), worker_(worker), lanes_(static_cast<std::uint32_t>(worker.lanes())) {
        if (most < lanes_) lanes_ = most;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t lane() const {
        const auto place = static_cast<std::uint32_t>(worker_.lane());
        return place < lanes_ ? place : ~std::uint32_t{0};
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t lanes() const { return lanes_; }
    LANEWAY_FN void sync() const { worker_.sync(ctx_); }

private:
    Ctx& ctx_;
    const Worker& worker_;
    std::uint32_t lanes_;
};

/// A warp's task. A universe lies in memory that the host and all PEs share. PEs that reach it slowly have memory of
/// their own for each universe: the task copies it there, all of it, and back when it is done.
struct advance_universe {
    struct arguments {
        md_universe_ref universe;
        std::uint64_t place = 0;  ///< of the universe in a PE's own memory
        std::uint64_t steps = 0;
        double factor = 1;  ///< velocities are multiplied by it first
    };
    using result = md_report;

    std::byte* const* own_memory;  ///< by PE; null where lanes work in the shared memory. Host-visible
    const std::uint32_t* leave;    ///< not 0: tasks end as soon as they can, and their results count for nothing
    std::uint32_t max_lanes;       ///< of a worker that share a universe

    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& given, Worker& worker) const {
        const task_lanes<Ctx, Worker> lanes(ctx, worker, max_lanes);
        md_universe_ref universe = given.universe;
        if (is_leaving(ctx, lanes, universe)) return {};
        std::byte* const own = own_memory[ctx.pe()];
        const std::uint64_t bytes = md_universe_ref::bytes(universe.shape);
        if (own != nullptr) {
            universe.memory = own + given.place;
            copy(lanes, universe.memory, given.universe.memory, bytes);
        }
        if (given.factor != 1) scale_velocities(lanes, universe, given.factor);
        const md_report made = advance_in_parts(ctx, lanes, universe, given.steps);
        if (own != nullptr) copy(lanes, given.universe.memory, universe.memory, bytes);
        return made;
    }

private:
    /// Steps times atoms between two looks at whether the task is to leave: some 20 ms of a CPU's core.
    static constexpr std::uint64_t part_work = 1 << 15;

    /// The same trajectory as in one call, see advance.
    template <class Ctx, class Lanes>
    LANEWAY_FN md_report advance_in_parts(Ctx& ctx, const Lanes& lanes, const md_universe_ref& universe,
                                          std::uint64_t steps) const {
        const std::uint64_t part = universe.shape.atoms < part_work ? part_work / universe.shape.atoms : 1;
        for (;;) {
            const std::uint64_t now = steps < part ? steps : part;
            const md_report made = advance(ctx, lanes, universe, now);
            steps -= now;
            if (steps == 0 || made.status != md_status::ok || is_leaving(ctx, lanes, universe)) return made;
        }
    }

    /// Lane 0 looks, and all lanes hear the same.
    template <class Ctx, class Lanes>
    LANEWAY_FN bool is_leaving(Ctx& ctx, const Lanes& lanes, const md_universe_ref& universe) const {
        std::uint32_t* const told = &universe.state()->leaves;
        if (lanes.lane() == 0) {
            const bool due = ctx.load(leave, order::relaxed, scope::system) != 0 || stopped(ctx);
            ctx.store(told, due ? 1u : 0u, order::relaxed, scope::block);
        }
        lanes.sync();
        return ctx.load(told, order::relaxed, scope::block) != 0;  // not stored to again before another barrier
    }

    template <class Lanes>
    static LANEWAY_FN void copy(const Lanes& lanes, std::byte* to, const std::byte* from, std::uint64_t bytes) {
        struct alignas(16) piece {
            std::uint64_t words[2];
        };
        for (std::uint64_t i = lanes.lane(); i < bytes / sizeof(piece); i += lanes.lanes()) {
            reinterpret_cast<piece*>(to)[i] = reinterpret_cast<const piece*>(from)[i];
        }
        lanes.sync();
    }
};

/// A block's task, for universes with many atoms.
struct advance_large_universe : advance_universe {
    static constexpr task_width width = task_width::block;
    static constexpr std::uint32_t min_atoms = 1024;
};

}  // namespace laneway::apps
