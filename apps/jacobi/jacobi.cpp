#include "jacobi/jacobi.hpp"

#include <cmath>
#include <numbers>

#include "jacobi/membrane.hpp"
#include "parallel/equal_lanes.hpp"

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

std::uint64_t rows_a_pe(const jacobi_options& options, std::size_t pes) {
    if (options.rows == 0 || options.columns == 0 || options.rows % pes != 0) {
        throw usage_error("jacobi: " + std::to_string(options.rows) + " rows of " + std::to_string(options.columns) +
                          " cells cannot be shared out evenly by " + std::to_string(pes) + " PEs");
    }
    return options.rows / pes;
}

membrane::membrane(runtime& rt, const jacobi_options& options)
    : n_pes_(rt.n_pes()), rows_(rows_a_pe(options, static_cast<std::size_t>(n_pes_))), width_(options.columns + 2),
      a_(rt.allocate<double>((rows_ + 2) * width_)), b_(rt.allocate<double>((rows_ + 2) * width_)),
      clock_(rt.allocate<std::uint64_t>(1)) {
    for (int pe = 0; pe < n_pes_; ++pe) a_.copy_in(pe, first_rows(pe, rows_, options.rows, options.columns));
}

jacobi_result membrane::take(std::uint64_t steps) const {
    jacobi_result result;
    for (int pe = 0; pe < n_pes_; ++pe) {
        append_inner(result.values, (steps % 2 == 0 ? a_ : b_).copy_out(pe), rows_, width_);
        result.computing_seconds += seconds_of(clock_.copy_out(pe)[0]) / n_pes_;
    }
    return result;
}

jacobi_result jacobi(const jacobi_options& options) {
    require_common(options.style, "jacobi");
    if (options.style == communication_style::stream_triggered) return jacobi_by_streams(options);
    runtime rt(options.job);
    require_equal_lanes(rt, "jacobi");
    const membrane all(rt, options);
    served_run made;
    switch (options.style) {
        case communication_style::triggered: made.seconds = jacobi_by_triggers(rt, all, options.steps); break;
        case communication_style::service_warps: made = jacobi_by_service(rt, all, options.steps, false); break;
        case communication_style::service_host: made = jacobi_by_service(rt, all, options.steps, true); break;
        default: made.seconds = jacobi_by_host(rt, all, options.steps); break;
    }
    jacobi_result result = all.take(options.steps);
    result.seconds = made.seconds;
    result.requests = made.requests;
    return result;
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
