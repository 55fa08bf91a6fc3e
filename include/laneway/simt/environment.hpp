// What a PE's lanes know of the job: who they are, when to stop, and where to report a fault.
#pragma once

#include "laneway/base/fault.hpp"

namespace laneway {

class thrown_log;
struct pe_timeline;

/// Numbers that symmetric segments may have.
inline constexpr std::uint32_t max_segments = 1u << 17;

/// Names no segment: of a symmetric_ref that was never set.
inline constexpr std::uint32_t unnamed_segment = 0xfffffffe;

/// What the stop word of a run says. Lanes leave their loops for both; those that wait for something name it where a
/// deadline of the host has passed.
struct stop_word {
    static constexpr std::uint32_t none = 0, ends = 1, deadline = 2;
};

/// Words of one PE in its own memory. Every lane polls `stop`, a stop_word; it never goes back to none.
struct pe_control {
    alignas(destructive_bytes) std::uint32_t stop = stop_word::none;
    std::uint32_t fault_claim = 0;  ///< first lane to swap in 1 writes the PE's fault record
};

/// Handed to every kernel of a PE; plain pointers that are valid on that PE.
struct pe_environment {
    int pe = 0;
    int n_pes = 1;
    std::uint64_t timeout_ns = 0;              ///< deadline of the run, from its start on this PE
    pe_control* control = nullptr;             ///< PE memory
    fault_record* fault = nullptr;             ///< host-visible
    const std::uint32_t* host_stop = nullptr;  ///< host-visible stop_word, for all PEs
    thrown_log* thrown = nullptr;              ///< of a CPU device: where exceptions are kept; null: they pass
    /// PE memory: base of symmetric segment s on PE p at [s * n_pes + p], null where there is none or out of reach.
    void* const* segments = nullptr;
    const std::uint64_t* segment_bytes = nullptr;  ///< PE memory: size of each symmetric segment, the same on all PEs
    std::uint32_t n_segments = 0;
    pe_timeline* timeline = nullptr;  ///< PE memory: what lanes write down for the run's timeline; null: nothing
};

/// Where a lane stands among those that run the application's functor.
struct lane_rank {
    std::uint64_t before = 0;      ///< lanes of the PEs before its own
    std::uint64_t local = 0;       ///< its number among those of its PE
    std::uint64_t local_size = 1;  ///< how many these are
    std::uint64_t size = 1;        ///< lanes of all PEs
};

/// Grid of one launch.
struct launch_shape {
    int blocks = 1;
    int warps_per_block = 1;
    std::size_t shared_bytes = 0;  ///< per block

    friend bool operator==(const launch_shape&, const launch_shape&) = default;
};

}  // namespace laneway
