#include "recursion/queens.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>

#include "laneway/base/error.hpp"
#include "recursion/queens_search.hpp"

namespace laneway::apps {

namespace {

struct sum_of_children {
    struct arguments {
        std::uint64_t total = 0;
    };
    using result = std::uint64_t;
    static constexpr bool follows = true;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& sum, Task& task) const {
        task.finish(ctx, sum.total);
    }
};

/// Spawns a child for each of these queens in a board's next row.
template <class Child, class Ctx, class Task>
LANEWAY_FN void place_each(Ctx& ctx, const queens_board& board, std::uint32_t queens, Task& task) {
    const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(queens));
    auto fork = task.fork(ctx, laneway::task<Child>, count, laneway::task<sum_of_children>);
    if (!fork) return;
    for (; queens != 0; queens &= queens - 1) {
        fork.spawn_adding(ctx, board.with(queens & (0u - queens)), &fork->total);
    }
    fork.sync(ctx);
}

/// Places a queen in the next row, in every way. A lane searches the last rows.
struct place_queen {
    using arguments = queens_board;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = max_queens;

    std::uint32_t all;    ///< a bit for each column
    std::uint32_t grain;  ///< rows

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const queens_board& board, Task& task) const {
        const std::uint32_t open = board.open(all);
        const int rows_left = Ctx::count_lanes(all & ~board.columns);
        if (open == 0 || rows_left <= static_cast<int>(grain)) {
            return task.finish(ctx, queens_by_search(board, all));
        }
        place_each<place_queen>(ctx, board, open, task);
    }
};

/// The same where blocks search the last rows.
struct place_for_blocks {
    using arguments = queens_board;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = max_queens;

    std::uint32_t all;
    std::uint32_t grain;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const queens_board& board, Task& task) const {
        std::uint32_t queens = 0;  // that leave an open field in the row behind: others are not worth a block
        for (std::uint32_t open = board.open(all); open != 0; open &= open - 1) {
            const std::uint32_t queen = open & (0u - open);
            if (board.with(queen).open(all) != 0) queens |= queen;
        }
        if (queens == 0) return task.finish(ctx, 0);
        const int rows_left = Ctx::count_lanes(all & ~board.columns);
        if (rows_left - 1 <= static_cast<int>(grain)) {
            place_each<search_board>(ctx, board, queens, task);
        } else {
            place_each<place_for_blocks>(ctx, board, queens, task);
        }
    }
};

/// The boards that the tree begins with: those of the first rows, `enough` of them but no more than `most`, where
/// `rows` remain at least. Without those on which the next row has no open field, unless there are no others.
std::vector<queens_board> split(std::uint32_t n, std::uint32_t rows, std::uint64_t enough, std::uint64_t most) {
    const std::uint32_t all = (std::uint32_t{1} << n) - 1;
    std::deque<queens_board> boards{{0, 0, 0}};
    while (boards.size() < enough) {
        const queens_board first = boards.front();
        const auto left = n - static_cast<std::uint32_t>(std::popcount(first.columns));
        const auto open = static_cast<std::size_t>(std::popcount(first.open(all)));
        if (left <= rows || boards.size() - 1 + open > most || boards.size() - 1 + open == 0) break;
        boards.pop_front();
        for (std::uint32_t queens = first.open(all); queens != 0; queens &= queens - 1) {
            boards.push_back(first.with(queens & (0u - queens)));
        }
    }
    return {boards.begin(), boards.end()};
}

/// `rows`: that remain at least on the boards that the host begins with.
template <class First, class Program>
queens_result result_of(const runtime& rt, Program& program, const recursion_options& options, std::uint32_t n,
                        std::uint32_t rows) {
    const auto most = static_cast<std::uint64_t>(rt.n_pes()) * program.width();
    const auto roots = split(n, rows, roots_for(rt, program.width()), most);
    const auto solutions = call_all<First>(program, options, roots);
    queens_result made;
    made.solutions = std::accumulate(solutions.begin(), solutions.end(), std::uint64_t{0});
    made.report = report_of(program, roots.size());
    return made;
}

}  // namespace

std::uint32_t queens_grain(std::uint32_t n, bool on_gpus) {
    return std::min(n > 3 ? n - 3 : 1, on_gpus && n > 12 ? max_queens_grain : queens_of_lane);
}

queens_result queens(std::uint32_t n, const recursion_options& options) {
    runtime rt(options.job);
    return queens(rt, n, options);
}

queens_result queens(runtime& rt, std::uint32_t n, const recursion_options& options) {
    if (n == 0 || n > max_queens) {
        throw usage_error(std::to_string(n) + " queens: there are 1 to " + std::to_string(max_queens));
    }
    if (options.grain > max_queens_grain) {
        throw usage_error("a grain of " + std::to_string(options.grain) + " rows: " + std::to_string(max_queens_grain) +
                          " at most");
    }
    const std::uint32_t all = (std::uint32_t{1} << n) - 1;
    const std::uint32_t grain = options.grain != 0 ? options.grain : queens_grain(n, rt.machine().has_gpus());
    const auto how = fork_join_options_of(options, n + 1);
    if (grain <= queens_of_lane) {
        fork_join program(rt, how, place_queen{all, grain}, sum_of_children{});
        return result_of<place_queen>(rt, program, options, n, n > grain ? grain : 1);
    }
    fork_join program(rt, how, place_for_blocks{all, grain}, search_board{all}, sum_of_children{});
    // Blocks do not place the last rows above the grain where the host has.
    const bool are_blocks = n <= grain + (rt.n_pes() > 1 ? 1 : 0);
    return are_blocks ? result_of<search_board>(rt, program, options, n, 1)
                      : result_of<place_for_blocks>(rt, program, options, n, grain + 1);
}

}  // namespace laneway::apps
