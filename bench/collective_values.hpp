// What benchmarks of large collectives put into arrays, and what these must hold afterwards. Values tell PEs and places
// apart, so that a collective that moves nothing, or moves something to another place, leaves wrong ones.
#pragma once

#include <cstdint>

#include "laneway/base/config.hpp"

namespace laneway::bench {

enum class collective_kind : std::uint32_t { all_reduce, all_gather, all_to_all };
inline constexpr collective_kind all_collectives[] = {collective_kind::all_reduce, collective_kind::all_gather,
                                                      collective_kind::all_to_all};

inline const char* name_of(collective_kind kind) {
    constexpr const char* names[] = {"all_reduce", "all_gather", "all_to_all"};
    return names[static_cast<std::uint32_t>(kind)];
}

/// What NCCL's tests call bus bandwidth, for an array of so many bytes a PE: what each PE sends over its links.
inline double bus_bytes(collective_kind kind, double bytes, int n_pes) {
    return bytes * (n_pes - 1) / n_pes * (kind == collective_kind::all_reduce ? 2 : 1);
}

/// What a PE brings at a place. Whole numbers, so small that floats add them up without rounding.
LANEWAY_FN float brought_value(int pe, std::uint64_t place) {
    std::uint64_t bits = (place + 1) * 0x9e3779b97f4a7c15u + (static_cast<std::uint64_t>(pe) + 1) * 0xd1b54a32d192ed03u;
    bits = (bits ^ bits >> 32) * 0xbf58476d1ce4e5b9u;
    return static_cast<float>(1 + (bits >> 40) % 1021);
}

/// What a PE must have at a place behind so many calls on the same `count` elements: an all-reduce in place, which adds
/// up in order of PEs, an all-gather of the n-th part of each PE, or an all-to-all.
LANEWAY_FN float value_behind(collective_kind kind, int n_pes, int pe, std::uint64_t place, std::uint64_t count,
                              std::uint64_t calls) {
    const std::uint64_t each = count / static_cast<std::uint64_t>(n_pes);
    const int giver = static_cast<int>(place / each);
    if (kind == collective_kind::all_gather) return brought_value(giver, place);
    if (kind == collective_kind::all_to_all) {
        return brought_value(giver, static_cast<std::uint64_t>(pe) * each + place % each);
    }
    float value = brought_value(0, place);
    for (int other = 1; other < n_pes; ++other) value += brought_value(other, place);
    for (std::uint64_t call = 1; call < calls; ++call) {
        const float once = value;
        for (int other = 1; other < n_pes; ++other) value += once;
    }
    return value;
}

}  // namespace laneway::bench
