// How the lanes of a checked warp or block meet: collectives as rendezvous of fibers.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/simt/checked/scheduler.hpp"
#include "laneway/simt/order.hpp"

namespace laneway::checked {

/// Barrier of a fixed set of lanes that also hands every lane all lanes' values. Two generations of values are kept:
/// a lane reads the last one while faster lanes already fill the next.
class rendezvous {
public:
    static constexpr int max_lanes = 32;
    using values = std::array<std::uint64_t, max_lanes>;

    /// `what` names the collective: lanes that meet in different ones would hang on a GPU, here they throw.
    const values& meet(scheduler& sched, int expected, int lane, std::uint64_t value, std::string_view what) {
        const std::uint64_t generation = generation_;
        if (arrived_ == 0) what_ = what;
        if (what_ != what) {
            throw usage_error("lanes of one mask are in different collectives: " + std::string(what_) + " and " +
                              std::string(what));
        }
        values& now = values_[generation % 2];
        now[static_cast<std::size_t>(lane)] = value;
        if (++arrived_ == expected) {
            arrived_ = 0;
            ++generation_;
        }
        sched.step();
        while (generation_ == generation) sched.yield();
        return now;
    }

private:
    std::array<values, 2> values_{};
    std::string_view what_;
    int arrived_ = 0;
    std::uint64_t generation_ = 0;
};

/// Shared state of the lanes of one checked warp.
class warp_state {
public:
    explicit warp_state(int lanes) : lanes_(lanes) {}

    const rendezvous::values& meet(scheduler& sched, lane_mask mask, int expected, int lane, std::uint64_t value,
                                   std::string_view what) {
        return meetings_[mask].meet(sched, expected, lane, value, what);
    }

    /// Lanes that arrive at `site` together. The scheduler draws when the door closes, so over the seeds every subset
    /// of the lanes that can arrive together does.
    lane_mask converge(scheduler& sched, const void* site, int line, int lane) {
        auto& door = doors_[{site, line}];
        const std::uint64_t generation = door.generation;
        door.arrived |= lane_mask{1} << lane;
        if (door.arrived == full()) close(door);
        while (door.generation == generation) {
            if (sched.one_in(4)) {
                close(door);
            } else {
                sched.yield();
            }
        }
        // The mask of a generation stays readable: a lane cannot come back here before it has met all its mates in the
        // collectives that follow, but others may have opened and closed the door again.
        return door.masks.at(static_cast<std::size_t>(lane));
    }

private:
    struct door_state {
        lane_mask arrived = 0;
        std::uint64_t generation = 0;
        std::array<lane_mask, rendezvous::max_lanes> masks{};  // by lane: the group it left with
    };

    [[nodiscard]] lane_mask full() const { return lanes_ == 32 ? ~lane_mask{0} : (lane_mask{1} << lanes_) - 1; }

    static void close(door_state& door) {
        for (int lane = 0; lane < rendezvous::max_lanes; ++lane) {
            if ((door.arrived >> lane & 1) != 0) door.masks[static_cast<std::size_t>(lane)] = door.arrived;
        }
        door.arrived = 0;
        ++door.generation;
    }

    int lanes_;
    std::map<lane_mask, rendezvous> meetings_;
    std::map<std::pair<const void*, int>, door_state> doors_;
};

/// Shared state of one checked block.
struct block_state {
    block_state(int n_warps, int warp_lanes, std::size_t shared_bytes)
        : warps(static_cast<std::size_t>(n_warps), warp_state(warp_lanes)), lanes(n_warps * warp_lanes),
          shared(shared_bytes / sizeof(shared_line) + 1) {}

    struct alignas(128) shared_line {
        std::byte bytes[128];
    };

    void sync(scheduler& sched) {
        const std::uint64_t now = generation;
        if (++arrived == lanes) {
            arrived = 0;
            ++generation;
        }
        while (generation == now) sched.yield();
    }

    std::vector<warp_state> warps;
    int lanes;
    int arrived = 0;
    std::uint64_t generation = 0;
    std::vector<shared_line> shared;
};

}  // namespace laneway::checked
