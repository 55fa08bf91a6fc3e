// The forward queue: messages that handlers post. A handler must not wait for space, so its messages go into a bounded
// queue in PE memory, from which warps that may wait send them. A queue that overflows ends the run with an error.
#pragma once

#include "laneway/queue/chunk_ring.hpp"
#include "laneway/simt/message_order.hpp"

namespace laneway {

/// One post: where it goes and what it says, `message_bytes` of it. Its flag is 2 lap while free, 2 lap + 1 while full.
struct forward_slot {
    alignas(16) std::uint64_t flag = 0;
    std::uint32_t pe = 0;
    std::uint32_t kind = 0;

    template <class Message>
    LANEWAY_FN Message* message() {
        return reinterpret_cast<Message*>(this + 1);
    }
};

/// Device view of a PE's queue; all pointers are PE memory. Any number of lanes put and take.
struct forward_queue_ref {
    std::uint64_t* tail = nullptr;   ///< next ticket to fill
    std::uint64_t* head = nullptr;   ///< next ticket to take
    std::uint64_t* count = nullptr;  ///< posts so far, see work_counters::deferred
    std::byte* slots = nullptr;
    std::uint64_t capacity = 0;
    std::uint64_t slot_bytes = 0;

    static constexpr std::size_t bytes_of_slot(std::size_t message_bytes) {
        return sizeof(forward_slot) + (message_bytes + 15) / 16 * 16;
    }
    [[nodiscard]] LANEWAY_FN forward_slot& slot(std::uint64_t ticket) const {
        return *reinterpret_cast<forward_slot*>(slots + ticket % capacity * slot_bytes);
    }

    /// The PE exists. Any lane; waits only while another lane copies an old message out of the slot. Reports a fault if
    /// the queue is full.
    template <class Ctx, class Message>
    LANEWAY_FN status put(Ctx& ctx, int pe, std::uint32_t kind, const Message& message) const {
        // Counted before the message that caused it counts as served.
        ctx.fetch_add(count, 1, order::relaxed, scope::device);
        const std::uint64_t ticket = ctx.fetch_add(tail, 1, order::relaxed, scope::device);
        forward_slot& s = slot(ticket);
        bounded_spin spin;
        // Partner: the release store in give_back. The last lap's post has been read.
        while (ctx.load(&s.flag, order::acquire, scope::device) != ticket / capacity * 2) {
            if (ticket - ctx.load(head, order::relaxed, scope::device) >= capacity) {
                return fail(ctx, status::no_room, operation::forward, pe, capacity);
            }
            const status going = spin.next(ctx, {operation::forward, pe, ticket % capacity});
            if (going != status::ok) return going;
        }
        fill(ctx, ticket, pe, kind, message);
        return status::ok;
    }

    /// The same where at most half of the queue is in use, so that handlers find room whatever others leave here;
    /// false: nothing has happened. Any lane; does not wait.
    template <class Ctx, class Message>
    [[nodiscard]] LANEWAY_FN bool try_put(Ctx& ctx, int pe, std::uint32_t kind, const Message& message) const {
        std::uint64_t ticket = ctx.load(tail, order::relaxed, scope::device);
        do {
            if (ticket - ctx.load(head, order::relaxed, scope::device) >= (capacity + 1) / 2) return false;
            // Partner: the release store in give_back.
            if (ctx.load(&slot(ticket).flag, order::acquire, scope::device) != ticket / capacity * 2) return false;
        } while (!ctx.compare_exchange(tail, ticket, ticket + 1, order::relaxed, scope::device));
        ctx.fetch_add(count, 1, order::relaxed, scope::device);
        fill(ctx, ticket, pe, kind, message);
        return true;
    }

    /// Claims the oldest post, if there is one, which the lane copies and gives back at once. Any lane; does not wait.
    template <class Ctx>
    LANEWAY_FN bool claim(Ctx& ctx, std::uint64_t& ticket) const {
        ticket = ctx.load(head, order::relaxed, scope::device);
        do {
            // Partner: the release store in put.
            if (ctx.load(&slot(ticket).flag, order::acquire, scope::device) != ticket / capacity * 2 + 1) return false;
        } while (!ctx.compare_exchange(head, ticket, ticket + 1, order::relaxed, scope::device));
        return true;
    }
    template <class Ctx>
    LANEWAY_FN void give_back(Ctx& ctx, std::uint64_t ticket) const {
        // Partner: the acquire load in put.
        ctx.store(&slot(ticket).flag, (ticket / capacity + 1) * 2, order::release, scope::device);
    }

private:
    /// Stores a message in a free slot, whose ticket is this lane's.
    template <class Ctx, class Message>
    LANEWAY_FN void fill(Ctx& ctx, std::uint64_t ticket, int pe, std::uint32_t kind, const Message& message) const {
        forward_slot& s = slot(ticket);
        s.pe = static_cast<std::uint32_t>(pe);
        s.kind = kind;
        *s.message<Message>() = message;
        tell_history(ctx, [&](auto& history) { history.carry_alone(&s); });
        // Partner: the acquire load in claim.
        ctx.store(&s.flag, ticket / capacity * 2 + 1, order::release, scope::device);
    }
};

/// A post that a handler made while a functor's lane ran it for a message to its own PE: that lane may wait, so it
/// sends the post itself. So the queue does not grow with the lanes that post to their own PE, where handlers post
/// once.
template <class List>
struct pending_forward {
    static constexpr std::size_t max_bytes = List::message_bytes < 256 ? List::message_bytes : 256;

    struct alignas(16) stored {
        std::byte bytes[max_bytes];
    };

    int pe = 0;
    std::uint32_t kind = List::count;  ///< List::count: there is none
    stored content;

    [[nodiscard]] LANEWAY_FN bool any() const { return kind != List::count; }
    template <class Message>
    LANEWAY_FN Message* message() {
        return reinterpret_cast<Message*>(&content);
    }
    /// Puts the message into the queue after all. Any lane; as forward_queue_ref::put.
    template <class Ctx>
    LANEWAY_FN status hand_over(Ctx& ctx, const forward_queue_ref& list) const {
        return list.put(ctx, pe, kind, content);
    }
};

/// What a handler posts with. `List` knows the mailbox's types of message.
template <class List>
struct forwarder {
    const forward_queue_ref& list;
    pending_forward<List>* pending = nullptr;  ///< where a functor's lane runs the handler

    /// Posts a message to a PE, the own one included; it is sent later, in no order. Any lane; does not wait. Fails
    /// with bad_pe, or no_room where more posts are open than options::forward_slots: the run ends with that error.
    template <class Ctx, class Message>
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& message) const {
        static_assert(List::template has<Message>, "the mailbox does not carry messages of this type");
        static_assert(!List::template takes_payload<Message>, "handlers forward messages without a payload");
        if (pe < 0 || pe >= ctx.n_pes()) return fail(ctx, status::bad_pe, operation::forward, pe);
        if constexpr (sizeof(Message) <= pending_forward<List>::max_bytes) {  // larger ones go through the list
            if (pending != nullptr && !pending->any()) {
                pending->pe = pe;
                pending->kind = List::template kind<Message>;
                *pending->template message<Message>() = message;
                tell_history(ctx, [](auto& history) { history.keep_forward(); });
                return status::ok;
            }
        }
        return list.put(ctx, pe, List::template kind<Message>, message);
    }
};

}  // namespace laneway
