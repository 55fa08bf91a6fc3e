#include "laneway/simt/host_memory.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <new>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::size_t alignment = 256;

/// Stands before the memory.
struct alignas(alignment) prefix {
    std::size_t bytes;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t min_mapped = std::numeric_limits<std::size_t>::max();  // it sees the bounds of what `new` gives
#else
constexpr std::size_t min_mapped = 64 * 1024;
#endif
/// Rings and aggregation buffers are smaller and used in few places, graphs are larger and used everywhere.
constexpr std::size_t min_huge = 64 << 20;

std::atomic<std::size_t> held{0};

void* map(std::size_t bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (bytes < min_huge) (void)madvise(memory, bytes, MADV_NOHUGEPAGE);  // a wish: kernels without them refuse it
    return memory;
}

void* take(std::size_t bytes) {
    if (bytes >= min_mapped) return map(bytes);
    void* const memory = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
    return memory == nullptr ? nullptr : std::memset(memory, 0, bytes);
}

}  // namespace

std::byte* allocate_zeroed(std::size_t bytes, const std::string& whose) {
    // Rounded up to the alignment, sizes near the greatest would wrap.
    constexpr std::size_t most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - sizeof(prefix);
    void* const memory = bytes > most ? nullptr : take(sizeof(prefix) + bytes);
    if (memory == nullptr) throw system_error(whose + ": no memory for " + std::to_string(bytes) + " bytes");
    held += bytes;
    return reinterpret_cast<std::byte*>(::new (memory) prefix{bytes} + 1);
}

void free_zeroed(std::byte* memory) noexcept {
    if (memory == nullptr) return;
    auto* const first = reinterpret_cast<prefix*>(memory) - 1;
    const std::size_t taken = sizeof(prefix) + first->bytes;
    held -= first->bytes;
    if (taken >= min_mapped) {
        munmap(first, taken);
    } else {
        ::operator delete (first, std::align_val_t{alignment});
    }
}

std::size_t zeroed_bytes_held() noexcept { return held; }

void count_held(std::ptrdiff_t bytes) noexcept { held += static_cast<std::size_t>(bytes); }

}  // namespace laneway
