// The host half of the inboxes of a job: where host threads leave messages for PEs, and wait for answers.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "laneway/comm/comm_plan.hpp"
#include "laneway/run/host_feed.hpp"
#include "laneway/run/host_inbox_ref.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// Memory of all inboxes, for messages of any types. Any thread of the host may use it while a program takes from it.
class host_inboxes : public host_feed {
    /// One PE's inbox.
    struct part {
        std::shared_ptr<std::byte> slots;
        std::shared_ptr<std::byte> filled;
        buffer<std::uint64_t> words;
        std::unique_ptr<std::mutex> filling = std::make_unique<std::mutex>();
        std::uint64_t next = 0;  ///< number of the next message
    };

public:
    /// `message_bytes`, `answer_bytes`: of the longest. Each PE has `slots` for messages, a power of two; the job has
    /// as many places for answers. Injected faults, -1 for none: `shut` is a PE whose warps take nothing, `losing` one
    /// whose warps serve nothing of what they take.
    host_inboxes(machine& machine, std::size_t message_bytes, std::size_t answer_bytes, std::uint64_t slots,
                 int shut = -1, int losing = -1);

    /// A slot of a PE's inbox that its holder fills; whoever else posts to the PE waits meanwhile.
    class place {
    public:
        /// Waits for a free slot.
        place(host_inboxes& all, int pe, const while_waiting& waiting);
        [[nodiscard]] inbox_slot& slot() const { return *slot_; }
        /// Lets the PE have it.
        void publish();

    private:
        part& part_;
        std::unique_lock<std::mutex> lock_;
        inbox_slot* slot_ = nullptr;
    };

    /// A place for an answer, from before the call until it has been read.
    class awaited {
    public:
        awaited(host_inboxes& all, const while_waiting& waiting);
        ~awaited();
        awaited(const awaited&) = delete;
        awaited& operator=(const awaited&) = delete;
        /// What the slot of the call says of it.
        [[nodiscard]] std::uint32_t reply() const { return number_ + 1; }
        /// Waits; false where the call failed.
        bool wait(const while_waiting& waiting) const;
        [[nodiscard]] const std::byte* answer() const;

    private:
        [[nodiscard]] std::uint32_t& state() const;

        host_inboxes& all_;
        std::uint32_t number_ = 0;
    };

    [[nodiscard]] std::uint64_t filled() const override;
    [[nodiscard]] std::uint64_t messages() const override { return filled(); }
    [[nodiscard]] bool any_wait() const override;
    [[nodiscard]] std::string account() const override;

    [[nodiscard]] inbox_ref ref(int pe) const;

private:
    [[nodiscard]] static std::uint64_t filled(const part& p);
    void look_at_unheard();

    std::uint64_t capacity_;
    std::uint64_t slot_bytes_;
    std::uint64_t answer_bytes_;
    int shut_;
    int losing_;
    std::vector<part> parts_;
    std::shared_ptr<std::byte> answers_;
    std::mutex free_mutex_;
    std::vector<std::uint32_t> free_answers_;
    std::vector<std::uint32_t> unheard_;  ///< of calls that were left before their answer came
};

}  // namespace laneway
