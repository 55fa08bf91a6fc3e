// Transfers: copies between the symmetric arrays of any two PEs, posted by lanes, warps, blocks or whole PEs, and
// carried out by other warps. A network interface in software: lanes post work, serving warps execute it, and events,
// keys and notifications tell that it is done. The host half of the component.
//
//   lw::transfers moves(runtime.machine());
//   runtime.run(body, moves);                                         // body(ctx, moves)
//   const auto sent = moves.post(ctx, lw::transfer::copy(edge[0], ctx.pe(), ghost[0], right, 64).notify(arrived[0]));
//   if (moves.wait(ctx, sent.value) != lw::status::ok) return;
//
//   auto session = runtime.start(moves);                              // host threads, each for any PE:
//   moves.post(0, lw::transfer::copy(edge.ref()[0], 0, ghost.ref()[0], 1, 64)).wait();
//
// After the software NIC of Klenk (Communication Architectures for Scalable GPU-centric Computing Systems, 2017,
// chapter 6).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_feed.hpp"
#include "laneway/run/host_transfers.hpp"
#include "laneway/run/transfers_ref.hpp"

namespace laneway {

/// Who carries transfers out.
enum class transfer_service {
    static_blocks,  ///< warps of blocks set aside, `server_share` of a GPU's
    supervised      ///< one block, of which one warp lends it others that have nothing to do, by load
};

struct transfer_options {
    transfer_service by = transfer_service::static_blocks;
    double server_share = 0.06;  ///< of a GPU's blocks, one at least
    std::uint32_t slots = 1024;  ///< transfers of a PE that are not done; a power of two, 64 to 65,536
    std::uint32_t keys = 64;     ///< of each PE, at most 65,536
    transfer_method method = transfer_method::automatic;
    std::uint64_t lane_bytes = 128;        ///< what has no more is a lane's, automatically
    std::uint64_t bulk_bytes = 2048;       ///< rows of no less go by bulk-copy hardware, automatically
    std::uint64_t piece_bytes = 16 << 10;  ///< that a warp takes at once; a multiple of 512
    /// Copies of no less to another PE, of one row or of rows of `bulk_bytes`, go by copy engines, automatically; 0:
    /// none do. A thread of the host then drives these engines during each run. Not on checked devices.
    std::uint64_t engine_bytes = 0;
};

/// Of the last run, all PEs together.
struct transfer_statistics {
    std::uint64_t transfers = 0;
    transfer_count by[n_transfer_methods];  ///< indexed by transfer_method; none is automatic
    std::uint64_t lent_pieces = 0;          ///< carried out by warps that were lent
    std::uint32_t max_lent = 0;             ///< most warps of a PE that were at once

    [[nodiscard]] const transfer_count& of(transfer_method method) const {
        return by[static_cast<std::size_t>(method)];
    }
};

class engine_copies;

/// Transfers of all PEs of a runtime, on the host. One thread, between runs.
class transfers_memory : public session_feed {
public:
    /// Throws usage_error for options that cannot be, and where PEs cannot reach each other's memory.
    transfers_memory(machine& machine, const transfer_options& options);

    void begin(const machine& machine, const run_deadline& until);
    /// Throws device_fault where some transfer was not carried out, or not posted by all of a PE's warps.
    void end();
    [[nodiscard]] transfers_memory_ref ref() const;
    /// Transfers that all warps of a PE have posted in runs before.
    [[nodiscard]] std::uint64_t together_before(int pe) const { return begun_[static_cast<std::size_t>(pe)].together; }
    [[nodiscard]] std::uint64_t held_bytes() const;
    [[nodiscard]] double server_share() const;
    [[nodiscard]] transfer_statistics statistics() const;
    [[nodiscard]] std::string account() const override;
    [[nodiscard]] const std::shared_ptr<host_transfers>& host() const { return host_; }
    [[nodiscard]] host_transfers_ref host_ref(int pe) const {
        return in_session_ ? host_->ref(pe) : host_transfers_ref{};
    }

    [[nodiscard]] std::uint64_t filled() const override { return host_->filled(); }
    [[nodiscard]] bool any_wait() const override { return host_->any_wait(); }
    void hand_over() override { host_->hand_over(); }
    /// Throws usage_error where copy engines are asked for.
    void attach(machine& machine, const comm_plan& plan) override;
    void connect(resident_program& program) override { host_->connect(program); }
    void disconnect(bool ended_well) noexcept override;
    void audit() override { audit_work(); }

private:
    /// Tickets, laps and counters run on; what a failed run has left is not known, and cleared.
    void open(const machine& machine);
    void audit_work() const;

    struct work {
        std::uint64_t posted = 0, completed = 0;
    };
    /// Of this run.
    [[nodiscard]] work work_of(int pe) const;

    machine& machine_;
    transfer_options options_;
    symmetric_array<transfer_slot> slots_;
    symmetric_array<std::uint64_t> work_;
    symmetric_array<transfer_counters> counters_;
    symmetric_array<transfer_key> keys_;
    std::shared_ptr<engine_copies> engine_;  ///< null: none
    std::shared_ptr<host_transfers> host_;
    std::vector<transfer_counters> begun_;  ///< by PE: as the run has found them
    bool open_ = false;                     ///< a run or session has begun, and is not known to have ended well
    bool in_session_ = false;               ///< one goes on
};

/// The component. A handle: copies are the same. It must outlive the runs and sessions that use it.
class transfers {
public:
    using ref_type = transfers_component_ref;

    explicit transfers(machine& machine, const transfer_options& options = {})
        : memory_(std::make_shared<transfers_memory>(machine, options)) {}

    [[nodiscard]] transfer_statistics statistics() const { return memory_->statistics(); }

    /// Posts a transfer for a PE, as a lane of it would, while a session goes on. Any thread of the host. Throws
    /// usage_error for what cannot be and where no session goes on, timeout_error past the deadline, and what ended the
    /// session.
    host_transfer post(int pe, const transfer& t) { return {memory_->host(), memory_->host()->post(pe, t)}; }

    // As a component, see run/component.hpp.
    [[nodiscard]] const void* identity() const { return memory_.get(); }
    [[nodiscard]] std::uint64_t held_bytes(int) const { return memory_->held_bytes(); }
    [[nodiscard]] double server_share(int) const { return memory_->server_share(); }
    void begin(machine& machine, const comm_plan&, const run_deadline& until) const { memory_->begin(machine, until); }
    void end(const run_report&) const { memory_->end(); }
    [[nodiscard]] std::string account() const { return memory_->account(); }
    [[nodiscard]] ref_type ref(int pe) const {
        return {memory_->ref(), memory_->host_ref(pe), memory_->together_before(pe)};
    }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return memory_; }

private:
    std::shared_ptr<transfers_memory> memory_;
};

}  // namespace laneway
