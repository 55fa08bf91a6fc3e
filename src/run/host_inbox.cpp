#include "laneway/run/host_inbox.hpp"

#include <atomic>

namespace laneway {

host_inboxes::host_inboxes(machine& machine, std::size_t message_bytes, std::size_t answer_bytes, std::uint64_t slots,
                           int shut, int losing)
    : capacity_(slots), slot_bytes_(inbox_slot::bytes_of(message_bytes)),
      answer_bytes_(inbox_slot::bytes_of(answer_bytes)), shut_(shut), losing_(losing) {
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const auto& device = machine.device(pe);
        part& p = parts_.emplace_back();
        p.slots = allocate_host_visible(device, capacity_ * slot_bytes_);
        p.filled = allocate_host_visible(device, destructive_bytes);
        p.words = buffer<std::uint64_t>(device, 4 * destructive_bytes / sizeof(std::uint64_t));
        for (std::uint64_t i = 0; i < capacity_; ++i) {
            reinterpret_cast<inbox_slot*>(p.slots.get() + i * slot_bytes_)->free_for = i;
        }
    }
    // Every PE stores answers: memory that GPUs reach, if there is one.
    int user = 0;
    while (machine.has_gpus() && !machine.device(user)->is_gpu()) ++user;
    answers_ = allocate_host_visible(machine.device(user), capacity_ * answer_bytes_);
    for (std::uint64_t i = capacity_; i > 0; --i) free_answers_.push_back(static_cast<std::uint32_t>(i - 1));
}

inbox_ref host_inboxes::ref(int pe) const {
    const part& p = parts_[static_cast<std::size_t>(pe)];
    inbox_ref made;
    made.slots = p.slots.get();
    made.answers = answers_.get();
    made.filled = reinterpret_cast<const std::uint64_t*>(p.filled.get());
    made.known = p.words.data();
    made.taken = p.words.data() + destructive_bytes / sizeof(std::uint64_t);
    made.is_open = p.words.data() + 2 * destructive_bytes / sizeof(std::uint64_t);
    made.served = p.words.data() + 3 * destructive_bytes / sizeof(std::uint64_t);
    made.capacity = capacity_;
    made.slot_bytes = slot_bytes_;
    made.answer_bytes = answer_bytes_;
    made.is_shut = pe == shut_;
    made.loses = pe == losing_;
    return made;
}

host_inboxes::place::place(host_inboxes& all, int pe, const while_waiting& waiting)
    : part_(all.parts_[static_cast<std::size_t>(pe)]), lock_(*part_.filling, std::defer_lock) {
    while (!lock_.try_lock()) waiting();
    slot_ = reinterpret_cast<inbox_slot*>(part_.slots.get() + part_.next % all.capacity_ * all.slot_bytes_);
    // Partner: the release store of the lane that has copied what lay here.
    const std::atomic_ref free_for(slot_->free_for);
    while (free_for.load(std::memory_order_acquire) != part_.next) waiting();
}

void host_inboxes::place::publish() {
    // Partner: the acquire load in inbox_ref::pass_on; and, in one order with it, resident_program::wake, which
    // looks whether the program is there, as any_wait looks for messages when it has gone.
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(part_.filled.get())).store(++part_.next);
    lock_.unlock();
}

host_inboxes::awaited::awaited(host_inboxes& all, const while_waiting& waiting) : all_(all) {
    for (;;) {
        {
            const std::lock_guard lock(all_.free_mutex_);
            if (all_.free_answers_.empty()) all_.look_at_unheard();
            if (!all_.free_answers_.empty()) {
                number_ = all_.free_answers_.back();
                all_.free_answers_.pop_back();
                break;
            }
        }
        waiting();
    }
    std::atomic_ref(state()).store(inbox_answer::waits, std::memory_order_relaxed);
}

host_inboxes::awaited::~awaited() {
    const std::lock_guard lock(all_.free_mutex_);
    const bool heard = std::atomic_ref(state()).load(std::memory_order_acquire) != inbox_answer::waits;
    (heard ? all_.free_answers_ : all_.unheard_).push_back(number_);
}

/// Frees the places whose answers have come meanwhile. With the mutex.
void host_inboxes::look_at_unheard() {
    std::erase_if(unheard_, [&](std::uint32_t number) {
        auto& state = reinterpret_cast<inbox_answer*>(answers_.get() + number * answer_bytes_)->state;
        if (std::atomic_ref(state).load(std::memory_order_acquire) == inbox_answer::waits) return false;
        free_answers_.push_back(number);
        return true;
    });
}

bool host_inboxes::awaited::wait(const while_waiting& waiting) const {
    for (;;) {
        // Partner: the release store in host_inbox_agent::answer.
        const std::uint32_t now = std::atomic_ref(state()).load(std::memory_order_acquire);
        if (now != inbox_answer::waits) return now == inbox_answer::given;
        waiting();
    }
}

const std::byte* host_inboxes::awaited::answer() const {
    return all_.answers_.get() + number_ * all_.answer_bytes_ + inbox_answer::header_bytes;
}

std::uint32_t& host_inboxes::awaited::state() const {
    return reinterpret_cast<inbox_answer*>(all_.answers_.get() + number_ * all_.answer_bytes_)->state;
}

std::uint64_t host_inboxes::filled(const part& p) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(p.filled.get())).load();
}

std::uint64_t host_inboxes::filled() const {
    std::uint64_t sum = 0;
    for (const part& p : parts_) sum += filled(p);
    return sum;
}

std::string host_inboxes::account() const {
    std::string text;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const std::uint64_t end = filled(parts_[p]);
        std::uint64_t waiting = 0;
        for (std::uint64_t i = end < capacity_ ? 0 : end - capacity_; i < end; ++i) {
            auto* const slot = reinterpret_cast<inbox_slot*>(parts_[p].slots.get() + i % capacity_ * slot_bytes_);
            waiting += std::atomic_ref(slot->free_for).load(std::memory_order_acquire) == i ? 1 : 0;
        }
        if (waiting == 0) continue;
        text += "; inbox of PE " + std::to_string(p) + ": " + std::to_string(waiting) + " of " +
                std::to_string(capacity_) + " slots in use";
    }
    return text;
}

bool host_inboxes::any_wait() const {
    for (const part& p : parts_) {
        const std::uint64_t end = filled(p);
        if (end == 0) continue;
        // Lanes take messages in their order.
        auto* const last = reinterpret_cast<inbox_slot*>(p.slots.get() + (end - 1) % capacity_ * slot_bytes_);
        if (std::atomic_ref(last->free_for).load(std::memory_order_acquire) == end - 1) return true;
    }
    return false;
}

}  // namespace laneway
