// The slots of one session, through which host threads and the ranks' control warps pass two-sided messages.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "laneway/comm/two_sided/host_messages_ref.hpp"
#include "laneway/comm/two_sided/two_sided_memory.hpp"

namespace laneway {

/// Which slots are in use, what is asked in them, and what was answered. Any thread; none waits for the devices.
class host_message_slots {
public:
    /// One use of a slot.
    struct use {
        std::uint32_t slot = 0, number = 0;
    };
    /// What is asked.
    struct order {
        request_kind kind;
        match_key key;
        std::uint64_t bytes;
        const void* payload;  ///< or null
        bool synchronous;     ///< a send
    };
    /// What became of it.
    struct answer {
        message_status got;
        bool found = false;
        bool stopped = false;  ///< a receive that was taken back as the session was stopped
    };

    host_message_slots(machine& machine, const communicator_options& options);

    [[nodiscard]] host_messages_ref ref(int pe) const;

    /// False where all slots of the rank are in use. Throws usage_error where the session is being stopped.
    [[nodiscard]] bool ask(int rank, const order& asked, use& given);
    /// Whether the slot of an operation that nobody waits for will soon be free.
    [[nodiscard]] bool is_any_coming_back(int rank) const;
    [[nodiscard]] bool is_over(int rank, use mine) const;
    /// What has become of a use that is over, and its slot back, but that of a matched probe that has found a message.
    /// `to`: for a received payload; or null.
    answer take(int rank, use mine, void* to);
    /// Asks, in the slot of a matched probe, for the message that it has found. Throws as ask.
    [[nodiscard]] use receive_matched(int rank, use mine, std::uint64_t bytes);
    /// Asks for a receive to be taken back, unless it is over.
    void cancel(int rank, use mine);
    /// Nobody will ask what has become of it: its slot comes back by itself, and a receive is taken back. A message
    /// that a matched probe finds waits for the next matched probe that may have it.
    void drop(int rank, use mine);

    // For the end of a session, in this order; the devices answer between them.
    /// Takes no more questions, and asks for all receives to be taken back.
    void close();
    [[nodiscard]] bool is_any_receive_open() const;
    /// Asks for a last look at all sends, behind which they are over or nobody receives them.
    void look_at_sends();
    [[nodiscard]] bool are_sends_looked_at() const;
    /// How many of a rank nobody has received.
    [[nodiscard]] std::uint64_t sends_left(int rank) const;
    /// The same of messages that matched probes have taken out.
    [[nodiscard]] std::uint64_t matched_left(int rank) const;

    [[nodiscard]] int n_ranks() const { return static_cast<int>(parts_.size()); }
    /// Entries that have been left for a rank's control warp so far, and of these, those that it has begun with.
    [[nodiscard]] std::uint64_t filled(int rank) const;
    [[nodiscard]] std::uint64_t accepted(int rank) const;

private:
    /// What the host keeps of a slot.
    struct slot_use {
        bool used = false, dropped = false, cancelled = false, stopped = false;
        std::uint64_t entry = 0;  ///< number of its first one
    };
    /// Of a rank.
    struct part {
        std::shared_ptr<std::byte> slots, words;
        buffer<host_message_progress> progress;
        std::vector<slot_use> uses;
        std::vector<std::uint32_t> free;
        bool closed = false;
        std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
    };

    [[nodiscard]] bool adopt(part& p, const match_key& key, use& given);
    void leave(part& p, std::uint32_t entry);
    void cancel(part& p, std::uint32_t number);
    void give_back(part& p, std::uint32_t number);
    [[nodiscard]] host_message_slot& slot_of(const part& p, std::uint32_t number) const;
    [[nodiscard]] bool is_answered(const part& p, std::uint32_t number) const;
    [[nodiscard]] bool holds_message(const part& p, std::uint32_t number) const;
    [[nodiscard]] bool is_open(const part& p, std::uint32_t number, bool sends) const;
    [[nodiscard]] part& part_of(int rank) { return parts_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] const part& part_of(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

    communicator_options options_;
    std::vector<part> parts_;
};

}  // namespace laneway
