// The task type `matmul`: the product of two square matrices by one worker, the plain loop of GeMTC's figure 4.
#pragma once

#include "laneway/simt/fail.hpp"
#include "operands.hpp"

namespace laneway::apps {

struct matmul {
    static constexpr std::uint64_t max_width = 1024;

    /// `setting` is the width of the matrices; an input is two of them, in row order, and an output their product.
    using arguments = const task_operands*;
    using result = void;

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& operands, Worker& worker) const {
        const std::uint64_t width = operands->setting;
        const float* const a = operands->input<float>(worker.index());
        const float* const b = a + width * width;
        float* const out = operands->output<float>(worker.index());
        for (auto i = static_cast<std::uint64_t>(worker.lane()); i < width && !stopped(ctx);
             i += static_cast<std::uint64_t>(worker.lanes())) {
            for (std::uint64_t j = 0; j < width; ++j) {
                float sum = 0;
                for (std::uint64_t k = 0; k < width; ++k) sum += a[i * width + k] * b[k * width + j];
                out[i * width + j] = sum;
            }
        }
    }
};

}  // namespace laneway::apps
