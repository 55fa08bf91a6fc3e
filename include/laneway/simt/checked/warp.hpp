// How the lanes of a checked warp or block meet: collectives as rendezvous of fibers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "laneway/simt/checked/clock.hpp"
#include "laneway/simt/checked/lanes.hpp"
#include "laneway/simt/checked/misuse.hpp"
#include "laneway/simt/checked/scheduler.hpp"
#include "laneway/simt/order.hpp"

namespace laneway::checked {

/// A collective, and who calls it.
struct meeting_site {
    std::string_view what;
    std::source_location caller;

    friend bool operator==(const meeting_site& a, const meeting_site& b) {
        return a.what == b.what && a.caller.line() == b.caller.line() && a.caller.column() == b.caller.column() &&
               std::string_view(a.caller.file_name()) == b.caller.file_name();
    }
    /// As messages tell it: "sync of barrier (endpoint.hpp:161)".
    [[nodiscard]] std::string text() const;
};

/// Thrown by a lane that waits for mates who do not come, to end it; the launch catches it.
struct lost_lane : ends_lane {
    explicit lost_lane(std::string why) : told(std::move(why)) {}

    std::string told;
};

/// Barrier of a fixed set of lanes that also hands every lane all lanes' values. Two generations of values are kept:
/// a lane reads the last one while faster lanes already fill the next.
class rendezvous {
public:
    static constexpr int max_lanes = 32;
    using lane_values = std::array<std::uint64_t, max_lanes>;

    /// What all lanes have brought.
    struct meeting {
        lane_values values{};
        clock before;
    };

    /// Lanes that meet in different collectives would hang on a GPU: `differ(site, other)` throws. Between two looks
    /// a lane that waits for mates calls `wait(present)`, which may throw as well.
    template <class Differ, class Wait>
    const meeting& meet(scheduler& sched, int expected, int lane, std::uint64_t value, const meeting_site& site,
                        const clock& before, Differ&& differ, Wait&& wait) {
        const std::uint64_t generation = generation_;
        meeting& now = meetings_[generation % 2];
        if (present_ == 0) {
            site_ = site;
            now.before = {};
        }
        if (!(site_ == site)) differ(site_, site);
        now.values[static_cast<std::size_t>(lane)] = value;
        now.before.join(before);
        present_ |= lane_mask{1} << lane;
        if (std::popcount(present_) == expected) {
            present_ = 0;
            ++generation_;
        }
        sched.step();
        while (generation_ == generation) wait(present_);
        return now;
    }

    /// A mate has ended, and is nobody's mistake: those who have come, or will come, wait in vain.
    void give_up() { given_up_ = true; }
    [[nodiscard]] bool given_up() const { return given_up_; }

private:
    std::array<meeting, 2> meetings_{};
    meeting_site site_;
    lane_mask present_ = 0;
    std::uint64_t generation_ = 0;
    bool given_up_ = false;
};

/// Shared state of the lanes of one checked warp.
class warp_state {
public:
    explicit warp_state(int lanes) : lanes_(lanes) {}

    /// Of the lanes of a mask.
    rendezvous& meeting(lane_mask mask) { return meetings_[mask]; }

    /// Lanes that arrive at a place of a function together. The scheduler draws when the door closes, so over the seeds
    /// every subset of the lanes that can arrive together does.
    lane_mask converge(scheduler& sched, const void* function, int place, int lane) {
        auto& door = doors_[{function, place}];
        const std::uint64_t generation = door.generation;
        if (door.arrived == 0) door.patience = draw_patience(sched);
        door.arrived |= lane_mask{1} << lane;
        if (door.arrived == full()) close(door);
        while (door.generation == generation) {
            if (sched.one_in(door.patience)) {
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
    static constexpr std::uint64_t min_patience = 4;

    struct door_state {
        lane_mask arrived = 0;
        std::uint64_t generation = 0;
        std::uint64_t patience = min_patience;
        std::array<lane_mask, rendezvous::max_lanes> masks{};  // by lane: the group it left with
    };

    [[nodiscard]] lane_mask full() const { return lanes_ == 32 ? ~lane_mask{0} : (lane_mask{1} << lanes_) - 1; }

    /// One of so many looks closes a door. Doors of wide warps differ in it: some let few lanes through at once, at
    /// some most of them gather.
    [[nodiscard]] std::uint64_t draw_patience(scheduler& sched) const {
        std::uint64_t looks = min_patience;
        if (lanes_ <= default_warp_lanes) return looks;
        while (looks < min_patience * static_cast<std::uint64_t>(lanes_) && !sched.one_in(4)) looks *= 2;
        return looks;
    }

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
    block_state(int n_warps, int lanes_a_warp, std::size_t shared_bytes)
        : warps(static_cast<std::size_t>(n_warps), warp_state(lanes_a_warp)), lanes(n_warps * lanes_a_warp),
          shared(shared_bytes / sizeof(shared_line) + 1) {}

    struct alignas(128) shared_line {
        std::byte bytes[128];
    };

    /// Between two looks a lane that waits calls `wait(present)`, with the number of those that have come. What each
    /// brings has happened `before` what all do next, which is returned.
    template <class Wait>
    const clock& sync(const clock& mine, Wait&& wait) {
        const std::uint64_t now = generation;
        if (arrived == 0) before[now % 2] = {};
        before[now % 2].join(mine);
        if (++arrived == lanes) {
            arrived = 0;
            ++generation;
        }
        while (generation == now) wait(arrived);
        return before[now % 2];
    }

    std::vector<warp_state> warps;
    int lanes;
    int arrived = 0;
    std::uint64_t generation = 0;
    std::array<clock, 2> before;  ///< by generation: one is filled while the last is still read
    std::vector<shared_line> shared;
};

}  // namespace laneway::checked
