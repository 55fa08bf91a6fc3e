// Host owner of symmetric memory.
#pragma once

#include "laneway/base/error.hpp"
#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// `size` zeroed elements on every PE of a machine; freed with the object. It must outlive the runs that use it; in
/// later ones its name names nothing: one-sided operations on it fail with bad_address, and its first address is null.
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
    [[nodiscard]] std::vector<T> copy_out(int pe) const { return parts_[number_of(pe)].copy_out(); }
    /// Sets one PE's part; `values` has size() elements. Host, between runs.
    void copy_in(int pe, const std::vector<T>& values) {
        if (values.size() != size_) {
            throw usage_error("symmetric array: " + std::to_string(values.size()) + " values for " +
                              std::to_string(size_) + " elements");
        }
        parts_[number_of(pe)].copy_in(values);
    }
    /// Zeroes every PE's part. Host, between runs.
    void clear() {
        for (auto& part : parts_) part.fill_bytes(0);
    }

private:
    [[nodiscard]] std::size_t number_of(int pe) const {
        if (pe < 0 || static_cast<std::size_t>(pe) >= parts_.size()) {
            throw usage_error("symmetric array: no PE " + std::to_string(pe) + "; the runtime has " +
                              std::to_string(parts_.size()));
        }
        return static_cast<std::size_t>(pe);
    }

    std::uint64_t size_;
    std::vector<buffer<T>> parts_;
    std::shared_ptr<const std::uint32_t> segment_;
};

}  // namespace laneway
