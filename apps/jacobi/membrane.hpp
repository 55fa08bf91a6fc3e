// The membrane that all styles work on: each PE has rows of its own, a row of halo on either side, and a cell of the
// fixed edge at both ends of each row; twice, as a step reads one and writes the other.
#pragma once

#include "jacobi/rows.hpp"
#include "laneway/runtime.hpp"
#include "parallel/computing_time.hpp"
#include "parallel/served_run.hpp"

namespace laneway::apps {

/// A step of a PE's rows. `Doubles`: pointer to doubles, as symmetric_ref::local gives.
template <class Doubles>
struct membrane_step {
    Doubles from;
    Doubles to;
    std::uint64_t rows = 0;   ///< of a PE, its own
    std::uint64_t width = 0;  ///< of a row, with both ends

    /// The cells that one of `lanes` lanes computes.
    LANEWAY_FN void compute(std::uint64_t lane, std::uint64_t lanes) const {
        const std::uint64_t inner = width - 2;
        for (std::uint64_t i = lane; i < rows * inner; i += lanes) {
            const std::uint64_t row = 1 + i / inner, column = 1 + i % inner, cell = row * width + column;
            const double up = from[cell - width], down = from[cell + width];
            const double left = from[cell - 1], right = from[cell + 1];
            to[cell] = mean_of(up, down, left, right);
        }
    }
};

/// Device view.
struct membrane_ref {
    symmetric_ref<double> values[2];
    symmetric_ref<std::uint64_t> clock;  ///< of computing_time
    std::uint64_t rows = 0;              ///< of a PE, its own
    std::uint64_t width = 0;             ///< of a row, with both ends

    [[nodiscard]] LANEWAY_FN std::uint64_t cell(std::uint64_t row, std::uint64_t column) const {
        return row * width + column;
    }

    /// The cells that this lane computes of step `step`. All lanes of a warp, together.
    template <class Ctx>
    LANEWAY_FN void compute(Ctx& ctx, std::uint64_t step, computing_time& spent) const {
        const auto from = values[step % 2].local(ctx), to = values[(step + 1) % 2].local(ctx);
        const std::uint64_t lanes = ctx.local_size();
        spent.of(ctx, [&] {
            membrane_step<decltype(values[0].local(ctx))>{from, to, rows, width}.compute(ctx.local_rank(), lanes);
        });
    }
    /// Calls `use(column)` for the cells of a row, from 1, that this lane has computed.
    template <class Ctx, class Use>
    LANEWAY_FN void each_computed(Ctx& ctx, std::uint64_t row, Use&& use) const {
        const std::uint64_t lanes = ctx.local_size(), inner = width - 2;
        const std::uint64_t first = (ctx.local_rank() + lanes - (row - 1) * inner % lanes) % lanes;
        for (std::uint64_t i = first; i < inner; i += lanes) use(1 + i);
    }
    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, const computing_time& spent) const {
        spent.add_to(ctx, working_warp::of(ctx).warps, address(ctx, clock[0], ctx.pe()));
    }
};

/// On the host.
class membrane {
public:
    membrane(runtime& rt, const jacobi_options& options);

    [[nodiscard]] membrane_ref ref() const { return {{a_.ref(), b_.ref()}, clock_.ref(), rows_, width_}; }
    /// What came of it, but for the seconds of runs.
    [[nodiscard]] jacobi_result take(std::uint64_t steps) const;

private:
    int n_pes_;
    std::uint64_t rows_;
    std::uint64_t width_;
    symmetric_array<double> a_;
    symmetric_array<double> b_;
    symmetric_array<std::uint64_t> clock_;
};

/// How many rows each of so many PEs has. Throws usage_error where they cannot be shared out.
std::uint64_t rows_a_pe(const jacobi_options& options, std::size_t pes);

// One function a style. In symmetric memory each returns the seconds of its runs.
double jacobi_by_host(runtime& rt, const membrane& all, std::uint64_t steps);
double jacobi_by_triggers(runtime& rt, const membrane& all, std::uint64_t steps);
served_run jacobi_by_service(runtime& rt, const membrane& all, std::uint64_t steps, bool by_host_threads);
jacobi_result jacobi_by_streams(const jacobi_options& options);

}  // namespace laneway::apps
