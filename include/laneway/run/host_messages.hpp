// Two-sided messages of host threads while a session goes on: a thread sends and receives for a rank, as lanes of that
// PE would, and the devices match.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "laneway/run/host_feed.hpp"
#include "laneway/run/host_message_slots.hpp"
#include "laneway/run/program_access.hpp"

namespace laneway {

/// What host threads ask the ranks' control warps, in slots. Any thread may use it.
class host_messages {
public:
    /// What a thread asks for a rank.
    struct question {
        int rank = 0;
        request_kind kind = request_kind::receive;
        std::int64_t peer = 0;
        std::int64_t tag = 0;
        std::uint64_t bytes = 0;
        const void* payload = nullptr;  ///< of a send
        bool synchronous = false;       ///< the same
    };
    /// The slot that it has been given, in the slots of its session; none where the peer is proc_null.
    struct place {
        std::shared_ptr<host_message_slots> slots;
        int rank = 0;
        host_message_slots::use slot;
    };

    host_messages(machine& machine, const communicator_options& options, std::uint32_t communicator);

    /// Takes slots for a session; those of an earlier one stay as long as somebody has an operation in them.
    /// `shut`: see comm_plan::shut_pe.
    void attach(int shut);
    void connect(resident_program& program) { access_.connect(program); }
    void disconnect() noexcept { access_.disconnect(); }
    [[nodiscard]] bool is_connected() const { return access_.is_connected(); }
    [[nodiscard]] host_messages_ref ref(int pe) const;

    /// Leaves a question. Throws usage_error for what cannot be, without a session, and where too many go on at the
    /// rank; what ended the session.
    [[nodiscard]] place ask(const question& asked);
    /// Asks for the message that a matched probe holds. Throws as ask.
    [[nodiscard]] place receive_matched(const question& asked, const place& at);
    /// Waits until it is over. Throws timeout_error past the deadline, and what ended the session.
    void wait(const question& asked, const place& at);
    /// Waits until `done()` holds; the same. `what` names it.
    void wait_until(const std::string& what, const std::function<bool()>& done);
    /// Takes a receive back, if it has not got a message yet; does not wait for that.
    void cancel(const place& at);
    /// Throws usage_error for more bytes than a slot has room for.
    void refuse_long(const question& asked, std::uint64_t bytes) const;
    [[nodiscard]] std::string text_of(const question& asked) const;

    // As a feed.
    [[nodiscard]] std::uint64_t filled() const;
    [[nodiscard]] bool any_wait() const;
    void hand_over();
    /// Takes all receives back. Throws usage_error for sends that nobody has received.
    void take_back();

private:
    void check(const question& asked) const;
    [[nodiscard]] program_access::use session();

    machine& machine_;
    communicator_options options_;
    std::uint32_t number_;
    std::shared_ptr<host_message_slots> slots_;  ///< of the session, or the last one
    int shut_ = -1;
    program_access access_;
};

/// One of several operations that is over.
struct completed_message {
    std::size_t which = 0;
    message_status got;
};

/// An operation of a host thread. A handle: copies are the same; it refers to the buffer that a receive fills. When the
/// last copy goes before it has been waited for, a send goes on, and a receive is taken back.
class host_message {
public:
    host_message() = default;
    host_message(std::shared_ptr<host_messages> all, const host_messages::question& asked, void* to)
        : state_(std::make_shared<state>(std::move(all), asked, to)) {}
    /// One that goes on there.
    host_message(std::shared_ptr<host_messages> all, const host_messages::question& asked, void* to,
                 const host_messages::place& at)
        : state_(std::make_shared<state>(std::move(all), asked, to, at)) {}

    /// Waits until it is over; what a receive got is in its buffer then. Throws usage_error where it has been waited
    /// for already and where the session was stopped before, timeout_error past the deadline, and what ended the
    /// session.
    message_status wait() { return finish().got; }
    /// Whether it is over; wait() does not wait then.
    [[nodiscard]] bool is_over() const {
        refuse_taken();
        return state_->is_over();
    }
    /// Takes a receive back, if it has not got a message yet; it still has to be waited for, and says which it was.
    void cancel();

    /// Waits for one of several that have not been waited for yet, and says which; their number where there is none.
    static std::size_t wait_any(std::vector<host_message>& all, message_status& got);
    /// Waits for one at least and takes all that are over; none where all have been waited for. `waits` false: without
    /// waiting.
    static std::vector<completed_message> some(std::vector<host_message>& all, bool waits);
    /// Whether one of several, or all of them, are over; what has been waited for is.
    static bool is_any_over(const std::vector<host_message>& all);
    static bool are_all_over(const std::vector<host_message>& all);
    /// The message that a receive would get: looks for it, until there is one where `waits`.
    static std::optional<message_status> look(const std::shared_ptr<host_messages>& all,
                                              const host_messages::question& asked, bool waits);

private:
    friend class matched_host_message;

    struct state {
        state(std::shared_ptr<host_messages> messages, const host_messages::question& question, void* target)
            : all(std::move(messages)), asked(question), to(target), at(all->ask(question)) {}
        state(std::shared_ptr<host_messages> messages, const host_messages::question& question, void* target,
              const host_messages::place& where)
            : all(std::move(messages)), asked(question), to(target), at(where) {}
        ~state();
        state(const state&) = delete;
        state& operator=(const state&) = delete;

        [[nodiscard]] bool is_over() const { return at.slots == nullptr || at.slots->is_over(at.rank, at.slot); }

        std::shared_ptr<host_messages> all;
        host_messages::question asked;
        void* to;
        host_messages::place at;
        std::atomic<bool> taken = false;
    };

    [[nodiscard]] bool is_open() const { return state_ != nullptr && !state_->taken; }
    void refuse_taken() const;
    host_message_slots::answer finish();

    std::shared_ptr<state> state_;
};

/// A message that a thread has taken out of a rank's queues, and that nobody else gets. A handle: copies are the same.
/// It has to be received before the session is stopped.
class matched_host_message {
public:
    /// What it is.
    [[nodiscard]] const message_status& status() const { return state_->got; }
    /// Receives it. Throws usage_error where it has been received already, where there is less room, and as irecv.
    host_message receive(void* to, std::uint64_t bytes);

    /// Takes out the message that a receive would get, if there is one; waits for one where `waits`.
    static std::optional<matched_host_message> look(const std::shared_ptr<host_messages>& all,
                                                    const host_messages::question& asked, bool waits);

private:
    struct state {
        state(std::shared_ptr<host_messages> messages, int of_rank, const message_status& what,
              host_messages::place where)
            : all(std::move(messages)), rank(of_rank), got(what), at(std::move(where)) {}

        std::shared_ptr<host_messages> all;
        int rank;
        message_status got;
        host_messages::place at;
        std::atomic<bool> received = false;
    };

    matched_host_message(std::shared_ptr<host_messages> all, int rank, const message_status& got,
                         const host_messages::place& at)
        : state_(std::make_shared<state>(std::move(all), rank, got, at)) {}

    std::shared_ptr<state> state_;
};

}  // namespace laneway
