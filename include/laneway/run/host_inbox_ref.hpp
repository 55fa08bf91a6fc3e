// The host inbox of a PE: messages that host threads post while a program stays on the devices, as its lanes see them.
//
// Slots lie in memory that the host and the PE share, and the host counts what it has filled in one word. The control
// warp passes that count on to a word of PE memory; working warps claim slots from there, copy their messages, give the
// slots back, and post what they have copied to their own PE, whose handlers then run at once.
#pragma once

#include "laneway/comm/answers.hpp"
#include "laneway/comm/termination_ref.hpp"
#include "laneway/run/component.hpp"
#include "laneway/run/staged_payload.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Before each message of an inbox; the message follows, aligned to 16 bytes.
struct inbox_slot {
    /// Number of the next message that may be stored here. Written by the lane that has copied the last one.
    alignas(64) std::uint64_t free_for;
    std::uint32_t kind;
    std::uint32_t reply;  ///< 1 more than the number of the place for the answer; 0: it was posted

    template <class Message>
    LANEWAY_FN Message* message() {
        return reinterpret_cast<Message*>(reinterpret_cast<std::byte*>(this) + header_bytes);
    }
    static constexpr std::size_t header_bytes = 16;
    static constexpr std::size_t line_bytes = 64;
    static constexpr std::size_t bytes_of(std::size_t message_bytes) {
        return (header_bytes + message_bytes + line_bytes - 1) / line_bytes * line_bytes;
    }
};

/// The first line of a slot, as a lane copies it: all of it at once, before it knows what lies there, as each look at
/// the host's memory takes a GPU microseconds.
struct alignas(inbox_slot::line_bytes) inbox_line {
    std::uint64_t free_for;
    std::uint32_t kind;
    std::uint32_t reply;
    std::uint64_t words[(inbox_slot::line_bytes - inbox_slot::header_bytes) / sizeof(std::uint64_t)];

    /// Whether a message lies in it whole.
    template <class Message>
    static constexpr bool holds = sizeof(Message) <= inbox_slot::line_bytes - inbox_slot::header_bytes;

    /// The message in the slot of which this is the first line.
    template <class Message>
    LANEWAY_FN Message message_in(inbox_slot& slot) const {
        if constexpr (holds<Message>) {
            struct raw {
                unsigned char bytes[sizeof(Message)];
            } copy;
            __builtin_memcpy(&copy, words, sizeof copy);
            return __builtin_bit_cast(Message, copy);
        } else {
            return *slot.template message<Message>();
        }
    }
};
static_assert(sizeof(inbox_line) == inbox_slot::line_bytes);

/// A message with a payload as it lies in a slot.
template <class Message>
struct posted_payload {
    staged_payload* payload;  ///< null: no elements
    std::uint64_t count;
    Message header;
};

/// Bytes of the longest message of an inbox. `List`: of the program.
template <class List>
inline constexpr std::size_t inbox_message_bytes = 0;
template <class... M, class... H>
inline constexpr std::size_t inbox_message_bytes<route_list<routes<route<M, H>...>>> =
    greatest((taking_payload<H> ? sizeof(posted_payload<M>) : sizeof(M))...);

/// Before each answer to a call of the host; the answer follows, aligned to 16 bytes.
struct inbox_answer {
    alignas(64) std::uint32_t state;

    static constexpr std::uint32_t waits = 0, given = 1, refused = 2;
    static constexpr std::size_t header_bytes = 16;
};

/// What the warps of a block know of the inbox; in shared memory.
struct inbox_shared {
    alignas(16) std::uint64_t filled;
    std::uint64_t claimed;   ///< slots that have all been claimed
    std::uint32_t claiming;  ///< 1 while a warp claims
};

template <class Ctx, class Out, class List>
class host_inbox_agent;

/// Device view of one PE's inbox, whatever the messages.
struct inbox_ref {
    std::byte* slots = nullptr;             ///< host-visible
    std::byte* answers = nullptr;           ///< host-visible
    const std::uint64_t* filled = nullptr;  ///< host-visible: slots that the host has filled
    std::uint64_t* known = nullptr;         ///< PE memory: of these, those that the control warp has passed on
    std::uint64_t* is_open = nullptr;       ///< PE memory: whether it passes on what comes between two commands
    std::uint64_t* taken = nullptr;         ///< PE memory: of these, those that warps have claimed
    std::uint64_t* served = nullptr;        ///< PE memory: of these, those whose handler has run
    std::uint64_t capacity = 1;             ///< slots, a power of two
    std::uint64_t slot_bytes = 0;
    std::uint64_t answer_bytes = 0;
    bool is_shut = false;  ///< injected fault: warps take nothing
    bool loses = false;    ///< injected fault: they take messages and run no handler

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx&, keyed_reply&) const {}  // the program's own counter has it
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        if (ctx.lane() == 0) sum.created += ctx.load(known, order::relaxed, scope::device);  // its own store
    }
    template <class Ctx>
    LANEWAY_FN void add_epoch(Ctx& ctx, fed_reply& sum) const {
        if (ctx.lane() != 0) return;
        sum.taken += ctx.load(known, order::relaxed, scope::device);
        // Relaxed: counted before the messages are as completed, which have been read.
        sum.host_served += ctx.load(served, order::relaxed, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        if (ctx.lane() != 0) return;
        if ((orders & termination_command::look) != 0) (void)pass_on(ctx);
        const bool open = (orders & termination_command::open) != 0;
        ctx.store(is_open, open ? std::uint64_t{1} : 0, order::relaxed, scope::device);
    }
    /// Lets warps take what the host has filled; returns up to which slot. Lane 0 of the control warp.
    template <class Ctx>
    LANEWAY_FN std::uint64_t pass_on(Ctx& ctx) const {
        const std::uint64_t before = ctx.load(known, order::relaxed, scope::device);  // on its way beside the next
        // Partner: the host's store in host_inboxes::place::publish.
        const std::uint64_t now = ctx.load(filled, before_fence<Ctx>, scope::system);
        if (now == before) return now;
        shared_fence(ctx, order::acquire, scope::system);
        go_before(ctx, known);  // an epoch that has been told comes before what the host has stored then
        // Partner: the acquire load in claim. On GPUs it is made of what was read of the host: docs/design/0137.
        ctx.store(known, now, dependent_release<Ctx>, scope::device);
        return now;
    }
    /// The same while PEs take work from the host: warps of this block need not wait for their next refresh.
    template <class Ctx>
    LANEWAY_FN void attend(Ctx& ctx, inbox_shared& shared) const {
        if (ctx.load(is_open, order::relaxed, scope::device) == 0) return;
        ctx.store(&shared.filled, pass_on(ctx), order::relaxed, scope::block);  // relaxed, as in refresh
    }
    /// Tells a block's warps of what the control warp has passed on. One lane of the block.
    template <class Ctx>
    LANEWAY_FN void refresh(Ctx& ctx, inbox_shared& shared) const {
        // Relaxed: it only says that looking is worth while.
        ctx.store(&shared.filled, ctx.load(known, order::relaxed, scope::device), order::relaxed, scope::block);
    }
    /// The first of the slots that a warp claims, one for each lane at most, times 64, and how many. `now`: slots that
    /// there are so far. One lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t claim(Ctx& ctx, std::uint64_t& now) const {
        std::uint64_t first = ctx.load(taken, order::relaxed, scope::device);
        for (;;) {
            // Partner: the release store in pass_on. What the host has stored in the slots is seen behind it.
            now = ctx.load(known, order::acquire, scope::device);
            if (first >= now) return 0;
            const std::uint64_t left = now - first;
            const std::uint64_t count = left < Ctx::warp_lanes ? left : Ctx::warp_lanes;
            if (ctx.compare_exchange(taken, first, first + count, order::relaxed, scope::device)) {
                return first * 64 + count;
            }
        }
    }
    /// The same for a warp, whole and together; 0: there are none, or another warp of the block claims. Where one
    /// message comes all warps of the PE would ask for it at the same time.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t claim(Ctx& ctx, inbox_shared& shared) const {
        const std::uint64_t found = once(ctx, full_warp<Ctx>, [&]() -> std::uint64_t {
            const std::uint64_t filled_before = ctx.load(&shared.filled, order::relaxed, scope::block);
            if (filled_before <= ctx.load(&shared.claimed, order::relaxed, scope::block)) return 0;
            // Partner: the release store below.
            if (ctx.exchange(&shared.claiming, 1u, order::acquire, scope::block) != 0) return 0;
            std::uint64_t now = 0;
            const std::uint64_t first = claim(ctx, now);
            if (first == 0 || first / 64 + first % 64 == now) {
                ctx.store(&shared.claimed, now, order::relaxed, scope::block);
            }
            ctx.store(&shared.claiming, 0u, order::release, scope::block);
            return first;
        });
        if (found != 0) ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the slots
        return found;
    }
    [[nodiscard]] LANEWAY_FN inbox_slot& slot(std::uint64_t number) const {
        return *reinterpret_cast<inbox_slot*>(slots + number % capacity * slot_bytes);
    }
    /// What lay in a slot has been read: the host may fill it again. One lane. `o`: relaxed on GPUs
    /// (dependent_release), where a fence stands behind the look at the slot.
    template <class Ctx>
    LANEWAY_FN void give_back(Ctx& ctx, std::uint64_t number, order o = order::release) const {
        // Partner: the host's acquire load.
        ctx.store(&slot(number).free_for, number + capacity, o, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

/// The inbox as a component. `List`: the messages of the program.
template <class List>
struct host_inbox_ref : inbox_ref {
    using routes_type = routes<>;
    static constexpr bool counts_work = true;
    static constexpr bool takes_from_host = true;
    static constexpr std::size_t shared_bytes = sizeof(inbox_shared);

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN host_inbox_agent<Ctx, Out, List> agent(Ctx&, Out& out, const roles&, std::byte* shared) const {
        return {*this, out, reinterpret_cast<inbox_shared*>(shared)};
    }
};

/// What serves an inbox. Members are called as component.hpp says.
template <class Ctx, class Out, class List>
class host_inbox_agent {
public:
    static constexpr bool polls = List::count != 0;  ///< else nothing comes
    static constexpr bool attends = polls;

    LANEWAY_FN host_inbox_agent(const inbox_ref& inbox, Out& out, inbox_shared* shared)
        : inbox_(inbox), out_(out), shared_(shared) {}

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) *shared_ = {};
    }
    LANEWAY_FN void close(Ctx&) const {}

    LANEWAY_FN void attend(Ctx& ctx) {
        if (ctx.lane() == 0) inbox_.attend(ctx, *shared_);
    }
    LANEWAY_FN void refresh(Ctx& ctx) { inbox_.refresh(ctx, *shared_); }

    LANEWAY_FN bool poll(Ctx& ctx) {
        if (inbox_.is_shut) return false;
        const std::uint64_t claimed = inbox_.claim(ctx, *shared_);
        const auto count = static_cast<std::uint32_t>(claimed % 64);
        if (count == 0) return false;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        const bool served = lane < count && serve(ctx, claimed / 64 + lane);
        const lane_mask all_served = ctx.ballot(full_warp<Ctx>, served);
        ctx.sync(full_warp<Ctx>);  // what handlers have done comes before lane 0 says so
        if (ctx.lane() != 0) return true;
        ctx.fetch_add(inbox_.served, static_cast<std::uint64_t>(Ctx::count_lanes(all_served)), order::relaxed,
                      scope::device);
        out_.complete(ctx, count);
        return true;
    }

private:
    /// Serves the message in a slot; whether its handler has run. Any lane.
    LANEWAY_FN bool serve(Ctx& ctx, std::uint64_t number) {
        inbox_slot& slot = inbox_.slot(number);
        const inbox_line line = *reinterpret_cast<const inbox_line*>(&slot);
        const std::uint32_t reply = line.reply;
        come_behind(ctx, inbox_.answers);          // of all that host threads have been answered before they stored it
        ctx.fence(order::release, scope::device);  // and so does its handler: a message brings what its lane has fenced
        bool served = false;
        List::visit(line.kind, [&]<class Message, class Handler>() {
            if constexpr (taking_payload<Handler>) {
                const auto posted = take<posted_payload<Message>>(ctx, slot, line, number);
                if (!inbox_.loses) served = serve_payload<typename Handler::element>(ctx, posted);
            } else {
                const auto message = take<Message>(ctx, slot, line, number);
                if (inbox_.loses) return;
                if constexpr (answering<Handler>) {
                    if (reply != 0) {
                        const auto given = out_.call(ctx, ctx.pe(), message);
                        served = static_cast<bool>(given);
                        return answer(ctx, reply - 1, given);
                    }
                }
                served = out_.post(ctx, ctx.pe(), message) == status::ok;  // a failure ends the run
            }
        });
        return served;
    }

    /// The message in a slot, which it gives back. What lies in the first line was read before the fence of its lane.
    template <class Message>
    LANEWAY_FN Message take(Ctx& ctx, inbox_slot& slot, const inbox_line& line, std::uint64_t number) const {
        const auto message = line.template message_in<Message>(slot);
        inbox_.give_back(ctx, number, inbox_line::holds<Message> ? dependent_release<Ctx> : order::release);
        return message;
    }

    /// The same for a message with a payload, on which the handler runs where it is. One that the handler rejects is
    /// served by that.
    template <class Element, class Message>
    LANEWAY_FN bool serve_payload(Ctx& ctx, const posted_payload<Message>& posted) {
        const std::byte* const data = posted.payload == nullptr ? nullptr : posted.payload->data();
        const status code =
            out_.post(ctx, ctx.pe(), posted.header, reinterpret_cast<const Element*>(data), posted.count);
        // Partner: the host's acquire load in staged_payloads.
        if (posted.payload != nullptr) ctx.store(&posted.payload->is_used, 1u, order::release, scope::system);
        return code == status::ok || code == status::rejected;  // else it has ended the run
    }

    template <class Value>
    LANEWAY_FN void answer(Ctx& ctx, std::uint32_t place, const answered<Value>& given) const {
        std::byte* const at = inbox_.answers + place * inbox_.answer_bytes;
        if (given) *reinterpret_cast<Value*>(at + inbox_answer::header_bytes) = given.value;
        auto& state = reinterpret_cast<inbox_answer*>(at)->state;
        ctx.fence(order::acquire, scope::device);  // the words of the handler's answer have been loaded relaxed
        go_before(ctx, inbox_.answers);
        // Partner: the host's acquire load.
        ctx.store(&state, given ? inbox_answer::given : inbox_answer::refused, order::release, scope::system);
    }

    const inbox_ref& inbox_;
    Out& out_;
    inbox_shared* shared_;
};

}  // namespace laneway
