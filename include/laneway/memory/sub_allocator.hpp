// Hands out pieces of large regions whose bytes the host need not be able to touch: device memory, pinned memory.
//
// Two-level segregated fit (Masmano, Ripoll, Crespo and Real, TLSF: a New Dynamic Memory Allocator for Real-Time
// Systems, ECRTS 2004): free pieces lie in lists by size, 32 for each power of two, and two levels of bitmaps name the
// first list that holds none too small. A freed piece joins its free neighbours at once. TLSF keeps its book-keeping in
// the pieces; here all of it lies in host memory, and a table of addresses takes the place of the headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace laneway {

/// A piece that was handed out and not yet freed.
struct live_piece {
    void* address = nullptr;
    std::size_t bytes = 0;     ///< as asked for
    std::uint64_t number = 0;  ///< of the allocation, from 1 on: the how manieth of the sub_allocator

    friend bool operator==(const live_piece&, const live_piece&) = default;
};

struct sub_allocator_statistics {
    std::size_t capacity_bytes = 0;  ///< of all regions
    std::size_t used_bytes = 0;      ///< of live pieces, each rounded up to 16
    std::size_t peak_bytes = 0;      ///< most that were used at once
    std::uint64_t live_allocations = 0;
    std::uint64_t total_allocations = 0;
    std::uint64_t free_pieces = 0;
    std::size_t largest_free_bytes = 0;

    [[nodiscard]] std::size_t free_bytes() const { return capacity_bytes - used_bytes; }
    /// Part of the free bytes that lie outside the largest free piece, 0 to 1; 0 where nothing is free.
    [[nodiscard]] double fragmentation() const {
        if (free_bytes() == 0) return 0;
        return 1 - static_cast<double>(largest_free_bytes) / static_cast<double>(free_bytes());
    }
};

/// Owns the book-keeping, not the regions: they must outlive the pieces. Host only; any thread.
class sub_allocator {
public:
    /// Alignment of every piece, and what sizes are rounded up to.
    static constexpr std::size_t granule_bytes = 16;

    sub_allocator();
    sub_allocator(void* base, std::size_t bytes) : sub_allocator() { add_region(base, bytes); }
    ~sub_allocator();
    sub_allocator(const sub_allocator&) = delete;
    sub_allocator& operator=(const sub_allocator&) = delete;

    /// Adds memory to hand out, without touching it. Pieces never reach across regions, also where these are
    /// neighbours. Throws usage_error for one that holds no granule, goes round the end of the address space or
    /// overlaps another.
    void add_region(void* base, std::size_t bytes);

    /// A piece of at least so many bytes, one granule for 0; null where no free piece holds it. `alignment`: a power
    /// of two, else usage_error. Constant time, but for requests that only pieces of nearly their size can hold: then
    /// the lists of such are walked before null is returned.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = granule_bytes);
    /// The same; throws system_error that names what was asked, what is free, and the largest free piece.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = granule_bytes);
    /// Takes back what an allocation returned; null is ignored. Throws usage_error for any other address, also of a
    /// piece that has been freed already, and changes nothing then. Constant time.
    void deallocate(void* piece);

    [[nodiscard]] sub_allocator_statistics statistics() const;
    /// What has not been freed, in the order of allocation: at the end of a program, its leaks.
    [[nodiscard]] std::vector<live_piece> live() const;

private:
    struct state;

    mutable std::mutex mutex_;
    std::unique_ptr<state> state_;
};

}  // namespace laneway
