#include "laneway/task/task_rings.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace laneway {

namespace {

constexpr std::uint32_t min_slots = 64;
constexpr std::size_t told_bytes = task_news::n_words * sizeof(std::uint64_t);

/// The least for so many.
ring_size size_for(std::uint32_t n) { return {static_cast<std::uint32_t>(std::bit_width(std::bit_ceil(n)) - 1)}; }

std::uint64_t tagged(std::uint32_t tag, std::uint32_t value) { return std::uint64_t{tag} << 32 | value; }

}  // namespace

task_rings::task_rings(const std::shared_ptr<device>& user, const task_rings_plan& plan)
    : n_shards_(std::clamp(plan.worker_blocks, 1u, max_news_shards)),
      ring_(size_for(std::max(min_slots, plan.max_open))), news_ring_(size_for(plan.max_open)),
      slot_bytes_(static_cast<std::uint32_t>(task_slot::bytes_of(std::max(plan.argument_bytes, sizeof(task_piece))))),
      outcome_bytes_(static_cast<std::uint32_t>(task_outcome::bytes_of(plan.result_bytes))),
      worker_blocks_(plan.worker_blocks), node_bytes_(task_node::header_bytes + (plan.argument_bytes + 15) / 16 * 16),
      entries_(allocate_host_visible(user, std::size_t{ring_.slots()} * task_slot::n_words * sizeof(std::uint64_t))),
      tails_(allocate_host_visible(user, std::size_t{ring_.slots()} * slot_bytes_)),
      words_(allocate_host_visible(user, n_host_words * destructive_bytes)),
      news_(allocate_host_visible(user, (std::size_t{n_shards_} << news_ring_.log2) * told_bytes)),
      outcomes_(allocate_host_visible(user, std::size_t{plan.max_open} * outcome_bytes_)),
      slots_(user, std::size_t{ring_.slots()} * slot_bytes_), free_for_(user, ring_.slots()), ring_words_(user, 1) {
    std::vector<std::uint32_t> first(ring_.slots());
    std::iota(first.begin(), first.end(), 0);
    free_for_.copy_in(first);
    if (plan.uses_nodes.spawned || plan.uses_nodes.from_lanes) make_nodes(user, plan);
}

/// Each block has its share of the free ones, one on top of the other. Warps may keep a quarter of all for themselves.
void task_rings::make_nodes(const std::shared_ptr<device>& user, const task_rings_plan& plan) {
    if (plan.uses_nodes.from_lanes) first_for_lanes_ = plan.nodes;
    const std::uint32_t all = plan.nodes + plan.nodes_for_lanes;
    std::vector<std::byte> made(all * node_bytes_);
    std::vector<task_block_words> blocks(worker_blocks_);
    for (std::uint32_t i = 0; i < all; ++i) {
        task_block_words& words = blocks[i % worker_blocks_];
        std::uint64_t& top = i < plan.nodes ? words.free : words.free_for_lanes;
        task_node node{};
        node.next = static_cast<std::uint32_t>(top);
        std::memcpy(made.data() + i * node_bytes_, &node, sizeof node);
        top = i + 1;
    }
    nodes_ = buffer<std::byte>(user, made.size());
    nodes_.copy_in(made);
    blocks_ = buffer<task_block_words>(user, worker_blocks_);
    blocks_.copy_in(blocks);
    deques_ = buffer<task_deque>(user, std::size_t{worker_blocks_} * task_nodes_ref::max_warps);
    hints_ = buffer<std::uint64_t>(user, worker_blocks_);
    cached_nodes_ = std::min(plan.nodes / 4 / plan.worker_warps, task_deques_shared::max_cached);
}

void task_rings::renew() {
    auto blocks = blocks_.copy_out();
    for (task_block_words& words : blocks) words.spawned = 0;
    blocks_.copy_in(blocks);
    hints_.fill_bytes(0);  // blocks begin with none, and take back only what they have said themselves
}

task_nodes_ref task_rings::nodes() const {
    return {nodes_.data(), blocks_.data(), deques_.data(), hints_.data(),
            node_bytes_,   worker_blocks_, cached_nodes_,  first_for_lanes_};
}

task_rings_ref task_rings::ref() const {
    task_rings_ref made;
    made.entries = &entry_word(0, 0);
    made.tails = tails_.get();
    made.filled = &host_word(filled_word);
    made.taken = &host_word(taken_word);
    made.news = reinterpret_cast<std::uint64_t*>(news_.get());
    made.outcomes = outcomes_.get();
    made.has_failed = reinterpret_cast<std::uint32_t*>(&host_word(failed_word));
    made.life = &host_word(life_word);
    made.slots = slots_.data();
    made.free_for = free_for_.data();
    made.words = ring_words_.data();
    made.ring = ring_;
    made.news_ring = news_ring_;
    made.slot_bytes = slot_bytes_;
    made.outcome_bytes = outcome_bytes_;
    made.n_shards = n_shards_;
    made.n_blocks = worker_blocks_;
    return made;
}

bool task_rings::put(const task_entry& entry) {
    if (next_ - taken_ >= ring_.slots()) {
        // Partner: the store in task_rings_ref::copy_some.
        taken_ = std::atomic_ref(host_word(taken_word)).load(std::memory_order_acquire);
        if (next_ - taken_ >= ring_.slots()) return false;
    }
    std::uint32_t words[task_slot::n_words] = {};
    std::memcpy(words, &entry.head, sizeof entry.head);
    const auto* const behind = static_cast<const std::byte*>(entry.behind);
    const std::size_t inside = std::min(entry.behind_bytes, task_slot::behind_bytes);
    std::memcpy(words + sizeof entry.head / 4, behind, inside);
    if (entry.behind_bytes > inside) {
        words[1] |= task_slot::has_tail;
        const std::size_t tail_bytes = slot_bytes_ - sizeof(task_slot) - task_slot::behind_bytes;
        std::memcpy(tails_.get() + std::size_t{ring_.place(next_)} * tail_bytes, behind + inside,
                    entry.behind_bytes - inside);
    }
    const std::uint32_t tag = ring_.tag(next_);
    for (std::uint32_t i = 1; i < task_slot::n_words; ++i) {
        // Partner: the load in task_rings_ref::copy_some. The tail comes before.
        std::atomic_ref(entry_word(next_, i)).store(tagged(tag, words[i]), std::memory_order_release);
    }
    entry_word(next_++, 0) = words[0];  // with no tag
    return true;
}

void task_rings::publish() {
    for (; published_ != next_; ++published_) {
        std::uint64_t& word = entry_word(published_, 0);
        const std::uint32_t tag = ring_.tag(published_);
        // Partner: as above.
        std::atomic_ref(word).store(tagged(tag, static_cast<std::uint32_t>(word)), std::memory_order_release);
    }
    // Partner: the acquire load in task_rings_ref::promise; and, in one order with it, resident_program::wake, which
    // looks whether the program is there, as any_wait looks for entries when it has gone.
    std::atomic_ref(host_word(filled_word)).store(published_);
}

void task_rings::take_news(std::vector<task_news>& news) {
    for (std::uint32_t s = 0; s < n_shards_; ++s) {
        for (std::uint64_t& place = heard_[s];; ++place) {
            const std::size_t slot = (std::size_t{s} << news_ring_.log2) + news_ring_.place(place);
            auto* const at = reinterpret_cast<std::uint64_t*>(news_.get() + slot * told_bytes);
            std::uint32_t words[task_news::n_words];
            bool here = true;
            for (std::uint32_t i = 0; here && i < task_news::n_words; ++i) {
                // Partner: the stores in task_rings_ref::announce.
                const std::uint64_t word = std::atomic_ref(at[i]).load(std::memory_order_acquire);
                here = word >> 32 == news_ring_.tag(place);
                words[i] = static_cast<std::uint32_t>(word);
            }
            if (!here) break;
            std::memcpy(&news.emplace_back(), words, sizeof words);
        }
    }
}

bool task_rings::has_failed() const {
    return std::atomic_ref(host_word(failed_word)).load(std::memory_order_relaxed) != 0;
}

std::uint64_t task_rings::life() const {
    // Partner: the store in show_life.
    return std::atomic_ref(host_word(life_word)).load(std::memory_order_relaxed);
}

std::uint64_t task_rings::filled() const { return std::atomic_ref(host_word(filled_word)).load(); }

bool task_rings::any_wait() const {
    // Partner: the store in task_rings_ref::copy_some. All that has been copied is done when no program is there.
    return std::atomic_ref(host_word(taken_word)).load(std::memory_order_acquire) != filled();
}

std::uint64_t& task_rings::entry_word(std::uint64_t entry, std::uint32_t word) const {
    return reinterpret_cast<std::uint64_t*>(
        entries_.get())[std::size_t{ring_.place(entry)} * task_slot::n_words + word];
}

}  // namespace laneway
