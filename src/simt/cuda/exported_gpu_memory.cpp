#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/exported_memory.hpp"

namespace laneway::cuda_backend {

namespace {

/// CUDA exports the block that an allocation lies in; blocks have this size, and small allocations may share one.
constexpr std::size_t block_bytes = 2 << 20;

class gpu_memory final : public exported_memory {
public:
    explicit gpu_memory(int index) : index_(index) {}

    void* allocate(std::size_t bytes, contribution& handle) override {
        const device_scope scope(index_);
        const std::size_t blocks = bytes / block_bytes + 1;
        void* memory = nullptr;
        const std::string what =
            "cuda:" + std::to_string(index_) + ": no memory for " + std::to_string(bytes) + " bytes";
        check(cudaMalloc(&memory, blocks * block_bytes), what.c_str());
        auto release = [](void* lost) { cudaFree(lost); };
        std::unique_ptr<void, decltype(release)> held(memory, release);
        check(cudaMemset(memory, 0, bytes), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        cudaIpcMemHandle_t exported{};
        check(cudaIpcGetMemHandle(&exported, memory), "cudaIpcGetMemHandle");
        handle.bytes.assign(reinterpret_cast<const char*>(&exported), sizeof exported);
        return held.release();
    }

    void* import(const contribution& handle, std::size_t) override {
        cudaIpcMemHandle_t exported{};
        if (handle.bytes.size() != sizeof exported) {
            throw process_error("memory of a GPU of another process: what came is no handle of CUDA");
        }
        std::memcpy(&exported, handle.bytes.data(), sizeof exported);
        // Opened on the GPU that holds it; those of this process reach it as their peer.
        const device_scope scope(index_);
        void* memory = nullptr;
        check(cudaIpcOpenMemHandle(&memory, exported, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
        auto close = [](void* lost) { cudaIpcCloseMemHandle(lost); };
        std::unique_ptr<void, decltype(close)> held(memory, close);
        const std::lock_guard lock(changing_);
        imported_.insert(memory);
        return held.release();
    }

    void free(void* memory) noexcept override {
        const std::lock_guard lock(changing_);
        if (imported_.erase(memory) != 0) {
            cudaIpcCloseMemHandle(memory);
        } else {
            cudaFree(memory);
        }
    }

private:
    int index_;
    std::mutex changing_;
    std::unordered_set<void*> imported_;
};

}  // namespace

std::unique_ptr<exported_memory> export_memory_of_gpu(int index) { return std::make_unique<gpu_memory>(index); }

}  // namespace laneway::cuda_backend
