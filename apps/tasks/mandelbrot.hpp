// The task type `mandelbrot`: a row of the Mandelbrot set's picture. Rows differ much in length, as a test of balance.
#pragma once

#include "laneway/simt/fail.hpp"
#include "operands.hpp"

namespace laneway::apps {

struct mandelbrot {
    /// What an input is.
    struct row {
        double real;  ///< of the first point
        double imaginary;
        double step;          ///< from a point to the next
        std::uint64_t limit;  ///< of steps of a point
    };

    /// `setting` is the number of points; an output is, for each, the steps until it has left the circle of radius 2,
    /// or the limit.
    using arguments = const task_operands*;
    using result = void;

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& operands, Worker& worker) const {
        const row given = *operands->input<row>(worker.index());
        std::uint32_t* const out = operands->output<std::uint32_t>(worker.index());
        for (auto i = static_cast<std::uint64_t>(worker.lane()); i < operands->setting && !stopped(ctx);
             i += static_cast<std::uint64_t>(worker.lanes())) {
            out[i] = steps_of(given.real + given.step * static_cast<double>(i), given.imaginary, given.limit);
        }
    }

private:
    static LANEWAY_FN std::uint32_t steps_of(double real, double imaginary, std::uint64_t limit) {
        double x = 0, y = 0;
        std::uint32_t steps = 0;
        while (steps < limit && x * x + y * y <= 4) {
            const double next = x * x - y * y + real;
            y = 2 * x * y + imaginary;
            x = next;
            ++steps;
        }
        return steps;
    }
};

}  // namespace laneway::apps
