// Host owner of one PE's priority worklist.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "laneway/flow/priority_worklist.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

template <class Key>
class priority_worklist {
public:
    /// Room for ids 0..ids-1, shared out to `rings` working blocks; takes sizeof(Key) + 8 to 16 bytes an id.
    priority_worklist(const std::shared_ptr<device>& owner, std::uint64_t ids, std::uint32_t rings)
        : rings_(rings), capacity_(std::bit_ceil((ids + rings - 1) / rings + 1)), words_(owner, ids),
          near_places_(owner, capacity_ * rings), far_places_(owner, capacity_ * rings), blocks_(owner, rings),
          threshold_(owner, 1) {}

    /// Empties the list; no id has a key. Host, between runs.
    void reset(std::uint64_t threshold) {
        words_.fill_bytes(0xff);
        near_places_.fill_bytes(0);
        far_places_.fill_bytes(0);
        blocks_.fill_bytes(0);
        threshold_.copy_in(&threshold, 1);
    }

    /// Puts the first ids, distinct ones, into an empty list, all with one key. Host, after reset.
    void start_with(std::span<const std::uint32_t> ids, Key key) {
        const Key word = static_cast<Key>(key << worklist_word<Key>::state_bits) | worklist_word<Key>::away_far;
        if (ids.size() == 1) {
            words_.copy_in(&word, 1, ids[0]);
        } else if (!ids.empty()) {
            std::vector<Key> words = words_.copy_out();
            for (const std::uint32_t id : ids) words[id] = word;
            words_.copy_in(words);
        }
        std::vector<std::vector<std::uint32_t>> places(rings_);
        for (const std::uint32_t id : ids) places[id % rings_].push_back(id + 1);
        for (std::uint32_t ring = 0; ring < rings_; ++ring) {
            if (places[ring].empty()) continue;
            near_places_.copy_in(places[ring].data(), places[ring].size(), ring * capacity_);
            worklist_block block;
            block.near_pushes = places[ring].size();
            blocks_.copy_in(&block, 1, ring);
        }
    }

    /// No id has a key. Host, while the list is empty.
    void forget_keys() { words_.fill_bytes(0xff); }

    [[nodiscard]] priority_worklist_ref<Key> ref() const {
        return {words_.data(), near_places_.data(), far_places_.data(), capacity_,
                rings_,        blocks_.data(),      threshold_.data()};
    }

    /// Key of every id; worklist_word<Key>::unreached where it has none. Host, between runs.
    [[nodiscard]] std::vector<Key> keys() const {
        std::vector<Key> keys = words_.copy_out();
        for (Key& key : keys) key >>= worklist_word<Key>::state_bits;
        return keys;
    }

private:
    std::uint32_t rings_;
    std::uint64_t capacity_;
    buffer<Key> words_;
    buffer<std::uint32_t> near_places_;
    buffer<std::uint32_t> far_places_;
    buffer<worklist_block> blocks_;
    buffer<std::uint64_t> threshold_;
};

}  // namespace laneway
