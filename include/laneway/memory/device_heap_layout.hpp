// How a device heap divides its region, and where its book-keeping lies: all of it outside of the region.
#pragma once

#include "laneway/memory/page_set.hpp"

namespace laneway {

/// What a page word says: what the page is for, whose it is, and how much of it is held. 0 is a free page.
struct page_word {
    static constexpr std::uint32_t free = 0;          ///< uses from 1 on: pieces of 8 << use bytes
    static constexpr std::uint32_t span_head = 0xfe;  ///< first page of a span; the number is that of its pages
    static constexpr std::uint32_t span_body = 0xff;  ///< a page behind it, or one that is being claimed or freed
    static constexpr std::uint32_t one_quota = 0x100;
    static constexpr std::uint32_t max_quotas = 32;
    static constexpr std::uint32_t one = one_quota * max_quotas;  ///< what one held piece adds

    std::uint32_t bits = 0;

    [[nodiscard]] static constexpr LANEWAY_FN page_word of(std::uint32_t use, std::uint32_t quota,
                                                           std::uint32_t number) {
        return {number * one | quota * one_quota | use};
    }
    [[nodiscard]] constexpr LANEWAY_FN std::uint32_t use() const { return bits % one_quota; }
    [[nodiscard]] constexpr LANEWAY_FN std::uint32_t quota() const { return bits / one_quota % max_quotas; }
    [[nodiscard]] constexpr LANEWAY_FN std::uint32_t number() const { return bits / one; }
};

/// What the counter pages_held of a quota says: see page_quota.
struct quota_word {
    static constexpr std::uint64_t one_in_hand = std::uint64_t{1} << 24;  ///< above the number of pages
    static constexpr std::uint64_t one_finished = one_in_hand << 19;      ///< above that of lanes, of a whole device

    std::uint64_t bits = 0;

    [[nodiscard]] constexpr LANEWAY_FN std::uint64_t pages() const { return bits % one_in_hand; }
    [[nodiscard]] constexpr LANEWAY_FN std::uint64_t in_hand() const {
        return bits / one_in_hand % (one_finished / one_in_hand);
    }
};

/// What the last look at every page has told about one size, or about spans: see heap_scan.
struct scan_verdict {
    enum told : std::uint32_t { found, none, unsure };

    static constexpr std::uint64_t one_pages = 4;
    static constexpr std::uint64_t one_number = std::uint64_t{1} << 16;  ///< above the pages of a span

    std::uint64_t bits = 0;

    [[nodiscard]] static constexpr LANEWAY_FN scan_verdict of(std::uint64_t number, std::uint32_t pages, told what) {
        return {number * one_number | pages * one_pages | what};
    }
    [[nodiscard]] constexpr LANEWAY_FN std::uint64_t number() const { return bits / one_number; }  ///< of the look
    /// Of the span that was looked for.
    [[nodiscard]] constexpr LANEWAY_FN std::uint32_t pages() const {
        return static_cast<std::uint32_t>(bits % one_number / one_pages);
    }
    [[nodiscard]] constexpr LANEWAY_FN told what() const { return static_cast<told>(bits % one_pages); }
};

/// Trivially copyable; pointers into PE memory.
struct device_heap_layout {
    /// Half of what a quota_word counts: it has room for pages that are taken beyond a quota and given back at once.
    static constexpr std::uint32_t max_pages = 0x7fffff;
    static constexpr std::uint32_t max_span_pages = 256;
    static constexpr std::uint32_t opener_lines = 4;  ///< words of openers are spread over so many cache lines
    static constexpr std::uint32_t max_openers = 16;  ///< lanes that open pages of one size and quota at a time
    static constexpr std::uint32_t count_lines = 16;  ///< counters are spread over so many cache lines, by block
    static constexpr std::uint32_t line_words = destructive_bytes / sizeof(std::uint64_t);
    /// Those of pages stand in the first line of a quota's; the heap's own, in the line behind all quotas', has the
    /// same two of all pages.
    enum counter : std::uint32_t {
        allocated,
        freed,
        refused_requests,
        refused_frees,
        pages_held,
        pages_peak,
        pages_allowed
    };

    /// Looks at every page for what would stand in a set: how many have begun, and the verdict of the last.
    enum scan_word : std::uint32_t { scans_begun, last_verdict };

    std::byte* region = nullptr;
    std::uint32_t* pages = nullptr;   ///< a page word each
    std::uint32_t* pieces = nullptr;  ///< piece_words() a page: a bit a piece, 1 while it is held
    /// A page_set of free pages; then for each quota one for each size, of its pages with room, and one of pages in
    /// which nothing is held.
    std::uint32_t* sets = nullptr;
    /// max_openers words a set: 1 while a lane opens a page, or claims a span.
    std::uint32_t* openers = nullptr;
    std::uint64_t* counts = nullptr;  ///< count_lines lines of counters for each quota, and one of the heap
    /// A line a set, of a scan_word each, and behind them one whose first word is 1 while a lane looks at every page.
    std::uint64_t* scans = nullptr;
    std::uint32_t n_pages = 0;
    std::uint32_t log2_page = 0;
    std::uint32_t n_quotas = 1;

    /// Sizes of pieces: 16 bytes to half a page.
    [[nodiscard]] LANEWAY_FN std::uint32_t n_classes() const { return log2_page - 4; }
    [[nodiscard]] static LANEWAY_FN std::uint32_t log2_piece(std::uint32_t use) { return 3 + use; }
    [[nodiscard]] LANEWAY_FN bool is_pieces(std::uint32_t use) const { return use - 1 < n_classes(); }
    [[nodiscard]] LANEWAY_FN std::uint32_t capacity(std::uint32_t use) const {
        return 1u << (log2_page - log2_piece(use));
    }
    [[nodiscard]] LANEWAY_FN std::size_t page_bytes() const { return std::size_t{1} << log2_page; }
    [[nodiscard]] LANEWAY_FN std::size_t bytes() const { return std::size_t{n_pages} << log2_page; }
    [[nodiscard]] LANEWAY_FN std::uint32_t piece_words() const { return 1u << (log2_page - 9); }
    [[nodiscard]] LANEWAY_FN std::uint32_t n_sets() const { return 1 + n_quotas * (n_classes() + 1); }
    /// In place of a use: of the set of pages in which nothing is held.
    [[nodiscard]] LANEWAY_FN std::uint32_t idle() const { return n_classes() + 1; }
    [[nodiscard]] LANEWAY_FN std::uint32_t set_number(std::uint32_t use, std::uint32_t quota) const {
        return use == page_word::free ? 0 : use + quota * (n_classes() + 1);
    }
    [[nodiscard]] LANEWAY_FN page_set set_of(std::uint32_t use, std::uint32_t quota) const {
        return {sets + std::size_t{set_number(use, quota)} * page_set::word_count(n_pages), n_pages};
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t* opener_of(std::uint32_t use, std::uint32_t quota,
                                                      std::uint32_t which) const {
        const std::uint32_t line = set_number(use, quota) * opener_lines + which % opener_lines;
        return openers + std::size_t{line} * (destructive_bytes / sizeof(std::uint32_t)) + which / opener_lines;
    }
    /// Of looks for pieces of a size, or for spans: one set has the free pages of all quotas, but what is told of spans
    /// is of one quota. So it stands in the line of the quota's idle pages, for which nobody looks.
    [[nodiscard]] LANEWAY_FN std::uint64_t* scans_of(std::uint32_t use, std::uint32_t quota) const {
        const std::uint32_t asked = use == page_word::free ? idle() : use;
        return scans + std::size_t{set_number(asked, quota)} * line_words;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t* scan_turn() const { return scans + std::size_t{n_sets()} * line_words; }
    /// `line` below count_lines; quota n_quotas: of the heap, which has one.
    [[nodiscard]] LANEWAY_FN std::uint64_t* counters_of(std::uint32_t quota, std::uint32_t line = 0) const {
        return counts + (std::size_t{quota} * count_lines + line) * line_words;
    }
};

}  // namespace laneway
