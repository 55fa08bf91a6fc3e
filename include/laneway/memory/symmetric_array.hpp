// Host owner of symmetric memory.
#pragma once

#include "laneway/memory/symmetric.hpp"
#include "laneway/memory/symmetric_bytes.hpp"

namespace laneway {

/// `size` zeroed elements on every PE of a machine; freed with the object. It must outlive the runs that use it; in
/// later ones its name names nothing: one-sided operations on it fail with bad_address, and its first address is null.
template <class T>
class symmetric_array {
    static_assert(trivially_copyable<T>);

public:
    symmetric_array(machine& machine, std::uint64_t size) : parts_(machine, size, sizeof(T)) {}

    [[nodiscard]] symmetric_ref<T> ref() const { return {parts_.segment(), parts_.size()}; }
    [[nodiscard]] std::uint64_t size() const { return parts_.size(); }
    /// Contents of one PE's part. Host, between runs.
    [[nodiscard]] std::vector<T> copy_out(int pe) const {
        std::vector<T> host(size());
        parts_.copy_out(pe, host.data());
        return host;
    }
    /// Sets one PE's part; `values` has size() elements. Host, between runs.
    void copy_in(int pe, const std::vector<T>& values) { parts_.copy_in(pe, values.data(), values.size()); }
    /// Zeroes every PE's part. Host, between runs.
    void clear() { parts_.clear(); }
    /// Where a PE's part lies, for kernels and streams of a user's own (simt/device_stream.hpp); the host itself
    /// reaches it on CPU devices only.
    [[nodiscard]] T* data(int pe) const { return reinterpret_cast<T*>(parts_.data(pe)); }

private:
    symmetric_bytes parts_;
};

}  // namespace laneway
