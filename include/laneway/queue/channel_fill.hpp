// Elements that the host puts into the queue of a channel, between runs.
#pragma once

#include <algorithm>
#include <vector>

#include "laneway/queue/channel_queue.hpp"

namespace laneway {

/// Calls `copy(first, n, index)` for the parts of `count` elements that lie side by side from a position on: n of them,
/// from number `first` on, at an index.
template <class Copy>
void copy_around(std::uint64_t position, std::uint32_t width, std::uint64_t count, Copy&& copy) {
    const std::uint64_t index = position & (width - 1), n = std::min(count, width - index);
    if (n != 0) copy(std::uint64_t{0}, n, index);
    if (n != count) copy(n, count - n, std::uint64_t{0});
}

/// Puts `count` elements, `queue.width()` at most, into a queue all of whose elements are done, as lanes leave them
/// that reserve and publish so many in order, and counts them in its words. `copy_elements(first, n, index)` copies n
/// of them to an index of the data, and `copy_entries(words, n, index)` control words.
template <class CopyElements, class CopyEntries>
void fill_queue(channel_words& words, const channel_queue_ref& queue, std::uint64_t count, CopyElements&& copy_elements,
                CopyEntries&& copy_entries) {
    words.released = words.reserved;  // lanes see that elements are done when they want their space
    std::vector<std::uint32_t> entries(count);
    for (std::uint64_t i = 0; i < count; ++i) entries[i] = queue.control_word(words.ready + i, words.reserved + i);
    copy_around(words.reserved, queue.width(), count, copy_elements);
    copy_around(words.ready, queue.width(), count, [&](std::uint64_t first, std::uint64_t n, std::uint64_t index) {
        copy_entries(entries.data() + first, n, index);
    });
    words.reserved += count;
    words.ready += count;
}

}  // namespace laneway
