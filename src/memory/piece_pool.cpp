#include "piece_pool.hpp"

#include <bit>

#include "laneway/base/error.hpp"

namespace laneway {
namespace {

/// Granules from the start of a piece to the first address that the alignment divides.
std::uint64_t granules_before(const memory_piece& one, std::uint64_t alignment) {
    return (-static_cast<std::uint64_t>(one.address) & (alignment - 1)) / piece_pool::granule;
}

bool holds(const memory_piece& one, std::uint64_t granules, std::uint64_t alignment) {
    const std::uint64_t before = granules_before(one, alignment);
    return before <= one.granules && granules <= one.granules - before;
}

}  // namespace

// Below 32 granules a list holds one size; above, level and list are the position of the highest bit and the five bits
// behind it.
piece_pool::size_class piece_pool::class_of(std::uint64_t granules) {
    if (granules < lists) return {0, static_cast<std::uint32_t>(granules)};
    const auto highest = static_cast<std::uint32_t>(std::bit_width(granules)) - 1;
    return {highest - log2_lists + 1, static_cast<std::uint32_t>(granules >> (highest - log2_lists)) - lists};
}

void piece_pool::reserve(std::uint32_t count) {
    if (n_unused_ >= count) return;
    if (pieces_.size() + count > ~std::uint32_t{0}) throw system_error("no more than 4294967295 pieces of memory");
    const auto first = static_cast<std::uint32_t>(pieces_.size());
    pieces_.resize(pieces_.size() + count);
    for (std::uint32_t i = 0; i < count; ++i) drop(first + i);
}

std::uint32_t piece_pool::make() {
    const std::uint32_t index = unused_;
    unused_ = pieces_[index].free.next;
    --n_unused_;
    pieces_[index] = {};
    return index;
}

void piece_pool::drop(std::uint32_t index) {
    pieces_[index].free.next = unused_;
    unused_ = index;
    ++n_unused_;
}

void piece_pool::add_region(std::uintptr_t address, std::uint64_t granules) {
    reserve(1);
    const std::uint32_t index = make();
    pieces_[index].address = address;
    pieces_[index].granules = granules & max_granules;
    link(index);
}

void piece_pool::link(std::uint32_t index) {
    memory_piece& one = pieces_[index];
    const auto [level, list] = class_of(one.granules);
    std::uint32_t& head = heads_[level][list];
    one.is_live = false;
    one.free.previous = none;
    one.free.next = head;
    if (head != none) pieces_[head].free.previous = index;
    head = index;
    list_bits_[level] |= 1u << list;
    level_bits_ |= std::uint64_t{1} << level;
    ++free_pieces_;
}

void piece_pool::unlink(std::uint32_t index) {
    const memory_piece& one = pieces_[index];
    --free_pieces_;
    if (one.free.next != none) pieces_[one.free.next].free.previous = one.free.previous;
    if (one.free.previous != none) {
        pieces_[one.free.previous].free.next = one.free.next;
        return;
    }
    const auto [level, list] = class_of(one.granules);
    heads_[level][list] = one.free.next;
    if (one.free.next != none) return;
    list_bits_[level] &= ~(1u << list);
    if (list_bits_[level] == 0) level_bits_ &= ~(std::uint64_t{1} << level);
}

/// First piece of the first list from a class on that is not empty.
std::uint32_t piece_pool::first_from(size_class least) const {
    if (const std::uint32_t here = list_bits_[least.level] & (~0u << least.list); here != 0) {
        return heads_[least.level][static_cast<std::uint32_t>(std::countr_zero(here))];
    }
    const std::uint64_t above = level_bits_ & (~std::uint64_t{1} << least.level);
    if (above == 0) return none;
    const auto level = static_cast<std::uint32_t>(std::countr_zero(above));
    return heads_[level][static_cast<std::uint32_t>(std::countr_zero(list_bits_[level]))];
}

/// Walks the lists of all classes from one to another.
std::uint32_t piece_pool::search(size_class from, size_class to, std::uint64_t granules,
                                 std::uint64_t alignment) const {
    for (std::uint32_t level = from.level; level <= to.level; ++level) {
        std::uint32_t bits = list_bits_[level];
        if (level == from.level) bits &= ~0u << from.list;
        if (level == to.level) bits &= ~0u >> (lists - 1 - to.list);
        for (; bits != 0; bits &= bits - 1) {
            std::uint32_t index = heads_[level][static_cast<std::uint32_t>(std::countr_zero(bits))];
            for (; index != none; index = pieces_[index].free.next) {
                if (holds(pieces_[index], granules, alignment)) return index;
            }
        }
    }
    return none;
}

std::uint32_t piece_pool::find(std::uint64_t granules, std::uint64_t alignment) const {
    const std::uint64_t spare = alignment > granule ? alignment / granule - 1 : 0;
    if (granules > max_granules || spare > max_granules - granules) return none;
    // Every piece of this class and of those above it is large enough, wherever it begins.
    const std::uint64_t enough = granules + spare;
    const auto width = static_cast<std::uint32_t>(std::bit_width(enough));
    const std::uint64_t rounding = enough < lists ? 0 : (std::uint64_t{1} << (width - 1 - log2_lists)) - 1;
    const std::uint32_t found = first_from(class_of(enough + rounding));
    if (found != none) return found;
    return search(class_of(granules), class_of(enough), granules, alignment);
}

/// Cuts a piece in two and returns the second, which is in no list.
std::uint32_t piece_pool::split(std::uint32_t index, std::uint64_t granules) {
    const std::uint32_t rest = make();
    memory_piece& one = pieces_[index];
    memory_piece& second = pieces_[rest];
    second.address = one.address + granules * granule;
    second.granules = (one.granules - granules) & max_granules;
    second.before = index;
    second.after = one.after;
    if (one.after != none) pieces_[one.after].before = rest;
    one.after = rest;
    one.granules = granules & max_granules;
    return rest;
}

std::uint32_t piece_pool::take(std::uint32_t index, std::uint64_t granules, std::uint64_t alignment) {
    unlink(index);
    if (const std::uint64_t before = granules_before(pieces_[index], alignment); before > 0) {
        const std::uint32_t aligned = split(index, before);
        link(index);
        index = aligned;
    }
    if (pieces_[index].granules > granules) link(split(index, granules));
    return index;
}

/// Joins a piece with the one behind it.
void piece_pool::absorb(std::uint32_t index) {
    memory_piece& one = pieces_[index];
    const std::uint32_t gone = one.after;
    one.granules = (one.granules + pieces_[gone].granules) & max_granules;
    one.after = pieces_[gone].after;
    if (one.after != none) pieces_[one.after].before = index;
    drop(gone);
}

void piece_pool::give_back(std::uint32_t index) {
    const std::uint32_t before = pieces_[index].before;
    const std::uint32_t after = pieces_[index].after;
    if (after != none && pieces_[after].is_live == 0) {
        unlink(after);
        absorb(index);
    }
    if (before != none && pieces_[before].is_live == 0) {
        unlink(before);
        absorb(before);
        index = before;
    }
    link(index);
}

std::uint64_t piece_pool::largest_free() const {
    if (level_bits_ == 0) return 0;
    const auto level = static_cast<std::uint32_t>(std::bit_width(level_bits_)) - 1;
    const auto list = static_cast<std::uint32_t>(std::bit_width(list_bits_[level])) - 1;
    std::uint64_t largest = 0;
    for (std::uint32_t index = heads_[level][list]; index != none; index = pieces_[index].free.next) {
        if (pieces_[index].granules > largest) largest = pieces_[index].granules;
    }
    return largest;
}

}  // namespace laneway
