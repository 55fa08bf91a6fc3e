#include "laneway/task/channel_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/base/fault_text.hpp"
#include "laneway/queue/channel_fill.hpp"

namespace laneway {

namespace {

/// Whether blocks work on all that is produced, but for continuations, of which each follows some of their work.
bool all_take_blocks(const std::vector<channel_plan>& plans) {
    return std::all_of(plans.begin(), plans.end(),
                       [](const channel_plan& plan) { return plan.takes_block || plan.is_after; });
}

/// A shard of fewer elements would leave blocks without work that others have. A block takes one where a warp takes 32.
std::uint32_t min_shard_width(const std::vector<channel_plan>& plans) { return all_take_blocks(plans) ? 32 : 256; }

std::uint32_t shards_of(const std::vector<channel_plan>& plans, std::uint32_t sharers) {
    std::uint32_t shards = std::max(sharers, 1u);
    const std::uint32_t least = min_shard_width(plans);
    for (const auto& plan : plans) {
        if (plan.is_arrivals || plan.rooms_a_pe != 0) continue;
        // What a lane reserves at once lies in one shard.
        shards = std::min(shards, plan.options.width / std::max(least, std::bit_ceil(plan.options.at_once)));
    }
    return std::bit_floor(std::max(shards, 1u));
}

/// The queues of a channel behind those that the set has.
void lay_out(channel_set_ref& set, const channel_plan& plan, channel_layout& layout) {
    const channel_options& options = plan.options;
    layout.width = plan.is_arrivals ? options.width : options.width / set.n_shards;
    // A channel that may be part of a cycle: with levels, what is deeper needs no such help.
    if (options.levels == 1 && !plan.is_arrivals) {
        layout.margin = std::min(2 * set.n_channels, layout.width - options.at_once);
    }
    layout.is_after = plan.is_after ? 1 : 0;
    layout.is_arrivals = plan.is_arrivals ? 1 : 0;
    layout.first_data = set.data_a_shard;
    layout.first_done = set.done_a_shard;
    const std::uint64_t bytes = std::uint64_t{layout.width} * options.levels * plan.element_bytes;
    set.data_a_shard += (bytes + destructive_bytes - 1) / destructive_bytes * destructive_bytes;
    set.done_a_shard += std::uint64_t{channel_queue_ref::done_words(layout.width)} * options.levels;
}

/// The queues of a channel whose places are those of rooms. All such channels share the places, which begin at `pool`,
/// as a room has one place on a PE, whatever the channel.
void lay_out_remote(channel_set_ref& set, const channel_plan& plan, channel_layout& layout, std::uint64_t pool) {
    constexpr std::uint32_t together = 32;  // see shard_of_room
    const std::uint32_t groups = (plan.options.width + together - 1) / together;
    layout.width = std::bit_ceil((groups + set.n_shards - 1) / set.n_shards * together);
    layout.is_remote = 1;
    layout.remote = plan.of_channel;
    const std::uint64_t class_bytes = std::uint64_t{layout.width} * plan.element_bytes;
    layout.first_data = pool + channel_rooms_ref::class_of(plan.options.levels, 0) * class_bytes;
    const std::uint32_t classes = channel_rooms_ref::class_of(plan.options.levels, plan.options.levels - 1) + 1;
    set.data_a_shard = std::max(set.data_a_shard, pool + classes * class_bytes);
    set.rooms.a_pe = plan.rooms_a_pe;
    set.rooms.classes = std::max(set.rooms.classes, classes);
}

/// Sizes of the stacks and frames of a PE's warps, or of its blocks. A warp that follows a tree down has some twice as
/// many frames as elements (record 36).
channel_stacks_ref sizes_of(const warp_plan& plan, const pe_grid& grid) {
    constexpr std::uint32_t max_elements = 1024;
    channel_stacks_ref made;
    const std::uint32_t lanes = plan.by_block ? 1u : static_cast<std::uint32_t>(grid.warp_lanes());
    made.warps_a_block = plan.by_block || grid.one_lane() ? 1u : static_cast<std::uint32_t>(grid.shape.warps_per_block);
    made.warps = grid.worker_blocks() * made.warps_a_block;
    made.slot_bytes = static_cast<std::uint32_t>(plan.slot_bytes);
    made.frame_bytes = static_cast<std::uint32_t>(plan.frame_bytes);
    if (made.warps_a_block > channel_stacks_ref::max_warps || made.warps >= 1u << (32 - ready_frame::frame_bits)) {
        return made;
    }
    const std::uint64_t bytes = plan.stack_bytes / made.warps, element = plan.slot_bytes + sizeof(std::uint32_t);
    const std::uint64_t of_both = element + plan.frame_bytes;
    const std::uint64_t elements = std::min<std::uint64_t>(bytes / of_both, max_elements);
    if (elements < 2 * lanes) return made;
    made.capacity = std::bit_floor(static_cast<std::uint32_t>(elements));
    if (plan.frame_bytes == 0) return made;
    const std::uint64_t frames = (bytes - made.capacity * element) / plan.frame_bytes;
    made.frames = static_cast<std::uint32_t>(std::min<std::uint64_t>(frames, channel_stacks_ref::max_frames)) / 32 * 32;
    return made;
}

/// A warp that chooses by itself has a shard of its own where channels are wide: in one that several serve, their
/// claims make each other fail. Who chooses for all looks at every shard, and a block works as one.
std::uint32_t sharers_of(const std::vector<channel_plan>& plans, const warp_plan& warps, const pe_grid& grid) {
    return warps.choose && !all_take_blocks(plans) ? static_cast<std::uint32_t>(grid.worker_warps())
                                                   : grid.worker_blocks();
}

/// The queues of a PE, without memory. Channels for what comes in rooms are behind all others.
channel_set_ref lay_out(const std::vector<channel_plan>& plans, std::uint32_t sharers, int warp_lanes) {
    channel_set_ref set;
    set.n_channels = static_cast<std::uint32_t>(plans.size());
    set.n_shards = shards_of(plans, sharers);
    set.by_blocks = all_take_blocks(plans) ? 1 : 0;
    std::uint64_t levels = 0, pool = 0;
    for (const auto& plan : plans) levels += plan.options.levels;
    if (levels > channel_rank_queues) {
        throw usage_error("the channels of a graph have " + std::to_string(channel_rank_queues) +
                          " levels together at most, not " + std::to_string(levels));
    }
    for (std::uint32_t c = 0; c < set.n_channels; ++c) {
        const channel_plan& plan = plans[c];
        channel_layout& layout = set.channels[c];
        layout.element_bytes = static_cast<std::uint32_t>(plan.element_bytes);
        layout.levels = plan.options.levels;
        layout.first_queue = set.queues_a_shard;
        layout.at_once = plan.options.at_once;
        layout.consumer = plan.consumer;
        layout.is_kept = plan.is_kept ? 1 : 0;
        layout.takes_block = plan.takes_block ? 1 : 0;
        layout.first_entry = set.entries_a_shard;
        if (plan.rooms_a_pe == 0) {
            lay_out(set, plan, layout);
            pool = set.data_a_shard;
        } else {
            lay_out_remote(set, plan, layout, pool);
            set.channels[plan.of_channel].remote = c;
        }
        const std::uint32_t of_dispatch = plan.takes_block ? 1 : static_cast<std::uint32_t>(warp_lanes);
        layout.rule.at_least = std::min(
            {layout.width, plan.options.width, plan.options.at_least != 0 ? plan.options.at_least : of_dispatch});
        // With 1 no turn would be left to queues that fill a warp.
        if (plan.options.max_age != 0) layout.rule.max_age = std::max(2u, std::bit_floor(plan.options.max_age));
        set.min_age = std::min(set.min_age, layout.rule.max_age);
        set.queues_a_shard += layout.levels;
        set.entries_a_shard += std::uint64_t{layout.width} * layout.levels;
    }
    return set;
}

}  // namespace

std::string channel_name(std::uint32_t number, const channel_plan& plan, std::uint32_t graph) {
    std::string text = "channel " + std::to_string(number);
    if (!plan.options.name.empty()) text += " \"" + plan.options.name + "\"";
    return text + of_graph(graph);
}

std::uint64_t channel_memory::bytes_of(const std::vector<channel_plan>& plans, std::uint32_t sharers) {
    const channel_set_ref set = lay_out(plans, sharers, 1);
    return set.n_shards * (set.data_a_shard + 4 * (set.entries_a_shard + set.done_a_shard) +
                           set.queues_a_shard * sizeof(channel_words));
}

channel_memory::channel_memory(const std::shared_ptr<device>& owner, const std::vector<channel_plan>& plans,
                               const warp_plan& warps, const pe_grid& grid)
    : owner_(owner), plans_(plans), worker_blocks_(grid.worker_blocks()),
      warp_lanes_(static_cast<std::uint32_t>(grid.warp_lanes())),
      set_(lay_out(plans, sharers_of(plans, warps, grid), grid.warp_lanes())),
      words_(owner, std::uint64_t{set_.n_shards} * set_.queues_a_shard),
      data_(owner, set_.n_shards * set_.data_a_shard), control_(owner, set_.n_shards * set_.entries_a_shard),
      done_(owner, set_.n_shards * set_.done_a_shard),
      rooms_(owner, std::uint64_t{set_.rooms.classes} * set_.rooms.words_a_class()), set_copy_(owner, 1) {
    set_.words = words_.data();
    set_.data = data_.data();
    set_.control = control_.data();
    set_.done = done_.data();
    set_.rooms.free = rooms_.data();
    make_stacks(warps, grid);
    make_counts();
    set_copy_.copy_in(&set_, 1);
}

void channel_memory::make_stacks(const warp_plan& plan, const pe_grid& grid) {
    channel_stacks_ref& made = set_.stacks = sizes_of(plan, grid);
    if (made.capacity == 0) return;
    const std::uint64_t elements = std::uint64_t{made.warps} * made.capacity;
    const std::uint64_t frames = std::uint64_t{made.warps} * made.frames;
    tags_ = buffer<std::uint32_t>(owner_, elements);
    slots_ = buffer<std::byte>(owner_, elements * made.slot_bytes);
    made.tags = tags_.data();
    made.slots = slots_.data();
    if (frames == 0) return;
    frames_ = buffer<std::byte>(owner_, frames * made.frame_bytes);
    made.frame_data = frames_.data();
}

/// Each part lies on lines of its own, as others write them.
void channel_memory::make_counts() {
    const std::uint64_t shards = set_.n_shards, queues = words_.size();
    const std::uint64_t words_a_block = destructive_bytes / sizeof(std::uint64_t);
    const auto lay_out = [&](std::uintptr_t at) {
        const auto part = [&]<class T>(T*& to, std::uint64_t count) {
            to = reinterpret_cast<T*>(at);
            at += (count * sizeof(T) + destructive_bytes - 1) / destructive_bytes * destructive_bytes;
        };
        part(set_.created, shards * channel_set_ref::words_a_shard);
        part(finished_, worker_blocks_ * words_a_block);
        part(moving_, 1);
        part(set_.flags, shards * set_.flags_a_shard());
        part(set_.totals, 1);
        part(set_.tallies, set_.n_channels);
        part(set_.stalls, queues);
        part(set_.peaks, queues);
        channel_stacks_ref& stacks = set_.stacks;
        if (stacks.capacity == 0) return at;
        part(stacks.asking, stacks.asking_words());
        part(stacks.unfreed, set_.queues_a_shard);
        part(stacks.returned, std::uint64_t{stacks.warps} * stacks.frames / 32);
        return at;
    };
    counts_ = buffer<std::byte>(owner_, lay_out(0));
    lay_out(reinterpret_cast<std::uintptr_t>(counts_.data()));
}

void channel_memory::begin(bool are_empty) {
    if (are_empty) {
        before_ = words_.copy_out();
    } else {
        clear();
    }
    counts_.fill_bytes(0);
}

void channel_memory::clear() {
    before_.clear();
    words_.fill_bytes(0);
    control_.fill_bytes(0);
    done_.fill_bytes(0);
    // All rooms of the PE are at home.
    const std::uint32_t whole = set_.rooms.a_pe % 32 == 0 ? ~std::uint32_t{0} : (1u << set_.rooms.a_pe) - 1;
    rooms_.copy_in(std::vector<std::uint32_t>(rooms_.size(), whole));
}

void channel_memory::set_graph(std::uint32_t graph) {
    if (set_.graph == graph) return;
    set_.graph = graph;
    set_copy_.copy_in(&set_, 1);
}

void channel_memory::set_board(const pe_grid& grid, channel_scheduler by) {
    if (by == channel_scheduler::every_warp) return;
    channel_board_ref board;
    board.slots_a_block = grid.one_lane() ? 1u : static_cast<std::uint32_t>(grid.shape.warps_per_block);
    board.slots = static_cast<std::uint32_t>(grid.one_lane() ? grid.worker_warps() : static_cast<int>(worker_blocks_)) *
                  board.slots_a_block;
    board.workers = static_cast<std::uint32_t>(grid.worker_warps());
    const std::uint64_t queues = std::uint64_t{set_.n_shards} * set_.queues_a_shard;
    if (by == channel_scheduler::one_warp) {
        board_words_ = buffer<std::uint64_t>(owner_, 2 * std::uint64_t{board.slots});
        board_words_.fill_bytes(0);
        board.orders = board_words_.data();
        board.reports = board.orders + board.slots;
    } else if (by == channel_scheduler::host_thread) {
        const std::size_t bytes = 2 * board.slots * sizeof(std::uint64_t) + queues * sizeof(std::uint32_t);
        host_board_ = allocate_host_visible(owner_, bytes);
        std::memset(host_board_.get(), 0, bytes);
        board.orders = reinterpret_cast<std::uint64_t*>(host_board_.get());
        board.reports = board.orders + board.slots;
        board.fills = reinterpret_cast<std::uint32_t*>(board.reports + board.slots);
        shown_ = buffer<std::uint32_t>(owner_, queues);
        shown_.fill_bytes(0);
        board.shown = shown_.data();
    }
    set_.board = board;
    set_copy_.copy_in(&set_, 1);
}

void channel_memory::set_result_ring(const channel_result_ring_ref& results) {
    set_.results = results;
    set_copy_.copy_in(&set_, 1);
}

void channel_memory::init(std::uint32_t number, const std::byte* elements, std::uint64_t count) {
    const channel_layout& layout = set_.channels[number];
    if (count > room(number)) {
        throw usage_error(channel_name(number, plans_[number], set_.graph) + ": " + std::to_string(count) +
                          " elements to begin with, and a level has room for " + std::to_string(room(number)));
    }
    if (count == 0) return;
    auto words = words_.copy_out();
    auto created = copy_out(set_.created, std::uint64_t{set_.n_shards} * channel_set_ref::words_a_shard);
    for (std::uint32_t s = 0; s < set_.n_shards; ++s) {
        const std::uint64_t first = count * s / set_.n_shards, n = count * (s + 1) / set_.n_shards - first;
        if (n == 0) continue;
        const std::uint64_t bytes = layout.element_bytes;
        fill_queue(
            words[s * set_.queues_a_shard + layout.first_queue], set_.queue(s, number, 0), n,
            [&](std::uint64_t from, std::uint64_t some, std::uint64_t index) {
                data_.copy_in(elements + (first + from) * bytes, some * bytes,
                              s * set_.data_a_shard + layout.first_data + index * bytes);
            },
            [&](const std::uint32_t* entries, std::uint64_t some, std::uint64_t index) {
                control_.copy_in(entries, some, s * set_.entries_a_shard + layout.first_entry + index);
            });
        created[s * channel_set_ref::words_a_shard] += n;
    }
    words_.copy_in(words);
    owner_->copy_in(set_.created, created.data(), created.size() * sizeof(std::uint64_t));
}

std::uint64_t channel_memory::open_in(std::uint32_t number, std::uint32_t shard, std::uint32_t level,
                                      const std::vector<channel_words>& words,
                                      const std::vector<std::uint32_t>& done) const {
    const channel_layout& layout = set_.channels[number];
    const channel_words& queue = words[shard * set_.queues_a_shard + layout.first_queue + level];
    if (layout.is_remote != 0) return queue.reserved - queue.released;
    const std::uint32_t* const bits = done.data() + shard * set_.done_a_shard + layout.first_done +
                                      std::uint64_t{level} * channel_queue_ref::done_words(layout.width);
    std::uint64_t open = 0;
    for (std::uint64_t at = queue.released; at < queue.reserved; ++at) {
        const std::uint64_t index = at % layout.width;
        const bool is_odd_lap = (at & layout.width) != 0;
        if ((bits[index / 32] >> index % 32 & 1) == (is_odd_lap ? 1u : 0u)) ++open;
    }
    return open;
}

std::uint64_t channel_memory::room(std::uint32_t number) const {
    if (plans_[number].rooms_a_pe != 0) return plans_[number].options.width;
    return std::uint64_t{set_.channels[number].width} * set_.n_shards;
}

std::vector<std::uint64_t> channel_memory::rooms_out() const {
    std::vector<std::uint64_t> out;
    const auto words = rooms_.copy_out();
    const std::uint32_t a_class = set_.rooms.words_a_class();
    for (std::uint32_t c = 0; c < set_.rooms.classes; ++c) {
        std::uint64_t home = 0;
        for (std::uint32_t w = 0; w < a_class; ++w)
            home += static_cast<std::uint64_t>(std::popcount(words[c * a_class + w]));
        out.push_back(set_.rooms.a_pe - home);
    }
    return out;
}

std::uint64_t channel_memory::unfreed(std::uint32_t number) const {
    std::uint64_t sum = 0;
    for (const std::uint64_t open : occupancy(number)) sum += open;
    return sum;
}

std::vector<std::uint64_t> channel_memory::occupancy(std::uint32_t number) const {
    const auto words = words_.copy_out();
    const auto done = done_.copy_out();
    std::vector<std::uint64_t> open(set_.channels[number].levels);
    for (std::uint32_t s = 0; s < set_.n_shards; ++s) {
        for (std::uint32_t level = 0; level < open.size(); ++level)
            open[level] += open_in(number, s, level, words, done);
    }
    return open;
}

std::vector<std::uint64_t> channel_memory::unfreed_by_warps(std::uint32_t number) const {
    const channel_layout& layout = set_.channels[number];
    std::vector<std::uint64_t> of_levels(layout.levels);
    if (set_.stacks.capacity == 0) return of_levels;
    const auto all = copy_out(set_.stacks.unfreed, set_.queues_a_shard);
    std::copy_n(all.begin() + layout.first_queue, layout.levels, of_levels.begin());
    return of_levels;
}

void channel_store::prepare(machine& machine, const comm_plan& plan, const std::vector<channel_plan>& plans,
                            const warp_plan& warps, const run_deadline& until) {
    scheduling_.reset();  // of a run that did not begin or did not end: its boards go
    if (plans != plans_ || warps != warps_ || plan.grids != grids_) {
        memories_.clear();
        plans_.clear();
        are_empty_ = false;
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            (void)until.left();
            memories_.emplace_back(machine.device(pe), plans, warps, plan.grids[static_cast<std::size_t>(pe)]);
        }
        plans_ = plans;
        warps_ = warps;
        grids_ = plan.grids;
    }
    if (requests_ == nullptr) {
        requests_ =
            std::make_unique<symmetric_array<std::uint32_t>>(machine, static_cast<std::uint64_t>(machine.n_pes()));
    }
    requests_->clear();
    for (auto& memory : memories_) memory.begin(are_empty_);
    are_empty_ = false;
}

void channel_store::set_graph(std::uint32_t graph) {
    for (auto& memory : memories_) memory.set_graph(graph);
}

void channel_store::set_boards(const comm_plan& plan, channel_scheduler by) {
    for (std::size_t pe = 0; pe < memories_.size(); ++pe) memories_[pe].set_board(plan.grids[pe], by);
}

symmetric_ref<std::uint32_t> channel_store::requests() const {
    return requests_ == nullptr ? symmetric_ref<std::uint32_t>{} : requests_->ref();
}

}  // namespace laneway
