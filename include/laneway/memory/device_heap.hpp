// Host owner of a device heap: the region, its book-keeping, and what became of it after a run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/memory/device_heap_ref.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

/// What one client of a heap may take of it. Quotas may add up to more than the heap has.
struct memory_quota {
    std::string name;
    std::size_t bytes = ~std::size_t{0};  ///< in whole pages, rounded down; more than the heap has: all of it
};

struct device_heap_options {
    std::size_t bytes = std::size_t{64} << 20;       ///< of the region; rounded down to whole pages
    std::size_t page_bytes = std::size_t{64} << 10;  ///< a power of two, 1 KiB to 1 MiB
    std::vector<memory_quota> quotas = {};           ///< 32 at most; none: one, "all", without a limit
};

/// A piece or span of pages that lanes hold; in memory of the PE.
struct held_piece {
    void* address = nullptr;
    std::size_t bytes = 0;    ///< that it takes: a power of two, or whole pages
    std::uint32_t quota = 0;  ///< whose it is

    friend bool operator==(const held_piece&, const held_piece&) = default;
};

/// Totals since the heap was made.
struct quota_statistics {
    std::string name;
    std::size_t allowed_bytes = 0;  ///< in whole pages
    std::size_t held_bytes = 0;     ///< of its pages, with those that it keeps though nothing is live in them
    std::size_t peak_bytes = 0;     ///< the most of these at once, with pages that were looked for
    std::uint64_t total_allocations = 0;
    std::uint64_t total_frees = 0;
    std::uint64_t refused_requests = 0;
    std::uint64_t refused_frees = 0;  ///< by its views

    [[nodiscard]] std::uint64_t live_allocations() const { return total_allocations - total_frees; }
};

struct device_heap_statistics {
    std::size_t capacity_bytes = 0;
    std::size_t used_bytes = 0;  ///< of live allocations, rounded up
    std::size_t peak_bytes = 0;  ///< of pages that were set up for pieces of a size or belonged to spans, most at once
    std::uint64_t live_allocations = 0;
    std::uint64_t total_allocations = 0;
    std::uint64_t refused_requests = 0;
    std::uint64_t refused_frees = 0;
    std::uint32_t free_pages = 0;         ///< without a live piece
    std::uint32_t largest_free_span = 0;  ///< pages
    std::size_t page_bytes = 0;

    /// Part of the bytes that are not in use that lie in pages where something is live, 0 to 1: what only requests of
    /// the same size and quota can have.
    [[nodiscard]] double fragmentation() const {
        const std::size_t unused = capacity_bytes - used_bytes, free = free_pages * page_bytes;
        return unused == 0 ? 0 : static_cast<double>(unused - free) / static_cast<double>(unused);
    }
};

/// One heap of one PE; freed with the object, which must outlive the runs that use it. What lanes hold stays theirs
/// from run to run. The book-keeping takes less than 1 % of the region, for pages of 4 KiB or more and few quotas.
class device_heap {
public:
    /// Throws usage_error for sizes and quotas that cannot be, system_error or cuda_error where the device has no room.
    explicit device_heap(const std::shared_ptr<device>& owner, const device_heap_options& options = {});

    /// The view of a quota, by its number; throws usage_error where there is none.
    [[nodiscard]] device_heap_ref ref(std::uint32_t quota = 0) const;
    [[nodiscard]] std::byte* region() const { return layout_.region; }
    /// Host, between runs.
    [[nodiscard]] device_heap_statistics statistics() const;
    /// By number. Reads counters only. Host, between runs, or when one has failed.
    [[nodiscard]] std::vector<quota_statistics> quotas() const;
    /// What lanes have allocated and not freed, by address: at the end of a program, its leaks. Host, between runs.
    [[nodiscard]] std::vector<held_piece> live() const;
    /// Bytes of region and book-keeping for such options, which the constructor takes.
    [[nodiscard]] static std::size_t bytes_of(const device_heap_options& options);

private:
    [[nodiscard]] static device_heap_layout measure(const device_heap_options& options);
    [[nodiscard]] static std::size_t word_count(const device_heap_layout& layout);
    [[nodiscard]] static std::size_t counter_count(const device_heap_layout& layout);
    [[nodiscard]] static std::size_t long_word_count(const device_heap_layout& layout);
    void fill_stock();
    void allow(const std::vector<memory_quota>& quotas);

    device_heap_layout layout_;
    std::vector<std::string> names_;  ///< of quotas
    buffer<std::byte> region_;
    buffer<std::uint32_t> words_;
    buffer<std::uint64_t> counts_;
};

}  // namespace laneway
