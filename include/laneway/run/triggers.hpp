// Triggered operations: puts, combinations and signals that are prepared beforehand under a tag, and carried out when
// the tag has been triggered often enough, by any lanes. The host half of the component.
//
//   auto halo = runtime.triggers();
//   halo.prepare(0, 3, 32, lw::trigger_operation::put(rows.ref(), 0, 64, ghost.ref(), 0, 1).signal(arrived.ref()[0]));
//   runtime.run(body, halo);            // body: halo.trigger(ctx, 3), 32 times on PE 0
//
// After GPU-TN (LeBeane and others, GPU Triggered Networking for Intra-Kernel Communications, SC 2017): a list of
// operations with tag, counter and threshold, which lanes trigger by one store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_feed.hpp"
#include "laneway/run/triggers_ref.hpp"

namespace laneway {

struct trigger_options {
    std::uint32_t tags = 256;    ///< of each PE, at most 2^20; 2,176 bytes of its memory each
    std::uint32_t chains = 256;  ///< operations of other PEs that may trigger tags of one PE
    /// Bytes that a lane whose trigger reaches the threshold carries out itself. What is larger waits for warps.
    std::uint64_t alone_bytes = 256;
};

/// A tag that has been triggered, or prepared, and is not at rest.
struct waiting_tag {
    int pe = 0;
    std::uint32_t tag = 0;
    std::uint32_t count = 0;      ///< triggers that no round has used
    std::uint32_t threshold = 0;  ///< 0: never prepared
    std::uint64_t fired = 0;      ///< rounds

    /// "tag 3 of PE 0: 2 of 4 triggers, fired 5 times"; "tag 9 of PE 1: not prepared, triggered 2 times".
    [[nodiscard]] std::string text() const;
};

/// The tags of all PEs of a runtime, on the host. One thread, between runs.
class trigger_memory : public session_feed {
public:
    /// Throws usage_error for options that cannot be.
    trigger_memory(machine& machine, const trigger_options& options);

    void prepare(int pe, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& op, firing how);
    void clear();
    [[nodiscard]] std::vector<waiting_tag> waiting() const;
    [[nodiscard]] trigger_ref ref() const;
    [[nodiscard]] std::uint64_t held_bytes() const;

    /// Brings to the devices what the host has prepared since the last run.
    void begin(machine& machine);
    void end() { open_ = false; }

    // In a session, which no host thread feeds through this.
    [[nodiscard]] std::uint64_t filled() const override { return 0; }
    [[nodiscard]] bool any_wait() const override { return false; }
    void attach(machine& machine, const comm_plan&) override {
        begin(machine);
        in_session_ = true;
    }
    void connect(resident_program&) override {}
    void disconnect(bool ended_well) noexcept override;

private:
    struct preparation {
        int pe;
        std::uint32_t tag;
        std::uint32_t threshold;
        trigger_operation operation;
        firing how;
    };
    struct mirror;

    void refuse(const preparation& p, const std::string& why) const;
    void apply(mirror& all, const preparation& p) const;

    machine& machine_;
    trigger_options options_;
    symmetric_array<trigger_slot> slots_;
    symmetric_array<trigger_counters> counters_;
    symmetric_array<std::uint64_t> queue_;
    symmetric_array<trigger_cell> cells_;
    std::vector<preparation> prepared_;
    std::size_t applied_ = 0;  ///< of these, to the devices
    bool open_ = false;        ///< a run has begun and is not known to have ended well
    bool in_session_ = false;  ///< that was one
};

/// Host's access to triggered operations; made by runtime::triggers. A handle: copies are the same. Counts and
/// preparations stay from run to run; a run that fails clears what lanes have counted and prepared.
class triggers {
public:
    using ref_type = triggers_component_ref;

    triggers(machine& machine, const trigger_options& options)
        : memory_(std::make_shared<trigger_memory>(machine, options)) {}

    /// Gives a PE's tag its operation, from the next run on. Triggers that came before count. Throws usage_error for a
    /// PE, tag, threshold or range that cannot be, and for a tag that has one.
    void prepare(int pe, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& op,
                 firing how = firing::once) {
        memory_->prepare(pe, tag, threshold, op, how);
    }
    /// Takes all operations and counts from all tags.
    void clear() { memory_->clear(); }
    /// Tags with triggers that no round has used, and those prepared that have never fired: no error, but often one.
    [[nodiscard]] std::vector<waiting_tag> waiting() const { return memory_->waiting(); }
    /// For handlers of messages, which trigger by `lw::trigger(ctx, ref, tag)`. The component must be part of the run.
    [[nodiscard]] trigger_ref tags() const { return memory_->ref(); }

    // As a component, see run/component.hpp.
    [[nodiscard]] std::uint64_t held_bytes(int) const { return memory_->held_bytes(); }
    void begin(machine& machine, const comm_plan&, const run_deadline&) { memory_->begin(machine); }
    void end(const run_report&) { memory_->end(); }
    [[nodiscard]] ref_type ref(int) const { return {memory_->ref()}; }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return memory_; }

private:
    std::shared_ptr<trigger_memory> memory_;
};

}  // namespace laneway
