#include "laneway/memory/sub_allocator.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>

#include "address_table.hpp"
#include "laneway/base/error.hpp"
#include "piece_pool.hpp"

namespace laneway {
namespace {

constexpr std::size_t granule = sub_allocator::granule_bytes;
static_assert(granule == piece_pool::granule);

std::string text_of(std::uintptr_t address) {
    char digits[2 * sizeof address];
    const auto end = std::to_chars(digits, digits + sizeof digits, address, 16).ptr;
    return "0x" + std::string(digits, end);
}

std::uint64_t granules_of(std::size_t bytes) {
    return bytes == 0 ? 1 : bytes / granule + (bytes % granule != 0 ? 1 : 0);
}

}  // namespace

struct sub_allocator::state {
    struct region {
        std::uintptr_t begin;
        std::uintptr_t end;
    };

    piece_pool pieces;
    address_table live;
    std::vector<region> regions;
    sub_allocator_statistics counts;  ///< but for live allocations and free pieces, which the tables know

    void* allocate(std::size_t bytes, std::size_t alignment);
    [[nodiscard]] sub_allocator_statistics statistics() const;
    [[noreturn]] void refuse(std::uintptr_t address) const;
};

void* sub_allocator::state::allocate(std::size_t bytes, std::size_t alignment) {
    if (!std::has_single_bit(alignment)) {
        throw usage_error("alignment of " + std::to_string(alignment) + " bytes: must be a power of two");
    }
    const std::uint64_t granules = granules_of(bytes);
    const std::uint32_t found = pieces.find(granules, alignment);
    if (found == piece_pool::none) return nullptr;
    pieces.reserve(2);  // what may throw comes before anything changes
    live.reserve_one();
    const std::uint32_t taken = pieces.take(found, granules, alignment);
    memory_piece& one = pieces[taken];
    one.number = ++counts.total_allocations;
    one.is_live = true;
    one.spare_bytes = (granules * granule - bytes) & 31;
    live.insert(one.address, taken);
    counts.used_bytes += granules * granule;
    counts.peak_bytes = std::max(counts.peak_bytes, counts.used_bytes);
    return reinterpret_cast<void*>(one.address);
}

sub_allocator_statistics sub_allocator::state::statistics() const {
    sub_allocator_statistics all = counts;
    all.live_allocations = live.size();
    all.free_pieces = pieces.free_pieces();
    all.largest_free_bytes = pieces.largest_free() * granule;
    return all;
}

void sub_allocator::state::refuse(std::uintptr_t address) const {
    const bool inside = std::any_of(regions.begin(), regions.end(),
                                    [&](const region& r) { return r.begin <= address && address < r.end; });
    throw usage_error("cannot free " + text_of(address) +
                      (inside ? ": no live piece begins there; it has been freed already, or was never handed out"
                              : ": it lies in no region of this allocator"));
}

sub_allocator::sub_allocator() : state_(std::make_unique<state>()) {}
sub_allocator::~sub_allocator() = default;

void sub_allocator::add_region(void* base, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto given = reinterpret_cast<std::uintptr_t>(base);
    const std::string name = "region of " + std::to_string(bytes) + " bytes at " + text_of(given);
    const std::size_t skipped = -given & (granule - 1);
    if (base == nullptr || bytes < granule || bytes - granule < skipped) {
        throw usage_error(name + ": it must hold " + std::to_string(granule) + " aligned bytes at least");
    }
    if (bytes / granule > piece_pool::max_granules || bytes > ~std::uintptr_t{0} - given) {
        throw usage_error(name + ": it goes round the end of the address space");
    }
    const std::uintptr_t begin = given + skipped;
    const std::uintptr_t end = (given + bytes) & ~std::uintptr_t{granule - 1};
    for (const auto& other : state_->regions) {
        if (begin < other.end && other.begin < end) {
            throw usage_error(name + ": it overlaps the region from " + text_of(other.begin) + " to " +
                              text_of(other.end));
        }
    }
    state_->regions.push_back({begin, end});
    try {
        state_->pieces.add_region(begin, (end - begin) / granule);
    } catch (...) {
        state_->regions.pop_back();
        throw;
    }
    state_->counts.capacity_bytes += end - begin;
}

void* sub_allocator::try_allocate(std::size_t bytes, std::size_t alignment) {
    const std::scoped_lock lock(mutex_);
    return state_->allocate(bytes, alignment);
}

void* sub_allocator::allocate(std::size_t bytes, std::size_t alignment) {
    const std::scoped_lock lock(mutex_);
    if (void* const piece = state_->allocate(bytes, alignment); piece != nullptr) return piece;
    const auto now = state_->statistics();
    throw system_error("no piece of " + std::to_string(bytes) + " bytes aligned to " + std::to_string(alignment) +
                       ": " + std::to_string(now.free_bytes()) + " of " + std::to_string(now.capacity_bytes) +
                       " bytes are free, " + std::to_string(now.largest_free_bytes) + " in the largest piece");
}

void sub_allocator::deallocate(void* piece) {
    if (piece == nullptr) return;
    const std::scoped_lock lock(mutex_);
    const auto address = reinterpret_cast<std::uintptr_t>(piece);
    const std::uint32_t index = state_->live.remove(address, state_->pieces);
    if (index == piece_pool::none) state_->refuse(address);
    state_->counts.used_bytes -= state_->pieces[index].granules * granule;
    state_->pieces.give_back(index);
}

sub_allocator_statistics sub_allocator::statistics() const {
    const std::scoped_lock lock(mutex_);
    return state_->statistics();
}

std::vector<live_piece> sub_allocator::live() const {
    std::vector<live_piece> found;
    const std::scoped_lock lock(mutex_);
    found.reserve(state_->live.size());
    state_->live.for_each([&](std::uint32_t index) {
        const memory_piece& one = state_->pieces[index];
        found.push_back({reinterpret_cast<void*>(one.address), one.granules * granule - one.spare_bytes, one.number});
    });
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    return found;
}

}  // namespace laneway
