// Host memory of CPU devices, and that which the host shares with devices.
#pragma once

#include <cstddef>
#include <string>

namespace laneway {

/// Zeroed memory aligned to 256 bytes. Large pieces come straight from the system, take pages only where something is
/// stored, and go back at once: what an allocator frees it keeps, once for each thread that ever ran. Any thread;
/// throws system_error, which begins with `whose`, where there is none.
std::byte* allocate_zeroed(std::size_t bytes, const std::string& whose);
void free_zeroed(std::byte* memory) noexcept;

/// Bytes that were asked for and not freed, of the whole process. Any thread.
std::size_t zeroed_bytes_held() noexcept;
/// Counts memory for devices that was taken in another way, or given back: `bytes` below 0. Any thread.
void count_held(std::ptrdiff_t bytes) noexcept;

}  // namespace laneway
