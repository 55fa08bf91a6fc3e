// What ranks the queues of a channel: of two functors, nvcc must name the one without LANEWAY_FN.
#include "laneway/simt/cuda/launch.cuh"
#include "laneway/simt/device_stream.hpp"
#include "laneway/task/channel_board.hpp"

struct right {
    LANEWAY_FN std::uint32_t operator()(const lw::channel_load& load) const { return load.depth + 1; }
};
struct policy {
    std::uint32_t operator()(const lw::channel_load& load) const { return load.depth + 1; }
};

template <class Functor>
struct rank_queues {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&) const {
        *rank = lw::channel_rank(Functor{}, {}, {}, 0, 1, {}, 0);
    }
    std::uint64_t* rank;
};

template <class Functor>
auto kernel_of() {
    return &lw::cuda_backend::persistent_kernel<lw::stream_program<rank_queues<Functor>>>;
}

void use() {
    (void)kernel_of<right>();
    (void)kernel_of<policy>();
}
