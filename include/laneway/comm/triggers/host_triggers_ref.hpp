// What host threads leave for a PE's tags while a session goes on, as its lanes see it: triggers, and declarations that
// triggers from outside will come. They lie in slots that both sides reach; the control warp takes them in their order.
#pragma once

#include "laneway/comm/termination.hpp"
#include "laneway/comm/triggers/trigger_engine.hpp"

namespace laneway {

/// Host-visible. The host's entry number i, from 0 on, lies in slot i modulo their number.
struct host_trigger {
    enum : std::uint32_t { trigger, owe };

    std::uint32_t what = trigger;
    std::uint32_t number = 0;  ///< of the tag, or of the cell
    std::uint64_t n = 0;
};

struct host_triggers_ref {
    static constexpr std::uint32_t slots = 1024;

    const host_trigger* entries = nullptr;  ///< host-visible
    const std::uint64_t* filled = nullptr;  ///< host-visible: how many have been left, by the host
    std::uint64_t* taken = nullptr;         ///< host-visible: and taken, by the PE
    std::uint64_t* done = nullptr;          ///< PE memory: the same
    std::uint64_t* is_open = nullptr;       ///< PE memory: whether entries are taken between two commands

    /// Takes all that has been left. One lane of the control warp; it does not wait.
    template <class Ctx>
    LANEWAY_SLOW void take(Ctx& ctx, trigger_engine<Ctx>& engine) const {
        // Partner: the host's release store. The entries are seen behind it.
        const std::uint64_t all = ctx.load(filled, order::acquire, scope::system);
        if (all == *done) return;
        for (std::uint64_t i = *done; i < all; ++i) {
            const host_trigger entry = entries[i % slots];
            if (entry.what == host_trigger::owe) {
                engine.owe(ctx, entry.number, entry.n);
            } else if (engine.trigger(ctx, entry.number, static_cast<std::uint32_t>(entry.n)) != status::ok) {
                return;  // the run is ending
            }
        }
        *done = all;
        // Partner: the host's acquire load, before it uses the slots again.
        ctx.store(taken, all, order::release, scope::system);
    }
    /// As the orders of a termination_command say. Lane 0 of the control warp.
    template <class Ctx>
    LANEWAY_FN void obey(Ctx& ctx, trigger_engine<Ctx>& engine, std::uint64_t orders) const {
        if ((orders & termination_command::look) != 0) take(ctx, engine);
        *is_open = (orders & termination_command::open) != 0 ? 1 : 0;
    }
};

}  // namespace laneway
