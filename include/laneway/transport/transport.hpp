// Transports: how the words of one PE become readable by another.
//
// All of these are mapped: the writer stores, the reader loads, and a release store at system scope met by an acquire
// load orders what was stored before it. Each region has one writing PE. Lanes have views of it, of channels and of
// word channels, which keep the pointers to themselves. Between PEs that no mapped transport shall connect a proxy
// carries (proxy.hpp); peer_memory.hpp chooses.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "laneway/simt/device.hpp"

namespace laneway {

class transport {
public:
    virtual ~transport() = default;
    [[nodiscard]] virtual const char* name() const = 0;
    /// Whether it can carry from `writer` to `reader`. Host.
    [[nodiscard]] virtual bool connects(const device& writer, const device& reader) const = 0;
    /// Zeroed memory that `writer` stores to and `reader` loads from while kernels run on both, as near to the reader
    /// as the hardware allows. Host, before the kernels; throws system_error or cuda_error.
    [[nodiscard]] virtual std::shared_ptr<std::byte> allocate(const std::shared_ptr<device>& writer,
                                                              const std::shared_ptr<device>& reader,
                                                              std::size_t bytes) const = 0;
};

/// shared (CPU device to CPU device), peer (GPU to GPU, the reader's memory over NVLink or PCIe), pinned (CPU device
/// and GPU, page-locked host memory).
const std::vector<std::unique_ptr<transport>>& all_transports();

/// The transport that carries from `writer` to `reader`; throws usage_error where there is none.
const transport& find_transport(const device& writer, const device& reader);

/// Zeroed memory that lanes of one device and threads of the host load from and store to while kernels run: a GPU's is
/// page-locked. Where a job has several processes, those of all. Host, before the kernels; throws system_error or
/// cuda_error.
std::shared_ptr<std::byte> allocate_for_proxy(const std::shared_ptr<device>& user, std::size_t bytes);

}  // namespace laneway
