// The pieces that regions are cut into, in the order of their addresses and, the free ones, by size.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace laneway {

/// One piece; half a cache line, as few stay in the cache where there are many. Neighbours are those of the same
/// region.
struct alignas(32) memory_piece {
    std::uintptr_t address = 0;
    std::uint64_t granules : 58 = 0;
    std::uint64_t spare_bytes : 5 = 0;  ///< of a live piece: behind those that were asked for
    std::uint64_t is_live : 1 = 0;
    std::uint32_t before = 0;  ///< neighbours by address
    std::uint32_t after = 0;
    union {
        std::uint64_t number = 0;  ///< of the allocation, of a live piece
        struct {
            std::uint32_t previous;  ///< of the list of its class
            std::uint32_t next;      ///< also links records that are not in use
        } free;
    };
};
static_assert(sizeof(memory_piece) == 32);

/// Free pieces by class: two-level segregated fit, see sub_allocator.hpp. Not thread-safe. Pieces are named by their
/// place in a table; 0 names none.
class piece_pool {
public:
    static constexpr std::uint64_t granule = 16;
    static constexpr std::uint64_t max_granules = (std::uint64_t{1} << 58) - 1;  ///< of a region
    static constexpr std::uint32_t none = 0;

    piece_pool() : pieces_(1) {}

    [[nodiscard]] memory_piece& operator[](std::uint32_t index) { return pieces_[index]; }
    [[nodiscard]] const memory_piece& operator[](std::uint32_t index) const { return pieces_[index]; }

    /// Makes room for `count` more pieces: nothing below needs memory before they exist.
    void reserve(std::uint32_t count);
    /// A new region is one free piece.
    void add_region(std::uintptr_t address, std::uint64_t granules);
    /// A free piece of so many granules at least behind an address that `alignment` divides; none if there is none.
    [[nodiscard]] std::uint32_t find(std::uint64_t granules, std::uint64_t alignment) const;
    /// Cuts an aligned piece of exactly so many granules out of a free one that find() gave; what is left before and
    /// behind it stays free. Needs two more pieces.
    std::uint32_t take(std::uint32_t index, std::uint64_t granules, std::uint64_t alignment);
    /// Frees a piece and joins it with its free neighbours.
    void give_back(std::uint32_t index);

    [[nodiscard]] std::uint64_t free_pieces() const { return free_pieces_; }
    [[nodiscard]] std::uint64_t largest_free() const;

private:
    static constexpr std::uint32_t log2_lists = 5;  ///< lists for each power of two
    static constexpr std::uint32_t lists = 1u << log2_lists;
    static constexpr std::uint32_t levels = 55;  ///< a request that is rounded up may reach the last

    struct size_class {
        std::uint32_t level;
        std::uint32_t list;
    };
    [[nodiscard]] static size_class class_of(std::uint64_t granules);
    [[nodiscard]] std::uint32_t first_from(size_class least) const;
    [[nodiscard]] std::uint32_t search(size_class from, size_class to, std::uint64_t granules,
                                       std::uint64_t alignment) const;
    void link(std::uint32_t index);
    void unlink(std::uint32_t index);
    std::uint32_t make();
    void drop(std::uint32_t index);
    std::uint32_t split(std::uint32_t index, std::uint64_t granules);
    void absorb(std::uint32_t index);

    std::vector<memory_piece> pieces_;
    std::uint32_t unused_ = none;
    std::uint32_t n_unused_ = 0;
    std::uint64_t free_pieces_ = 0;
    std::uint64_t level_bits_ = 0;
    std::array<std::uint32_t, levels> list_bits_{};
    std::array<std::array<std::uint32_t, lists>, levels> heads_{};
};

}  // namespace laneway
