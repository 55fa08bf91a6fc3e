#include "id_set.hpp"

#include <algorithm>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway::graph {
namespace {

// Bits per id up to which a bitmap with its ranks is no larger than the list of the ids.
constexpr std::uint64_t bitmap_bits_per_id = 32;

numbering numbering_of(std::vector<std::uint64_t> labels) {
    numbering ids;
    ids.vertices = labels.size();
    if (labels.empty()) return ids;
    ids.first = labels.front();
    if (labels.back() - labels.front() != labels.size() - 1) ids.labels = std::move(labels);
    return ids;
}

}  // namespace

std::uint64_t id_table::insert(std::uint64_t id) {
    if (ids_.size() >= slots_.size() / 3 * 2) grow();
    const std::uint64_t at = slot_of(id);
    if (slots_[at] != free_slot) return slots_[at];
    if (ids_.size() == free_slot) throw usage_error("over 4294967295 sparse vertex ids");
    slots_[at] = static_cast<std::uint32_t>(ids_.size());
    ids_.push_back(id);
    return slots_[at];
}

void id_table::grow() {
    const std::uint64_t size = std::max<std::uint64_t>(1024, slots_.size() * 2);
    slots_ = {};
    slots_.resize(size, free_slot);
    for (std::size_t place = 0; place < ids_.size(); ++place)
        slots_[slot_of(ids_[place])] = static_cast<std::uint32_t>(place);
}

id_set::id_set(std::vector<std::uint64_t> ascending) : size_(ascending.size()) {
    if (size_ == 0) return;
    first_ = ascending.front();
    const std::uint64_t range = ascending.back() - first_;
    contiguous_ = range == size_ - 1;
    if (contiguous_) return;
    if (range / bitmap_bits_per_id >= size_) {
        for (const std::uint64_t id : ascending) table_.insert(id);
        return;
    }
    words_.assign(range / 64 + 1, 0);
    for (const std::uint64_t id : ascending) add_bit(id);
    rank();
}

numbering id_set::number_dense(arc_buffer& arcs, std::uint64_t least, std::uint64_t greatest) {
    id_set set;
    set.first_ = least;
    set.words_.assign((greatest - least) / 64 + 1, 0);
    interruption_counter leave;
    arcs.for_each([&](std::uint64_t tail, std::uint64_t head, std::uint32_t) {
        leave.poll();
        set.add_bit(tail);
        set.add_bit(head);
    });
    set.rank();
    arcs.map_ids([&](std::uint64_t id) {
        leave.poll();
        return set.find(id);
    });
    return set.release();
}

numbering id_set::number_places(arc_buffer& arcs, id_table& table) {
    std::vector<std::uint64_t> ids = std::exchange(table, {}).ids();
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
    order.reserve(ids.size());
    for (const std::uint64_t id : ids) order.emplace_back(id, static_cast<std::uint32_t>(order.size()));
    interruption_counter leave;
    std::sort(order.begin(), order.end(), [&leave](const auto& a, const auto& b) {
        leave.poll();
        return a < b;
    });
    std::vector<std::uint32_t> rank(ids.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        ids[i] = order[i].first;
        rank[order[i].second] = static_cast<std::uint32_t>(i);
    }
    order = {};
    arcs.map_ids([&](std::uint64_t place) {
        leave.poll();
        return rank[place];
    });
    return numbering_of(std::move(ids));
}

void id_set::rank() {
    ranks_.reserve(words_.size());
    size_ = 0;
    for (const std::uint64_t word : words_) {
        ranks_.push_back(size_);
        size_ += static_cast<std::uint64_t>(__builtin_popcountll(word));
    }
}

numbering id_set::release() {
    numbering ids;
    if (contiguous_) {
        ids.first = first_;
        ids.vertices = size_;
    } else if (words_.empty()) {
        ids = numbering_of(std::move(table_.ids()));
    } else {
        std::vector<std::uint64_t> labels;
        labels.reserve(size_);
        for (std::uint64_t w = 0; w < words_.size(); ++w) {
            for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
                labels.push_back(first_ + w * 64 + static_cast<std::uint64_t>(__builtin_ctzll(rest)));
        }
        ids = numbering_of(std::move(labels));
    }
    *this = id_set();
    return ids;
}

}  // namespace laneway::graph
