// A fast 64-bit checksum: finds damage, not malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace laneway::graph {

/// Finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every input bit reaches every output bit.
constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

class checksum {
public:
    /// Adds `size` bytes, which lie anywhere where there are none; where they are split into calls matters.
    void add(const void* data, std::size_t size) {
        const char* at = static_cast<const char*>(data);
        for (; size >= sizeof(std::uint64_t); at += sizeof(std::uint64_t), size -= sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, at, sizeof word);
            add_word(word);
        }
        std::uint64_t rest = 0;
        if (size != 0) std::memcpy(&rest, at, size);  // memcpy takes no null, not even of 0 bytes
        add_word(rest ^ std::uint64_t{size} << 56);
    }

    [[nodiscard]] std::uint64_t value() const { return mix(state_); }

private:
    void add_word(std::uint64_t word) {
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15;
        state_ ^= state_ >> 32;
    }

    std::uint64_t state_ = 0x6c616e6577617921;
};

}  // namespace laneway::graph
