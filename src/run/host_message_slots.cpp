#include "laneway/run/host_message_slots.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::size_t accepted_at = destructive_bytes, entries_at = 2 * destructive_bytes;

std::atomic_ref<std::uint64_t> word_at(const std::shared_ptr<std::byte>& words, std::size_t at) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(words.get() + at));
}

}  // namespace

host_message_slots::host_message_slots(machine& machine, const communicator_options& options) : options_(options) {
    const std::uint32_t n = options.host_operations;
    const std::size_t slot_bytes = host_message_slot::payload_at + options.host_bytes;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        part made;
        made.slots = allocate_host_visible(n * slot_bytes, machine.has_gpus());
        made.words = allocate_host_visible(entries_at + host_messages_ref::entries(n) * sizeof(std::uint32_t),
                                           machine.has_gpus());
        made.progress = buffer<host_message_progress>(machine.device(pe), n);
        made.uses.resize(n);
        for (std::uint32_t i = n; i-- > 0;) made.free.push_back(i);
        parts_.push_back(std::move(made));
    }
}

host_messages_ref host_message_slots::ref(int pe) const {
    const part& p = part_of(pe);
    host_messages_ref made;
    made.slots = p.slots.get();
    made.order = reinterpret_cast<const std::uint32_t*>(p.words.get() + entries_at);
    made.filled = reinterpret_cast<const std::uint64_t*>(p.words.get());
    made.accepted = reinterpret_cast<std::uint64_t*>(p.words.get() + accepted_at);
    made.progress = p.progress.data();
    made.slot_bytes = host_message_slot::payload_at + options_.host_bytes;
    made.n_slots = options_.host_operations;
    return made;
}

host_message_slot& host_message_slots::slot_of(const part& p, std::uint32_t number) const {
    const std::size_t bytes = host_message_slot::payload_at + options_.host_bytes;
    return *reinterpret_cast<host_message_slot*>(p.slots.get() + number * bytes);
}

/// Leaves an entry for the control warp. With the part's mutex. A slot has three entries at most that have not been
/// begun with: the last look of a use that was over before it, and the two of the use behind it, which is not over
/// before they are begun with.
void host_message_slots::leave(part& p, std::uint32_t entry) {
    const std::uint64_t filled = word_at(p.words, 0).load(std::memory_order_relaxed);
    const std::uint64_t at = filled % host_messages_ref::entries(options_.host_operations);
    reinterpret_cast<std::uint32_t*>(p.words.get() + entries_at)[at] = entry;
    // Partner: the acquire load of host_message_turn; and, in one order with it, resident_program::wake, which looks
    // whether the program is there, as any_wait looks for entries when it has gone.
    word_at(p.words, 0).store(filled + 1);
}

bool host_message_slots::ask(int rank, const order& asked, use& given) {
    part& p = part_of(rank);
    const std::lock_guard lock(*p.mutex);
    if (p.closed) throw usage_error("the session has been stopped");
    if (asked.kind == request_kind::match && adopt(p, asked.key, given)) return true;
    if (p.free.empty()) {
        for (std::uint32_t i = 0; i < p.uses.size(); ++i) {
            if (p.uses[i].dropped && is_answered(p, i) && !holds_message(p, i)) give_back(p, i);
        }
        if (p.free.empty()) return false;
    }
    const std::uint32_t number = p.free.back();
    p.free.pop_back();
    p.uses[number] = {.used = true, .entry = word_at(p.words, 0).load(std::memory_order_relaxed)};
    host_message_slot& slot = slot_of(p, number);
    slot.kind = asked.kind;
    slot.key = asked.key;
    slot.bytes = asked.bytes;
    slot.synchronous = asked.synchronous ? 1 : 0;
    if (asked.payload != nullptr) std::memcpy(slot.payload(), asked.payload, asked.bytes);
    given = {number, ++slot.asked};
    leave(p, number);
    return true;
}

/// The first message that was taken out for a thread which was interrupted, and which this one may have. With the
/// part's mutex.
bool host_message_slots::adopt(part& p, const match_key& key, use& given) {
    const slot_use* first = nullptr;
    for (std::uint32_t i = 0; i < p.uses.size(); ++i) {
        if (!p.uses[i].dropped || !holds_message(p, i)) continue;
        const host_message_slot& slot = slot_of(p, i);
        if (!key.accepts({slot.source, slot.tag}) || (first != nullptr && first->entry < p.uses[i].entry)) continue;
        first = &p.uses[i];
        given = {i, slot.asked};
    }
    if (first != nullptr) p.uses[given.slot].dropped = false;
    return first != nullptr;
}

bool host_message_slots::is_any_coming_back(int rank) const {
    const part& p = part_of(rank);
    const std::lock_guard lock(*p.mutex);
    for (std::uint32_t i = 0; i < p.uses.size(); ++i) {
        const host_message_slot& slot = slot_of(p, i);
        const bool waits = slot.kind == request_kind::send &&
                           (slot.synchronous != 0 || slot.bytes > options_.eager_bytes);  // for a receive
        if (p.uses[i].dropped && !waits && !holds_message(p, i)) return true;
    }
    return false;
}

bool host_message_slots::is_answered(const part& p, std::uint32_t number) const {
    host_message_slot& slot = slot_of(p, number);
    // Partner: the release store of host_message_turn.
    return std::atomic_ref(slot.answered).load(std::memory_order_acquire) == slot.asked;
}

/// Whether a matched probe has found a message that nobody has asked for yet.
bool host_message_slots::holds_message(const part& p, std::uint32_t number) const {
    const host_message_slot& slot = slot_of(p, number);
    return p.uses[number].used && slot.kind == request_kind::match && is_answered(p, number) && slot.found != 0;
}

bool host_message_slots::is_over(int rank, use mine) const {
    // Partner: the release store of host_message_turn.
    const std::uint32_t answered =
        std::atomic_ref(slot_of(part_of(rank), mine.slot).answered).load(std::memory_order_acquire);
    return static_cast<std::int32_t>(answered - mine.number) >=
           0;  // or another thread has taken it, and it is in use again
}

host_message_slots::answer host_message_slots::take(int rank, use mine, void* to) {
    part& p = part_of(rank);
    host_message_slot& slot = slot_of(p, mine.slot);
    answer what;
    what.got = {slot.source, slot.tag, slot.length, slot.kind == request_kind::receive && slot.found != 0};
    what.found = slot.found != 0;
    if (to != nullptr && !what.got.cancelled) std::memcpy(to, slot.payload(), slot.length);
    const std::lock_guard lock(*p.mutex);
    what.stopped = what.got.cancelled && p.uses[mine.slot].stopped;
    if (!holds_message(p, mine.slot)) give_back(p, mine.slot);
    return what;
}

host_message_slots::use host_message_slots::receive_matched(int rank, use mine, std::uint64_t bytes) {
    part& p = part_of(rank);
    const std::lock_guard lock(*p.mutex);
    if (p.closed) throw usage_error("the session has been stopped");
    host_message_slot& slot = slot_of(p, mine.slot);
    slot.kind = request_kind::matched_receive;
    slot.bytes = bytes;
    p.uses[mine.slot] = {.used = true};
    ++slot.asked;
    leave(p, mine.slot);
    return {mine.slot, slot.asked};
}

/// With the part's mutex.
void host_message_slots::give_back(part& p, std::uint32_t number) {
    p.uses[number] = {};
    p.free.push_back(number);
}

/// With the part's mutex.
void host_message_slots::cancel(part& p, std::uint32_t number) {
    if (p.uses[number].cancelled || is_answered(p, number)) return;
    p.uses[number].cancelled = true;
    leave(p, number | host_messages_ref::last_look);
}

void host_message_slots::cancel(int rank, use mine) {
    part& p = part_of(rank);
    const std::lock_guard lock(*p.mutex);
    if (p.uses[mine.slot].used && slot_of(p, mine.slot).asked == mine.number) cancel(p, mine.slot);
}

void host_message_slots::drop(int rank, use mine) {
    part& p = part_of(rank);
    const std::lock_guard lock(*p.mutex);
    if (is_answered(p, mine.slot) && !holds_message(p, mine.slot)) return give_back(p, mine.slot);
    p.uses[mine.slot].dropped = true;
    if (slot_of(p, mine.slot).kind == request_kind::receive && !p.closed) cancel(p, mine.slot);
}

/// Whether a send, or anything else, is in use there and not over. With the part's mutex.
bool host_message_slots::is_open(const part& p, std::uint32_t number, bool sends) const {
    return p.uses[number].used && (slot_of(p, number).kind == request_kind::send) == sends && !is_answered(p, number);
}

void host_message_slots::close() {
    for (part& p : parts_) {
        const std::lock_guard lock(*p.mutex);
        p.closed = true;
        for (std::uint32_t i = 0; i < p.uses.size(); ++i) {
            if (!is_open(p, i, false)) continue;
            p.uses[i].stopped = !p.uses[i].cancelled;
            cancel(p, i);
        }
    }
}

bool host_message_slots::is_any_receive_open() const {
    return std::any_of(parts_.begin(), parts_.end(), [&](const part& p) {
        const std::lock_guard lock(*p.mutex);
        for (std::uint32_t i = 0; i < p.uses.size(); ++i) {
            if (is_open(p, i, false)) return true;
        }
        return false;
    });
}

void host_message_slots::look_at_sends() {
    for (part& p : parts_) {
        const std::lock_guard lock(*p.mutex);
        for (std::uint32_t i = 0; i < p.uses.size(); ++i) {
            if (is_open(p, i, true)) cancel(p, i);
        }
    }
}

bool host_message_slots::are_sends_looked_at() const {
    for (int rank = 0; rank < n_ranks(); ++rank) {
        const part& p = part_of(rank);
        const std::lock_guard lock(*p.mutex);
        for (std::uint32_t i = 0; i < p.uses.size(); ++i) {
            host_message_slot& slot = slot_of(p, i);
            // Partner: the release store of host_message_turn.
            const bool stuck = std::atomic_ref(slot.left).load(std::memory_order_acquire) == slot.asked;
            if (is_open(p, i, true) && !stuck) return false;
        }
    }
    return true;
}

std::uint64_t host_message_slots::sends_left(int rank) const {
    const part& p = part_of(rank);
    const std::lock_guard lock(*p.mutex);
    std::uint64_t left = 0;
    for (std::uint32_t i = 0; i < p.uses.size(); ++i) left += is_open(p, i, true) ? 1 : 0;
    return left;
}

std::uint64_t host_message_slots::matched_left(int rank) const {
    const part& p = part_of(rank);
    const std::lock_guard lock(*p.mutex);
    std::uint64_t left = 0;
    for (std::uint32_t i = 0; i < p.uses.size(); ++i) left += holds_message(p, i) ? 1 : 0;
    return left;
}

std::uint64_t host_message_slots::filled(int rank) const { return word_at(part_of(rank).words, 0).load(); }

std::uint64_t host_message_slots::accepted(int rank) const {
    // Partner: the release store of host_message_turn.
    return word_at(part_of(rank).words, accepted_at).load(std::memory_order_acquire);
}

}  // namespace laneway
