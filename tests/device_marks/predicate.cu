// What a filter keeps by: of two functors, nvcc must name the one without LANEWAY_FN.
#include "laneway/flow/filter.hpp"
#include "laneway/simt/cuda/launch.cuh"

struct right {
    LANEWAY_FN bool operator()(int x) const { return x > 0; }
};
struct predicate {
    bool operator()(int x) const { return x > 0; }
};

template <class Functor>
auto kernel_of() {
    return &lw::cuda_backend::persistent_kernel<lw::stream_program<lw::flow::count_kept<int, Functor>>>;
}

void use() {
    (void)kernel_of<right>();
    (void)kernel_of<predicate>();
}
