#include "laneway/memory/symmetric_bytes.hpp"

#include <string>

#include "laneway/base/error.hpp"

namespace laneway {

symmetric_bytes::symmetric_bytes(machine& machine, std::uint64_t size, std::size_t element_bytes) : size_(size) {
    if (size > ~std::uint64_t{0} / element_bytes) {
        throw usage_error("no memory holds " + std::to_string(size) + " elements of " + std::to_string(element_bytes) +
                          " bytes");
    }
    std::vector<void*> bases;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        parts_.emplace_back(machine.device(pe), size * element_bytes);
        bases.push_back(parts_.back().data());
    }
    segment_ = machine.add_segment(bases, size * element_bytes);
}

void symmetric_bytes::copy_out(int pe, void* to) const {
    const auto& part = parts_[number_of(pe)];
    if (part.size() > 0) part.copy_out(static_cast<std::byte*>(to));
}

void symmetric_bytes::copy_in(int pe, const void* from, std::uint64_t elements) {
    auto& part = parts_[number_of(pe)];
    if (elements != size_) {
        throw usage_error("symmetric array: " + std::to_string(elements) + " values for " + std::to_string(size_) +
                          " elements");
    }
    part.copy_in(static_cast<const std::byte*>(from), part.size());
}

void symmetric_bytes::clear() {
    for (auto& part : parts_) part.fill_bytes(0);
}

std::size_t symmetric_bytes::number_of(int pe) const {
    if (pe < 0 || static_cast<std::size_t>(pe) >= parts_.size()) {
        throw usage_error("symmetric array: no PE " + std::to_string(pe) + "; the runtime has " +
                          std::to_string(parts_.size()));
    }
    return static_cast<std::size_t>(pe);
}

}  // namespace laneway
