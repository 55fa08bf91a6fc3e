#include "laneway/run/host_triggers.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "laneway/run/resident_program.hpp"

namespace laneway {

namespace {

constexpr std::size_t triggers_taken_at = destructive_bytes, host_triggers_at = 2 * destructive_bytes,
                      host_waiting_at = host_triggers_at + host_triggers_ref::slots * sizeof(host_trigger),
                      host_asked_at = host_waiting_at + (sizeof(host_waiting_tags) + destructive_bytes - 1) /
                                                            destructive_bytes * destructive_bytes;

/// What a PE has told behind a fence, in an epoch that is seen to be done.
std::uint64_t told_by_pe(std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); }

std::atomic_ref<std::uint64_t> triggers_word(const std::shared_ptr<std::byte>& memory, std::size_t at) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.get() + at));
}

}  // namespace

void host_triggers::attach(std::size_t item_bytes) {
    parts_.clear();
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const std::size_t bytes = host_asked_at + sizeof(host_preparation) + item_bytes;
        parts_.push_back({allocate_host_visible(machine_.device(pe), bytes), {machine_.device(pe), 2}});
    }
}

host_triggers_ref host_triggers::ref(int pe) const {
    const part& p = parts_[static_cast<std::size_t>(pe)];
    return {reinterpret_cast<const host_trigger*>(p.memory.get() + host_triggers_at),
            reinterpret_cast<const std::uint64_t*>(p.memory.get()),
            reinterpret_cast<std::uint64_t*>(p.memory.get() + triggers_taken_at),
            p.words.data(),
            p.words.data() + 1,
            reinterpret_cast<host_waiting_tags*>(p.memory.get() + host_waiting_at),
            reinterpret_cast<host_preparation*>(p.memory.get() + host_asked_at)};
}

std::vector<waiting_tag> host_triggers::waiting() const {
    std::vector<waiting_tag> all;
    for (int pe = 0; pe < static_cast<int>(parts_.size()); ++pe) {
        host_waiting_tags& of_pe = *ref(pe).waiting;
        const std::uint64_t count = std::min<std::uint64_t>(told_by_pe(of_pe.count), host_waiting_tags::most);
        for (std::uint64_t i = 0; i < count; ++i) {
            const trigger_word word{told_by_pe(of_pe.tags[i].word)};
            all.push_back({pe, static_cast<std::uint32_t>(told_by_pe(of_pe.tags[i].tag)), word.count(),
                           word.threshold(), told_by_pe(of_pe.tags[i].fired)});
        }
    }
    return all;
}

std::uint64_t host_triggers::left_out() const {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < static_cast<int>(parts_.size()); ++pe) {
        const std::uint64_t count = told_by_pe(ref(pe).waiting->count);
        sum += count - std::min<std::uint64_t>(count, host_waiting_tags::most);
    }
    return sum;
}

program_access::use host_triggers::hold() {
    return access_.hold("triggers: host threads trigger while a session of them goes on");
}

void host_triggers::leave(int pe, const host_trigger& entry) {
    const program_access::use mine = hold();
    const resident_program::visit visiting(mine.program());
    leave(mine.program(), parts_[static_cast<std::size_t>(pe)], entry);
}

void host_triggers::leave(resident_program& program, const part& p, const host_trigger& entry) {
    std::unique_lock lock(*p.leaving, std::defer_lock);
    program.await([&] { return lock.try_lock(); });
    const std::uint64_t next = triggers_word(p.memory, 0).load(std::memory_order_relaxed);
    program.await([&] {
        // Partner: the release store of host_triggers_ref::take.
        return next - triggers_word(p.memory, triggers_taken_at).load(std::memory_order_acquire) <
               host_triggers_ref::slots;
    });
    reinterpret_cast<host_trigger*>(p.memory.get() + host_triggers_at)[next % host_triggers_ref::slots] = entry;
    // Partner: the acquire load of host_triggers_ref::take; and, in one order with it, resident_program::wake, which
    // looks whether the program is there, as any_wait looks for entries when it has gone.
    triggers_word(p.memory, 0).store(next + 1);
    lock.unlock();
    program.wake();
}

bool host_triggers::is_answered(const part& p) {
    // Partner: the release store of host_triggers_ref::answer.
    return std::atomic_ref(asked_in(p).answered).load(std::memory_order_acquire) == p.asked;
}

host_preparation& host_triggers::asked_in(const part& p) {
    return *reinterpret_cast<host_preparation*>(p.memory.get() + host_asked_at);
}

/// Behind the answer.
host_answer host_triggers::tell(part& p) {
    host_preparation& asked = asked_in(p);
    const host_answer answer{told_by_pe(asked.result), static_cast<int>(told_by_pe(asked.pe)),
                             told_by_pe(asked.number)};
    if (const told_to told = std::exchange(p.told, {})) told(answer);
    return answer;
}

void host_triggers::tell_what_is_left() {
    for (part& p : parts_) {
        const std::lock_guard lock(*p.asking);
        if (p.told && is_answered(p)) (void)tell(p);
        p.told = {};
    }
}

host_answer host_triggers::ask(int pe, host_trigger entry, const host_preparation& what,
                               std::span<const std::byte> item, const told_to& told) {
    const program_access::use mine = hold();
    mine.program().refuse_within_use("triggers: prepare or disarm");  // the program cannot come back to answer
    const resident_program::visit visiting(mine.program());
    part& p = parts_[static_cast<std::size_t>(pe)];
    host_preparation& asked = asked_in(p);
    std::unique_lock lock(*p.asking, std::defer_lock);
    mine.program().await([&] { return lock.try_lock(); });
    mine.program().await([&] { return is_answered(p); });  // a thread that was interrupted has not waited
    if (p.told) (void)tell(p);
    asked.operation = what.operation;
    asked.threshold = what.threshold;
    asked.how = what.how;
    std::copy(item.begin(), item.end(), reinterpret_cast<std::byte*>(&asked + 1));
    told_to kept = told;  // nothing fails between the entry and its note
    entry.n = p.asked + 1;
    leave(mine.program(), p, entry);  // may be interrupted before the entry is left
    ++p.asked;
    p.told = std::move(kept);
    mine.program().await([&] { return is_answered(p); });
    return tell(p);
}

std::uint64_t host_triggers::filled() const {
    std::uint64_t sum = 0;
    for (const part& p : parts_) sum += triggers_word(p.memory, 0).load();
    return sum;
}

bool host_triggers::any_wait() const {
    for (const part& p : parts_) {
        // Partner: the release store of host_triggers_ref::take.
        if (triggers_word(p.memory, triggers_taken_at).load(std::memory_order_acquire) !=
            triggers_word(p.memory, 0).load()) {
            return true;
        }
    }
    return false;
}

}  // namespace laneway
