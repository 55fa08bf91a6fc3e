// What the host leaves for a program that stays on the devices: the inboxes of a session, a pool of tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace laneway {

class machine;
class resident_program;
struct comm_plan;
struct epoch_report;
struct run_report;

/// A message of a component for the PE that it belongs to: what session.post takes of a worklist, for instance.
template <class Message>
struct addressed_message {
    int pe;
    Message message;
};

/// Called between two looks of a thread that waits, which it may leave by throwing.
using while_waiting = std::function<void()>;

/// Work on its way from host threads to a resident program. Any thread may call these.
class host_feed {
public:
    virtual ~host_feed() = default;

    /// Items that the host has left for the PEs so far.
    [[nodiscard]] virtual std::uint64_t filled() const = 0;
    /// Of these, messages that PEs take from their inboxes.
    [[nodiscard]] virtual std::uint64_t messages() const { return 0; }
    /// Whether some wait that no lane has taken, for a time when no program takes any.
    [[nodiscard]] virtual bool any_wait() const = 0;
    /// Waits until all that the host had submitted before is left for the PEs, so that an epoch that is closed now
    /// contains it. Nothing to do where what is submitted is left at once. Throws what ended the program.
    virtual void hand_over() {}
    /// When a session is stopped, once all has been handed over and before the program ends: takes back what nobody
    /// could end any more. Throws what the host has left undone, which stop() then throws.
    virtual void take_back() {}
    /// Takes what devices have left for the host, so that they have room for more. Called now and then by threads that
    /// wait for the program.
    virtual void collect() {}
    /// What the message of a session that was too late says of it. The program has left the devices.
    [[nodiscard]] virtual std::string account() const { return {}; }
};

/// That of a component that a session has beside its inboxes.
class session_feed : public host_feed {
public:
    /// Takes memory on the devices for a session whose grids these are.
    virtual void attach(machine& machine, const comm_plan& plan) = 0;
    /// The program may be woken from now on,
    virtual void connect(resident_program& program) = 0;
    /// and not any more. Whether the program has ended well.
    virtual void disconnect(bool ended_well) noexcept = 0;
    /// After a program that has ended for good, without a fault. Throws where something was lost.
    virtual void audit() {}
    /// The same, later: what the report of the session shall say of it,
    virtual void add_to(run_report&) const {}
    /// and that of an epoch, while the program goes on.
    virtual void add_to(epoch_report&) const {}
};

}  // namespace laneway
