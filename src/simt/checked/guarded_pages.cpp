#include "laneway/simt/checked/guarded_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <limits>

namespace laneway::checked {

namespace {

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

guarded_pages::guarded_pages(std::size_t bytes, guard where) : bytes_(bytes) {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    constexpr std::size_t alignment = 256;
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - 2 * guard_bytes) return;
    const std::size_t inside = rounded_up(bytes == 0 ? 1 : bytes, page);
    mapped_bytes_ = inside + guard_bytes;
    // Guards cost addresses, no memory.
    void* const all = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return;
    auto* const first = static_cast<std::byte*>(all) + (where == guard::below ? guard_bytes : 0);
    if (mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) {
        munmap(all, mapped_bytes_);
        return;
    }
    mapped_ = all;
    data_ = where == guard::below ? first : first + inside - rounded_up(bytes, alignment);
}

guarded_pages::~guarded_pages() {
    if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

}  // namespace laneway::checked
