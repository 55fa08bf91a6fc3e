#include "laneway/run/transfers.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "laneway/base/error.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/comm/host_calls.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway {

namespace {

/// About what a warp moves in a turn: enough that to look for work costs little beside it, and soon over.
constexpr std::uint64_t turn_bytes = 128 << 10;

transfer_options checked_transfer_options(const machine& machine, const transfer_options& options) {
    const auto between = [](std::uint64_t value, std::uint64_t least, std::uint64_t most, const char* name) {
        if (value >= least && value <= most) return;
        throw usage_error(std::string("transfers: ") + name + ": " + std::to_string(least) + " to " +
                          std::to_string(most) + ", not " + std::to_string(value));
    };
    between(options.slots, 64, 1 << 16, "slots");
    between(options.keys, 1, 1 << 16, "keys");
    between(options.lane_bytes, 0, 1 << 20, "lane_bytes");
    between(options.bulk_bytes, 1, std::uint64_t{1} << 40, "bulk_bytes");
    between(options.piece_bytes, 512, 1 << 30, "piece_bytes");
    if (options.method == transfer_method::engine && options.engine_bytes == 0) {
        throw usage_error("transfers: the method of copy engines asks for engine_bytes above 0");
    }
    if (!std::has_single_bit(options.slots)) {
        throw usage_error("transfers: slots: a power of two, not " + std::to_string(options.slots));
    }
    if (options.piece_bytes % 512 != 0) {
        throw usage_error("transfers: piece_bytes: a multiple of 512, not " + std::to_string(options.piece_bytes));
    }
    if (!(options.server_share > 0 && options.server_share < 1)) {
        throw usage_error("transfers: server_share: between 0 and 1");
    }
    if (machine.n_processes() > 1) throw usage_error("transfers belong to a job of one process");
    refuse_without_atomics(machine, "transfers");
    return options;
}

}  // namespace

/// Copies that a thread of the host has copy engines do, each by a stream of the PE where the source lies.
class engine_copies {
public:
    explicit engine_copies(machine& machine)
        : streams_(std::make_shared<streams>(machine)),
          calls_(machine, one_thread(), "transfers by copy engines",
                 [copies = streams_](const engine_copy& asked) { copies->carry_out(asked); }) {}

    void begin(const run_deadline& until) { streams_->seconds = until.seconds(); }
    [[nodiscard]] host_calls_ref<engine_copy, no_reply> ref() const { return calls_.ref(); }

private:
    struct streams {
        explicit streams(const machine& machine) {
            const auto engine = std::make_shared<stream_engine>();
            for (int pe = 0; pe < machine.n_pes(); ++pe) {
                const stream_place place{machine.device(pe), pe, machine.n_pes(), {}};
                of_pe.push_back(std::make_unique<device_stream>(engine, place, "transfers", [](const auto&) {}));
                // Opens it: there is no time to ask CUDA for a stream while a kernel runs.
                finish(*of_pe.back());
            }
        }
        void carry_out(const engine_copy& asked) {
            device_stream& stream = *of_pe[static_cast<std::size_t>(asked.pe)];
            remote_copy::by_stream(stream, asked);
            finish(stream);
        }
        /// Waits until all is done that the stream was given, no longer than the run may take.
        void finish(device_stream& stream) const {
            const event done = stream.record();
            const wait_limit limit{wait_limit::seconds(seconds)};
            while (!done.wait_for(std::chrono::milliseconds(10))) {
                if (!limit.is_over()) continue;
                throw timeout_error("a copy engine of " + stream.device().name() + " has not copied within " +
                                    std::to_string(seconds) + " s");
            }
            if (const std::exception_ptr why = done.failure()) std::rethrow_exception(why);
        }

        std::vector<std::unique_ptr<device_stream>> of_pe;
        double seconds = 60;
    };

    static options one_thread() {
        options made;
        made.host_threads = 1;  // streams are one thread's
        return made;
    }

    std::shared_ptr<streams> streams_;
    host_calls<engine_copy> calls_;
};

transfers_memory::transfers_memory(machine& machine, const transfer_options& options)
    : machine_(machine), options_(checked_transfer_options(machine, options)),
      slots_(machine, options.slots + transfers_memory_ref::together_slots),
      work_(machine, options.slots + transfers_memory_ref::look_slots), counters_(machine, 1),
      keys_(machine, options.keys), host_(std::make_shared<host_transfers>(machine, options.keys)),
      begun_(static_cast<std::size_t>(machine.n_pes())) {
    bool checked = false;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        checked = checked || machine.device(pe)->id().kind == device_kind::checked;
    }
    if (options_.engine_bytes != 0 && !checked) engine_ = std::make_shared<engine_copies>(machine);
}

void transfers_memory::begin(const machine& machine, const run_deadline& until) {
    open(machine);
    if (engine_ != nullptr) engine_->begin(until);
}

void transfers_memory::attach(machine& machine, const comm_plan& plan) {
    if (engine_ != nullptr) throw usage_error("transfers: copy engines are for runs, not for sessions");
    open(machine);
    host_->attach(plan.shut_pe);
    in_session_ = true;
}

void transfers_memory::disconnect(bool ended_well) noexcept {
    if (host_->is_connected() && ended_well) open_ = false;
    in_session_ = false;
    host_->disconnect();
}

void transfers_memory::open(const machine& machine) {
    if (host_->is_connected()) throw usage_error("the transfers belong to a session that has not been stopped");
    in_session_ = false;
    if (&machine != &machine_) throw usage_error("transfers belong to the runtime that has made them");
    if (open_) {
        slots_.clear();
        work_.clear();
        counters_.clear();
        keys_.clear();
    }
    open_ = true;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        transfer_counters& found = begun_[static_cast<std::size_t>(pe)];
        found = counters_.copy_out(pe)[0];
        if (found.max_lent == 0) continue;
        found.max_lent = 0;  // the most of this run
        counters_.copy_in(pe, {found});
    }
}

transfers_memory::work transfers_memory::work_of(int pe) const {
    const transfer_counters found = counters_.copy_out(pe)[0], &begun = begun_[static_cast<std::size_t>(pe)];
    return {found.tickets + found.together - begun.tickets - begun.together, found.completed - begun.completed};
}

void transfers_memory::end() {
    audit_work();
    open_ = false;
}

void transfers_memory::audit_work() const {
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const work own = work_of(pe);
        if (own.posted != own.completed) {
            throw device_fault("audit mismatch; transfers of PE " + std::to_string(pe) + ": " +
                               std::to_string(own.posted) + " posted, " + std::to_string(own.completed) +
                               " carried out");
        }
        const transfer_counters found = counters_.copy_out(pe)[0];  // a loop over a part of it does not keep it
        for (const std::uint32_t arrived : found.arrived) {
            if (arrived == 0) continue;
            throw device_fault("a transfer of all warps of PE " + std::to_string(pe) + " was never posted: only " +
                               std::to_string(arrived) + (arrived == 1 ? " working warp" : " working warps") +
                               " came to it");
        }
    }
}

transfers_memory_ref transfers_memory::ref() const {
    transfers_memory_ref made;
    made.slots = slots_.ref();
    made.work = work_.ref();
    made.slot_bits = static_cast<std::uint32_t>(std::countr_zero(options_.slots));
    made.counters = counters_.ref();
    made.keys = keys_.ref();
    made.method = options_.method;
    made.lane_bytes = options_.lane_bytes;
    made.bulk_bytes = options_.bulk_bytes;
    made.piece_bytes = options_.piece_bytes;
    made.pieces_a_turn = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(turn_bytes / made.piece_bytes, 1, 8));
    if (engine_ != nullptr) {
        made.engine_bytes = options_.engine_bytes;
        made.engine = engine_->ref();
    }
    made.lends = options_.by == transfer_service::supervised ? 1 : 0;
    return made;
}

std::uint64_t transfers_memory::held_bytes() const {
    return slots_.size() * sizeof(transfer_slot) + sizeof(transfer_counters) + keys_.size() * sizeof(transfer_key) +
           work_.size() * sizeof(std::uint64_t);
}

double transfers_memory::server_share() const {
    return options_.by == transfer_service::supervised ? 1e-9 : options_.server_share;  // one block serves at least
}

transfer_statistics transfers_memory::statistics() const {
    transfer_statistics sum;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const transfer_counters found = counters_.copy_out(pe)[0], &begun = begun_[static_cast<std::size_t>(pe)];
        sum.transfers += found.completed - begun.completed;
        sum.lent_pieces += found.lent_pieces - begun.lent_pieces;
        sum.max_lent = std::max(sum.max_lent, found.max_lent);
        for (std::size_t i = 0; i < n_transfer_methods; ++i) {
            sum.by[i].transfers += found.by[i].transfers - begun.by[i].transfers;
            sum.by[i].bytes += found.by[i].bytes - begun.by[i].bytes;
        }
    }
    return sum;
}

std::string transfers_memory::account() const {
    work all;
    for (int pe = 0; pe < machine_.n_pes(); ++pe) {
        const work own = work_of(pe);
        all.posted += own.posted;
        all.completed += own.completed;
    }
    return "; transfers: " + std::to_string(all.posted) + " posted, " + std::to_string(all.completed) + " done";
}

}  // namespace laneway
