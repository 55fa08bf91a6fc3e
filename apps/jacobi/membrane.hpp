// The membrane that all styles work on: each PE has rows of its own, a row of halo on either side, and a cell of the
// fixed edge at both ends of each row; twice, as a step reads one and writes the other.
#pragma once

#include "jacobi/jacobi.hpp"
#include "laneway/runtime.hpp"

namespace laneway::apps {

/// Mean of the neighbours, in this order.
LANEWAY_FN double mean_of(double up, double down, double left, double right) {
    return 0.25 * ((up + down) + (left + right));
}

/// Device view.
struct membrane_ref {
    symmetric_ref<double> values[2];
    std::uint64_t rows = 0;   ///< of a PE, its own
    std::uint64_t width = 0;  ///< of a row, with both ends

    [[nodiscard]] LANEWAY_FN std::uint64_t cell(std::uint64_t row, std::uint64_t column) const {
        return row * width + column;
    }

    /// The cells that this lane computes of step `step`; `stored(row, column, value)` hears of each. Rows from 1.
    template <class Ctx, class Stored>
    LANEWAY_FN void compute(Ctx& ctx, std::uint64_t step, Stored&& stored) const {
        const auto from = values[step % 2].local(ctx), to = values[(step + 1) % 2].local(ctx);
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes()), inner = width - 2;
        for (std::uint64_t i = ctx.rank() % lanes; i < rows * inner; i += lanes) {
            const std::uint64_t row = 1 + i / inner, column = 1 + i % inner;
            const double up = from[cell(row - 1, column)], down = from[cell(row + 1, column)];
            const double left = from[cell(row, column - 1)], right = from[cell(row, column + 1)];
            const double value = mean_of(up, down, left, right);
            to[cell(row, column)] = value;
            stored(row, column, value);
        }
    }
};

/// On the host.
class membrane {
public:
    membrane(runtime& rt, std::uint64_t rows, std::uint64_t columns);

    [[nodiscard]] membrane_ref ref() const { return {{a_.ref(), b_.ref()}, rows_, width_}; }
    [[nodiscard]] std::vector<double> take(std::uint64_t steps) const;

private:
    int n_pes_;
    std::uint64_t rows_;
    std::uint64_t width_;
    symmetric_array<double> a_;
    symmetric_array<double> b_;
};

// One function a style. Each returns the seconds of its runs.
double jacobi_by_host(runtime& rt, const membrane& all, std::uint64_t steps);
double jacobi_by_triggers(runtime& rt, const membrane& all, std::uint64_t steps);
double jacobi_by_service(runtime& rt, const membrane& all, std::uint64_t steps, bool by_host_threads);

}  // namespace laneway::apps
