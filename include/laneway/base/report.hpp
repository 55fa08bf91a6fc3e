// What a run did, as the host sees it afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laneway {

/// Totals of one direction between two PEs.
struct traffic {
    std::uint64_t messages = 0;
    std::uint64_t chunks = 0;
    std::uint64_t bytes = 0;  ///< payload bytes carried
};

/// One look of the coordinator at all PEs, taken while the run went on.
struct progress_sample {
    std::uint64_t time_ns = 0;  ///< since the coordinator's first look
    std::uint64_t served = 0;   ///< messages served so far, all PEs
    std::uint64_t open = 0;     ///< work created and not yet completed, all PEs
};

/// Device memory that lanes have allocated and not released, of one quota on one PE.
struct memory_held {
    int pe = 0;
    std::string quota;
    std::uint64_t pieces = 0;
    std::uint64_t bytes = 0;  ///< of the pages that they lie in, and of those that the quota keeps besides
};

/// A tag of triggered operations that has been triggered, or prepared, and is not passive.
struct waiting_tag {
    int pe = 0;
    std::uint32_t tag = 0;
    std::uint32_t count = 0;      ///< triggers that no round has used
    std::uint32_t threshold = 0;  ///< 0: not prepared
    std::uint64_t fired = 0;      ///< rounds

    /// "tag 3 of PE 0: 2 of 4 triggers, fired 5 times"; "tag 9 of PE 1: not prepared, triggered 2 times".
    [[nodiscard]] std::string text() const;
};

/// Account of one run. The audit holds: posted = direct + carried, carried = served.
struct run_report {
    std::vector<std::string> devices;  ///< one name a PE, in PE order
    double run_seconds = 0;            ///< launch to last device done, host clock
    /// Messages posted by lanes, forwards, replies that left their PE, and one more for each rendezvous.
    std::uint64_t posted = 0;
    std::uint64_t direct = 0;               ///< of these, served at once because they were posted to the own PE
    std::uint64_t carried = 0;              ///< messages put into chunks that left
    std::uint64_t served = 0;               ///< carried messages whose handler has run
    std::uint64_t replies = 0;              ///< of the carried ones, those that handlers replied
    std::uint64_t items = 0;                ///< of work that components took and did, such as vertices of a worklist
    std::uint64_t rises = 0;                ///< of a worklist's threshold
    std::vector<traffic> traffic_matrix;    ///< row-major [source][destination], n_pes × n_pes
    std::vector<progress_sample> progress;  ///< for plots; at most a few thousand samples
    /// What the library's buffers and rings take on each PE; see options::buffer_bytes.
    std::vector<std::uint64_t> buffer_bytes;
    /// The most memory that each PE's device has held at once since it was opened, of all that was allocated on it:
    /// data, buffers and rings. Memory of the host that devices reach is not part of it.
    std::vector<std::uint64_t> device_bytes;
    /// Of the run's triggered operations: tags that nobody has prepared, and those that wait for more triggers.
    std::vector<waiting_tag> waiting_tags;
    std::vector<memory_held> memory;  ///< what lanes hold of each runtime::device_memory when the run has ended

    [[nodiscard]] std::uint64_t chunks() const {
        std::uint64_t total = 0;
        for (const auto& t : traffic_matrix) total += t.chunks;
        return total;
    }
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t total = 0;
        for (const auto& t : traffic_matrix) total += t.bytes;
        return total;
    }
};

}  // namespace laneway
