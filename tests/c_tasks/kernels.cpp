// Kernels of the C program beside this file.
#include "laneway/task_kernels.hpp"

namespace {

/// Figure 4 of the GeMTC paper: boxed are the width, matrices A and B, and room for their product.
struct matrix_multiply : lw::c_kernel {
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx&, void* const& boxed, Worker& worker) const {
        float* const given = static_cast<float*>(boxed);
        const int width = static_cast<int>(given[0]);
        const float* const a = given + 1;
        const float* const b = a + width * width;
        float* const product = given + 1 + 2 * width * width;
        for (int i = worker.lane(); i < width; i += worker.lanes()) {
            for (int j = 0; j < width; ++j) {
                float sum = 0;
                for (int k = 0; k < width; ++k) sum += a[i * width + k] * b[k * width + j];
                product[i * width + j] = sum;
            }
        }
    }
};

struct fail_always : lw::c_kernel {
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx&, void* const&, Worker& worker) const {
        worker.fail(5);
    }
};

/// Stores how many lanes it has, and counts those that run.
struct count_lanes : lw::c_kernel {
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, void* const& boxed, Worker& worker) const {
        int* const told = static_cast<int*>(boxed);
        if (worker.lane() == 0) told[0] = worker.lanes();
        if (worker.sync(ctx)) ctx.fetch_add(told + 1, 1, lw::order::relaxed, lw::scope::device);
    }
};

}  // namespace

LANEWAY_TASK_KERNELS(matrix_multiply, fail_always, count_lanes)
