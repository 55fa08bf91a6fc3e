// Finds accesses to symmetric memory that have no order between them, whatever the order in which they came.
//
// Every access is compared with those before it to the same bytes by vector clocks (Lamport, CACM 1978; kept as in
// FastTrack: Flanagan and Freund, PLDI 2009, where a step is a track and a time). So a race is found although the
// scheduler did not let the two accesses collide. Order comes from atomics on symmetric memory, fences, the barriers of
// warps and blocks, and what the library promises of messages; how it works inside orders nothing.
#pragma once

#include <optional>
#include <source_location>
#include <unordered_map>
#include <vector>

#include "laneway/simt/checked/carried_memory.hpp"
#include "laneway/simt/checked/lane_position.hpp"
#include "laneway/simt/checked/strand.hpp"
#include "laneway/simt/environment.hpp"
#include "laneway/simt/order.hpp"

namespace laneway::checked {

enum class access_kind : std::uint8_t { plain_read, plain_write, atomic_load, atomic_store, atomic_update };

/// One access of at most 8 aligned bytes.
struct access {
    std::uintptr_t address = 0;
    std::uint32_t bytes = 0;
    access_kind kind = access_kind::plain_read;
    track_number track = 0;
    std::uint32_t time = 0;
    std::source_location where;
};

class race_watch {
public:
    explicit race_watch(bool on, std::vector<carried_memory> carried = {});

    /// Makes a PE's part of the symmetric memory known, before its lanes.
    void watch(const pe_environment& env);
    /// Numbers a lane: the track of its functor, and behind it that of handlers that it runs for others.
    track_number add_lane(const lane_position& lane);

    /// Whether accesses to an address are watched.
    [[nodiscard]] bool watches(std::uintptr_t address) const { return on_ && area_of(address) != nullptr; }

    /// An access before this one with which it has no order.
    [[nodiscard]] std::optional<access> conflict(const strand& who, const access& mine) const;
    /// Keeps an access, to be compared with later ones.
    void keep(strand& who, const access& mine);
    /// Throws usage_error that names both.
    [[noreturn]] void report(const access& mine, const access& other) const;

    /// What an atomic on a watched word tells its lane, and what later ones hear from it.
    void order_atomic(strand& who, std::uintptr_t address, access_kind kind, order o);

    /// Everything so far comes before everything from now on. The `number`th barrier of all lanes has opened.
    void pass_barrier(std::uint64_t number);
    /// Changes when everything has come before everything.
    [[nodiscard]] std::uint64_t barriers() const { return barriers_; }

    /// What a message that is written to `at`, with others or alone, carries.
    void carry(const strand& who, const void* at, bool alone);
    void hand_on(const void* from, const void* to);
    [[nodiscard]] clock carried(const void* at) const;

    /// Handlers of what PE `source` posted: what they have done, and what they have all done so far.
    void end_handler(strand& who, int source) { ended(source).join(who.tell()); }
    [[nodiscard]] clock& ended(int source);

private:
    struct area {
        std::uintptr_t begin;
        std::uintptr_t end;
        std::uint32_t segment;
        int pe;
    };

    [[nodiscard]] const area* area_of(std::uintptr_t address) const;
    [[nodiscard]] std::string text(const access& one) const;
    /// Where a message lies as its destination sees it.
    [[nodiscard]] const void* landing_of(const void* at) const;

    bool on_;
    std::vector<area> areas_;              ///< by address
    std::vector<carried_memory> between_;  ///< PEs, by address of the staging
    std::vector<lane_position> lanes_;
    std::unordered_map<std::uintptr_t, std::vector<access>> kept_;  ///< by address / 8
    std::unordered_map<std::uintptr_t, clock> words_;               ///< of atomics, where they order something
    std::unordered_map<const void*, clock> carried_;                ///< where it is not empty
    std::vector<clock> ended_;                                      ///< by source
    std::uint64_t barriers_ = 0;
};

}  // namespace laneway::checked
