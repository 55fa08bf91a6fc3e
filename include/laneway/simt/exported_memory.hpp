// Memory of a device that processes of one host share: the owner exports what it allocates, others import it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "laneway/base/bootstrap.hpp"
#include "laneway/simt/device_list.hpp"

namespace laneway {

/// For one device. Host only; `free` on any thread.
class exported_memory {
public:
    virtual ~exported_memory() = default;
    /// Zeroed memory of the device, aligned to 256 bytes, and in `handle` what others import it by. Throws system_error
    /// or cuda_error.
    [[nodiscard]] virtual void* allocate(std::size_t bytes, contribution& handle) = 0;
    /// Maps memory that the device's owner has allocated with `bytes`. Throws as allocate does, process_error for a
    /// handle that is none.
    [[nodiscard]] virtual void* import(const contribution& handle, std::size_t bytes) = 0;
    /// Lets go of memory that either has given.
    virtual void free(void* memory) noexcept = 0;
};

/// Files without a name, one for each piece, which are freed with their last mapping: POSIX shared memory for CPU
/// devices, CUDA's virtual memory for GPUs. `users`: the devices of this process, whose lanes use it.
std::unique_ptr<exported_memory> export_memory_of(const device_id& id, const std::vector<device_id>& users);

}  // namespace laneway
