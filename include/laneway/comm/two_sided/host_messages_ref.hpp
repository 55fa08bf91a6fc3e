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
    std::uint32_t left;  ///< by the PE: as `asked`, where it has had its last look and is not over
    match_key key;
    std::uint64_t bytes;  ///< of the payload, or the room for it
    std::uint32_t source, tag;
    std::uint64_t length;
    /// By a probe: whether there is one; of a receive: whether it was taken back. A matched probe that has left a
    /// message where it is, as it is too long, tells the length.
    std::uint32_t found;
    std::uint32_t synchronous;  ///< of a send

    [[nodiscard]] LANEWAY_FN std::byte* payload() { return reinterpret_cast<std::byte*>(this) + payload_at; }
};
static_assert(sizeof(host_message_slot) == host_message_slot::payload_at);

/// What the control warp keeps of a slot in use.
struct host_message_progress {
    message_request request;  ///< of a matched probe that is over: holds the message until it is received
    message_request cancel;   ///< of the receive, while it goes on
    std::uint32_t open;
    std::uint32_t last_look;  ///< asked for, and not begun with
    std::uint32_t waits;      ///< a matched probe, for a request: lanes have them all
};

struct host_messages_ref {
    /// Beside a slot's number in an entry: the operation goes no further than it is. A receive is taken back.
    static constexpr std::uint32_t last_look = 1u << 31;
    [[nodiscard]] static LANEWAY_FN std::uint64_t entries(std::uint32_t slots) { return std::uint64_t{4} * slots; }

    std::byte* slots = nullptr;                 ///< host-visible
    const std::uint32_t* order = nullptr;       ///< host-visible: entries, in the order in which they were left
    const std::uint64_t* filled = nullptr;      ///< host-visible: how many have been
    std::uint64_t* accepted = nullptr;          ///< host-visible: of these, how many have been begun with
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
            const std::uint32_t entry = host_.order[next % host_messages_ref::entries(host_.n_slots)];
            const std::uint32_t number = entry & ~host_messages_ref::last_look;
            if (entry == number) {
                begin(ctx, number);
            } else {
                host_.progress[number].last_look = host_.progress[number].open;
            }
            // Partner: the host's acquire load. The messages have their tickets.
            ctx.store(host_.accepted, next + 1, order::release, scope::system);
        }
        for (std::uint32_t number = 0; number < host_.n_slots; ++number) {
            if (host_.progress[number].open == 0 || waits_for_request(ctx, number)) continue;
            if (!is_being_taken_back(ctx, number)) answer(ctx, number);
        }
    }
    /// The last thing in a program that is about to leave: tells what is over.
    LANEWAY_FN void answer_all(Ctx& ctx) {
        for (std::uint32_t number = 0; number < host_.n_slots; ++number) {
            const host_message_progress& mine = host_.progress[number];
            if (mine.open != 0 && mine.waits == 0 && mine.cancel.is_null()) answer(ctx, number);
        }
    }

private:
    LANEWAY_FN void begin(Ctx& ctx, std::uint32_t number) {
        host_message_slot& slot = host_.slot(number);
        host_message_progress& mine = host_.progress[number];
        const std::int64_t peer = slot.key.source, tag = slot.key.tag;
        const auto address = reinterpret_cast<std::uint64_t>(slot.payload());
        const message_buffer buffer{slot.payload(), slot.bytes, {host_visible_segment, address}};
        const message_request matched = mine.request;
        mine = {};
        switch (slot.kind) {
            case request_kind::send:
                if (calls_.sender().start(ctx, width::lane, buffer, {peer, tag, slot.synchronous != 0}, false,
                                          mine.request) != status::ok)
                    return;
                break;
            case request_kind::receive:
                if (calls_.receive(ctx, buffer, peer, tag, false, mine.request) != status::ok) return;
                break;
            case request_kind::match: mine.waits = 1; break;
            case request_kind::matched_receive:
                mine.request = matched;
                if (calls_.receive_match(ctx, buffer, mine.request) != status::ok) return;
                break;
            default:  // there are places for all that host threads ask
                if (!calls_.begin_probe(ctx, slot.key, mine.request)) return;
        }
        calls_.belongs_to_host(ctx, mine.request);
        mine.open = 1;
    }
    /// Whether a matched probe still has no request, as lanes have them all: it gets one in a later turn, unless it was
    /// to go no further.
    LANEWAY_FN bool waits_for_request(Ctx& ctx, std::uint32_t number) {
        host_message_progress& mine = host_.progress[number];
        if (mine.waits == 0) return false;
        host_message_slot& slot = host_.slot(number);
        const std::uint64_t room = host_.slot_bytes - host_message_slot::payload_at;
        if (calls_.begin_match(ctx, slot.key, room, mine.request)) {
            calls_.belongs_to_host(ctx, mine.request);
            mine.waits = 0;
        } else if (mine.last_look != 0) {
            mine.waits = 0;
            tell(ctx, number, {}, false);
        }
        return mine.waits != 0 || mine.open == 0;
    }

    /// Takes a receive back if that is asked for. Its request is its own until that is done with.
    LANEWAY_FN bool is_being_taken_back(Ctx& ctx, std::uint32_t number) {
        host_message_progress& mine = host_.progress[number];
        if (mine.last_look != 0 && host_.slot(number).kind == request_kind::receive) {
            if (!calls_.begin_cancel(ctx, mine.request, mine.cancel)) return true;
            calls_.belongs_to_host(ctx, mine.cancel);
            mine.last_look = 0;
        }
        if (mine.cancel.is_null()) return false;
        message_status nothing;
        bool over = false, found = false;
        if (calls_.poll(ctx, mine.cancel, over, found, nothing) != status::ok || !over) return true;
        mine.cancel = {};
        return false;
    }

    LANEWAY_FN void answer(Ctx& ctx, std::uint32_t number) {
        host_message_progress& mine = host_.progress[number];
        host_message_slot& slot = host_.slot(number);
        message_status got;
        bool over = false, found = true;
        if (calls_.poll(ctx, mine.request, over, found, got) != status::ok) return;
        if (over) {
            tell(ctx, number, got, slot.kind == request_kind::receive ? got.cancelled : found);
        } else if (mine.last_look != 0) {
            mine.last_look = 0;
            // Partner: the host's acquire load.
            ctx.store(&slot.left, slot.asked, order::release, scope::system);
        }
    }

    /// That it is over.
    LANEWAY_FN void tell(Ctx& ctx, std::uint32_t number, const message_status& got, bool found) {
        host_message_slot& slot = host_.slot(number);
        host_.progress[number].open = 0;
        slot.source = got.source;
        slot.tag = got.tag;
        slot.length = got.bytes;
        slot.found = found ? 1 : 0;
        // Partner: the host's acquire load.
        ctx.store(&slot.answered, slot.asked, order::release, scope::system);
    }

    const host_messages_ref& host_;
    Calls& calls_;
};

}  // namespace laneway
