// How the lanes of a block search boards in shared memory: each takes one after the other and has its stack there as
// well; where none is left, lanes of a warp give each other parts of theirs.
#pragma once

#include "laneway/simt/group.hpp"
#include "laneway/task/channel_stack.hpp"
#include "recursion/queens.hpp"

namespace laneway::apps {

/// Of a block, while it searches a board.
struct alignas(16) queens_search_memory {
    static constexpr std::uint32_t max_boards = 4096, max_lanes = 32 * channel_stacks_ref::max_warps;
    /// A board of max_queens_grain rows has fewer than max_boards three rows below, so a search begins there or deeper,
    /// and its last row is never on a stack.
    static constexpr std::uint32_t stack_rows = max_lanes * (max_queens_grain - 3 - 1);

    queens_board boards[max_boards];
    union {
        queens_board others[max_boards];  ///< of the next row, while boards are placed
        queens_row rows[stack_rows];      ///< of the lanes' stacks: those of the same height lie together
    };
    std::uint32_t counts[max_queens_grain + 1];  ///< boards with so many rows left; more than fit are not kept
    std::uint32_t count, taken;                  ///< of `boards`, when the search begins
    std::uint64_t solutions;
};

/// A lane's part in the search. Members that take a context are called by whole warps.
template <class Ctx>
class queens_searcher {
public:
    LANEWAY_FN queens_searcher(queens_search_memory& memory, std::uint32_t all, std::uint32_t lane, std::uint32_t lanes)
        : memory_(memory), all_(all), lanes_(lanes), lane_(lane) {}

    /// Solutions below the boards that this lane has searched, until none is left for any lane of its warp.
    LANEWAY_FN std::uint64_t search(Ctx& ctx) {
        constexpr int steps = 16;  // that the lanes of a warp do between looks at who has nothing left
        std::uint64_t found = 0;
        while (find_work(ctx)) {
            std::uint32_t now = 0;
            for (int i = 0; i < steps; ++i) now += step();
            found += now;
        }
        return found;
    }

private:
    /// Places the next queen. Solutions: 1, or 0. Without branches that lanes would take at different times, and with
    /// few instructions: so a row goes to the stack also where what follows has no open field and it comes back at
    /// once.
    LANEWAY_FN std::uint32_t step() {
        const std::uint32_t queen = here_.open & (0u - here_.open);
        const queens_board next = here_.board.with(queen);
        here_.open ^= queen;
        if (here_.open != 0) {
            memory_.rows[top_] = here_;
            top_ += lanes_;
        }
        here_ = {next, next.open(all_)};
        const bool is_through = here_.open == 0;
        if (is_through) here_.board.columns = ~0u;  // so that nothing opens, until find_work, where no row is left
        if (is_through && top_ != bottom_) {
            top_ -= lanes_;
            here_ = memory_.rows[top_];
        }
        return next.columns == all_ ? 1 : 0;
    }

    /// Gives lanes that have nothing left a board, or, where none is left, the lowest row of another one's stack, which
    /// has most below it. False where no lane has anything.
    LANEWAY_FN bool find_work(Ctx& ctx) {
        const bool is_idle = here_.open == 0;
        const lane_mask idle = ctx.ballot(full_warp<Ctx>, is_idle);
        if (idle == 0) return true;
        const auto rank = static_cast<std::uint32_t>(rank_in(ctx, idle));
        if (boards_are_left_) {
            const std::uint32_t first = once(ctx, full_warp<Ctx>, [&] {
                const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(idle));
                return ctx.fetch_add(&memory_.taken, count, order::relaxed, scope::block);
            });
            boards_are_left_ = first < memory_.count;
            if (is_idle && first + rank < memory_.count) take(memory_.boards[first + rank]);
            if (boards_are_left_) return true;
        }
        if (idle == full_warp<Ctx>) return false;
        share(ctx, idle, is_idle ? rank : max_rank);
        return true;
    }
    LANEWAY_FN void take(const queens_board& board) {
        here_ = {board, board.open(all_)};
        bottom_ = top_ = lane_;
    }
    /// `rank`: of an idle lane, which takes a row of the lane of the same rank among those that have one.
    LANEWAY_FN void share(Ctx& ctx, lane_mask idle, std::uint32_t rank) {
        const bool has_rows = top_ != bottom_;
        const lane_mask givers = ctx.ballot(full_warp<Ctx>, has_rows);
        lane_mask at = givers;
        for (std::uint32_t i = 0; i < rank && at != 0; ++i) at &= at - 1;
        const int from = at != 0 ? Ctx::first_lane(at) : ctx.lane();
        const std::uint32_t lowest = ctx.shuffle(full_warp<Ctx>, bottom_, from);
        ctx.sync(full_warp<Ctx>);
        if (at != 0) {
            here_ = memory_.rows[lowest];
            bottom_ = top_ = lane_;
        } else if (has_rows && rank_in(ctx, givers) < Ctx::count_lanes(idle)) {
            bottom_ += lanes_;
        }
        ctx.sync(full_warp<Ctx>);  // the giver may use the place again
    }

    static constexpr std::uint32_t max_rank = 64;

    queens_search_memory& memory_;
    const std::uint32_t all_, lanes_, lane_;
    queens_row here_{{~0u, 0, 0}, 0};
    std::uint32_t bottom_ = 0, top_ = 0;  ///< of the stack, among all rows: its rows are `lanes` apart
    bool boards_are_left_ = true;
};

}  // namespace laneway::apps
