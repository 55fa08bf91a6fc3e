#include "laneway/run/host_messages.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"
#include "laneway/run/resident_program.hpp"

namespace laneway {

host_messages::host_messages(machine& machine, const communicator_options& options, std::uint32_t communicator)
    : machine_(machine), options_(options), number_(communicator) {}

void host_messages::attach(int shut) {
    slots_ = std::make_shared<host_message_slots>(machine_, options_);
    shut_ = shut;
}

host_messages_ref host_messages::ref(int pe) const {
    return slots_ && pe != shut_ ? slots_->ref(pe) : host_messages_ref{};
}

std::string host_messages::text_of(const question& asked) const {
    const std::string tag = asked.tag == std::int64_t{any_tag} ? "any tag" : "tag " + std::to_string(asked.tag);
    const std::string peer = asked.peer == std::int64_t{any_source}  ? "any PE"
                             : asked.peer == std::int64_t{proc_null} ? "nobody"
                                                                     : "PE " + std::to_string(asked.peer);
    const bool looks = asked.kind == request_kind::probe || asked.kind == request_kind::match;
    const char* const what = asked.synchronous                  ? "synchronous send of "
                             : asked.kind == request_kind::send ? "send of "
                             : looks                            ? "look for "
                                                                : "receive of ";
    return what + tag + (asked.kind == request_kind::send ? " to " : " from ") + peer + " by a host thread for PE " +
           std::to_string(asked.rank) + ", communicator " + std::to_string(number_);
}

void host_messages::refuse_long(const question& asked, std::uint64_t bytes) const {
    if (bytes <= options_.host_bytes) return;
    throw usage_error(text_of(asked) + ": " + std::to_string(bytes) + " bytes, and host threads have room for " +
                      std::to_string(options_.host_bytes) + ", see communicator_options::host_bytes");
}

/// What lanes would end the session for.
void host_messages::check(const question& asked) const {
    const auto refuse = [&](const std::string& why) { throw usage_error(text_of(asked) + ": " + why); };
    const bool sends = asked.kind == request_kind::send;
    const bool from_any = !sends && asked.peer == std::int64_t{any_source};
    const bool with_any = !sends && asked.tag == std::int64_t{any_tag};
    const bool nobody = asked.peer == std::int64_t{proc_null};
    const int pes = machine_.n_pes();
    const auto must_exist = [&](std::int64_t pe) {
        if (pe < 0 || pe >= pes)
            refuse("no PE " + std::to_string(pe) + ", where there are 0 to " + std::to_string(pes - 1));
    };
    must_exist(asked.rank);
    if (!from_any && !nobody) must_exist(asked.peer);
    if (!with_any && (asked.tag < 0 || asked.tag > std::int64_t{max_message_tag})) {
        refuse("tags are 0 to " + std::to_string(max_message_tag));
    }
    if ((from_any && options_.rules.no_any_source) || (with_any && options_.rules.no_any_tag)) {
        refuse("a wildcard that the communicator promises not to use");
    }
    if (nobody) return;
    refuse_long(asked, asked.bytes);
    const bool reach = !sends || machine_.shares_memory(static_cast<int>(asked.rank), static_cast<int>(asked.peer));
    if (asked.synchronous && !reach) refuse("synchronous, between devices that do not reach each other's memory");
    if (asked.bytes > options_.eager_bytes && !reach) {
        refuse(std::to_string(asked.bytes) + " bytes between devices that do not reach each other's memory, where " +
               std::to_string(options_.eager_bytes) + " can be sent, see communicator_options::eager_bytes");
    }
}

program_access::use host_messages::session() {
    return access_.hold("host threads send and receive while a session of the communicator goes on");
}

host_messages::place host_messages::ask(const question& asked) {
    const program_access::use mine = session();
    check(asked);
    mine.program().refuse_after_stop();
    if (asked.peer == std::int64_t{proc_null}) return {};
    place at{slots_, asked.rank, {}};
    const match_key key{static_cast<std::uint32_t>(asked.peer), static_cast<std::uint32_t>(asked.tag)};
    bool given = false;
    mine.program().await([&] {
        given = at.slots->ask(asked.rank, {asked.kind, key, asked.bytes, asked.payload, asked.synchronous}, at.slot);
        return given || !at.slots->is_any_coming_back(asked.rank);
    });
    if (!given) {
        throw usage_error(text_of(asked) + ": " + std::to_string(options_.host_operations) +
                          " operations go on there already, see communicator_options::host_operations");
    }
    mine.program().wake();
    return at;
}

host_messages::place host_messages::receive_matched(const question& asked, const place& at) {
    const program_access::use mine = session();
    check(asked);
    mine.program().refuse_after_stop();
    if (at.slots != slots_) throw usage_error(text_of(asked) + ": it was matched in a session that has been stopped");
    const place again{at.slots, at.rank, at.slots->receive_matched(at.rank, at.slot, asked.bytes)};
    mine.program().wake();
    return again;
}

void host_messages::wait_until(const std::string& what, const std::function<bool()>& done) {
    if (done()) return;
    const program_access::use mine = session();
    try {
        mine.program().await(done);
    } catch (const timeout_error& late) {
        throw timeout_error(what + ": " + late.what());
    } catch (const usage_error&) {
        if (!done()) throw;  // it was over before the session was stopped
    }
}

void host_messages::wait(const question& asked, const place& at) {
    if (at.slots->is_over(at.rank, at.slot)) return;
    wait_until(text_of(asked), [&] { return at.slots->is_over(at.rank, at.slot); });
}

void host_messages::cancel(const place& at) {
    const program_access::use mine = session();
    at.slots->cancel(at.rank, at.slot);
    mine.program().wake();
}

std::uint64_t host_messages::filled() const {
    std::uint64_t sum = 0;
    for (int rank = 0; slots_ && rank < slots_->n_ranks(); ++rank) sum += slots_->filled(rank);
    return sum;
}

bool host_messages::any_wait() const {
    for (int rank = 0; slots_ && rank < slots_->n_ranks(); ++rank) {
        if (slots_->accepted(rank) < slots_->filled(rank)) return true;
    }
    return false;
}

void host_messages::hand_over() {
    if (!any_wait()) return;
    std::vector<std::uint64_t> filled;
    for (int rank = 0; rank < slots_->n_ranks(); ++rank) filled.push_back(slots_->filled(rank));
    const program_access::use mine = session();
    mine.program().await([&] {
        for (int rank = 0; rank < slots_->n_ranks(); ++rank) {
            if (slots_->accepted(rank) < filled[static_cast<std::size_t>(rank)]) return false;
        }
        return true;
    });
}

void host_messages::take_back() {
    const program_access::use mine = session();
    (void)mine.program().quiesce();  // what has been sent comes in
    slots_->close();
    mine.program().await([&] { return !slots_->is_any_receive_open(); });
    slots_->look_at_sends();
    mine.program().await([&] { return slots_->are_sends_looked_at(); });
    for (int rank = 0; rank < slots_->n_ranks(); ++rank) {
        const std::uint64_t left = slots_->sends_left(rank), matched = slots_->matched_left(rank);
        if (matched != 0) {
            throw usage_error("communicator " + std::to_string(number_) + ": the session is stopped with " +
                              std::to_string(matched) + (matched == 1 ? " message" : " messages") +
                              " that host threads have matched for PE " + std::to_string(rank) +
                              " and not received; the communicator's messages are dropped");
        }
        if (left == 0) continue;
        throw usage_error("communicator " + std::to_string(number_) + ": the session is stopped with " +
                          std::to_string(left) + (left == 1 ? " send" : " sends") + " of host threads for PE " +
                          std::to_string(rank) + " that nobody has received; the communicator's messages are dropped");
    }
}

host_message::state::~state() {
    if (!taken.exchange(true) && at.slots != nullptr) at.slots->drop(at.rank, at.slot);
}

void host_message::refuse_taken() const {
    if (state_ == nullptr || state_->taken)
        throw usage_error("the host thread's operation has been waited for already");
}

host_message_slots::answer host_message::finish() {
    refuse_taken();
    const bool to_nobody = state_->at.slots == nullptr;
    if (!to_nobody) state_->all->wait(state_->asked, state_->at);
    if (state_->taken.exchange(true)) throw usage_error("the host thread's operation has been waited for already");
    if (to_nobody) return {.got = nothing_received(), .found = true};
    const host_message_slots::answer what = state_->at.slots->take(state_->at.rank, state_->at.slot, state_->to);
    if (what.stopped) {
        throw usage_error(state_->all->text_of(state_->asked) + ": the session was stopped before a message came");
    }
    return what;
}

std::size_t host_message::wait_any(std::vector<host_message>& all, message_status& got) {
    std::size_t which = 0;
    const auto first = std::find_if(all.begin(), all.end(), [](const host_message& one) { return one.is_open(); });
    if (first == all.end()) return all.size();
    first->state_->all->wait_until("one of " + std::to_string(all.size()) + " operations of a host thread", [&] {
        for (which = 0; which < all.size(); ++which) {
            if (all[which].is_open() && all[which].state_->is_over()) return true;
        }
        return false;
    });
    got = all[which].wait();
    return which;
}

std::vector<completed_message> host_message::some(std::vector<host_message>& all, bool waits) {
    std::vector<completed_message> over;
    message_status got;
    if (waits) {
        const std::size_t which = wait_any(all, got);
        if (which < all.size()) over.push_back({which, got});
    }
    for (std::size_t which = 0; which < all.size(); ++which) {
        if (all[which].is_open() && all[which].state_->is_over()) over.push_back({which, all[which].wait()});
    }
    return over;
}

bool host_message::is_any_over(const std::vector<host_message>& all) {
    const auto is_open = [](const host_message& one) { return one.is_open(); };
    const auto is_over = [](const host_message& one) { return one.is_open() && one.state_->is_over(); };
    return std::none_of(all.begin(), all.end(), is_open) || std::any_of(all.begin(), all.end(), is_over);
}

bool host_message::are_all_over(const std::vector<host_message>& all) {
    return std::all_of(all.begin(), all.end(),
                       [](const host_message& one) { return !one.is_open() || one.state_->is_over(); });
}

std::optional<message_status> host_message::look(const std::shared_ptr<host_messages>& all,
                                                 const host_messages::question& asked, bool waits) {
    host_message_slots::answer seen;
    all->wait_until("a look for a message by a host thread", [&] {
        seen = host_message(all, asked, nullptr).finish();
        return seen.found || !waits;
    });
    return seen.found ? std::optional(seen.got) : std::nullopt;
}

std::optional<matched_host_message> matched_host_message::look(const std::shared_ptr<host_messages>& all,
                                                               const host_messages::question& asked, bool waits) {
    std::optional<matched_host_message> matched;
    all->wait_until("a look for a message by a host thread", [&] {
        host_message one(all, asked, nullptr);
        const host_message_slots::answer seen = one.finish();
        if (!seen.found) all->refuse_long(asked, seen.got.bytes);  // it has been left where it is
        if (seen.found) matched = matched_host_message(all, asked.rank, seen.got, one.state_->at);
        return matched.has_value() || !waits;
    });
    return matched;
}

host_message matched_host_message::receive(void* to, std::uint64_t bytes) {
    const host_messages::question asked{state_->rank, request_kind::matched_receive, state_->got.source,
                                        state_->got.tag, bytes};
    if (bytes < state_->got.bytes) {
        throw usage_error(state_->all->text_of(asked) + ": room for " + std::to_string(bytes) + " of its " +
                          std::to_string(state_->got.bytes) + " bytes");
    }
    if (state_->received.exchange(true)) {
        throw usage_error(state_->all->text_of(asked) + ": the message has been received already");
    }
    try {
        const bool from_nobody = state_->at.slots == nullptr;
        return {state_->all, asked, to, from_nobody ? state_->at : state_->all->receive_matched(asked, state_->at)};
    } catch (const usage_error&) {
        state_->received = false;
        throw;
    }
}

void host_message::cancel() {
    refuse_taken();
    if (state_->asked.kind != request_kind::receive) throw usage_error("receives can be taken back, sends cannot");
    if (!state_->is_over()) state_->all->cancel(state_->at);
}

}  // namespace laneway
