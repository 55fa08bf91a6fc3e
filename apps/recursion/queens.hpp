// In how many ways can n queens stand on a board of n by n fields so that none attacks another?
#pragma once

#include "recursion/recursion.hpp"

namespace laneway::apps {

struct queens_result {
    std::uint64_t solutions = 0;
    recursion_report report;
};

inline constexpr std::uint32_t max_queens = 24;

/// n is 1 to max_queens. `grain`: so many last rows are searched by a lane by itself; 4 by default, as in the thesis.
/// Throws as fork_join.
queens_result queens(std::uint32_t n, const recursion_options& options = {});
/// The same on devices that are open.
queens_result queens(runtime& rt, std::uint32_t n, const recursion_options& options);

/// A board whose first rows have queens: what these attack in the next row, one bit a column.
struct queens_board {
    std::uint32_t columns, left, right;

    [[nodiscard]] LANEWAY_FN std::uint32_t open(std::uint32_t all) const { return all & ~(columns | left | right); }
    [[nodiscard]] LANEWAY_FN queens_board with(std::uint32_t queen) const {
        return {columns | queen, (left | queen) << 1, (right | queen) >> 1};
    }
};

/// Solutions from a board on, found by one lane. `all`: a bit for each of the n columns. Also the reference.
LANEWAY_FN std::uint64_t queens_by_search(const queens_board& first, std::uint32_t all) {
    struct row {
        queens_board board;
        std::uint32_t open;
    };
    row rows[max_queens + 1];
    int top = 0;
    rows[0] = {first, first.open(all)};
    std::uint64_t solutions = first.columns == all ? 1 : 0;
    while (top >= 0) {
        row& here = rows[top];
        if (here.open == 0) {
            --top;
            continue;
        }
        const std::uint32_t queen = here.open & (0u - here.open);
        here.open -= queen;
        const queens_board next = here.board.with(queen);
        if (next.columns == all) {
            ++solutions;
        } else {
            rows[++top] = {next, next.open(all)};
        }
    }
    return solutions;
}

}  // namespace laneway::apps
