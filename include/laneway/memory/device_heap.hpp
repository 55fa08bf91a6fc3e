// Host owner of a device heap: the region, its book-keeping, and what became of it after a run.
#pragma once

#include <memory>
#include <vector>

#include "laneway/memory/device_heap_ref.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

struct device_heap_options {
    std::size_t bytes = std::size_t{64} << 20;       ///< of the region; rounded down to whole pages
    std::size_t page_bytes = std::size_t{64} << 10;  ///< a power of two, 1 KiB to 1 MiB
};

/// A piece or span of pages that lanes hold; in memory of the PE.
struct held_piece {
    void* address = nullptr;
    std::size_t bytes = 0;  ///< that it takes: a power of two, or whole pages

    friend bool operator==(const held_piece&, const held_piece&) = default;
};

struct device_heap_statistics {
    std::size_t capacity_bytes = 0;
    std::size_t used_bytes = 0;  ///< of live allocations, rounded up
    std::size_t peak_bytes = 0;  ///< of pages that were not free, most at once
    std::uint64_t live_allocations = 0;
    std::uint64_t total_allocations = 0;
    std::uint64_t refused_requests = 0;
    std::uint64_t refused_frees = 0;
    std::uint32_t free_pages = 0;
    std::uint32_t largest_free_span = 0;  ///< pages
};

/// One heap of one PE; freed with the object, which must outlive the runs that use it. What lanes hold stays theirs
/// from run to run. The book-keeping takes less than 1 % of the region, for pages of 4 KiB or more.
class device_heap {
public:
    /// Throws usage_error for sizes that cannot be, system_error or cuda_error where the device has no room.
    explicit device_heap(const std::shared_ptr<device>& owner, const device_heap_options& options = {});

    [[nodiscard]] device_heap_ref ref() const { return device_heap_ref(layout_); }
    /// Host, between runs.
    [[nodiscard]] device_heap_statistics statistics() const;
    /// What lanes have allocated and not freed, by address: at the end of a program, its leaks. Host, between runs.
    [[nodiscard]] std::vector<held_piece> live() const;

private:
    [[nodiscard]] static device_heap_layout measure(const device_heap_options& options);
    [[nodiscard]] static std::size_t word_count(const device_heap_layout& layout);

    device_heap_layout layout_;
    buffer<std::byte> region_;
    buffer<std::uint32_t> words_;
    buffer<std::uint64_t> counts_;
};

}  // namespace laneway
