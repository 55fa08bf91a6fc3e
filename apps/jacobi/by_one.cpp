// The membrane as one thread of the host computes it, and its first values. Takes nothing but the host, so that
// programs beside the library compile it as well.
#include <cmath>
#include <numbers>

#include "jacobi/rows.hpp"

namespace laneway::apps {

namespace {

/// A row of the whole membrane, with both ends; row 0 is an edge.
std::vector<double> first_row(std::uint64_t row, std::uint64_t rows, std::uint64_t columns) {
    const auto part = [](std::uint64_t i, std::uint64_t n) {
        return std::sin(std::numbers::pi * static_cast<double>(i) / static_cast<double>(n + 1));
    };
    std::vector<double> made(columns + 2, 0);
    for (std::uint64_t c = 1; c <= columns && row > 0 && row <= rows; ++c) {
        made[c] = part(row, rows) * part(c, columns);
    }
    return made;
}

}  // namespace

std::vector<double> first_rows(int pe, std::uint64_t rows, std::uint64_t all_rows, std::uint64_t columns) {
    std::vector<double> made;
    for (std::uint64_t r = 0; r < rows + 2; ++r) {
        const auto row = first_row(static_cast<std::uint64_t>(pe) * rows + r, all_rows, columns);
        made.insert(made.end(), row.begin(), row.end());
    }
    return made;
}

void append_inner(std::vector<double>& all, const std::vector<double>& mine, std::uint64_t rows, std::uint64_t width) {
    for (std::uint64_t r = 1; r <= rows; ++r) {
        const auto first = mine.begin() + static_cast<std::ptrdiff_t>(r * width + 1);
        all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(width - 2));
    }
}

std::vector<double> jacobi_by_one(std::uint64_t rows, std::uint64_t columns, std::uint64_t steps) {
    std::vector<std::vector<double>> from;
    for (std::uint64_t r = 0; r < rows + 2; ++r) from.push_back(first_row(r, rows, columns));
    auto to = from;
    for (std::uint64_t step = 0; step < steps; ++step, from.swap(to)) {
        for (std::uint64_t r = 1; r <= rows; ++r) {
            for (std::uint64_t c = 1; c <= columns; ++c) {
                to[r][c] = mean_of(from[r - 1][c], from[r + 1][c], from[r][c - 1], from[r][c + 1]);
            }
        }
    }
    std::vector<double> all;
    for (std::uint64_t r = 1; r <= rows; ++r) all.insert(all.end(), from[r].begin() + 1, from[r].end() - 1);
    return all;
}

double jacobi_decay(std::uint64_t rows, std::uint64_t columns, std::uint64_t steps) {
    const auto cosine = [](std::uint64_t n) { return std::cos(std::numbers::pi / static_cast<double>(n + 1)); };
    return std::pow(0.5 * (cosine(rows) + cosine(columns)), static_cast<double>(steps));
}

}  // namespace laneway::apps
