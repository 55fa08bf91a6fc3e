// A GPU's rows of the membrane of apps/jacobi, and the kernel that makes a step of them.
#pragma once

#include <algorithm>
#include <vector>

#include "jacobi/rows.hpp"
#include "warp_time.cuh"

namespace laneway::bench {

inline constexpr int jacobi_threads = 256;

/// Cells of `rows` rows, of which the first begins at the pointers; a block takes whole rows.
__global__ void step_rows(const double* from, double* to, std::uint64_t rows, std::uint64_t width,
                          std::uint64_t* clock) {
    const warp_time spent(clock);
    for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        for (std::uint64_t column = 1 + threadIdx.x; column < width - 1; column += blockDim.x) {
            const std::uint64_t cell = row * width + column;
            to[cell] = apps::mean_of(from[cell - width], from[cell + width], from[cell - 1], from[cell + 1]);
        }
    }
    spent.add();
}

/// Rows of the current GPU, with a row of halo on either side, twice: a step reads one array and writes the other.
class jacobi_part {
public:
    jacobi_part(int pe, int pes, std::uint64_t rows, std::uint64_t columns)
        : rows_(rows / static_cast<std::uint64_t>(pes)), width_(columns + 2),
          first_(apps::first_rows(pe, rows_, rows, columns)), arrays_{device_words(words()), device_words(words())},
          clock_(1), blocks_(full_grid(step_rows, jacobi_threads)) {}

    [[nodiscard]] std::uint64_t rows() const { return rows_; }
    [[nodiscard]] std::uint64_t width() const { return width_; }
    /// A row of what step `step` reads: 0 and rows() + 1 are the halo.
    [[nodiscard]] double* row(std::uint64_t step, std::uint64_t number) const {
        return reinterpret_cast<double*>(arrays_[step % 2].data()) + number * width_;
    }
    void reset() {
        check(cudaMemcpy(row(0, 0), first_.data(), words() * sizeof(double), cudaMemcpyHostToDevice), "first values");
    }
    /// Makes the step of `count` rows from `first` on.
    void compute(cudaStream_t stream, std::uint64_t step, std::uint64_t first, std::uint64_t count) {
        if (count == 0) return;
        const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(count, static_cast<unsigned>(blocks_)));
        step_rows<<<blocks, jacobi_threads, 0, stream>>>(row(step, first), row(step + 1, first), count, width_,
                                                         clock_.data());
        check(cudaGetLastError(), "launching a step");
    }
    /// Whether the PE's cells are its part of these, of the whole membrane.
    [[nodiscard]] bool matches(int pe, std::uint64_t steps, const std::vector<double>& all) const {
        std::vector<double> mine(words()), inner;
        check(cudaMemcpy(mine.data(), row(steps, 0), words() * sizeof(double), cudaMemcpyDeviceToHost), "values");
        apps::append_inner(inner, mine, rows_, width_);
        return std::equal(inner.begin(), inner.end(), all.begin() + static_cast<std::ptrdiff_t>(inner.size()) * pe);
    }
    [[nodiscard]] double take_computing_seconds() { return take_seconds(clock_); }

private:
    [[nodiscard]] std::uint64_t words() const { return (rows_ + 2) * width_; }

    std::uint64_t rows_;
    std::uint64_t width_;
    std::vector<double> first_;
    device_words arrays_[2];
    device_words clock_;
    int blocks_;
};

}  // namespace laneway::bench
