#include "laneway/memory/device_heap.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace laneway {
namespace {

constexpr std::size_t min_page_bytes = std::size_t{1} << 10;
constexpr std::size_t max_page_bytes = std::size_t{1} << 20;
constexpr std::size_t line_words = destructive_bytes / sizeof(std::uint32_t);
constexpr std::size_t region_alignment = 256;  // of device::allocate
static_assert(region_alignment % destructive_bytes == 0);

/// Of openers of a set.
constexpr std::size_t opener_words = device_heap_layout::opener_lines * line_words;

/// Words that begin on a line of their own.
std::size_t whole_lines(std::size_t words) { return (words + line_words - 1) / line_words * line_words; }

}  // namespace

device_heap_layout device_heap::measure(const device_heap_options& options) {
    if (!std::has_single_bit(options.page_bytes) || options.page_bytes < min_page_bytes ||
        options.page_bytes > max_page_bytes) {
        throw usage_error("device heap: pages of " + std::to_string(options.page_bytes) +
                          " bytes; they must be a power of two from " + std::to_string(min_page_bytes) + " to " +
                          std::to_string(max_page_bytes));
    }
    const std::size_t pages = options.bytes / options.page_bytes;
    if (pages < 1 || pages > device_heap_layout::max_pages) {
        throw usage_error("device heap: " + std::to_string(options.bytes) + " bytes are " + std::to_string(pages) +
                          " pages; there must be 1 to " + std::to_string(device_heap_layout::max_pages));
    }
    if (options.quotas.size() > page_word::max_quotas) {
        throw usage_error("device heap: " + std::to_string(options.quotas.size()) + " quotas; " +
                          std::to_string(page_word::max_quotas) + " at most");
    }
    for (const memory_quota& quota : options.quotas) {
        if (quota.bytes >= options.page_bytes) continue;
        throw usage_error("device heap: quota \"" + quota.name + "\" of " + std::to_string(quota.bytes) +
                          " bytes, less than a page of " + std::to_string(options.page_bytes));
    }
    device_heap_layout made;
    made.n_pages = static_cast<std::uint32_t>(pages);
    made.log2_page = static_cast<std::uint32_t>(std::countr_zero(options.page_bytes));
    made.n_quotas = std::max(1u, static_cast<std::uint32_t>(options.quotas.size()));
    return made;
}

/// Openers, page words, sets, then bits of pieces.
std::size_t device_heap::word_count(const device_heap_layout& layout) {
    const std::size_t sets = layout.n_sets();
    return sets * opener_words + whole_lines(layout.n_pages) +
           whole_lines(sets * page_set::word_count(layout.n_pages)) +
           std::size_t{layout.n_pages} * layout.piece_words();
}

std::size_t device_heap::counter_count(const device_heap_layout& layout) {
    return (std::size_t{layout.n_quotas} * device_heap_layout::count_lines + 1) * device_heap_layout::line_words;
}

/// Counters, then what looks at every page tell.
std::size_t device_heap::long_word_count(const device_heap_layout& layout) {
    return counter_count(layout) + (std::size_t{layout.n_sets()} + 1) * device_heap_layout::line_words;
}

std::size_t device_heap::bytes_of(const device_heap_options& options) {
    const device_heap_layout layout = measure(options);
    return layout.bytes() + word_count(layout) * sizeof(std::uint32_t) +
           long_word_count(layout) * sizeof(std::uint64_t);
}

device_heap::device_heap(const std::shared_ptr<device>& owner, const device_heap_options& options)
    : layout_(measure(options)), region_(owner, layout_.bytes()), words_(owner, word_count(layout_)),
      counts_(owner, long_word_count(layout_)) {
    const std::size_t sets = layout_.n_sets();
    layout_.region = region_.data();
    layout_.openers = words_.data();
    layout_.pages = layout_.openers + sets * opener_words;
    layout_.sets = layout_.pages + whole_lines(layout_.n_pages);
    layout_.pieces = layout_.sets + whole_lines(sets * page_set::word_count(layout_.n_pages));
    layout_.counts = counts_.data();
    layout_.scans = layout_.counts + counter_count(layout_);
    fill_stock();
    allow(options.quotas.empty() ? std::vector<memory_quota>{{"all"}} : options.quotas);
}

/// The set of free pages has them all.
void device_heap::fill_stock() {
    std::vector<std::uint32_t> stock(page_set::word_count(layout_.n_pages));
    std::size_t members = layout_.n_pages;
    std::uint32_t* bits = stock.data() + page_set::first_word;
    for (std::uint32_t level = 0; level < page_set::n_levels; ++level) {
        for (std::size_t i = 0; i < members; ++i) bits[i / 32] |= 1u << i % 32;
        members = page_set::level_words(layout_.n_pages, level);
        bits += members;
    }
    words_.copy_in(stock.data(), stock.size(), static_cast<std::size_t>(layout_.sets - words_.data()));
}

void device_heap::allow(const std::vector<memory_quota>& quotas) {
    auto counts = counts_.copy_out();
    for (std::uint32_t i = 0; i < layout_.n_quotas; ++i) {
        const std::size_t at = static_cast<std::size_t>(layout_.counters_of(i) - layout_.counts);
        counts[at + device_heap_layout::pages_allowed] =
            std::min<std::uint64_t>(quotas[i].bytes >> layout_.log2_page, layout_.n_pages);
        names_.push_back(quotas[i].name);
    }
    counts_.copy_in(counts);
}

device_heap_ref device_heap::ref(std::uint32_t quota) const {
    if (quota < layout_.n_quotas) return {layout_, quota};
    throw usage_error("device heap: no quota " + std::to_string(quota) + ", where there are 0 to " +
                      std::to_string(layout_.n_quotas - 1));
}

std::vector<held_piece> device_heap::live() const {
    std::vector<held_piece> found;
    const auto words = words_.copy_out();
    const std::uint32_t* const pages = words.data() + (layout_.pages - words_.data());
    const std::uint32_t* const pieces = words.data() + (layout_.pieces - words_.data());
    for (std::uint32_t page = 0; page < layout_.n_pages; ++page) {
        std::byte* const begin = layout_.region + page * layout_.page_bytes();
        const page_word now{pages[page]};
        if (now.use() == page_word::span_head) {
            found.push_back({begin, now.number() * layout_.page_bytes(), now.quota()});
        }
        if (!layout_.is_pieces(now.use())) continue;
        const std::size_t bytes = std::size_t{1} << device_heap_layout::log2_piece(now.use());
        const std::uint32_t* const bits = pieces + std::size_t{page} * layout_.piece_words();
        for (std::uint32_t i = 0; i < layout_.capacity(now.use()); ++i) {
            if ((bits[i / 32] >> i % 32 & 1) != 0) found.push_back({begin + i * bytes, bytes, now.quota()});
        }
    }
    return found;
}

std::vector<quota_statistics> device_heap::quotas() const {
    const auto counts = counts_.copy_out();
    const auto sum_of = [&](std::uint32_t quota, std::uint32_t what) {
        std::uint64_t sum = 0;
        for (std::uint32_t line = 0; line < device_heap_layout::count_lines; ++line) {
            sum += counts[static_cast<std::size_t>(layout_.counters_of(quota, line) - layout_.counts) + what];
        }
        return sum;
    };
    std::vector<quota_statistics> all;
    for (std::uint32_t i = 0; i < layout_.n_quotas; ++i) {
        all.push_back({names_[i], sum_of(i, device_heap_layout::pages_allowed) << layout_.log2_page,
                       quota_word{sum_of(i, device_heap_layout::pages_held)}.pages() << layout_.log2_page,
                       sum_of(i, device_heap_layout::pages_peak) << layout_.log2_page,
                       sum_of(i, device_heap_layout::allocated), sum_of(i, device_heap_layout::freed),
                       sum_of(i, device_heap_layout::refused_requests), sum_of(i, device_heap_layout::refused_frees)});
    }
    return all;
}

device_heap_statistics device_heap::statistics() const {
    device_heap_statistics all;
    all.capacity_bytes = layout_.bytes();
    all.page_bytes = layout_.page_bytes();
    for (const auto& one : live()) {
        all.used_bytes += one.bytes;
        ++all.live_allocations;
    }
    const auto words = words_.copy_out();
    const std::uint32_t* const pages = words.data() + (layout_.pages - words_.data());
    std::uint32_t row = 0;
    for (std::uint32_t page = 0; page < layout_.n_pages; ++page) {
        const page_word now{pages[page]};
        const bool is_free = now.bits == page_word::free || (layout_.is_pieces(now.use()) && now.number() == 0);
        row = is_free ? row + 1 : 0;
        all.free_pages += row > 0 ? 1 : 0;
        all.largest_free_span = std::max(all.largest_free_span, row);
    }
    for (const auto& quota : quotas()) {
        all.total_allocations += quota.total_allocations;
        all.refused_requests += quota.refused_requests;
        all.refused_frees += quota.refused_frees;
    }
    const auto counts = counts_.copy_out();
    const std::size_t whole = static_cast<std::size_t>(layout_.counters_of(layout_.n_quotas) - layout_.counts);
    all.peak_bytes =
        std::min(counts[whole + device_heap_layout::pages_peak] << layout_.log2_page, std::uint64_t{layout_.bytes()});
    return all;
}

}  // namespace laneway
