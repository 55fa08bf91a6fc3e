// Host owner of one PE's priority worklist.
#pragma once

#include <bit>
#include <vector>

#include "laneway/flow/priority_worklist.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

template <class Key>
class priority_worklist {
public:
    /// Room for ids 0..ids-1 on one device; takes (sizeof(Key) + 8 to 16) bytes an id.
    priority_worklist(const std::shared_ptr<device>& owner, std::uint64_t ids)
        : capacity_(std::bit_ceil(ids < 2 ? std::uint64_t{2} : ids)), words_(owner, ids),
          near_places_(owner, capacity_), far_places_(owner, capacity_), ends_(owner, 2), levels_(owner, 1) {}

    /// Empties the list; no id has a key. Host, between runs.
    void reset(std::uint64_t threshold) {
        words_.fill_bytes(0xff);
        near_places_.fill_bytes(0);
        far_places_.fill_bytes(0);
        ends_.fill_bytes(0);
        const worklist_levels levels{threshold, 0};
        levels_.copy_in(&levels, 1);
    }

    /// Puts the first id into an empty list. Host, after reset.
    void start_with(std::uint32_t id, Key key) {
        const Key word = key << worklist_word<Key>::state_bits | worklist_word<Key>::away_far;
        words_.copy_in(&word, 1, id);
        const std::uint32_t place = id + 1;
        near_places_.copy_in(&place, 1);
        id_ring_ends ends;
        ends.tail = 1;
        ends_.copy_in(&ends, 1);
    }

    [[nodiscard]] priority_worklist_ref<Key> ref() const {
        return {words_.data(), {near_places_.data(), capacity_, ends_.data()},
                {far_places_.data(), capacity_, ends_.data() + 1}, levels_.data()};
    }

    /// Key of every id; worklist_word<Key>::unreached where it has none. Host, between runs.
    [[nodiscard]] std::vector<Key> keys() const {
        std::vector<Key> keys = words_.copy_out();
        for (Key& key : keys) key >>= worklist_word<Key>::state_bits;
        return keys;
    }

private:
    std::uint64_t capacity_;
    buffer<Key> words_;
    buffer<std::uint32_t> near_places_;
    buffer<std::uint32_t> far_places_;
    buffer<id_ring_ends> ends_;
    buffer<worklist_levels> levels_;
};

}  // namespace laneway
