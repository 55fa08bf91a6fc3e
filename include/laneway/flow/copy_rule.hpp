// What copies the packets of a link: a device's copy engine, or a kernel on its multiprocessors. Host only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace laneway::flow {

enum class copy_path : std::uint8_t {
    by_rule,  ///< one of the others for each packet, see choose_copy
    engine,   ///< calls of the copy engine; of a CPU device, loops of its copying thread
    kernel,   ///< all lanes of a grid
};

/// The constants of choose_copy: as they stand here those of GPUs. `bench_link_copies` has shown on H200s that
/// contiguous packets of 1 MiB are as fast either way or faster by engine, and rows of 16 bytes faster by kernel; where
/// between these the way should change has not been measured.
struct copy_rule {
    /// Calls of the copy engine for one packet: more of them take longer than the packet.
    std::uint64_t max_calls = 16;
    /// Bytes: rows and pieces shorter than this on the average take the copy engine longer than their bytes.
    std::uint64_t narrow_row = 512;
    /// Bytes: a packet up to this size does not wait behind others of the copy engine.
    std::uint64_t small_packet = 1 << 16;
    /// Packets that one path has under way more than the other one: it is busy then.
    int busy = 4;

    /// Of CPU devices, whose calls cost as much as a loop: their lanes are worth it for very short rows alone.
    static constexpr copy_rule of_cpu() { return {~std::uint64_t{0}, 32, 0, 4}; }
};

/// What the rule looks at of a packet's copy.
struct copy_size {
    std::uint64_t bytes = 0;
    std::uint64_t runs = 1;   ///< rows or pieces that it has a part of
    std::uint64_t calls = 1;  ///< of the copy engine that it would take
};

/// Packets on their way into a device's buffers.
struct copy_load {
    int by_engine = 0;
    int by_kernel = 0;
};

/// By kernel: what takes many calls of the copy engine; narrow rows, unless the kernels are busy; and small packets
/// while the copy engine is busy. All else by copy engine, which leaves the multiprocessors alone.
constexpr copy_path choose_copy(const copy_size& size, const copy_load& load, const copy_rule& rule = {}) {
    if (size.calls > rule.max_calls) return copy_path::kernel;
    const int ahead = load.by_engine - load.by_kernel;
    if (size.runs > 1 && size.bytes / size.runs < rule.narrow_row && -ahead < rule.busy) return copy_path::kernel;
    if (size.bytes <= rule.small_packet && ahead >= rule.busy) return copy_path::kernel;
    return copy_path::engine;
}

}  // namespace laneway::flow
