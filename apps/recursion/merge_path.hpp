// Where the first keys of a merge come from (Odeh and others, Merge Path, IPDPSW 2012).
#pragma once

#include <cstdint>

#include "laneway/simt/group.hpp"

namespace laneway::apps {

LANEWAY_FN std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

/// Neighbouring runs in order, [begin, middle) and [middle, end).
struct two_runs {
    std::uint32_t begin, middle, end;
};

/// How many of the first `count` keys of the merged runs come from the left one: `find(low, high, is_left)` finds the
/// first number from low to before high for which `is_left` is false, else high.
template <class From, class Find>
LANEWAY_FN std::uint32_t taken_from_left(const From& from, const two_runs& runs, std::uint32_t count,
                                         const Find& find) {
    const std::uint32_t left = runs.middle - runs.begin, right = runs.end - runs.middle;
    return find(count > right ? count - right : 0, count < left ? count : left, [&](std::uint32_t taken) {
        const std::uint32_t mine = from[runs.begin + taken], other = from[runs.middle + (count - 1 - taken)];
        return mine <= other;
    });
}

/// By one lane.
struct find_alone {
    template <class IsLeft>
    LANEWAY_FN std::uint32_t operator()(std::uint32_t low, std::uint32_t high, const IsLeft& is_left) const {
        while (low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (is_left(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
};
/// By a whole warp, whose lanes look at different places: a fifth of the steps that one lane takes.
template <class Ctx>
struct find_by_warp {
    Ctx& ctx;

    template <class IsLeft>
    LANEWAY_FN std::uint32_t operator()(std::uint32_t low, std::uint32_t high, const IsLeft& is_left) const {
        constexpr std::uint64_t parts = Ctx::warp_lanes + 1;
        while (low < high) {
            const auto at = [&](int lane) {
                const std::uint64_t before = std::uint64_t{high - low} * static_cast<std::uint32_t>(lane + 1) / parts;
                return low + static_cast<std::uint32_t>(before);
            };
            const int n = Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, is_left(at(ctx.lane()))));
            const std::uint32_t first_not = n < Ctx::warp_lanes ? at(n) : high;
            if (n != 0) low = at(n - 1) + 1;
            high = first_not;
        }
        return low;
    }
};

}  // namespace laneway::apps
