#include "laneway/flow/item_queues_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/queue/channel_fill.hpp"

namespace laneway {

namespace {

std::uint32_t width_of(const std::string& option, std::uint64_t items, std::uint64_t queues) {
    if (items == 0 || items > std::uint64_t{channel_queue_ref::max_width}) {
        throw usage_error("item_worklist_options." + option + ": expected 1 to " +
                          std::to_string(channel_queue_ref::max_width) + ", not " + std::to_string(items));
    }
    return static_cast<std::uint32_t>(std::bit_ceil((items + queues - 1) / queues));
}

item_queues_ref lay_out(std::uint32_t entry_bytes, std::uint32_t rings, int n_pes,
                        const item_worklist_options& options) {
    item_queues_ref ref;
    ref.rings = rings;
    ref.near_width = width_of("items", options.items, rings);
    ref.far_width = options.priorities ? ref.near_width : 0;
    ref.reserve_width = width_of("reserve_items", options.reserve_items, 1);
    ref.entry_bytes = entry_bytes;
    // What a wave puts there stays until the next one: PEs that waited for it within the wave would wait for ever.
    ref.tells = n_pes > 1 && options.fused;
    return ref;
}

std::uint64_t done_words_of(const item_queues_ref& ref) {
    return std::uint64_t{ref.rings} *
               (channel_queue_ref::done_words(ref.near_width) + channel_queue_ref::done_words(ref.far_width)) +
           channel_queue_ref::done_words(ref.reserve_width);
}

std::uint64_t overflow_items_of(std::uint64_t chosen, std::uint32_t entry_bytes, int n_pes) {
    if (chosen != 0) return chosen;
    const auto pages = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_PHYS_PAGES)));
    const auto page_bytes = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_PAGESIZE)));
    return std::max<std::uint64_t>(1, pages / 2 * page_bytes / static_cast<unsigned>(n_pes) / entry_bytes);
}

std::uint64_t waiting_in(const item_queue_words& words) { return words.channel.ready - words.channel.dispatched; }

void begin_queue(item_queue_words& words, bool in_waves, bool takes_any) {
    words.start = words.channel.dispatched;
    words.end = !in_waves ? ~std::uint64_t{0} : takes_any ? words.channel.ready : words.channel.dispatched;
}

}  // namespace

item_queues_memory::item_queues_memory(const std::shared_ptr<device>& owner, std::uint32_t entry_bytes,
                                       std::uint32_t rings, int n_pes, const item_worklist_options& options)
    : owner_(owner), ref_(lay_out(entry_bytes, rings, n_pes, options)), blocks_(owner, rings), pe_(owner, 1),
      data_(owner, std::uint64_t{rings} * (ref_.near_width + ref_.far_width) * entry_bytes),
      reserve_data_(allocate_host_visible(owner, std::uint64_t{ref_.reserve_width} * entry_bytes)),
      control_(owner, ref_.places()), done_(owner, done_words_of(ref_)),
      max_overflow_items_(overflow_items_of(options.overflow_items, entry_bytes, n_pes)) {
    ref_.blocks = blocks_.data();
    ref_.pe = pe_.data();
    ref_.data = data_.data();
    ref_.reserve_data = reserve_data_.get();
    ref_.control = control_.data();
    ref_.done = done_.data();
}

void item_queues_memory::clear() {
    blocks_.copy_in(std::vector<item_block>(ref_.rings));
    const item_pe_words words{};
    pe_.copy_in(&words, 1);
    control_.fill_bytes(0);
    done_.fill_bytes(0);
}

void item_queues_memory::start_with(const std::byte* entries, std::uint64_t count) {
    const std::uint64_t room = std::uint64_t{ref_.rings} * ref_.near_width;
    if (count > room) {
        throw usage_error("an item worklist starts with " + std::to_string(count) +
                          " items on a PE that has room for " + std::to_string(room) +
                          ": see item_worklist_options.items");
    }
    const item_pe_words words = pe_.copy_out()[0];
    spilled_before_ = words.reserve.channel.ready;
    overflowed_before_ = words.overflow.entries.channel.ready;
    if (count == 0) return;
    std::vector<item_block> blocks = blocks_.copy_out();
    std::uint64_t first = 0;
    for (std::uint32_t ring = 0; ring < ref_.rings; ++ring) {
        const std::uint64_t share = (count - first) / (ref_.rings - ring);
        if (share != 0) fill(ring, blocks[ring].near.channel, entries + first * ref_.entry_bytes, share);
        first += share;
    }
    blocks_.copy_in(blocks);
}

void item_queues_memory::fill(std::uint32_t ring, channel_words& words, const std::byte* entries, std::uint64_t count) {
    const std::uint64_t at = std::uint64_t{ring} * ref_.near_width, bytes = ref_.entry_bytes;
    fill_queue(
        words, ref_.near(ring), count,
        [&](std::uint64_t first, std::uint64_t n, std::uint64_t index) {
            data_.copy_in(entries + first * bytes, n * bytes, (at + index) * bytes);
        },
        [&](const std::uint32_t* control, std::uint64_t n, std::uint64_t index) {
            control_.copy_in(control, n, at + index);
        });
}

void item_queues_memory::begin(bool in_waves, bool looks_through, std::uint64_t threshold,
                               const item_overflow_view& overflow) {
    std::vector<item_block> blocks = blocks_.copy_out();
    for (item_block& block : blocks) {
        static_cast<threshold_counters&>(block) = {};
        begin_queue(block.near, in_waves, true);
        begin_queue(block.far, in_waves, looks_through);
        block.min_far = ~std::uint64_t{0};
    }
    blocks_.copy_in(blocks);
    item_pe_words words = pe_.copy_out()[0];
    begin_queue(words.reserve, in_waves, true);
    begin_queue(words.overflow.entries, in_waves, true);
    words.overflow.to_host = overflow.to_host;
    words.overflow.given = overflow.given;
    words.overflow.max_items = max_overflow_items_;
    words.threshold = threshold;
    words.told = 0;
    words.ended_ns = 0;
    pe_.copy_in(&words, 1);
}

waiting_items item_queues_memory::waiting() const {
    waiting_items all;
    for (const item_block& block : blocks_.copy_out()) {
        all.near += waiting_in(block.near);
        all.far += waiting_in(block.far);
        all.min_far = std::min(all.min_far, block.min_far);
    }
    const item_pe_words words = pe_.copy_out()[0];
    all.reserve = waiting_in(words.reserve);
    all.overflow = waiting_in(words.overflow.entries);
    all.overflowed = words.overflow.entries.channel.ready - overflowed_before_;
    all.spilled = words.reserve.channel.ready - spilled_before_ + all.overflowed;
    all.ended_ns = words.ended_ns;
    return all;
}

}  // namespace laneway
