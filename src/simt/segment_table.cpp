#include "laneway/simt/segment_table.hpp"

#include <algorithm>
#include <bit>

#include "laneway/base/error.hpp"

namespace laneway {

std::uint32_t segment_table::add(const std::vector<void*>& bases, std::uint64_t bytes) {
    const std::lock_guard lock(changing_);
    if (bytes_.size() == max_segments) {
        throw usage_error("no more than " + std::to_string(max_segments) +
                          " symmetric arrays over the life of a runtime, freed ones included");
    }
    bases_.insert(bases_.end(), bases.begin(), bases.end());
    bytes_.push_back(bytes);
    return static_cast<std::uint32_t>(bytes_.size() - 1);
}

std::uint64_t segment_table::size(std::uint32_t segment) const {
    const std::lock_guard lock(changing_);
    return segment < bytes_.size() ? bytes_[segment] : 0;
}

std::vector<std::uint64_t> segment_table::sizes() const {
    const std::lock_guard lock(changing_);
    return bytes_;
}

void* segment_table::base(std::uint32_t segment, int pe) const {
    const std::lock_guard lock(changing_);
    return segment < bytes_.size() ? bases_[segment * devices_.size() + static_cast<std::size_t>(pe)] : nullptr;
}

std::uint64_t segment_table::left() const {
    const std::lock_guard lock(changing_);
    return max_segments - bytes_.size();
}

void segment_table::remove(std::uint32_t segment) noexcept {
    const std::lock_guard lock(changing_);
    std::fill_n(bases_.begin() + static_cast<std::ptrdiff_t>(segment * devices_.size()), devices_.size(), nullptr);
    bytes_[segment] = 0;
    published_ = std::min<std::size_t>(published_, segment);
}

void segment_table::publish(std::vector<pe_environment>& environments) {
    const std::lock_guard lock(changing_);
    if (room_ == 0 || bytes_.size() > room_) grow();
    const std::size_t pes = devices_.size();
    const std::size_t changed = bytes_.size() - published_;
    for (std::size_t pe = 0; pe < pes; ++pe) {
        std::vector<void*> seen(bases_.end() - static_cast<std::ptrdiff_t>(changed * pes), bases_.end());
        for (std::size_t i = 0; i < seen.size(); ++i) {
            if (!reaches(pe, i % pes)) seen[i] = nullptr;
        }
        if (changed != 0) {
            pe_bases_[pe].copy_in(seen.data(), seen.size(), published_ * pes);
            pe_bytes_[pe].copy_in(bytes_.data() + published_, changed, published_);
        }
        environments[pe].segments = pe_bases_[pe].data();
        environments[pe].segment_bytes = pe_bytes_[pe].data();
        environments[pe].n_segments = static_cast<std::uint32_t>(bytes_.size());
    }
    published_ = bytes_.size();
}

bool segment_table::reaches(std::size_t pe, std::size_t other) const {
    return pe == other || (transport_ == transport_model::mapped && share_memory(*devices_[pe], *devices_[other]));
}

void segment_table::grow() {
    constexpr std::size_t least = 1024;
    const std::size_t room = std::max(least, std::bit_ceil(bytes_.size()));
    std::vector<buffer<void*>> bases;
    std::vector<buffer<std::uint64_t>> bytes;
    for (const auto& device : devices_) {
        bases.emplace_back(device, room * devices_.size());
        bytes.emplace_back(device, room);
    }
    // Only now: where memory is short, the tables stay as they were.
    pe_bases_ = std::move(bases);
    pe_bytes_ = std::move(bytes);
    room_ = room;
    published_ = 0;
}

}  // namespace laneway
