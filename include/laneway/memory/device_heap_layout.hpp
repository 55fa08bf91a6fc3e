// How a device heap divides its region, and where its book-keeping lies: all of it outside of the region.
#pragma once

#include "laneway/memory/page_set.hpp"

namespace laneway {

/// What a page word says: what the page is for, and how much of it is held. 0 is a free page.
struct page_word {
    static constexpr std::uint32_t free = 0;          ///< uses from 1 on: pieces of 8 << use bytes
    static constexpr std::uint32_t span_head = 0xfe;  ///< first page of a span; the number is that of its pages
    static constexpr std::uint32_t span_body = 0xff;  ///< a page behind it, or one that is being claimed or freed
    static constexpr std::uint32_t one = 0x100;       ///< what one held piece adds
    static constexpr std::uint32_t max_number = 0xffffff;

    std::uint32_t bits = 0;

    [[nodiscard]] static constexpr LANEWAY_FN page_word of(std::uint32_t use, std::uint32_t number) {
        return {number * one | use};
    }
    [[nodiscard]] constexpr LANEWAY_FN std::uint32_t use() const { return bits % one; }
    [[nodiscard]] constexpr LANEWAY_FN std::uint32_t number() const { return bits / one; }
};

/// Trivially copyable; pointers into PE memory.
struct device_heap_layout {
    static constexpr std::uint32_t max_span_pages = 256;
    static constexpr std::uint32_t count_lines = 16;  ///< counters are spread over so many cache lines, by block
    static constexpr std::uint32_t line_words = destructive_bytes / sizeof(std::uint64_t);
    enum counter : std::uint32_t { allocated, refused_requests, refused_frees, pages_held, pages_peak };

    std::byte* region = nullptr;
    std::uint32_t* pages = nullptr;    ///< a page word each
    std::uint32_t* pieces = nullptr;   ///< piece_words() a page: a bit a piece, 1 while it is held
    std::uint32_t* sets = nullptr;     ///< a page_set of free pages, then one for each size: its pages with room
    std::uint32_t* openers = nullptr;  ///< a word a set, of a line each: 1 while a lane opens a page, or claims a span
    std::uint64_t* counts = nullptr;   ///< count_lines lines of counters
    std::uint32_t n_pages = 0;
    std::uint32_t log2_page = 0;

    /// Sizes of pieces: 16 bytes to half a page.
    [[nodiscard]] LANEWAY_FN std::uint32_t n_classes() const { return log2_page - 4; }
    [[nodiscard]] static LANEWAY_FN std::uint32_t log2_piece(std::uint32_t use) { return 3 + use; }
    [[nodiscard]] LANEWAY_FN std::uint32_t capacity(std::uint32_t use) const {
        return 1u << (log2_page - log2_piece(use));
    }
    [[nodiscard]] LANEWAY_FN std::size_t page_bytes() const { return std::size_t{1} << log2_page; }
    [[nodiscard]] LANEWAY_FN std::size_t bytes() const { return std::size_t{n_pages} << log2_page; }
    [[nodiscard]] LANEWAY_FN std::uint32_t piece_words() const { return 1u << (log2_page - 9); }
    [[nodiscard]] LANEWAY_FN page_set set_of(std::uint32_t use) const {
        return {sets + std::size_t{use} * page_set::word_count(n_pages), n_pages};
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t* opener_of(std::uint32_t use) const {
        return openers + use * (destructive_bytes / sizeof(std::uint32_t));
    }
};

}  // namespace laneway
