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
    static constexpr std::size_t bytes_of(std::size_t message_bytes) {
        return (header_bytes + message_bytes + 63) / 64 * 64;
    }
};

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
        if ((orders & termination_command::look) != 0) pass_on(ctx);
        const bool open = (orders & termination_command::open) != 0;
        ctx.store(is_open, open ? std::uint64_t{1} : 0, order::relaxed, scope::device);
    }
    /// Lets warps take what the host has filled. Lane 0 of the control warp.
    template <class Ctx>
    LANEWAY_FN void pass_on(Ctx& ctx) const {
        // Partner: the host's release store.
        const std::uint64_t now = ctx.load(filled, order::acquire, scope::system);
        // Partner: the acquire load in host_inbox_agent::claim.
        if (now == ctx.load(known, order::relaxed, scope::device)) return;
        go_before(ctx, known);  // an epoch that has been told comes before what the host has stored then
        ctx.store(known, now, order::release, scope::device);
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
    [[nodiscard]] LANEWAY_FN inbox_slot& slot(std::uint64_t number) const {
        return *reinterpret_cast<inbox_slot*>(slots + number % capacity * slot_bytes);
    }
    /// What lay in a slot has been read: the host may fill it again. One lane.
    template <class Ctx>
    LANEWAY_FN void give_back(Ctx& ctx, std::uint64_t number) const {
        // Partner: the host's acquire load.
        ctx.store(&slot(number).free_for, number + capacity, order::release, scope::system);
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
        if (ctx.warp() == 0 && ctx.lane() == 0) *shared_ = {0};
    }
    LANEWAY_FN void close(Ctx&) const {}

    LANEWAY_FN void attend(Ctx& ctx) {
        if (ctx.lane() != 0 || ctx.load(inbox_.is_open, order::relaxed, scope::device) == 0) return;
        inbox_.pass_on(ctx);
    }

    LANEWAY_FN void refresh(Ctx& ctx) {
        // Relaxed: it only says that looking is worth while.
        const std::uint64_t known = ctx.load(inbox_.known, order::relaxed, scope::device);
        ctx.store(&shared_->filled, known, order::relaxed, scope::block);
    }

    LANEWAY_FN bool poll(Ctx& ctx) {
        if (inbox_.is_shut) return false;
        const bool any =
            once(ctx, full_warp<Ctx>, [&] {
                return std::uint32_t{ctx.load(&shared_->filled, order::relaxed, scope::block) > empty_up_to_};
            }) != 0;
        if (!any) return false;
        std::uint64_t known = 0;
        const std::uint64_t claimed = once(ctx, full_warp<Ctx>, [&] { return inbox_.claim(ctx, known); });
        const auto count = static_cast<std::uint32_t>(claimed % 64);
        if (count == 0) {
            empty_up_to_ = known;  // lane 0 asks
            return false;
        }
        ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the slots
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
        const std::uint32_t reply = slot.reply;
        come_behind(ctx, inbox_.answers);          // of all that host threads have been answered before they stored it
        ctx.fence(order::release, scope::device);  // and so does its handler: a message brings what its lane has fenced
        bool served = false;
        List::visit(slot.kind, [&]<class Message, class Handler>() {
            if constexpr (taking_payload<Handler>) {
                const auto posted = *slot.template message<posted_payload<Message>>();
                inbox_.give_back(ctx, number);
                if (!inbox_.loses) served = serve_payload<typename Handler::element>(ctx, posted);
            } else {
                const Message message = *slot.template message<Message>();
                inbox_.give_back(ctx, number);
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
    std::uint64_t empty_up_to_ = 0;  ///< of lane 0: slots that have all been claimed
};

}  // namespace laneway
