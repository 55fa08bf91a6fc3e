// What devices write down of a run for its timeline, and which part of it is kept where there is more than has room.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// Counters of a PE at one moment of a run. All but `open` only grow.
struct timeline_sample {
    std::uint64_t time_ns = 0;   ///< by the device's clock
    std::uint64_t sent = 0;      ///< messages that have left in chunks
    std::uint64_t chunks = 0;    ///< these chunks,
    std::uint64_t bytes = 0;     ///< and what they carry
    std::uint64_t served = 0;    ///< messages of others whose handler has run
    std::uint64_t returned = 0;  ///< warps whose body has returned
    std::uint64_t barriers = 0;  ///< that have opened
    std::uint64_t open = 0;      ///< of PE 0: work created and not yet completed anywhere, as it was last told
};

/// A wait of one lane that lasted: it has looked min_looks times in vain.
struct timeline_wait {
    static constexpr unsigned min_looks = 96;
    static constexpr std::uint32_t max_claims = 1u << 27;  ///< then their numbers begin anew

    std::uint64_t start_ns = 0;  ///< of look min_looks
    std::uint64_t end_ns = 0;    ///< of the last look that was written down, at most 16 before the last of all
    std::uint64_t number = 0;    ///< as words_of(what) tells it
    std::uint32_t claim = 0;     ///< how many such waits the PE had begun before
    std::uint32_t what = 0;      ///< an operation
    std::int32_t peer = -1;
    std::uint32_t place = 0;  ///< block * 2^12 + warp * 2^6 + lane
};

/// Which of many samples, whose number nobody knows beforehand, are kept in `room` places, a power of two: all while
/// they fit, then every second one, then every fourth, over the whole time. A new sample takes the place of one that is
/// not kept any more, so nothing is read or moved.
struct thinning {
    /// Sample n is kept if it is a multiple of this.
    static LANEWAY_FN constexpr std::uint64_t stride(std::uint64_t n, std::uint64_t room) {
        std::uint64_t stride = 1;
        for (; n >= room; n /= 2) stride *= 2;
        return stride;
    }
    /// Where sample n is kept, a multiple of its stride.
    static LANEWAY_FN constexpr std::uint64_t place(std::uint64_t n, std::uint64_t room) {
        while (n >= room) {
            // With each stride the odd multiples of half of it go, in their order.
            const std::uint64_t stride = thinning::stride(n, room);
            n = (n - room * stride / 2) / stride * stride + stride / 2;
        }
        return n;
    }
};

}  // namespace laneway
