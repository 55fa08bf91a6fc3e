#include "laneway/task/task_rings.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace laneway {

namespace {

constexpr std::size_t open_at = max_task_shards * sizeof(task_shard);
constexpr std::uint64_t min_slots = 64;

}  // namespace

task_rings::task_rings(const std::shared_ptr<device>& user, const task_rings_plan& plan)
    : n_shards_(std::clamp(plan.worker_blocks, 1u, max_task_shards)),
      warps_a_shard_((plan.worker_warps + n_shards_ - 1) / n_shards_),
      slots_(std::max(min_slots, std::bit_ceil(std::uint64_t{2} * plan.max_open / n_shards_))),
      news_slots_(std::bit_ceil(std::uint64_t{plan.max_open})), slot_bytes_(task_slot::bytes_of(plan.argument_bytes)),
      node_bytes_(task_node::header_bytes + (plan.argument_bytes + 15) / 16 * 16), worker_blocks_(plan.worker_blocks),
      entries_(allocate_host_visible(user, n_shards_ * slots_ * slot_bytes_)),
      filled_(allocate_host_visible(user, max_task_shards * sizeof(std::uint64_t))),
      news_(allocate_host_visible(user, n_shards_ * news_slots_ * sizeof(std::uint64_t))),
      words_(user, open_at + destructive_bytes), shards_(n_shards_) {
    for (std::uint32_t s = 0; s < n_shards_; ++s) {
        for (std::uint64_t i = 0; i < slots_; ++i) slot(s, i).free_for = i;
    }
    if (plan.spawns) make_nodes(user, plan.nodes, plan.worker_warps);
}

/// Each block has its share of the free ones, one on top of the other. Warps may keep a quarter of all for themselves.
void task_rings::make_nodes(const std::shared_ptr<device>& user, std::uint32_t count, std::uint32_t workers) {
    std::vector<std::byte> made(count * node_bytes_);
    std::vector<task_block_words> blocks(worker_blocks_);
    for (std::uint32_t i = 0; i < count; ++i) {
        std::uint64_t& top = blocks[i % worker_blocks_].free;
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
    cached_nodes_ = std::min(count / 4 / workers, task_deques_shared::max_cached);
}

task_nodes_ref task_rings::nodes() const {
    return {nodes_.data(), blocks_.data(), deques_.data(), hints_.data(), node_bytes_, worker_blocks_, cached_nodes_};
}

task_rings_ref task_rings::ref() const {
    task_rings_ref made;
    made.slots = entries_.get();
    made.filled = filled_words();
    made.news = news_words();
    made.shards = reinterpret_cast<task_shard*>(words_.data());
    made.is_open = reinterpret_cast<std::uint64_t*>(words_.data() + open_at);
    made.slots_a_shard = slots_;
    made.news_a_shard = news_slots_;
    made.slot_bytes = slot_bytes_;
    made.n_shards = n_shards_;
    made.warps_a_shard = warps_a_shard_;
    return made;
}

bool task_rings::put(const task_entry& entry) {
    // Devices write into slots, so the next ones are not in this core's cache.
    constexpr std::uint32_t ahead = 4;
    const std::uint32_t later = (turn_ + ahead) % n_shards_;
    __builtin_prefetch(&slot(later, shards_[later].next + ahead / n_shards_), 1);
    for (std::uint32_t i = 0; i < n_shards_; ++i) {
        const std::uint32_t s = turn_;
        turn_ = (turn_ + 1) % n_shards_;
        task_slot& to = slot(s, shards_[s].next);
        // Partner: the release store in task_rings_ref::give_back.
        if (std::atomic_ref(to.free_for).load(std::memory_order_acquire) != shards_[s].next) continue;
        to.record = entry.record;
        to.type = entry.type;
        to.count = entry.count;
        to.first = entry.first;
        to.outcome = entry.outcome;
        std::memcpy(reinterpret_cast<std::byte*>(&to) + task_slot::header_bytes, entry.behind, entry.behind_bytes);
        ++shards_[s].next;
        ++unpublished_;
        return true;
    }
    return false;
}

void task_rings::take_news(std::vector<std::uint64_t>& news) {
    for (std::uint32_t s = 0; s < n_shards_; ++s) {
        for (std::uint64_t& place = shards_[s].heard;; ++place) {
            std::uint64_t& at = news_words()[s * news_slots_ + place % news_slots_];
            // Partner: the release store in task_rings_ref::announce.
            const std::uint64_t word = std::atomic_ref(at).load(std::memory_order_acquire);
            if (!task_news::arrived(word, place, news_slots_)) break;
            news.push_back(word);
        }
    }
}

void task_rings::publish() {
    for (std::uint32_t s = 0; s < n_shards_; ++s) {
        const std::atomic_ref word(filled_words()[s]);
        // Partner: the acquire load in task_rings_ref::pass_on; and, in one order with it, resident_program::wake,
        // which looks whether the program is there, as any_wait looks for entries when it has gone.
        if (word.load(std::memory_order_relaxed) != shards_[s].next) word.store(shards_[s].next);
    }
    unpublished_ = 0;
}

std::uint64_t task_rings::filled() const {
    std::uint64_t sum = 0;
    for (std::uint32_t s = 0; s < n_shards_; ++s) sum += std::atomic_ref(filled_words()[s]).load();
    return sum;
}

bool task_rings::any_wait() const {
    for (std::uint32_t s = 0; s < n_shards_; ++s) {
        const std::uint64_t end = std::atomic_ref(filled_words()[s]).load();
        // Partner: the release store in task_rings_ref::give_back. Lanes claim entries in their order, and have taken
        // all that they claimed when no program is there.
        if (end != 0 && std::atomic_ref(slot(s, end - 1).free_for).load(std::memory_order_acquire) == end - 1) {
            return true;
        }
    }
    return false;
}

task_slot& task_rings::slot(std::uint32_t shard, std::uint64_t number) const {
    return *reinterpret_cast<task_slot*>(entries_.get() + (shard * slots_ + number % slots_) * slot_bytes_);
}

}  // namespace laneway
