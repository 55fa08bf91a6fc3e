#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "laneway/base/cuda_setting.hpp"
#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device.hpp"

const char laneway::library_was_built_with_cuda = 0;

namespace laneway::cuda_backend {

namespace {

// The first launch of a lazily loaded kernel waits for the GPU, and so for any persistent kernel that waits for the
// launched one. The driver reads the variable at the first CUDA call of the process.
void load_modules_eagerly() { setenv("CUDA_MODULE_LOADING", "EAGER", 0); }

class gpu_device final : public device {
public:
    explicit gpu_device(int index) : device({device_kind::cuda, index}) {
        check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index),
              "cudaDeviceGetAttribute");
    }

    int multiprocessors() const override { return multiprocessors_; }

private:
    void* do_allocate(std::size_t bytes) override {
        const device_scope scope(id().index);
        void* memory = nullptr;
        const std::string what = name() + ": no memory for " + std::to_string(bytes) + " bytes";
        check(cudaMalloc(&memory, bytes == 0 ? 1 : bytes), what.c_str());
        do_fill(memory, 0, bytes);
        return memory;
    }
    void do_copy_in(void* to, const void* from, std::size_t bytes) override {
        const device_scope scope(id().index);
        check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
        // From pageable memory the call may return before the copy has ended, and kernels run on streams of their own.
        check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
    void do_copy_out(void* to, const void* from, std::size_t bytes) override {
        const device_scope scope(id().index);
        check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
    }
    void do_fill(void* memory, int byte, std::size_t bytes) override {
        const device_scope scope(id().index);
        check(cudaMemset(memory, byte, bytes), "cudaMemset");
        // Not for the whole device: a stream may wait for what lanes of the run that is set up here bring.
        check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
    void free(void* memory) noexcept override { cudaFree(memory); }

    int multiprocessors_ = 0;
};

std::string describe(int index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) return "unreadable";
    return std::string(properties.name) + ", " + std::to_string(properties.multiProcessorCount) + " multiprocessors, " +
           std::to_string(properties.totalGlobalMem >> 30) + " GiB";
}

}  // namespace

gpu_survey survey() {
    load_modules_eagerly();
    gpu_survey found;
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess) {
        cudaGetLastError();
        int driver = 0;
        const bool none = cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
        found.why_none = none ? "no NVIDIA driver on this host" : cudaGetErrorString(code);
        return found;
    }
    if (count == 0) found.why_none = "the driver reports no GPU";
    for (int i = 0; i < count; ++i) found.gpus.push_back(describe(i));
    return found;
}

std::shared_ptr<device> open_gpu(int index) {
    load_modules_eagerly();
    return std::make_shared<gpu_device>(index);
}

std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "cudaHostAlloc");
    std::byte* first = static_cast<std::byte*>(memory);
    for (std::size_t i = 0; i < bytes; ++i) first[i] = std::byte{0};
    return {first, [](std::byte* p) { cudaFreeHost(p); }};
}

void enable_peer_access(int from, int to) {
    static std::mutex mutex;
    static std::set<std::pair<int, int>> enabled;
    const std::lock_guard lock(mutex);
    if (enabled.count({from, to}) != 0) return;
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, from, to), "cudaDeviceCanAccessPeer");
    if (possible == 0) {
        throw usage_error("cuda:" + std::to_string(from) + " cannot store into the memory of cuda:" +
                          std::to_string(to) + ": no peer access between them");
    }
    const device_scope scope(from);
    const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
    } else {
        check(code, "cudaDeviceEnablePeerAccess");
    }
    enabled.emplace(from, to);
}

bool has_peer_atomics(int from, int to) {
    int native = 0;
    check(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, from, to),
          "cudaDeviceGetP2PAttribute");
    return native != 0;
}

std::string refusal(int gpus) {
    const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    if (blocking != nullptr && std::string(blocking) != "0" && std::string(blocking) != "") {
        return "CUDA_LAUNCH_BLOCKING is set: launches that wait for their kernels cannot be watched; unset it";
    }
    const char* injection = std::getenv("NV_NSIGHT_INJECTION_TRANSPORT_TYPE");
    if (gpus > 1 && injection != nullptr) {
        return "a profiler that replays kernels is attached: kernels on several GPUs wait for each other and cannot "
               "be replayed; profile a run on one GPU";
    }
    return {};
}

}  // namespace laneway::cuda_backend
