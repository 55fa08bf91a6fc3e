#include "laneway/run/host_transfers.hpp"

#include <atomic>

#include "laneway/base/error.hpp"
#include "laneway/base/fault_text.hpp"
#include "laneway/run/resident_program.hpp"
#include "laneway/simt/cpu/context.hpp"

namespace laneway {

namespace {

constexpr std::size_t transfers_accepted_at = destructive_bytes, transfer_slots_at = 2 * destructive_bytes;

std::atomic_ref<std::uint64_t> transfer_word(const std::shared_ptr<std::byte>& memory, std::size_t at) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.get() + at));
}

host_transfer_slot* transfer_slots_of(const std::shared_ptr<std::byte>& memory) {
    return reinterpret_cast<host_transfer_slot*>(memory.get() + transfer_slots_at);
}

}  // namespace

host_transfer_slots::host_transfer_slots(machine& machine) {
    const host_transfer_progress nothing{};
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        part made;
        made.memory = allocate_host_visible(transfer_slots_at + count * sizeof(host_transfer_slot), machine.has_gpus());
        std::uninitialized_fill_n(transfer_slots_of(made.memory), count, host_transfer_slot{});
        made.progress = buffer<host_transfer_progress>(machine.device(pe), 1);
        made.progress.copy_in(&nothing, 1);
        made.events = buffer<transfer_event>(machine.device(pe), count);
        made.events.copy_in(std::vector(count, transfer_event{}));
        parts_.push_back(std::move(made));
    }
}

host_transfers_ref host_transfer_slots::ref(int pe) const {
    const part& p = part_of(pe);
    host_transfers_ref made;
    made.slots = transfer_slots_of(p.memory);
    made.filled = reinterpret_cast<const std::uint64_t*>(p.memory.get());
    made.accepted = reinterpret_cast<std::uint64_t*>(p.memory.get() + transfers_accepted_at);
    made.progress = p.progress.data();
    made.events = p.events.data();
    made.n_slots = count;
    return made;
}

bool host_transfer_slots::try_leave(int pe, const transfer& t, std::uint64_t& number) {
    const part& p = part_of(pe);
    const std::lock_guard lock(*p.leaving);
    number = transfer_word(p.memory, 0).load(std::memory_order_relaxed);
    if (number >= count && !is_over(pe, number - count)) return false;
    host_transfer_slot& slot = transfer_slots_of(p.memory)[number % count];
    slot.what = t;
    slot.asked = number + 1;
    // Partner: the acquire load of host_transfer_turn; and, in one order with it, resident_program::wake, which looks
    // whether the program is there, as any_wait looks for transfers when it has gone.
    transfer_word(p.memory, 0).store(number + 1);
    return true;
}

bool host_transfer_slots::is_over(int pe, std::uint64_t number) const {
    // Partner: the release store of host_transfer_turn. The slot may be a later one's by now.
    std::uint64_t& answered = transfer_slots_of(part_of(pe).memory)[number % count].answered;
    return std::atomic_ref(answered).load(std::memory_order_acquire) > number;
}

std::uint64_t host_transfer_slots::filled(int pe) const { return transfer_word(part_of(pe).memory, 0).load(); }

std::uint64_t host_transfer_slots::accepted(int pe) const {
    // Partner: the release store of host_transfer_turn.
    return transfer_word(part_of(pe).memory, transfers_accepted_at).load(std::memory_order_acquire);
}

/// What lanes would end the session for.
void host_transfers::check(int pe, const transfer& t) const {
    const int pes = machine_.n_pes();
    if (pe < 0 || pe >= pes) {
        throw usage_error("a transfer of a host thread: no PE " + std::to_string(pe) + ", where there are 0 to " +
                          std::to_string(pes - 1));
    }
    const std::vector<std::uint64_t> sizes = machine_.segment_sizes();
    pe_control control{};
    fault_record record{};
    pe_environment seen;
    seen.pe = pe;
    seen.n_pes = pes;
    seen.control = &control;
    seen.fault = &record;
    seen.segment_bytes = sizes.data();
    seen.n_segments = static_cast<std::uint32_t>(sizes.size());
    cpu::context lane(seen, 0, 1, nullptr);
    if (check_transfer(lane, t, keys_) == status::ok) return;
    fault_scene scene;
    scene.n_pes = pes;
    throw usage_error("a transfer of a host thread for PE " + std::to_string(pe) + ": " +
                      describe_cause(record, scene));
}

program_access::use host_transfers::session() {
    return access_.hold("host threads post transfers while a session of them goes on");
}

host_transfers::place host_transfers::post(int pe, const transfer& t) {
    const program_access::use mine = session();
    check(pe, t);
    const resident_program::visit visiting(mine.program());
    place at{slots_, pe, 0};
    mine.program().await([&] { return at.slots->try_leave(pe, t, at.number); });
    mine.program().wake();
    return at;
}

void host_transfers::wait(const place& of) {
    const auto is_over = [&] { return of.slots->is_over(of.pe, of.number); };
    if (is_over()) return;
    const program_access::use mine = session();
    try {
        mine.program().await(is_over);
    } catch (const timeout_error& late) {
        throw timeout_error("transfer " + std::to_string(of.number) + " of host threads for PE " +
                                std::to_string(of.pe) + ": " + late.what(),
                            late.where());
    } catch (const usage_error&) {
        if (!is_over()) throw;  // it was over before the session was stopped
    }
}

std::uint64_t host_transfers::filled() const {
    std::uint64_t sum = 0;
    for (int pe = 0; slots_ && pe < slots_->n_pes(); ++pe) sum += slots_->filled(pe);
    return sum;
}

/// Also what a program that was leaving has accepted and not done.
bool host_transfers::any_wait() const {
    for (int pe = 0; slots_ && pe < slots_->n_pes(); ++pe) {
        const std::uint64_t filled = slots_->filled(pe);
        const std::uint64_t first = filled < host_transfer_slots::count ? 0 : filled - host_transfer_slots::count;
        for (std::uint64_t number = first; number < filled; ++number) {
            if (!slots_->is_over(pe, number)) return true;
        }
    }
    return false;
}

void host_transfers::hand_over() {
    if (!any_wait()) return;
    std::vector<std::uint64_t> filled;
    for (int pe = 0; pe < slots_->n_pes(); ++pe) filled.push_back(slots_->filled(pe));
    const program_access::use mine = session();
    mine.program().await([&] {
        for (int pe = 0; pe < slots_->n_pes(); ++pe) {
            if (slots_->accepted(pe) < filled[static_cast<std::size_t>(pe)]) return false;
        }
        return true;
    });
}

}  // namespace laneway
