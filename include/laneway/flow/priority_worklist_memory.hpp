// Host owner of one PE's priority worklist.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "laneway/flow/priority_worklist.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

/// What waits in a list between two waves.
struct waiting_ids {
    std::uint64_t near = 0;
    std::uint64_t far = 0;
    std::uint64_t min_far = ~std::uint64_t{0};  ///< no key that was put off in the last wave is below
};

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

    /// Before a run of what waits now: of far ids only where `looks_through`.
    void begin_wave(bool looks_through, std::uint64_t threshold) {
        std::vector<worklist_block> blocks = blocks_.copy_out();
        for (worklist_block& block : blocks) {
            block.completed = block.far_kept = 0;
            block.least = ~std::uint64_t{0};
            block.near_begin = block.near_taken;
            block.near_end = block.near_pushes;
            block.far_begin = block.far_taken;
            block.far_end = looks_through ? block.far_pushes : block.far_taken;
        }
        blocks_.copy_in(blocks);
        threshold_.copy_in(&threshold, 1);
    }
    /// Behind that run.
    void add_waiting(waiting_ids& sum) const {
        for (const worklist_block& block : blocks_.copy_out()) {
            sum.near += block.near_pushes - block.near_taken;
            sum.far += block.far_pushes - block.far_taken;
            sum.min_far = std::min(sum.min_far, block.least);
        }
    }

    /// Whether a key that does not fit was proposed since the list was emptied. Host, between runs.
    [[nodiscard]] bool overflowed() const {
        const std::vector<worklist_block> blocks = blocks_.copy_out();
        return std::any_of(blocks.begin(), blocks.end(), [](const worklist_block& b) { return b.overflowed != 0; });
    }

    /// No id has a key. Host, while the list is empty.
    void forget_keys() { words_.fill_bytes(0xff); }

    [[nodiscard]] priority_worklist_ref<Key> ref(bool in_waves = false) const {
        return {words_.data(), near_places_.data(), far_places_.data(), capacity_,
                rings_,        blocks_.data(),      threshold_.data(),  in_waves};
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
