#include "laneway/run/host_messages.hpp"

#include <algorithm>
#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/run/session.hpp"

namespace laneway {

namespace {

constexpr std::size_t filled_word = 0, accepted_word = 1;
constexpr std::size_t order_at = 2 * destructive_bytes;

std::string tag_text(std::int64_t tag) {
    return tag == std::int64_t{any_tag} ? "any tag" : "tag " + std::to_string(tag);
}

}  // namespace

host_messages::host_messages(machine& machine, const communicator_options& options, std::uint32_t communicator)
    : machine_(machine), options_(options), number_(communicator) {}

void host_messages::attach() {
    parts_.clear();
    const std::uint32_t n = options_.host_operations;
    const std::size_t slot_bytes = host_message_slot::payload_at + options_.host_bytes;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        part made;
        made.slots = allocate_host_visible(n * slot_bytes, machine_.has_gpus());
        made.words = allocate_host_visible(order_at + n * sizeof(std::uint32_t), machine_.has_gpus());
        made.progress = buffer<host_message_progress>(machine_.device(pe), n);
        for (std::uint32_t i = n; i-- > 0;) made.free.push_back(i);
        parts_.push_back(std::move(made));
    }
}

void host_messages::connect(resident_program& program) { program_ = &program; }

void host_messages::disconnect() noexcept { program_ = nullptr; }

host_messages_ref host_messages::ref(int pe) const {
    host_messages_ref made;
    if (parts_.empty()) return made;
    const part& p = part_of(pe);
    made.slots = p.slots.get();
    made.order = reinterpret_cast<const std::uint32_t*>(p.words.get() + order_at);
    made.filled = reinterpret_cast<const std::uint64_t*>(p.words.get());
    made.accepted = reinterpret_cast<std::uint64_t*>(p.words.get() + destructive_bytes);
    made.progress = p.progress.data();
    made.slot_bytes = host_message_slot::payload_at + options_.host_bytes;
    made.n_slots = options_.host_operations;
    return made;
}

std::atomic_ref<std::uint64_t> host_messages::word(const part& p, std::size_t number) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(p.words.get() + number * destructive_bytes));
}

std::string host_messages::text_of(const question& asked) const {
    const std::string peer = asked.peer == std::int64_t{any_source} ? "any PE" : "PE " + std::to_string(asked.peer);
    const std::string what = asked.kind == request_kind::send ? "send of " + tag_text(asked.tag) + " to " + peer
                             : asked.kind == request_kind::receive
                                 ? "receive of " + tag_text(asked.tag) + " from " + peer
                                 : "look for " + tag_text(asked.tag) + " from " + peer;
    return what + " by a host thread for PE " + std::to_string(asked.rank) + ", communicator " +
           std::to_string(number_);
}

/// What lanes would end the session for.
void host_messages::check(const question& asked) const {
    const auto refuse = [&](const std::string& why) { throw usage_error(text_of(asked) + ": " + why); };
    const bool sends = asked.kind == request_kind::send;
    const bool from_any = !sends && asked.peer == std::int64_t{any_source};
    const bool with_any = !sends && asked.tag == std::int64_t{any_tag};
    const int pes = machine_.n_pes();
    const auto must_exist = [&](std::int64_t pe) {
        if (pe < 0 || pe >= pes)
            refuse("no PE " + std::to_string(pe) + ", where there are 0 to " + std::to_string(pes - 1));
    };
    must_exist(asked.rank);
    if (!from_any) must_exist(asked.peer);
    if (!with_any && (asked.tag < 0 || asked.tag > std::int64_t{max_message_tag})) {
        refuse("tags are 0 to " + std::to_string(max_message_tag));
    }
    if ((from_any && options_.rules.no_any_source) || (with_any && options_.rules.no_any_tag)) {
        refuse("a wildcard that the communicator promises not to use");
    }
    if (asked.bytes > options_.host_bytes) {
        refuse(std::to_string(asked.bytes) + " bytes, and host threads have room for " +
               std::to_string(options_.host_bytes) + ", see communicator_options::host_bytes");
    }
}

resident_program& host_messages::program() const {
    resident_program* const now = program_;
    if (now == nullptr) throw usage_error("host threads send and receive while a session of the communicator goes on");
    return *now;
}

std::uint32_t host_messages::ask(const question& asked) {
    resident_program& running = program();
    check(asked);
    running.refuse_after_stop();
    part& p = part_of(asked.rank);
    const host_messages_ref view = ref(asked.rank);
    const std::lock_guard lock(*p.mutex);
    if (p.free.empty()) {
        throw usage_error(text_of(asked) + ": " + std::to_string(options_.host_operations) +
                          " operations go on there already, see communicator_options::host_operations");
    }
    const std::uint32_t number = p.free.back();
    p.free.pop_back();
    host_message_slot& slot = view.slot(number);
    slot.kind = asked.kind;
    slot.other = asked.other;
    slot.key = {static_cast<std::uint32_t>(asked.peer), static_cast<std::uint32_t>(asked.tag)};
    slot.bytes = asked.bytes;
    ++slot.asked;
    if (asked.payload != nullptr) std::memcpy(slot.payload(), asked.payload, asked.bytes);
    const std::uint64_t filled = word(p, filled_word).load(std::memory_order_relaxed);
    reinterpret_cast<std::uint32_t*>(p.words.get() + order_at)[filled % options_.host_operations] = number;
    // Partner: the acquire load of host_message_turn; and, in one order with it, resident_program::wake, which looks
    // whether the program is there, as any_wait looks for questions when it has gone.
    word(p, filled_word).store(filled + 1);
    running.wake();
    return number;
}

bool host_messages::is_over(int rank, std::uint32_t number) const {
    host_message_slot& slot = ref(rank).slot(number);
    // Partner: the release store of host_message_turn.
    return std::atomic_ref(slot.answered).load(std::memory_order_acquire) == slot.asked;
}

void host_messages::wait_until(const std::string& what, const std::function<bool()>& done) {
    if (done()) return;
    resident_program& running = program();
    const auto waiting = running.waiting();
    try {
        while (!done()) {
            running.wake();  // it may have left the devices, with nothing else to do
            waiting();
        }
    } catch (const timeout_error& late) {
        throw timeout_error(what + ": " + late.what());
    }
}

void host_messages::wait(const question& asked, std::uint32_t slot) {
    wait_until(text_of(asked), [&] { return is_over(asked.rank, slot); });
}

host_messages::answer host_messages::take(int rank, std::uint32_t number, void* to) {
    host_message_slot& slot = ref(rank).slot(number);
    answer what;
    what.got = {slot.source, slot.tag, slot.length, slot.kind == request_kind::receive && slot.found != 0};
    what.found = slot.found != 0;
    if (to != nullptr && !what.got.cancelled) std::memcpy(to, slot.payload(), slot.length);
    part& p = part_of(rank);
    const std::lock_guard lock(*p.mutex);
    p.free.push_back(number);
    return what;
}

std::uint64_t host_messages::filled() const {
    std::uint64_t sum = 0;
    for (const part& p : parts_) sum += word(p, filled_word).load();
    return sum;
}

bool host_messages::any_wait() const {
    for (const part& p : parts_) {
        // Partner: the release store of host_message_turn.
        if (word(p, accepted_word).load(std::memory_order_acquire) < word(p, filled_word).load()) return true;
    }
    return false;
}

void host_messages::hand_over() {
    if (!any_wait()) return;
    resident_program& running = program();
    const auto waiting = running.waiting();
    while (any_wait()) {
        running.wake();
        waiting();
    }
}

void host_message::refuse_taken() const {
    if (state_ == nullptr || state_->taken)
        throw usage_error("the host thread's operation has been waited for already");
}

host_messages::answer host_message::take() {
    if (state_->taken.exchange(true)) refuse_taken();
    return state_->all->take(state_->asked.rank, state_->slot, state_->to);
}

std::size_t host_message::wait_any(std::vector<host_message>& all, message_status& got) {
    std::size_t which = 0;
    const auto is_open = [](const host_message& one) { return one.state_ != nullptr && !one.state_->taken; };
    const auto first = std::find_if(all.begin(), all.end(), is_open);
    if (first == all.end()) return all.size();
    first->state_->all->wait_until("one of " + std::to_string(all.size()) + " operations of a host thread", [&] {
        for (which = 0; which < all.size(); ++which) {
            if (is_open(all[which]) && all[which].is_over()) return true;
        }
        return false;
    });
    got = all[which].wait();
    return which;
}

std::optional<message_status> host_message::look(const std::shared_ptr<host_messages>& all,
                                                 const host_messages::question& asked, bool waits) {
    host_messages::answer seen;
    const auto ask = [&] {
        host_message question(all, asked, nullptr);
        all->wait(asked, question.state_->slot);
        seen = question.take();
        return seen.found || !waits;
    };
    all->wait_until("a look for a message by a host thread", ask);
    return seen.found ? std::optional(seen.got) : std::nullopt;
}

void host_message::cancel() {
    refuse_taken();
    host_messages::question asked = state_->asked;
    if (asked.kind != request_kind::receive) throw usage_error("receives can be taken back, sends cannot");
    asked.kind = request_kind::cancel;
    asked.bytes = 0;
    asked.other = state_->slot;
    (void)host_message(state_->all, asked, nullptr).wait();
}

}  // namespace laneway
