// What the body of a task has of its worker.
#pragma once

#include "laneway/simt/group.hpp"
#include "laneway/task/task_slot.hpp"

namespace laneway {

/// The lanes that run a task together: those of a warp. One object for each lane.
template <class Ctx>
class task_worker {
public:
    /// `index`: of the task in its batch.
    LANEWAY_FN task_worker(const Ctx& ctx, std::uint32_t index) : lane_(ctx.lane()), index_(index) {}

    /// Place of this lane among those of the worker.
    [[nodiscard]] LANEWAY_FN int lane() const { return lane_; }
    [[nodiscard]] static LANEWAY_FN int lanes() { return Ctx::warp_lanes; }
    /// Number of the task in its batch; 0 for one that was submitted alone.
    [[nodiscard]] LANEWAY_FN std::uint32_t index() const { return index_; }

    /// Barrier among the worker's lanes: what each has stored before is visible to all behind it. All of them,
    /// together.
    LANEWAY_FN void sync(Ctx& ctx) const { ctx.sync(full_warp<Ctx>); }

    /// The task has failed: its future throws task_failed with this number, which is neither 0 nor 2^32 - 1. The body
    /// goes on and should return soon. Any lane.
    LANEWAY_FN void fail(std::uint32_t number) { status_ = number; }
    [[nodiscard]] LANEWAY_FN std::uint32_t status() const { return status_; }

private:
    int lane_;
    std::uint32_t index_;
    std::uint32_t status_ = task_status::done;
};

}  // namespace laneway
