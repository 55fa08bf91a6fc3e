// What a group of devices combines elements by: of two functors, nvcc must name the one without LANEWAY_FN.
#include "laneway/flow/group.hpp"
#include "laneway/simt/cuda/launch.cuh"

struct right {
    LANEWAY_FN int operator()(int a, int b) const { return a + b; }
};
struct combination {
    int operator()(int a, int b) const { return a + b; }
};

template <class Functor>
auto kernel_of() {
    return &lw::cuda_backend::persistent_kernel<lw::stream_program<lw::flow::combine_elements<int, Functor>>>;
}

void use() {
    (void)kernel_of<right>();
    (void)kernel_of<combination>();
}
