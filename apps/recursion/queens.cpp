#include "recursion/queens.hpp"

#include "laneway/base/error.hpp"

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

/// Places a queen in the next row, in every way.
struct place_queen {
    using arguments = queens_board;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = max_queens;

    std::uint32_t all;    ///< a bit for each column
    std::uint32_t grain;  ///< rows

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const queens_board& board, Task& task) const {
        std::uint32_t open = board.open(all);
        const int rows_left = Ctx::count_lanes(all & ~board.columns);
        if (open == 0 || rows_left <= static_cast<int>(grain)) {
            return task.finish(ctx, queens_by_search(board, all));
        }
        const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(open));
        auto fork = task.fork(ctx, laneway::task<place_queen>, count, laneway::task<sum_of_children>);
        if (!fork) return;
        for (; open != 0; open &= open - 1) {
            fork.spawn_adding(ctx, board.with(open & (0u - open)), &fork->total);
        }
        fork.sync(ctx);
    }
};

}  // namespace

queens_result queens(std::uint32_t n, const recursion_options& options) {
    runtime rt(options.job);
    return queens(rt, n, options);
}

queens_result queens(runtime& rt, std::uint32_t n, const recursion_options& options) {
    if (n == 0 || n > max_queens) {
        throw usage_error(std::to_string(n) + " queens: there are 1 to " + std::to_string(max_queens));
    }
    const std::uint32_t all = (std::uint32_t{1} << n) - 1;
    const std::uint32_t grain = options.grain != 0 ? options.grain : 4;
    fork_join program(rt, fork_join_options_of(options, n + 1), place_queen{all, grain}, sum_of_children{});
    queens_result made;
    made.solutions = program.template run<place_queen>({{0, 0, 0}})[0];
    made.report = report_of(program);
    return made;
}

}  // namespace laneway::apps
