// Transfers: copies between the symmetric arrays of any two PEs, posted by lanes, warps, blocks or whole PEs, and
// carried out by other warps. A network interface in software: lanes post work, serving warps execute it, and events,
// keys and notifications tell that it is done. The host half of the component.
//
//   lw::transfers moves(runtime.machine());
//   runtime.run(body, moves);                                         // body(ctx, moves)
//   const auto sent = moves.post(ctx, lw::transfer::copy(edge[0], ctx.pe(), ghost[0], right, 64).notify(arrived[0]));
//   if (moves.wait(ctx, sent.value) != lw::status::ok) return;
//
// After the software NIC of Klenk (Communication Architectures for Scalable GPU-centric Computing Systems, 2017,
// chapter 6).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/component_host.hpp"
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
    /// Contiguous copies of no less to another PE go by copy engines, automatically; 0: none do. A thread of the host
    /// then drives these engines during each run. Not on checked devices.
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
class transfers_memory {
public:
    /// Throws usage_error for options that cannot be, and where PEs cannot reach each other's memory.
    transfers_memory(machine& machine, const transfer_options& options);

    void begin(const machine& machine, const run_deadline& until);
    /// Throws device_fault where some transfer was not carried out, or not posted by all of a PE's warps.
    void end() const;
    [[nodiscard]] transfers_memory_ref ref() const;
    [[nodiscard]] std::uint64_t held_bytes() const;
    [[nodiscard]] double server_share() const;
    [[nodiscard]] transfer_statistics statistics() const;
    [[nodiscard]] std::string account() const;

private:
    struct work {
        std::uint64_t posted = 0, completed = 0;
    };
    [[nodiscard]] work work_of(int pe) const;

    machine& machine_;
    transfer_options options_;
    symmetric_array<transfer_slot> slots_;
    symmetric_array<std::uint64_t> work_;
    symmetric_array<transfer_counters> counters_;
    symmetric_array<transfer_key> keys_;
    std::shared_ptr<engine_copies> engine_;  ///< null: none
};

/// The component. A handle: copies are the same. It must outlive the runs that use it; it is for runs, not for
/// sessions.
class transfers {
public:
    using ref_type = transfers_component_ref;

    explicit transfers(machine& machine, const transfer_options& options = {})
        : memory_(std::make_shared<transfers_memory>(machine, options)) {}

    [[nodiscard]] transfer_statistics statistics() const { return memory_->statistics(); }

    // As a component, see run/component.hpp.
    [[nodiscard]] const void* identity() const { return memory_.get(); }
    [[nodiscard]] std::uint64_t held_bytes(int) const { return memory_->held_bytes(); }
    [[nodiscard]] double server_share(int) const { return memory_->server_share(); }
    void begin(machine& machine, const comm_plan&, const run_deadline& until) { memory_->begin(machine, until); }
    void end(const run_report&) { memory_->end(); }
    [[nodiscard]] std::string account() const { return memory_->account(); }
    [[nodiscard]] ref_type ref(int) const { return {memory_->ref()}; }

private:
    std::shared_ptr<transfers_memory> memory_;
};

}  // namespace laneway
