// Transfers that host threads post while a session goes on, as the lanes of a PE see them: they lie in slots that both
// sides reach, and the control warp posts them as a lane of the PE would, and tells when they are done.
#pragma once

#include "laneway/comm/transfers/transfer_check.hpp"
#include "laneway/comm/transfers/transfer_queue.hpp"

namespace laneway {

/// Host-visible. The host's transfer number i, from 0 on, lies in slot i modulo their number.
struct alignas(destructive_bytes) host_transfer_slot {
    transfer what;
    std::uint64_t asked = 0;     ///< by the host: number + 1
    std::uint64_t answered = 0;  ///< by the PE: the same, when it is done
};

/// What the control warp keeps; in PE memory.
struct host_transfer_progress {
    static constexpr std::uint32_t none = ~0u;

    std::uint64_t accepted = 0;  ///< transfers that have been posted
    transfer_event drawn;        ///< for the next one, whose slot is not free yet
};

struct host_transfers_ref {
    host_transfer_slot* slots = nullptr;         ///< host-visible
    const std::uint64_t* filled = nullptr;       ///< host-visible: how many have been left, by the host
    std::uint64_t* accepted = nullptr;           ///< host-visible: and posted, by the PE
    host_transfer_progress* progress = nullptr;  ///< PE memory
    transfer_event* events = nullptr;            ///< PE memory: of the transfer in a slot, while it goes on
    std::uint32_t n_slots = 0;                   ///< 0: no host thread can post
};

/// Posts what host threads have left, and tells them what is done. The control warp, whole; nobody waits.
template <class Ctx>
class host_transfer_turn {
public:
    LANEWAY_FN host_transfer_turn(const host_transfers_ref& host, transfer_queue<Ctx>& queue)
        : host_(host), queue_(queue) {}

    LANEWAY_SLOW void operator()(Ctx& ctx, std::uint32_t keys) {
        if (ctx.lane() == 0) accept(ctx, keys);
        answer(ctx);
    }
    /// Tells of all that are done.
    LANEWAY_FN void answer(Ctx& ctx) {
        ctx.sync(full_warp<Ctx>);  // events that lane 0 has left
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < host_.n_slots; i += Ctx::warp_lanes) {
            if (host_.events[i].slot == host_transfer_progress::none || !queue_.is_done(ctx, host_.events[i])) continue;
            host_.events[i].slot = host_transfer_progress::none;
            // Partner: the host's acquire load. What was moved comes before.
            ctx.store(&host_.slots[i].answered, host_.slots[i].asked, order::release, scope::system);
        }
        ctx.sync(full_warp<Ctx>);
    }

private:
    LANEWAY_FN void accept(Ctx& ctx, std::uint32_t keys) {
        host_transfer_progress& mine = *host_.progress;
        // Partner: the host's release store. The slots are seen behind it.
        const std::uint64_t filled = ctx.load(host_.filled, order::acquire, scope::system);
        while (mine.accepted < filled) {
            const auto number = static_cast<std::uint32_t>(mine.accepted % host_.n_slots);
            const transfer t = host_.slots[number].what;
            if (mine.drawn.slot == host_transfer_progress::none) {
                // The host has checked it, but may have freed an array since.
                if (check_transfer(ctx, t, keys) != status::ok) return;
                mine.drawn = queue_.draw(ctx, lane_mask{1} << ctx.lane());
            }
            if (!queue_.is_free(ctx, mine.drawn)) return;
            queue_.post(ctx, mine.drawn, t);
            host_.events[number] = mine.drawn;
            mine.drawn.slot = host_transfer_progress::none;
            // Partner: the host's acquire load. The transfer has its ticket.
            ctx.store(host_.accepted, ++mine.accepted, order::release, scope::system);
        }
    }

    const host_transfers_ref& host_;
    transfer_queue<Ctx>& queue_;
};

}  // namespace laneway
