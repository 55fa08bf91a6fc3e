// Bytes of a file, decompressed where its first bytes say gzip or xz.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace laneway {

class byte_stream {
public:
    virtual ~byte_stream() = default;

    /// Up to `size` bytes; fewer only at the end. Throws usage_error with a bare reason: the caller knows the place.
    virtual std::size_t read(char* to, std::size_t size) = 0;
};

/// Opens `path`. Throws usage_error with a bare reason where it is missing, unreadable, a directory, or compressed in
/// a way that this build does not read.
std::unique_ptr<byte_stream> open_stream(const std::filesystem::path& path);

}  // namespace laneway
