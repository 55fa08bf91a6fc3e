// Knobs of collectives.
#pragma once

#include <cstdint>
#include <vector>

namespace laneway {

/// Sizes are bytes of the arrays that a call combines, sends or collects of one PE. The words that carry them take
/// twice as much, two slots for each peer and group. A longer array than its group's words carry goes in pieces, a
/// round each.
struct collective_options {
    std::uint64_t max_bytes = 64 << 10;   ///< longest array of a call
    std::uint32_t warp_bytes = 64;        ///< that the words of a group of warps carry at once; there are thousands
    std::uint32_t block_bytes = 8 << 10;  ///< the same of a group of blocks
    std::uint32_t grid_bytes = 64 << 10;  ///< and of the group of all PEs' grids
    /// Arrays of more bytes are reduced in two steps, where there are three PEs or more. 0: where these are quicker on
    /// H200s, see docs/design/0031-collectives.md: with 4 PEs 16,033 bytes in a block, with 8 4,580.
    std::uint64_t block_two_shot_bytes = 0;
    std::uint64_t grid_two_shot_bytes = 0;  ///< the same of grids: with 4 PEs 151,666 bytes, with 8 43,333
    /// The number of the team that each PE is in, as the colors of MPI_Comm_split: the PEs of a team do collectives
    /// among themselves, at their own pace; where there are several, none reduces in two steps. Empty: all PEs are one
    /// team.
    std::vector<int> teams{};
};

}  // namespace laneway
