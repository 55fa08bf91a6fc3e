// Work of the host's own threads while programs run on the devices.
#pragma once

#include <string>
#include <vector>

#include "laneway/simt/checked/carried_memory.hpp"
#include "laneway/simt/checked/scheduler.hpp"
#include "laneway/simt/cpu/atomics.hpp"

namespace laneway {

/// A host thread beside the lanes: atomics on words that it shares with them. In the checked mode it is a fiber of
/// their scheduler, which may switch at each of its atomics too.
class host_context : public cpu::atomics<host_context> {
public:
    explicit host_context(checked::scheduler* scheduler = nullptr) : scheduler_(scheduler) {}

    void step() {
        if (scheduler_ != nullptr) scheduler_->step();
    }
    /// Gives others a chance to run, after `idle` turns in a row without work: the more, the longer.
    void pause(unsigned idle);

private:
    checked::scheduler* scheduler_;
};

/// What host threads do during every run of the machine that it is attached to.
class host_service {
public:
    virtual ~host_service() = default;

    /// Threads that call turn(), numbered from 0; the same in all runs.
    [[nodiscard]] virtual int threads() const = 0;
    /// What its buffers take for a PE.
    [[nodiscard]] virtual std::uint64_t buffer_bytes(int) const { return 0; }
    /// Prepares a run. Nothing runs on any device.
    virtual void open() = 0;
    /// Whether a run that has not started the thread yet starts it now: asked before the launch, and then by who waits
    /// for the lanes, several thousand times a second, until it is. A thread that has not been started when the lanes
    /// have ended is not started any more: who has waited for them makes its turns. Checked runs start all.
    [[nodiscard]] virtual bool is_due(host_context&, int /*thread*/) const { return true; }
    /// Does a small piece of what is due; returns whether there was any. Never waits for lanes. What it throws ends the
    /// run and leaves machine::run.
    virtual bool turn(host_context& ctx, int thread) = 0;
    /// What it has done, for messages: "; host calls 'log': 12 posted, 7 served". Nothing runs on any device.
    [[nodiscard]] virtual std::string account() const = 0;
    /// What of the user's it has on a GPU beside the program, or had there last: an error of CUDA does not say which
    /// kernel has met it. Empty, or from "; " on. Lanes and threads may run.
    [[nodiscard]] virtual std::string beside() const { return {}; }
    /// After a run without faults, when no thread found anything to do any more: throws device_fault where something
    /// was lost.
    virtual void audit() const = 0;
    /// What it carries from one PE's memory to another one's, for checked devices. Nothing runs on any device.
    [[nodiscard]] virtual std::vector<checked::carried_memory> carries() const { return {}; }
};

}  // namespace laneway
