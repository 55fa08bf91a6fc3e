// What the host asks of CUDA. Implemented twice: with CUDA (src/simt/cuda) and without (src/simt/no_cuda.cpp).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace laneway {
class device;
}

namespace laneway::cuda_backend {

struct gpu_survey {
    std::vector<std::string> gpus;  ///< a description each, by CUDA's number
    std::string why_none;           ///< empty where there are GPUs
};

/// Looks for GPUs; never throws.
gpu_survey survey();

std::shared_ptr<device> open_gpu(int index);
std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes);
void enable_peer_access(int from, int to);

/// Settings of the process's surroundings under which persistent kernels that wait for each other cannot run
/// (CUDA_LAUNCH_BLOCKING, a profiler that replays kernels); empty where there are none.
std::string refusal(int gpus);

}  // namespace laneway::cuda_backend
