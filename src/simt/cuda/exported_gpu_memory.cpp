// GPU memory that processes of one host share. CUDA's virtual memory management exports an allocation as an open file,
// and maps it for all GPUs of a process at one address; memory of CUDA IPC is mapped for one GPU only.
#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/exported_memory.hpp"
#include "simt/cuda/driver_function.hpp"

namespace laneway::cuda_backend {

namespace {

/// Functions of the driver, found when the first is needed: a program starts on hosts without a driver as well.
class driver {
public:
    static const driver& get() {
        static const driver found;
        return found;
    }

    static void check(CUresult code, const std::string& what) {
        if (code == CUDA_SUCCESS) return;
        const char* text = nullptr;
        get().error_string(code, &text);
        throw cuda_error(what + ": " + (text == nullptr ? "error " + std::to_string(code) : text));
    }

    decltype(&cuGetErrorString) error_string = driver_function<decltype(&cuGetErrorString)>("cuGetErrorString");
    decltype(&cuMemGetAllocationGranularity) granularity =
        driver_function<decltype(&cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
    decltype(&cuMemCreate) create = driver_function<decltype(&cuMemCreate)>("cuMemCreate");
    decltype(&cuMemRelease) release = driver_function<decltype(&cuMemRelease)>("cuMemRelease");
    decltype(&cuMemExportToShareableHandle) export_handle =
        driver_function<decltype(&cuMemExportToShareableHandle)>("cuMemExportToShareableHandle");
    decltype(&cuMemImportFromShareableHandle) import_handle =
        driver_function<decltype(&cuMemImportFromShareableHandle)>("cuMemImportFromShareableHandle");
    decltype(&cuMemAddressReserve) reserve = driver_function<decltype(&cuMemAddressReserve)>("cuMemAddressReserve");
    decltype(&cuMemAddressFree) free_address = driver_function<decltype(&cuMemAddressFree)>("cuMemAddressFree");
    decltype(&cuMemMap) map = driver_function<decltype(&cuMemMap)>("cuMemMap");
    decltype(&cuMemUnmap) unmap = driver_function<decltype(&cuMemUnmap)>("cuMemUnmap");
    decltype(&cuMemSetAccess) set_access = driver_function<decltype(&cuMemSetAccess)>("cuMemSetAccess");
};

/// An allocation, or one of another process, for as long as it takes to map it: mappings keep it.
class physical_memory {
public:
    explicit physical_memory(CUmemGenericAllocationHandle handle) : handle_(handle) {}
    ~physical_memory() { driver::get().release(handle_); }
    physical_memory(const physical_memory&) = delete;
    physical_memory& operator=(const physical_memory&) = delete;

    [[nodiscard]] CUmemGenericAllocationHandle handle() const { return handle_; }

private:
    CUmemGenericAllocationHandle handle_;
};

class gpu_memory final : public exported_memory {
public:
    gpu_memory(int index, std::vector<int> users) : index_(index), users_(std::move(users)) {
        if (std::find(users_.begin(), users_.end(), index) == users_.end()) users_.push_back(index);  // which copies
        wanted_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted_.location = {CU_MEM_LOCATION_TYPE_DEVICE, index};
        wanted_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    }

    void* allocate(std::size_t bytes, contribution& handle) override {
        const device_scope scope(index_);
        const std::size_t size = whole(bytes);
        CUmemGenericAllocationHandle made{};
        driver::check(driver::get().create(&made, size, &wanted_, 0),
                      "cuda:" + std::to_string(index_) + ": no memory for " + std::to_string(bytes) + " bytes");
        const physical_memory physical(made);
        int file = -1;
        driver::check(driver::get().export_handle(&file, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                      "cuMemExportToShareableHandle");
        handle.file = file_handle(file);
        void* const memory = map(physical, size);
        auto release = [this](void* lost) { free(lost); };
        std::unique_ptr<void, decltype(release)> held(memory, release);
        check(cudaMemset(memory, 0, bytes), "cudaMemset");
        check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");  // streams may wait for a program of this job
        return held.release();
    }

    void* import(const contribution& handle, std::size_t bytes) override {
        if (handle.file.descriptor() < 0) {
            throw process_error("memory of a GPU of another process: what came is no file");
        }
        const device_scope scope(index_);
        CUmemGenericAllocationHandle found{};
        void* const file = reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle.file.descriptor()));
        driver::check(driver::get().import_handle(&found, file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                      "cuMemImportFromShareableHandle");
        return map(physical_memory(found), whole(bytes));
    }

    void free(void* memory) noexcept override {
        std::size_t size = 0;
        {
            const std::lock_guard lock(changing_);
            const auto found = mapped_.find(memory);
            if (found == mapped_.end()) return;
            size = found->second;
            mapped_.erase(found);
        }
        const auto address = reinterpret_cast<CUdeviceptr>(memory);
        driver::get().unmap(address, size);
        driver::get().free_address(address, size);
    }

private:
    /// What an allocation takes, in whole pages of the device; the same in all processes.
    [[nodiscard]] std::size_t whole(std::size_t bytes) const {
        std::size_t page = 0;
        driver::check(driver::get().granularity(&page, &wanted_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                      "cuMemGetAllocationGranularity");
        return (bytes / page + 1) * page;
    }

    void* map(const physical_memory& physical, std::size_t size) {
        const driver& cuda = driver::get();
        CUdeviceptr address{};
        driver::check(cuda.reserve(&address, size, 0, 0, 0), "cuMemAddressReserve");
        CUresult outcome = cuda.map(address, size, 0, physical.handle(), 0);
        if (outcome == CUDA_SUCCESS) {
            std::vector<CUmemAccessDesc> all;
            for (const int user : users_) {
                all.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, user}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
            }
            outcome = cuda.set_access(address, size, all.data(), all.size());
            if (outcome != CUDA_SUCCESS) cuda.unmap(address, size);
        }
        if (outcome != CUDA_SUCCESS) cuda.free_address(address, size);
        driver::check(outcome, "mapping memory of cuda:" + std::to_string(index_));
        void* const memory = reinterpret_cast<void*>(address);
        const std::lock_guard lock(changing_);
        mapped_.emplace(memory, size);
        return memory;
    }

    int index_;
    std::vector<int> users_;  ///< GPUs that reach it
    CUmemAllocationProp wanted_{};
    std::mutex changing_;
    std::unordered_map<void*, std::size_t> mapped_;
};

}  // namespace

std::unique_ptr<exported_memory> export_memory_of_gpu(int index, const std::vector<int>& users) {
    return std::make_unique<gpu_memory>(index, users);
}

}  // namespace laneway::cuda_backend
