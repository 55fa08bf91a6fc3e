// What host threads leave for tags while a session goes on: see comm/triggers/host_triggers_ref.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "laneway/base/report.hpp"
#include "laneway/comm/triggers/host_triggers_ref.hpp"
#include "laneway/run/host_feed.hpp"
#include "laneway/run/program_access.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// What a PE has answered to a host thread that prepares or disarms, as host_preparation has it.
struct host_answer {
    std::uint64_t result = 0;
    int pe = -1;
    std::uint64_t number = 0;
};

/// The slots of a session. Any thread of the host may leave something while it goes on.
class host_triggers {
public:
    /// Takes an answer, maybe when who has asked is gone.
    using told_to = std::function<void(const host_answer&)>;

    explicit host_triggers(machine& machine) : machine_(machine) {}

    /// Takes memory for a session that begins, in which operations start items of no more bytes.
    void attach(std::size_t item_bytes);
    void connect(resident_program& program) { access_.connect(program); }
    void disconnect() noexcept { access_.disconnect(); }
    [[nodiscard]] bool is_connected() const { return access_.is_connected(); }
    [[nodiscard]] host_triggers_ref ref(int pe) const;

    /// Waits while all slots of the PE are in use. Throws usage_error where no session goes on, timeout_error past the
    /// deadline, and what ended the session.
    void leave(int pe, const host_trigger& entry);

    /// Leaves an entry that prepares, with the operation and what it starts, or disarms, and waits for the answer.
    /// `told`: called with it before another thread's entry of the kind is left for the PE; where an interruption ends
    /// the wait, by the next thread that asks, or by tell_what_is_left. Throws as leave, and usage_error on a thread
    /// that uses the session's devices meanwhile.
    host_answer ask(int pe, host_trigger entry, const host_preparation& what, std::span<const std::byte> item,
                    const told_to& told);
    /// Behind the end of a session: tells the answers whose threads have been interrupted.
    void tell_what_is_left();

    /// Tags of all PEs that were not passive when the last epoch was closed, 64 of a PE at most.
    [[nodiscard]] std::vector<waiting_tag> waiting() const;
    /// How many more there were.
    [[nodiscard]] std::uint64_t left_out() const;

    // As a feed.
    [[nodiscard]] std::uint64_t filled() const;
    [[nodiscard]] bool any_wait() const;

private:
    struct part {
        std::shared_ptr<std::byte> memory;
        buffer<std::uint64_t> words;
        std::unique_ptr<std::mutex> leaving = std::make_unique<std::mutex>();
        std::unique_ptr<std::mutex> asking = std::make_unique<std::mutex>();  ///< before `leaving`
        std::uint64_t asked = 0;                                              ///< entries that are answered
        told_to told = nullptr;  ///< takes the answer to the last one; null where that has been told
    };

    [[nodiscard]] static bool is_answered(const part& p);
    [[nodiscard]] static host_preparation& asked_in(const part& p);
    static host_answer tell(part& p);
    [[nodiscard]] program_access::use hold();
    void leave(resident_program& program, const part& p, const host_trigger& entry);

    machine& machine_;
    std::vector<part> parts_;
    program_access access_;
};

}  // namespace laneway
