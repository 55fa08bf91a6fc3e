#include "laneway/task/channel_host.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/task/channel_account.hpp"

namespace laneway {

namespace {

constexpr std::uint32_t max_host_slots = 1u << 24;
constexpr double endless_seconds = 1e9;
constexpr std::size_t reserved_word = destructive_bytes / sizeof(std::uint64_t);

std::uint32_t slots_of(const char* name, std::uint32_t slots) {
    if (slots != 0 && slots <= max_host_slots) return std::bit_ceil(slots);
    throw usage_error(std::string(name) + ": 1 to " + std::to_string(max_host_slots) + ", not " +
                      std::to_string(slots));
}

std::atomic_ref<std::uint64_t> word(const std::shared_ptr<std::byte>& memory) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.get()));
}

}  // namespace

program_access::use channel_host::session() {
    return access_.hold(
        "host threads use a graph, or call a fork-join program, while its session runs, from runtime::start to stop");
}

channel_host::channel_host(machine& machine, channel_table table, std::vector<channel_plan> plans,
                           const channel_service_options& options, channel_scheduler by)
    : machine_(machine), table_(std::move(table)),
      plans_(std::move(plans)), options_{slots_of("inbox_slots", options.inbox_slots),
                                         slots_of("result_slots", options.result_slots)},
      by_(by), taken_(table_.plans().size()) {
    for (const auto& plan : table_.plans()) element_bytes_ = std::max(element_bytes_, plan.element_bytes);
}

void channel_host::check(std::uint32_t channel, std::size_t bytes) const {
    if (channel < taken_.size() && plans_[channel].element_bytes == bytes) return;
    throw usage_error("channel " + std::to_string(channel) + " with elements of " + std::to_string(bytes) +
                      " bytes is not one of the graph in this session");
}

void channel_host::enqueue(std::uint32_t channel, const void* element, std::size_t bytes, int pe) {
    check(channel, bytes);
    if (pe < 0 || pe >= machine_.n_pes()) throw usage_error("PE " + std::to_string(pe) + " does not exist");
    const program_access::use mine = session();
    const resident_program::visit visiting(mine.program());
    {
        host_inboxes::place place(*inboxes_, pe, mine.program().waiting());
        place.slot().kind = channel;
        std::memcpy(place.slot().message<std::byte>(), element, bytes);
        place.publish();
    }
    mine.program().wake();
}

bool channel_host::take(std::uint32_t channel, void* element, std::size_t bytes, bool waits) {
    check(channel, bytes);
    if (!table_.is_for_host(channel)) {
        throw usage_error(channel_name(channel, plans_[channel]) +
                          " is consumed by a kernel: host threads take from channels of host_kernel()");
    }
    if (pop(channel, element, bytes)) return true;
    if (!waits) {
        collect();
        return pop(channel, element, bytes);
    }
    wait([&] { return pop(channel, element, bytes); }, false);
    return true;
}

void channel_host::wait(const std::function<bool()>& done, bool outlasts_stop) {
    const program_access::use mine = session();
    const auto waiting = mine.program().waiting();
    for (;;) {
        collect();
        if (done()) return;
        if (!outlasts_stop) mine.program().refuse_after_stop();
        waiting();
    }
}

std::uint64_t channel_host::sessions() const {
    const std::lock_guard lock(hearing_);
    return sessions_;
}

bool channel_host::pop(std::uint32_t channel, void* element, std::size_t bytes) {
    const std::lock_guard lock(hearing_);
    auto& waiting = taken_[channel];
    if (waiting.empty()) return false;
    std::memcpy(element, waiting.front().data(), bytes);
    waiting.pop_front();
    return true;
}

void channel_host::collect() {
    const std::lock_guard lock(hearing_);
    for (result_ring& from : result_rings_) hear(from);
}

/// Reads what lies in a ring. With the mutex.
void channel_host::hear(result_ring& from) {
    const std::uint64_t before = from.next;
    const channel_result_ring_ref ring = from.ref(options_.result_slots, result_slot::bytes_of(element_bytes_));
    for (;;) {
        result_slot& slot = ring.slot(from.next);
        // Partner: the release store in channel_result_ring_ref::fill.
        if (std::atomic_ref(slot.filled).load(std::memory_order_acquire) != from.next + 1) break;
        if (slot.channel >= taken_.size()) {
            throw device_fault("a kernel has given the host an element of channel " + std::to_string(slot.channel) +
                               ", which the graph does not have");
        }
        taken_[slot.channel].emplace_back(slot.element(), slot.element() + plans_[slot.channel].element_bytes);
        ++from.next;
        // Partner: the acquire load in channel_result_ring_ref::pass_on.
        word(from.taken).store(from.next, std::memory_order_release);
        if (from.next - before == options_.result_slots) break;  // devices may be faster; others wait for the mutex
    }
}

channel_result_ring_ref channel_host::result_ring::ref(std::uint64_t capacity, std::uint64_t slot_bytes) const {
    return {slots.get(),  reinterpret_cast<const std::uint64_t*>(taken.get()),
            words.data(), words.data() + reserved_word,
            capacity,     slot_bytes};
}

void channel_host::attach(machine& machine, const comm_plan& plan) {
    if (access_.is_connected()) throw usage_error("the graph is part of another session");
    if (&machine != &machine_) throw usage_error("the graph belongs to another runtime");
    store_.prepare(machine_, plan, plans_, {.choose = by_ == channel_scheduler::every_warp},
                   run_deadline(endless_seconds));
    store_.set_graph(graph_);
    store_.set_boards(plan, by_);
    table_.fill(store_.memories());
    inboxes_ = std::make_unique<host_inboxes>(machine_, element_bytes_, 0, options_.inbox_slots);
    const std::lock_guard lock(hearing_);
    ++sessions_;
    result_rings_.clear();
    for (auto& of_channel : taken_) of_channel.clear();  // what nobody took of an earlier session
    const std::size_t slot_bytes = result_slot::bytes_of(element_bytes_);
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const auto& user = machine_.device(pe);
        result_ring made;
        made.slots = allocate_host_visible(user, options_.result_slots * slot_bytes);
        made.taken = allocate_host_visible(user, destructive_bytes);
        made.words = buffer<std::uint64_t>(user, 2 * reserved_word);
        const std::uint64_t granted = options_.result_slots;
        made.words.copy_in(&granted, 1);
        store_.memories()[static_cast<std::size_t>(pe)].set_result_ring(made.ref(options_.result_slots, slot_bytes));
        result_rings_.push_back(std::move(made));
    }
}

void channel_host::audit() {
    collect();
    audit_channels(store_);
    const std::lock_guard lock(hearing_);
    for (std::size_t pe = 0; pe < result_rings_.size(); ++pe) {
        const std::uint64_t given = result_rings_[pe].words.copy_out()[reserved_word];
        if (given == result_rings_[pe].next) continue;
        throw device_fault("PE " + std::to_string(pe) + " has given " + std::to_string(given) +
                           " elements to the host, which has seen " + std::to_string(result_rings_[pe].next));
    }
    store_.note_emptied();
}

std::string channel_host::account() const {
    const auto& all = store_.memories();
    if (std::any_of(all.begin(), all.end(), [](const channel_memory& memory) { return memory.is_lost(); })) return {};
    return "; " + occupancy_text(store_);
}

channel_statistics channel_host::statistics() const { return statistics_of(store_.memories()); }

std::uint64_t channel_host::filled() const { return inboxes_ == nullptr ? 0 : inboxes_->filled(); }

bool channel_host::any_wait() const { return inboxes_ != nullptr && inboxes_->any_wait(); }

}  // namespace laneway
