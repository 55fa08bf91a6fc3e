// Host owner of symmetric memory.
#pragma once

#include "laneway/base/error.hpp"
#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// `size` zeroed elements on every PE of a machine; freed with the object. It must outlive the runs that use it; in
/// later ones its name names nothing: one-sided operations on it fail with bad_address, and its address is null.
template <class T>
class symmetric_array {
    static_assert(trivially_copyable<T>);

public:
    symmetric_array(machine& machine, std::uint64_t size) : size_(size) {
        std::vector<void*> bases;
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            parts_.emplace_back(machine.device(pe), size);
            bases.push_back(parts_.back().data());
        }
        segment_ = machine.add_segment(bases, size * sizeof(T));
    }

    [[nodiscard]] symmetric_ref<T> ref() const { return {*segment_, size_}; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// Contents of one PE's part. Host, between runs.
    [[nodiscard]] std::vector<T> copy_out(int pe) const { return parts_[static_cast<std::size_t>(pe)].copy_out(); }
    /// Sets one PE's part; `values` has size() elements. Host, between runs.
    void copy_in(int pe, const std::vector<T>& values) {
        if (values.size() != size_) throw usage_error("symmetric array: wrong number of elements");
        parts_[static_cast<std::size_t>(pe)].copy_in(values);
    }
    /// Zeroes every PE's part. Host, between runs.
    void clear() {
        for (auto& part : parts_) part.fill_bytes(0);
    }

private:
    std::uint64_t size_;
    std::vector<buffer<T>> parts_;
    std::shared_ptr<const std::uint32_t> segment_;
};

}  // namespace laneway
