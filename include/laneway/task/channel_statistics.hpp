// What channels have done, as the host tells it after a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laneway {

/// Of one level of a channel, on all PEs: what has gone through its queues. What warps or blocks keep does not.
struct channel_level_statistics {
    std::uint64_t produced = 0;  ///< elements reserved
    std::uint64_t consumed = 0;  ///< elements dispatched; those that were put back again each time
    std::uint64_t stalls = 0;    ///< requests for space that found none
    std::uint64_t peak = 0;      ///< most elements that a warp has seen ready in one queue when it chose

    friend bool operator==(const channel_level_statistics&, const channel_level_statistics&) = default;
};

/// Of one channel, on all PEs.
struct one_channel_statistics {
    std::string name;              ///< that its options gave
    std::uint64_t produced = 0;    ///< elements reserved, those that warps kept among them
    std::uint64_t consumed = 0;    ///< elements dispatched; those that were put back again each time
    std::uint64_t dispatches = 0;  ///< warps' worth of elements; one for elements of two channels counts for both
    std::uint64_t stalls = 0;      ///< requests for space that found none
    std::uint64_t peak = 0;        ///< the greatest of its levels
    std::uint64_t kept = 0;        ///< elements that never left the warp, or the block, that had produced them
    std::vector<channel_level_statistics> levels;
};

/// What the channels of all PEs have done in a run.
struct channel_statistics {
    std::uint64_t produced = 0;         ///< elements reserved
    std::uint64_t consumed = 0;         ///< elements dispatched; those that were put back again each time
    std::uint64_t dispatches = 0;       ///< warps' worth of elements
    std::uint64_t full_dispatches = 0;  ///< of these, with an element for every lane
    std::uint64_t yields = 0;           ///< elements that were put back for want of space
    std::uint64_t stalls = 0;           ///< requests for space that found none
    std::uint64_t moved = 0;            ///< elements that were sent to PEs without work
    std::uint64_t sent = 0;             ///< elements that kernels have produced for other PEs
    std::uint64_t received = 0;         ///< elements that came from kernels of other PEs
    std::uint64_t peak = 0;             ///< most elements that a warp has seen ready in one queue when it chose
    std::uint64_t kept = 0;             ///< elements that never left the warp, or the block, that had produced them
    std::uint64_t given = 0;            ///< elements that warps had kept and gave to others
    /// Turns of warps in which they found nothing to run, or had no order. Those that were well spent are dispatches.
    std::uint64_t idle_turns = 0;
    /// By number, the graph's channels, and behind them those that hold work which has moved between PEs ("arrivals"),
    /// whose levels are the PEs that it came from. Elements that came in rooms count for the channel that they were
    /// sent to.
    std::vector<one_channel_statistics> channels;

    /// Share of the turns that found nothing to run; 0 where there were none.
    [[nodiscard]] double idle_share() const {
        const std::uint64_t turns = idle_turns + dispatches;
        return turns != 0 ? static_cast<double>(idle_turns) / static_cast<double>(turns) : 0;
    }
};

}  // namespace laneway
