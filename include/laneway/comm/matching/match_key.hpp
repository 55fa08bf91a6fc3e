// What messages say of themselves and receives ask for, as MPI has it within one communicator.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// In a receive: a message of any source, with any tag.
inline constexpr std::uint32_t any_source = ~std::uint32_t{0};
inline constexpr std::uint32_t any_tag = ~std::uint32_t{0};
/// Nobody: what is sent to it goes nowhere, and receives from it get nothing, at once.
inline constexpr std::uint32_t proc_null = ~std::uint32_t{0} - 1;

struct match_key {
    std::uint32_t source = 0;
    std::uint32_t tag = 0;

    /// Which wildcards it has: 0 for none, as messages, 1 for any source, 2 for any tag, 3 for both.
    [[nodiscard]] LANEWAY_FN std::uint32_t wildcards() const {
        return (source == any_source ? 1u : 0u) + (tag == any_tag ? 2u : 0u);
    }
    [[nodiscard]] LANEWAY_FN bool is_exact() const { return wildcards() == 0; }
    /// What a receive with these wildcards asks for that takes this message.
    [[nodiscard]] LANEWAY_FN match_key with_wildcards(std::uint32_t which) const {
        return {(which & 1) != 0 ? any_source : source, (which & 2) != 0 ? any_tag : tag};
    }
    /// Whether a receive that asks for this takes the message.
    [[nodiscard]] LANEWAY_FN bool accepts(const match_key& message) const {
        return (source == any_source || source == message.source) && (tag == any_tag || tag == message.tag);
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t bits() const { return std::uint64_t{source} << 32 | tag; }
    /// Spreads keys evenly: the finalizer of MurmurHash3 (Appleby).
    [[nodiscard]] LANEWAY_FN std::uint64_t hash() const {
        std::uint64_t h = bits();
        h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
        h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
        return h ^ h >> 33;
    }

    friend LANEWAY_FN bool operator==(const match_key& a, const match_key& b) { return a.bits() == b.bits(); }
};

/// Without an order so many tags next to each other are one engine's, from a multiple of it on: lanes that come
/// together, each with a tag of its own, then share slots of a ring.
inline constexpr std::uint32_t neighbouring_tags = 32;

/// What a program promises of a communicator, so that its messages are matched faster. The names are those of MPI-4's
/// info keys (`mpi_assert_...`); a call that breaks a promise is refused.
struct match_rules {
    bool no_any_source = false;  ///< no receive asks for any source
    bool no_any_tag = false;     ///< nor for any tag
    bool no_unexpected = false;  ///< every message finds its receive posted; not an assertion of MPI's
    /// Messages of one PE to another may be received in another order than they were sent; see is_unordered.
    bool allow_overtaking = false;

    friend bool operator==(const match_rules&, const match_rules&) = default;

    /// Whether any message will do for a receive of its key: an unordered_table matches then.
    [[nodiscard]] LANEWAY_FN bool is_unordered() const { return no_any_source && no_any_tag && allow_overtaking; }

    /// Kinds of key that receives may ask for, by match_key::wildcards, a bit each.
    [[nodiscard]] LANEWAY_FN std::uint32_t allowed_kinds() const {
        const std::uint32_t by_source = no_any_source ? 0b0101 : 0b1111;
        return by_source & (no_any_tag ? 0b0011 : 0b1111);
    }

    /// Which of `n` engines, a power of two, matches a message, or a receive: they share the keys of a communicator as
    /// far as its promises allow, and each still matches in MPI's order. Without promises one engine has all.
    [[nodiscard]] LANEWAY_FN std::uint32_t engine_of(const match_key& key, std::uint32_t n) const {
        if (!no_any_source) return 0;
        if (!no_any_tag) return key.source & (n - 1);
        const match_key shared{key.source, is_unordered() ? key.tag / neighbouring_tags : key.tag};
        return static_cast<std::uint32_t>(shared.hash() >> 32) & (n - 1);  // bins take the lower half
    }
};

}  // namespace laneway
