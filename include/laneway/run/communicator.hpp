// Two-sided messages: send and receive as MPI programs know them, matched on the devices. The host half of the
// component.
//
//   auto world = runtime.communicator();
//   runtime.run(body, world);     // body: world.send(ctx, &x, 1, other, tag), world.recv(ctx, &y, 1, lw::any_source,
//   tag)
#pragma once

#include "laneway/comm/two_sided/two_sided_memory.hpp"
#include "laneway/run/communicator_ref.hpp"
#include "laneway/run/component_host.hpp"

namespace laneway {

/// Made by runtime::communicator. A handle: copies are the same. Messages that nobody has received stay from run to
/// run; a run that fails clears them. Each communicator has messages of its own.
class communicator {
public:
    using ref_type = communicator_ref;

    communicator(machine& machine, const communicator_options& options, std::uint32_t number)
        : state_(std::make_shared<state>(machine, options, number)) {}

    /// Messages that nobody has received. Host, between runs.
    [[nodiscard]] std::vector<pending_message> pending() const { return state_->memory.pending(); }
    /// What a PE's engines have done so far. Host, between runs.
    [[nodiscard]] matching_statistics statistics(int pe) const { return state_->memory.statistics(pe); }
    /// Drops all messages. Host, between runs.
    void clear() { state_->memory.clear(); }

    // As a component, see run/component.hpp.
    [[nodiscard]] std::uint64_t held_bytes(int) const { return state_->memory.held_bytes(); }
    void begin(machine& machine, const comm_plan&, const run_deadline&) {
        if (&machine != &state_->owner) throw usage_error("a communicator belongs to the runtime that has made it");
        if (state_->open) clear();  // what a failed run has left is not known
        state_->open = true;
    }
    void end(const run_report&) { state_->open = false; }
    [[nodiscard]] std::string account() const { return state_->memory.account(); }
    [[nodiscard]] ref_type ref(int pe) const { return {state_->memory.ref(pe)}; }

private:
    struct state {
        state(machine& machine, const communicator_options& options, std::uint32_t number)
            : owner(machine), memory(machine, options, number) {}

        machine& owner;
        two_sided_memory memory;
        bool open = false;  ///< a run has begun and is not known to have ended well
    };

    std::shared_ptr<state> state_;
};

}  // namespace laneway
