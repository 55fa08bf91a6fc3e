// Points of streams of CUDA that the library has not made, and waits for them.
#include <cuda_runtime_api.h>

#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"

namespace laneway::cuda_backend {

std::shared_ptr<void> mark_stream(int index, void* stream) {
    const device_scope scope(index);
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreate");
    std::shared_ptr<void> mark(made, [](void* event) { cudaEventDestroy(static_cast<cudaEvent_t>(event)); });
    check(cudaEventRecord(made, static_cast<cudaStream_t>(stream)), "cudaEventRecord");
    return mark;
}

void wait_for_mark(void* stream, const std::shared_ptr<void>& mark) {
    check(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(mark.get()), 0),
          "cudaStreamWaitEvent");
}

}  // namespace laneway::cuda_backend
