// Two-sided messages of host threads while a session goes on: a thread sends and receives for a rank, as lanes of that
// PE would, and the devices match.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "laneway/comm/two_sided/host_messages_ref.hpp"
#include "laneway/comm/two_sided/two_sided_memory.hpp"
#include "laneway/run/host_feed.hpp"

namespace laneway {

/// Slots through which host threads ask the ranks' control warps. Any thread may use it.
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
        std::uint32_t other = 0;        ///< cancel: the slot of the receive
    };
    /// What became of it.
    struct answer {
        message_status got;
        bool found = false;
    };

    host_messages(machine& machine, const communicator_options& options, std::uint32_t communicator);

    /// Takes memory for a session; and gives back what it held on a PE.
    void attach();
    void connect(resident_program& program);
    void disconnect() noexcept;
    [[nodiscard]] host_messages_ref ref(int pe) const;

    /// Leaves a question; the number of its slot. Throws usage_error for what cannot be, without a session, and where
    /// too many go on at the rank; what ended the session.
    std::uint32_t ask(const question& asked);
    [[nodiscard]] bool is_over(int rank, std::uint32_t slot) const;
    /// Waits until it is over. Throws timeout_error past the deadline, and what ended the session.
    void wait(const question& asked, std::uint32_t slot);
    /// Waits until `done()` holds; the same. `what` names it.
    void wait_until(const std::string& what, const std::function<bool()>& done);
    /// What has become of a question that is over, and its slot back. `to`: for a received payload; or null.
    answer take(int rank, std::uint32_t slot, void* to);

    // As a feed.
    [[nodiscard]] std::uint64_t filled() const;
    [[nodiscard]] bool any_wait() const;
    void hand_over();

private:
    /// Of a rank.
    struct part {
        std::shared_ptr<std::byte> slots, words;
        buffer<host_message_progress> progress;
        std::vector<std::uint32_t> free;
        std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
    };

    void check(const question& asked) const;
    [[nodiscard]] std::string text_of(const question& asked) const;
    [[nodiscard]] resident_program& program() const;
    [[nodiscard]] std::atomic_ref<std::uint64_t> word(const part& p, std::size_t number) const;
    [[nodiscard]] part& part_of(int rank) { return parts_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] const part& part_of(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

    machine& machine_;
    communicator_options options_;
    std::uint32_t number_;
    std::vector<part> parts_;
    std::atomic<resident_program*> program_ = nullptr;
};

/// An operation of a host thread. A handle: copies are the same; it refers to the buffer that a receive fills.
class host_message {
public:
    host_message() = default;
    host_message(std::shared_ptr<host_messages> all, const host_messages::question& asked, void* to)
        : state_(std::make_shared<state>(std::move(all), asked, to)) {}

    /// Waits until it is over; what a receive got is in its buffer then. Throws usage_error where it has been waited
    /// for already, timeout_error past the deadline, and what ended the session.
    message_status wait() {
        refuse_taken();
        state_->all->wait(state_->asked, state_->slot);
        return take().got;
    }
    /// Whether it is over; wait() does not wait then.
    [[nodiscard]] bool is_over() const {
        refuse_taken();
        return state_->all->is_over(state_->asked.rank, state_->slot);
    }
    /// Takes a receive back, if it has not got a message yet; it still has to be waited for.
    void cancel();

    /// Waits for one of several that have not been waited for yet, and says which; their number where there is none.
    static std::size_t wait_any(std::vector<host_message>& all, message_status& got);
    /// The message that a receive would get: looks for it, until there is one where `waits`.
    static std::optional<message_status> look(const std::shared_ptr<host_messages>& all,
                                              const host_messages::question& asked, bool waits);

private:
    struct state {
        state(std::shared_ptr<host_messages> messages, const host_messages::question& question, void* target)
            : all(std::move(messages)), asked(question), to(target), slot(all->ask(question)) {}

        std::shared_ptr<host_messages> all;
        host_messages::question asked;
        void* to;
        std::uint32_t slot;
        std::atomic<bool> taken = false;
    };

    void refuse_taken() const;
    host_messages::answer take();

    std::shared_ptr<state> state_;
};

}  // namespace laneway
