// What host threads leave for a PE's tags while a session goes on, as its lanes see it: triggers, declarations that
// triggers from outside will come, and operations to prepare or to take back. They lie in slots that both sides reach;
// the control warp takes them in their order. It tells the host in turn what came of a preparation, and, when an epoch
// is being closed, which tags are not passive.
#pragma once

#include "laneway/comm/termination_ref.hpp"
#include "laneway/comm/triggers/trigger_arrivals.hpp"
#include "laneway/comm/triggers/trigger_preparation.hpp"
#include "laneway/comm/triggers/trigger_starter.hpp"

namespace laneway {

/// Host-visible. The host's entry number i, from 0 on, lies in slot i modulo their number.
struct host_trigger {
    enum : std::uint32_t { trigger, owe, prepare, disarm };

    std::uint32_t what = trigger;
    std::uint32_t number = 0;  ///< of the tag, or of the cell
    std::uint64_t n = 0;
};

/// Host-visible: the operation of an entry that prepares, one at a time, and what came of that, or of one that disarms.
/// What the operation starts lies behind it.
struct alignas(16) host_preparation {
    trigger_operation operation;
    std::uint32_t threshold = 0;
    firing how = firing::once;
    // Written by the PE.
    std::uint64_t result = 0;  ///< of prepare a status, of disarm whether the tag had an operation
    std::uint64_t pe = 0;      ///< as preparation_refusal
    std::uint64_t number = 0;
    std::uint64_t answered = 0;  ///< how many entries so far
};

/// Host-visible: tags that are not passive, the first of them.
struct host_waiting_tags {
    static constexpr std::uint32_t most = 64;
    struct entry {
        std::uint64_t word = 0;  ///< a trigger_word
        std::uint64_t fired = 0;
        std::uint64_t tag = 0;
    };

    std::uint64_t count = 0;  ///< of all, also of those that find no place here
    entry tags[most];
};

struct host_triggers_ref {
    static constexpr std::uint32_t slots = 1024;

    const host_trigger* entries = nullptr;  ///< host-visible
    const std::uint64_t* filled = nullptr;  ///< host-visible: how many have been left, by the host
    std::uint64_t* taken = nullptr;         ///< host-visible: and taken, by the PE
    std::uint64_t* done = nullptr;          ///< PE memory: the same
    std::uint64_t* is_open = nullptr;       ///< PE memory: whether entries are taken between two commands
    host_waiting_tags* waiting = nullptr;   ///< host-visible
    host_preparation* asked = nullptr;      ///< host-visible

    /// Takes all that has been left; `items` keep what operations start. One lane of the control warp; it does not
    /// wait.
    template <class Ctx, class Items>
    LANEWAY_SLOW void take(Ctx& ctx, trigger_rounds<Ctx>& rounds, const Items& items) const {
        // Partner: the host's release store. The entries are seen behind it.
        const std::uint64_t all = ctx.load(filled, order::acquire, scope::system);
        if (all == *done) return;
        for (std::uint64_t i = *done; i < all; ++i) {
            const host_trigger entry = entries[i % slots];
            if (entry.what == host_trigger::owe) {
                trigger_arrivals<Ctx>(ctx, rounds).owe(ctx, entry.number, entry.n);
            } else if (entry.what != host_trigger::trigger) {
                answer(ctx, rounds, items, entry);
            } else if (rounds.trigger(ctx, entry.number, static_cast<std::uint32_t>(entry.n)) != status::ok) {
                return;  // the run is ending
            }
        }
        *done = all;
        // Partner: the host's acquire load, before it uses the slots again.
        ctx.store(taken, all, order::release, scope::system);
    }
    /// As the orders of a termination_command say. The control warp, whole.
    template <class Ctx, class Items>
    LANEWAY_FN void handle_orders(Ctx& ctx, trigger_rounds<Ctx>& rounds, const Items& items,
                                  std::uint64_t orders) const {
        if (ctx.lane() == 0) {
            if ((orders & termination_command::look) != 0) take(ctx, rounds, items);
            *is_open = (orders & termination_command::open) != 0 ? 1 : 0;
        }
        // Nothing more is taken, as where an epoch closes: when it is done, all that was open was over by then.
        constexpr std::uint64_t goes_on = termination_command::open | termination_command::finish;
        if ((orders & goes_on) != 0) return;
        ctx.sync(full_warp<Ctx>);  // behind what lane 0 has taken
        tell(ctx, rounds);
    }

private:
    /// Prepares or disarms, and tells what came of it.
    template <class Ctx, class Items>
    LANEWAY_SLOW void answer(Ctx& ctx, trigger_rounds<Ctx>& rounds, const Items& items,
                             const host_trigger& entry) const {
        trigger_preparation<Ctx> preparation(rounds);
        std::uint64_t result = 0;
        preparation_refusal found;
        if (entry.what == host_trigger::disarm) {
            result = preparation.disarm(ctx, entry.number) ? 1 : 0;
        } else {
            const trigger_operation op = asked->operation;
            const auto keep = [&] {
                if (op.starts() != 0) items.keep(ctx, entry.number, reinterpret_cast<const std::byte*>(asked + 1));
            };
            found = preparation.try_prepare(ctx, entry.number, asked->threshold, op, asked->how, keep);
            result = static_cast<std::uint64_t>(found.what);
        }
        ctx.store(&asked->result, result, order::relaxed, scope::system);
        ctx.store(&asked->pe, static_cast<std::uint64_t>(found.pe), order::relaxed, scope::system);
        ctx.store(&asked->number, found.number, order::relaxed, scope::system);
        // Partner: the acquire load of the host thread that waits for the answer.
        ctx.store(&asked->answered, entry.n, order::release, scope::system);
    }

    template <class Ctx>
    LANEWAY_SLOW void tell(Ctx& ctx, trigger_rounds<Ctx>& rounds) const {
        const auto tell_word = [&](std::uint64_t& word, std::uint64_t value) {
            ctx.store(&word, value, order::relaxed, scope::system);
        };
        std::uint32_t found = 0;
        for (std::uint32_t first = 0; first < rounds.tags(); first += Ctx::warp_lanes) {
            const std::uint32_t tag = first + static_cast<std::uint32_t>(ctx.lane());
            const trigger_word word = tag < rounds.tags() ? rounds.word(ctx, tag) : trigger_word{};
            const std::uint64_t fired = word.bits != 0 ? rounds.fired(ctx, tag) : 0;
            const lane_mask waits = ctx.ballot(full_warp<Ctx>, !word.is_passive(fired));
            const lane_mask before = (lane_mask{1} << ctx.lane()) - 1;
            const std::uint32_t place = found + static_cast<std::uint32_t>(Ctx::count_lanes(waits & before));
            found += static_cast<std::uint32_t>(Ctx::count_lanes(waits));
            if ((waits >> ctx.lane() & 1) == 0 || place >= host_waiting_tags::most) continue;
            tell_word(waiting->tags[place].word, word.bits);
            tell_word(waiting->tags[place].fired, fired);
            tell_word(waiting->tags[place].tag, tag);
        }
        if (ctx.lane() == 0) tell_word(waiting->count, found);
        ctx.fence(scope::system);  // Partner: the host's acquire load of the epoch that is done.
    }
};

}  // namespace laneway
