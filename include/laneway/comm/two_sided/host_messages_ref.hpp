// Two-sided messages of host threads, as the lanes of a PE see them: what threads ask for a rank lies in slots that
// both sides reach, and the control warp does it as a lane of the PE would.
#pragma once

#include "laneway/comm/two_sided/message_calls.hpp"

namespace laneway {

/// An operation of a host thread; its payload follows. The host fills it in, the control warp answers.
struct alignas(64) host_message_slot {
    static constexpr std::size_t payload_at = 64;

    std::uint32_t asked;     ///< how often the slot has been used; by the host
    std::uint32_t answered;  ///< the same, when the last use is over; by the PE
    request_kind kind;
    std::uint32_t other;  ///< cancel: the slot of the receive
    match_key key;
    std::uint64_t bytes;  ///< of the payload, or the room for it
    std::uint32_t source, tag;
    std::uint64_t length;
    std::uint32_t found;  ///< of a probe: whether there is one; of a receive: whether it was taken back

    [[nodiscard]] LANEWAY_FN std::byte* payload() { return reinterpret_cast<std::byte*>(this) + payload_at; }
};
static_assert(sizeof(host_message_slot) == host_message_slot::payload_at);

/// What the control warp keeps of a slot in use.
struct host_message_progress {
    message_request request;
    std::uint32_t open;
};

struct host_messages_ref {
    std::byte* slots = nullptr;             ///< host-visible
    const std::uint32_t* order = nullptr;   ///< host-visible: numbers of slots, in the order in which they were filled
    const std::uint64_t* filled = nullptr;  ///< host-visible: how many have been
    std::uint64_t* accepted = nullptr;      ///< host-visible: of these, how many have been begun with
    host_message_progress* progress = nullptr;  ///< PE memory, a slot each
    std::uint64_t slot_bytes = 0;
    std::uint32_t n_slots = 0;  ///< 0: no host thread can send

    [[nodiscard]] LANEWAY_FN host_message_slot& slot(std::uint32_t number) const {
        return *reinterpret_cast<host_message_slot*>(slots + number * slot_bytes);
    }
};

/// Does what host threads ask. Lane 0 of the control warp; does not wait.
template <class Ctx, class Calls>
class host_message_turn {
public:
    LANEWAY_FN host_message_turn(const host_messages_ref& host, Calls& calls) : host_(host), calls_(calls) {}

    LANEWAY_SLOW void operator()(Ctx& ctx) {
        // Partner: the host's release store. The slots are seen behind it.
        const std::uint64_t filled = ctx.load(host_.filled, order::acquire, scope::system);
        // Only this lane stores it.
        for (std::uint64_t next = ctx.load(host_.accepted, order::relaxed, scope::system); next < filled; ++next) {
            begin(ctx, host_.order[next % host_.n_slots]);
            // Partner: the host's acquire load. The messages have their tickets.
            ctx.store(host_.accepted, next + 1, order::release, scope::system);
        }
        for (std::uint32_t number = 0; number < host_.n_slots; ++number) look(ctx, number);
    }

private:
    LANEWAY_FN void begin(Ctx& ctx, std::uint32_t number) {
        host_message_slot& slot = host_.slot(number);
        host_message_progress& mine = host_.progress[number];
        const std::int64_t peer = slot.key.source, tag = slot.key.tag;
        const auto address = reinterpret_cast<std::uint64_t>(slot.payload());
        const message_buffer buffer{slot.payload(), slot.bytes, {host_visible_segment, address}};
        status begun = status::ok;
        mine.request = {};
        switch (slot.kind) {
            case request_kind::send:
                begun = calls_.sender().start(ctx, width::lane, buffer, peer, tag, mine.request);
                break;
            case request_kind::receive: begun = calls_.receive(ctx, buffer, peer, tag, mine.request); break;
            case request_kind::probe: begun = calls_.begin_probe(ctx, slot.key, mine.request); break;
            case request_kind::cancel: {
                const host_message_progress& other = host_.progress[slot.other];
                if (other.open != 0) begun = calls_.begin_cancel(ctx, other.request, mine.request);
                break;
            }
        }
        if (begun != status::ok) return;  // the run is ending
        calls_.belongs_to_host(ctx, mine.request);
        mine.open = 1;
    }

    LANEWAY_FN void look(Ctx& ctx, std::uint32_t number) {
        host_message_progress& mine = host_.progress[number];
        if (mine.open == 0) return;
        message_status got;
        bool over = false, found = true;
        if (calls_.poll(ctx, mine.request, over, found, got) != status::ok || !over) return;
        mine.open = 0;
        host_message_slot& slot = host_.slot(number);
        slot.source = got.source;
        slot.tag = got.tag;
        slot.length = got.bytes;
        slot.found = slot.kind == request_kind::receive ? got.cancelled : found;
        // Partner: the host's acquire load.
        ctx.store(&slot.answered, slot.asked, order::release, scope::system);
    }

    const host_messages_ref& host_;
    Calls& calls_;
};

}  // namespace laneway
