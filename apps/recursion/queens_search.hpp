// Boards that a whole block searches: it places the next rows breadth first, in shared memory, then its lanes search
// below these boards.
#pragma once

#include "laneway/task/task_type.hpp"
#include "recursion/queens_lanes.hpp"

namespace laneway::apps {

/// Solutions from a board on, found by the lanes of a block.
struct search_board {
    using arguments = queens_board;
    using result = std::uint64_t;
    static constexpr task_width width = task_width::block;
    static constexpr std::size_t shared_bytes = sizeof(queens_search_memory);

    std::uint32_t all;  ///< a bit for each column

    template <class Ctx, class Task, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const queens_board& first, Task& task, Worker& worker) const {
        const auto rows = static_cast<std::uint32_t>(Ctx::count_lanes(all & ~first.columns));
        if (worker.lanes() == 1 || rows <= rows_of_one) {
            if (worker.lane() == 0) task.finish(ctx, queens_by_search(first, all));
            return;
        }
        auto& memory = *reinterpret_cast<queens_search_memory*>(worker.shared());
        const auto lane = static_cast<std::uint32_t>(worker.lane()), lanes = static_cast<std::uint32_t>(worker.lanes());
        if (!place_rows(ctx, memory, first, rows, worker)) return;
        queens_searcher<Ctx> searcher(memory, all, lane, lanes);
        const std::uint64_t of_warp = warp_sum(ctx, searcher.search(ctx));
        if (ctx.lane() == 0) ctx.fetch_add(&memory.solutions, of_warp, order::relaxed, scope::block);
        if (!worker.sync(ctx)) return;
        if (lane == 0) task.finish(ctx, memory.solutions);
    }

private:
    static constexpr std::uint32_t rows_of_one = 3;       ///< that are not worth sharing
    static constexpr std::uint32_t boards_of_a_lane = 2;  ///< that a search begins with, at least, where they fit

    /// Makes the boards that the search begins with. False where the program is ending.
    template <class Ctx, class Worker>
    LANEWAY_FN bool place_rows(Ctx& ctx, queens_search_memory& memory, const queens_board& first, std::uint32_t rows,
                               Worker& worker) const {
        const auto lane = static_cast<std::uint32_t>(worker.lane()), lanes = static_cast<std::uint32_t>(worker.lanes());
        for (std::uint32_t i = lane; i < rows; i += lanes) memory.counts[i] = 0;
        if (lane == 0) {
            memory.taken = 0;
            memory.solutions = 0;
            memory.boards[0] = first;
            memory.counts[rows] = 1;
        }
        if (!worker.sync(ctx)) return false;
        queens_board *from = memory.boards, *to = memory.others;
        while (goes_on(memory, rows, lanes)) {
            place_row(ctx, from, memory.counts[rows], to, memory.counts[rows - 1], worker);
            if (!worker.sync(ctx)) return false;
            if (memory.counts[rows - 1] > queens_search_memory::max_boards) break;
            --rows;
            queens_board* const filled = to;
            to = from;
            from = filled;
        }
        const std::uint32_t count = memory.counts[rows];
        if (from != memory.boards) {
            for (std::uint32_t i = lane; i < count; i += lanes) memory.boards[i] = from[i];
        }
        if (lane == 0) memory.count = count;
        return worker.sync(ctx);
    }
    /// Whether more rows are placed, where there is room.
    LANEWAY_FN bool goes_on(const queens_search_memory& memory, std::uint32_t rows, std::uint32_t lanes) const {
        if (rows <= rows_of_one || memory.counts[rows] == 0) return false;
        const bool stacks_fit = (rows - 1) * lanes <= queens_search_memory::stack_rows;
        return !stacks_fit || memory.counts[rows] < boards_of_a_lane * lanes;
    }
    /// Places a queen in the next row of all boards, in every way that leaves an open field in the row behind.
    template <class Ctx, class Worker>
    LANEWAY_FN void place_row(Ctx& ctx, const queens_board* from, std::uint32_t count, queens_board* to,
                              std::uint32_t& placed, const Worker& worker) const {
        const auto lane = static_cast<std::uint32_t>(worker.lane()), lanes = static_cast<std::uint32_t>(worker.lanes());
        for (std::uint32_t i = lane; i < count; i += lanes) {
            const queens_board board = from[i];
            for (std::uint32_t open = board.open(all); open != 0; open &= open - 1) {
                const queens_board next = board.with(open & (0u - open));
                if (next.open(all) == 0) continue;
                const std::uint32_t at = ctx.fetch_add(&placed, 1u, order::relaxed, scope::block);
                if (at < queens_search_memory::max_boards) to[at] = next;
            }
        }
    }
};

}  // namespace laneway::apps
