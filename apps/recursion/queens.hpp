// In how many ways can n queens stand on a board of n by n fields so that none attacks another?
#pragma once

#include "recursion/recursion.hpp"

namespace laneway::apps {

struct queens_result {
    std::uint64_t solutions = 0;
    recursion_report report;
};

inline constexpr std::uint32_t max_queens = 24;
inline constexpr std::uint32_t queens_of_lane = 8;     ///< rows that one lane searches by itself, at most
inline constexpr std::uint32_t max_queens_grain = 14;  ///< rows that a block does

/// n is 1 to max_queens. `grain`: so many last rows are searched without tasks: up to queens_of_lane by one lane, which
/// the thesis's 4 are for, up to max_queens_grain by the lanes of a block together. By default as many as leave lanes,
/// or blocks of GPUs, enough boards: see queens_grain. Throws as fork_join.
queens_result queens(std::uint32_t n, const recursion_options& options = {});
/// The same on devices that are open.
queens_result queens(runtime& rt, std::uint32_t n, const recursion_options& options);

/// The default grain. Blocks of GPUs search all but three rows of boards that are worth it, which leaves each block of
/// a large GPU 15 to 20 boards; lanes by themselves all but four, eight at most.
std::uint32_t queens_grain(std::uint32_t n, bool on_gpus);

/// A board whose first rows have queens: what these attack in the next row, one bit a column.
struct queens_board {
    std::uint32_t columns, left, right;

    [[nodiscard]] LANEWAY_FN std::uint32_t open(std::uint32_t all) const { return all & ~(columns | left | right); }
    [[nodiscard]] LANEWAY_FN queens_board with(std::uint32_t queen) const {
        return {columns | queen, (left | queen) << 1, (right | queen) >> 1};
    }
};

/// A row in which queens have not stood in all open fields yet.
struct alignas(16) queens_row {
    queens_board board;
    std::uint32_t open;
};

/// Solutions from a board on, found by one lane. `all`: a bit for each of the n columns. Also the reference.
LANEWAY_FN std::uint64_t queens_by_search(const queens_board& first, std::uint32_t all) {
    queens_row rows[max_queens];  // that are not through; `here` is the one behind them
    std::uint32_t top = 0;
    queens_row here{first, first.open(all)};
    std::uint64_t solutions = first.columns == all ? 1 : 0;
    while (here.open != 0) {
        const std::uint32_t queen = here.open & (0u - here.open);
        here.open ^= queen;
        const queens_board next = here.board.with(queen);
        const std::uint32_t open = next.open(all);
        solutions += next.columns == all ? 1 : 0;
        if (open != 0) {
            if (here.open != 0) rows[top++] = here;
            here = {next, open};
        } else if (here.open == 0 && top != 0) {
            here = rows[--top];
        }
    }
    return solutions;
}

}  // namespace laneway::apps
