// n queens by backtracking, without tasks: kernels place the first rows, breadth first, then threads take one board
// after the other and search below it with bit masks and a stack in shared memory. As apps/recursion/queens it counts
// every solution by itself and does not make use of the board's symmetry.
#pragma once

#include "gpu.cuh"

namespace laneway::bench {

/// A board whose first rows have queens: what these attack in the next row, one bit a column.
struct plain_board {
    std::uint32_t columns, left, right;

    [[nodiscard]] __device__ std::uint32_t open(std::uint32_t all) const { return all & ~(columns | left | right); }
    [[nodiscard]] __device__ plain_board with(std::uint32_t queen) const {
        return {columns | queen, (left | queen) << 1, (right | queen) >> 1};
    }
};

/// Boards of device memory, and how many there are.
struct plain_boards {
    plain_board* at;
    unsigned long long* count;
};

/// Places a queen in the next row of all boards, in every way that leaves an open field in the row behind.
__global__ void place_row(plain_boards from, plain_boards to, std::uint32_t all) {
    const std::uint64_t count = *from.count, step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        const plain_board board = from.at[i];
        for (std::uint32_t open = board.open(all); open != 0; open &= open - 1) {
            const plain_board next = board.with(open & (0u - open));
            if (next.open(all) != 0) to.at[atomicAdd(to.count, 1ull)] = next;
        }
    }
}

/// A row that is not through: its board, and where queens have not stood yet.
struct plain_row {
    plain_board board;
    std::uint32_t open;
};

/// Counts the solutions from all boards on, each of which has an open field in its next row and one row more.
template <int Threads>
__global__ void search_boards(plain_boards boards, unsigned long long* taken, std::uint32_t all,
                              unsigned long long* solutions) {
    extern __shared__ plain_row rows[];
    plain_row* const stack = rows + threadIdx.x;
    const std::uint64_t count = *boards.count;
    std::uint64_t found = 0;
    plain_row here{};
    // One loop for all, so that lanes whose boards are small do not wait for others.
    for (std::uint32_t top = 0;;) {
        if (here.open == 0) {
            if (top != 0) {
                here = stack[--top * Threads];
            } else {
                const std::uint64_t mine = atomicAdd(taken, 1ull);
                if (mine >= count) break;
                here.board = boards.at[mine];
                here.open = here.board.open(all);
            }
        }
        const std::uint32_t queen = here.open & (0u - here.open);
        here.open ^= queen;
        const plain_board next = here.board.with(queen);
        const std::uint32_t open = next.open(all), columns_left = all & ~next.columns;
        if ((columns_left & (columns_left - 1)) == 0) {
            found += open != 0 ? 1 : 0;
        } else if (open != 0) {
            if (here.open != 0) stack[top++ * Threads] = here;
            here = {next, open};
        }
    }
    atomicAdd(solutions, found);
}

/// Solutions of 4 to 24 queens, seven a row (OEIS A000170).
inline constexpr std::uint64_t queens_solutions[][7] = {
    {2, 10, 4, 40, 92, 352, 724},
    {2680, 14200, 73712, 365596, 2279184, 14772512, 95815104},
    {666090624, 4968057848, 39029188884, 314666222712, 2691008701644, 24233937684440, 227514171973736}};

/// Boards of n by n fields, n from 4 to 24.
class plain_queens {
public:
    explicit plain_queens(std::uint32_t n)
        : n_(n), first_rows_(rows_to_place(n)),
          shared_bytes_((n - first_rows_) * threads * sizeof(plain_row)), boards_{device_words(words_of_list),
                                                                                  device_words(words_of_list)},
          words_(n + 2) {}

    [[nodiscard]] std::string name() const { return "plain queens " + std::to_string(n_); }
    /// Solutions.
    [[nodiscard]] double count() const { return static_cast<double>(expected()); }
    void run() {
        words_.clear(n_ + 2);
        const std::uint64_t one = 1;
        check(cudaMemcpy(words_.data(), &one, sizeof one, cudaMemcpyHostToDevice), "queens");
        check(cudaMemset(boards_[0].data(), 0, sizeof(plain_board)), "queens");  // no queen stands
        const std::uint32_t all = (std::uint32_t{1} << n_) - 1;
        for (std::uint32_t row = 0; row < first_rows_; ++row) {
            place_row<<<full_grid(place_row, threads), threads>>>(list(row), list(row + 1), all);
        }
        auto* const totals = list(n_).count;
        const auto search = search_boards<threads>;
        search<<<full_grid(search, threads, shared_bytes_), threads, shared_bytes_>>>(list(first_rows_), totals, all,
                                                                                      totals + 1);
        check(cudaGetLastError(), "queens");
    }
    void verify() const {
        const std::uint64_t found = words_.read(n_ + 1);
        if (found != expected()) throw device_fault(name() + ": " + std::to_string(found) + " solutions");
    }

private:
    static constexpr int threads = 128;
    static constexpr std::uint64_t most_boards = 1 << 24;  ///< of a list
    static constexpr std::uint64_t words_of_list = most_boards * sizeof(plain_board) / sizeof(std::uint64_t);
    [[nodiscard]] std::uint64_t expected() const { return queens_solutions[(n_ - 4) / 7][(n_ - 4) % 7]; }
    /// As many as a list has room for whatever queens attack; a row is left below the boards' next one.
    static std::uint32_t rows_to_place(std::uint32_t n) {
        std::uint32_t rows = 0;
        for (std::uint64_t boards = n; rows + 2 < n && boards <= most_boards; boards *= n - rows) ++rows;
        return rows;
    }
    /// The boards whose first `rows` have queens.
    [[nodiscard]] plain_boards list(std::uint32_t rows) const {
        return {reinterpret_cast<plain_board*>(boards_[rows % 2].data()),
                reinterpret_cast<unsigned long long*>(words_.data()) + rows};
    }

    std::uint32_t n_;
    std::uint32_t first_rows_;
    std::size_t shared_bytes_;
    device_words boards_[2];  ///< lists of rows with even and odd numbers
    device_words words_;      ///< boards of each list; then boards taken, and solutions
};

}  // namespace laneway::bench
