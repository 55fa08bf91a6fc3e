// From the address of a live piece to its number.
#pragma once

#include <cstdint>
#include <vector>

#include "piece_pool.hpp"

namespace laneway {

/// Open addressing with linear probing, at most half full; entries behind a removed one move up, so that nothing but
/// live pieces is ever probed (Knuth, The Art of Computer Programming 3, 6.4, algorithm R). An entry keeps a hash of
/// its address, as the piece has the address itself.
class address_table {
public:
    address_table() : entries_(1024) {}

    /// Makes room for one more: insert() then cannot fail.
    void reserve_one() {
        if (2 * (used_ + 1) > entries_.size()) grow();
    }
    /// Of an address that is not there.
    void insert(std::uintptr_t address, std::uint32_t piece) { put({hash_of(address), piece}); }
    /// Takes the address out and returns its piece; none where it is not there.
    std::uint32_t remove(std::uintptr_t address, const piece_pool& pieces) {
        const std::uint32_t hash = hash_of(address);
        std::size_t hole = hash & mask();
        while (entries_[hole].hash != hash || pieces[entries_[hole].piece].address != address) {
            if (entries_[hole].piece == piece_pool::none) return piece_pool::none;
            hole = next(hole);
        }
        const std::uint32_t piece = entries_[hole].piece;
        for (std::size_t at = next(hole); entries_[at].piece != piece_pool::none; at = next(at)) {
            // An entry may move to the hole unless its home lies behind the hole: distances go round the end.
            const std::size_t from_home = (at - entries_[at].hash) & mask();
            if (from_home < ((at - hole) & mask())) continue;
            entries_[hole] = entries_[at];
            hole = at;
        }
        entries_[hole] = {};
        --used_;
        return piece;
    }
    [[nodiscard]] std::size_t size() const { return used_; }

    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const entry& one : entries_) {
            if (one.piece != piece_pool::none) visit(one.piece);
        }
    }

private:
    struct entry {
        std::uint32_t hash = 0;
        std::uint32_t piece = piece_pool::none;
    };

    [[nodiscard]] std::size_t mask() const { return entries_.size() - 1; }
    [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
    [[nodiscard]] static std::uint32_t hash_of(std::uintptr_t address) {
        return static_cast<std::uint32_t>((static_cast<std::uint64_t>(address) * 0x9e3779b97f4a7c15ULL) >> 32);
    }
    void put(const entry& one) {
        std::size_t at = one.hash & mask();
        while (entries_[at].piece != piece_pool::none) at = next(at);
        entries_[at] = one;
        ++used_;
    }
    void grow() {
        std::vector<entry> larger(2 * entries_.size());
        larger.swap(entries_);
        used_ = 0;
        for (const entry& one : larger) {
            if (one.piece != piece_pool::none) put(one);
        }
    }

    std::vector<entry> entries_;
    std::size_t used_ = 0;
};

}  // namespace laneway
