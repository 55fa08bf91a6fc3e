// Transfers of host threads while a session goes on: a thread posts for a PE, as one of its lanes would.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "laneway/comm/transfers/host_transfers_ref.hpp"
#include "laneway/run/program_access.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// The slots of one session. Those of an earlier one stay as long as somebody has a transfer in them.
class host_transfer_slots {
public:
    static constexpr std::uint32_t count = 64;  ///< transfers of host threads that are under way, for each PE

    explicit host_transfer_slots(machine& machine);

    [[nodiscard]] host_transfers_ref ref(int pe) const;
    /// Leaves a transfer, and says its number. False where all slots of the PE are in use. Any thread.
    [[nodiscard]] bool try_leave(int pe, const transfer& t, std::uint64_t& number);
    [[nodiscard]] bool is_over(int pe, std::uint64_t number) const;
    [[nodiscard]] std::uint64_t filled(int pe) const;
    [[nodiscard]] std::uint64_t accepted(int pe) const;
    [[nodiscard]] int n_pes() const { return static_cast<int>(parts_.size()); }

private:
    struct part {
        std::shared_ptr<std::byte> memory;
        buffer<host_transfer_progress> progress;
        buffer<transfer_event> events;
        std::unique_ptr<std::mutex> leaving = std::make_unique<std::mutex>();
    };

    [[nodiscard]] const part& part_of(int pe) const { return parts_[static_cast<std::size_t>(pe)]; }

    std::vector<part> parts_;
};

/// What host threads post, and the session that carries it out. Any thread may use it.
class host_transfers {
public:
    /// A transfer that has been posted.
    struct place {
        std::shared_ptr<host_transfer_slots> slots;
        int pe = 0;
        std::uint64_t number = 0;
    };

    host_transfers(machine& machine, std::uint32_t keys) : machine_(machine), keys_(keys) {}

    /// `shut`: see comm_plan::shut_pe.
    void attach(int shut) {
        slots_ = std::make_shared<host_transfer_slots>(machine_);
        shut_ = shut;
    }
    void connect(resident_program& program) { access_.connect(program); }
    void disconnect() noexcept { access_.disconnect(); }
    [[nodiscard]] bool is_connected() const { return access_.is_connected(); }
    [[nodiscard]] host_transfers_ref ref(int pe) const { return pe == shut_ ? host_transfers_ref{} : slots_->ref(pe); }

    /// Waits while all slots of the PE are in use. Throws usage_error for what cannot be and without a session,
    /// timeout_error past the deadline, and what ended the session.
    [[nodiscard]] place post(int pe, const transfer& t);
    /// Waits until it is done. Throws the same.
    void wait(const place& of);

    // As a feed.
    [[nodiscard]] std::uint64_t filled() const;
    [[nodiscard]] bool any_wait() const;
    void hand_over();

private:
    void check(int pe, const transfer& t) const;
    [[nodiscard]] program_access::use session();

    machine& machine_;
    std::uint32_t keys_;
    std::shared_ptr<host_transfer_slots> slots_;  ///< of the session, or the last one
    int shut_ = -1;
    program_access access_;
};

/// A host thread's handle of a transfer that it has posted. Copies are the same; it needs no release.
class host_transfer {
public:
    host_transfer(std::shared_ptr<host_transfers> all, host_transfers::place of)
        : all_(std::move(all)), of_(std::move(of)) {}

    /// Whether it is done: then what it has moved is there, and the source may be changed.
    [[nodiscard]] bool is_over() const { return of_.slots->is_over(of_.pe, of_.number); }
    /// Waits until it is. Throws timeout_error past the deadline, and what ended the session before.
    void wait() const { all_->wait(of_); }

private:
    std::shared_ptr<host_transfers> all_;
    host_transfers::place of_;
};

}  // namespace laneway
