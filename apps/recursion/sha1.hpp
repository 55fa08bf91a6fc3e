// SHA-1 (FIPS 180-4) of short messages, by one lane: those that fit into one block of 64 bytes.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway::apps {

struct sha1_digest {
    std::uint32_t words[5];  ///< as numbers: the first byte is the highest of the first word

    friend constexpr bool operator==(const sha1_digest&, const sha1_digest&) = default;
};

/// Of `count` words of 4 bytes, at most 13, the highest byte first.
template <std::uint32_t Count>
LANEWAY_FN sha1_digest sha1(const std::uint32_t (&message)[Count]) {
    static_assert(Count <= 13, "more does not fit into one block");
    const auto rotate = [](std::uint32_t x, int by) { return x << by | x >> (32 - by); };
    std::uint32_t w[16] = {};
    for (std::uint32_t i = 0; i < Count; ++i) w[i] = message[i];
    w[Count] = 0x80000000;
    w[15] = Count * 32;
    std::uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
    for (int t = 0; t < 80; ++t) {
        if (t >= 16) {
            w[t & 15] = rotate(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^ w[(t + 2) & 15] ^ w[t & 15], 1);
        }
        const std::uint32_t f = t < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                                : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                                : t < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                         : (b ^ c ^ d) + 0xca62c1d6;
        const std::uint32_t next = rotate(a, 5) + f + e + w[t & 15];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    return {{a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476, e + 0xc3d2e1f0}};
}

}  // namespace laneway::apps
