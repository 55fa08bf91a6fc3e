#include "id_set.hpp"

#include <algorithm>
#include <iterator>

#include "arc_buffer.hpp"

namespace laneway::graph {
namespace {

// Bits per id up to which a bitmap with its ranks is no larger than the sorted list.
constexpr std::uint64_t bitmap_bits_per_id = 32;

// Distinct ids of all arcs. The new ones wait until they are as many as the known ones, so that merging them costs
// no more than sorting did.
std::vector<std::uint64_t> distinct_ids(arc_buffer& arcs) {
    constexpr std::size_t least_batch = 1 << 16;
    std::vector<std::uint64_t> known, fresh;
    const auto merge = [&] {
        std::sort(fresh.begin(), fresh.end());
        fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
        std::vector<std::uint64_t> merged;
        std::set_union(known.begin(), known.end(), fresh.begin(), fresh.end(), std::back_inserter(merged));
        known = std::move(merged);
        fresh.clear();
    };
    arcs.for_each([&](std::uint64_t tail, std::uint64_t head, std::uint32_t) {
        fresh.push_back(tail);
        fresh.push_back(head);
        if (fresh.size() >= std::max(least_batch, known.size())) merge();
    });
    merge();
    return known;
}

}  // namespace

id_set::id_set(std::vector<std::uint64_t> ascending) {
    size_ = ascending.size();
    if (size_ == 0) return;
    first_ = ascending.front();
    const std::uint64_t range = ascending.back() - first_;
    contiguous_ = range == size_ - 1;
    if (contiguous_) return;
    if (range / bitmap_bits_per_id >= size_) {
        sorted_ = std::move(ascending);
        return;
    }
    words_.assign(range / 64 + 1, 0);
    for (const std::uint64_t id : ascending) words_[(id - first_) / 64] |= std::uint64_t{1} << ((id - first_) % 64);
    rank();
}

id_set id_set::of_arcs(arc_buffer& arcs, std::uint64_t least, std::uint64_t greatest) {
    constexpr std::uint64_t always_dense = 1 << 20;
    if ((greatest - least) / bitmap_bits_per_id >= arcs.size() + always_dense) return id_set(distinct_ids(arcs));
    id_set set;
    set.first_ = least;
    set.words_.assign((greatest - least) / 64 + 1, 0);
    arcs.for_each([&](std::uint64_t tail, std::uint64_t head, std::uint32_t) {
        for (const std::uint64_t at : {tail - least, head - least})
            set.words_[at / 64] |= std::uint64_t{1} << (at % 64);
    });
    set.rank();
    return set;
}

void id_set::rank() {
    ranks_.reserve(words_.size());
    size_ = 0;
    for (const std::uint64_t word : words_) {
        ranks_.push_back(size_);
        size_ += static_cast<std::uint64_t>(__builtin_popcountll(word));
    }
}

std::uint64_t id_set::search(std::uint64_t id) const {
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), id);
    return found != sorted_.end() && *found == id ? static_cast<std::uint64_t>(found - sorted_.begin()) : none;
}

numbering id_set::release() {
    numbering ids;
    ids.first = first_;
    ids.vertices = size_;
    ids.labels = std::move(sorted_);
    if (size_ < words_.size() * 64) ids.labels.reserve(size_);
    for (std::uint64_t w = 0; w < words_.size(); ++w) {
        for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
            ids.labels.push_back(first_ + w * 64 + static_cast<std::uint64_t>(__builtin_ctzll(rest)));
    }
    if (!ids.labels.empty() && ids.labels.back() - ids.labels.front() == size_ - 1) {
        ids.labels.clear();
        ids.labels.shrink_to_fit();
    }
    *this = id_set();
    return ids;
}

}  // namespace laneway::graph
