// Host owner of symmetric memory, whatever its elements.
#pragma once

#include <memory>
#include <vector>

#include "laneway/simt/machine.hpp"

namespace laneway {

/// `size` zeroed elements of `element_bytes` on every PE of a machine, registered as a segment.
class symmetric_bytes {
public:
    /// Throws usage_error where no memory holds so many, system_error or cuda_error where a device has no room.
    symmetric_bytes(machine& machine, std::uint64_t size, std::size_t element_bytes);

    [[nodiscard]] std::uint32_t segment() const { return *segment_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// To and from memory of the host for size() elements. Throws usage_error for a PE that does not exist.
    void copy_out(int pe, void* to) const;
    void copy_in(int pe, const void* from, std::uint64_t elements);
    void clear();
    /// Where a PE's part lies. Throws usage_error for a PE that does not exist.
    [[nodiscard]] std::byte* data(int pe) const { return parts_[number_of(pe)].data(); }

private:
    [[nodiscard]] std::size_t number_of(int pe) const;

    std::uint64_t size_;
    std::vector<buffer<std::byte>> parts_;
    std::shared_ptr<const std::uint32_t> segment_;
};

}  // namespace laneway
