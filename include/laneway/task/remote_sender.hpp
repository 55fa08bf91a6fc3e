// Posting commands to remote queues, by lanes of any kind.
#pragma once

#include "laneway/simt/wait.hpp"
#include "laneway/task/remote_names.hpp"

namespace laneway {

/// A lane's way into the queues of all PEs.
template <class Ctx, class... Types>
class remote_sender {
public:
    LANEWAY_FN remote_sender(const remote_rings_ref& rings, const remote_names_ref& names)
        : rings_(rings), names_(names) {}

    /// Posts a command for a function. Lanes that arrive together draw their tickets together, and share a slot where
    /// the function is for single lanes. `wait(mask, site, try_draw)`, called by the lanes of a mask together, has them
    /// call try_draw() together until it is true, or says why it is not.
    template <class Type, class Wait>
    LANEWAY_FN status post(Ctx& ctx, int pe, const typename Type::arguments& arguments, const remote_request& request,
                           Wait&& wait) const {
        const status fine = names_.check(ctx, pe, request, rings_.n_queues);
        if (fine != status::ok) return fine;
        const remote_record<typename Type::arguments> record{remote_header::of(request.signal), arguments};
        const lane_mask mask = mates(ctx, ctx.converged(), rings_.tail(ctx, request.queue, pe));
        if constexpr (remote_batch_of<Type> == 1) {
            return send_each(ctx, mask, pe, request.queue, number<Type>(), record, wait);
        } else {
            const auto commands = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
            return send(ctx, {mask, commands}, pe, request.queue, number<Type>(), record, wait);
        }
    }
    /// The same behind a payload, which the lanes of the mask store together; one command for all of them.
    template <class Type, class Wait>
    LANEWAY_FN status post(Ctx& ctx, lane_mask mask, int pe, const typename Type::arguments& arguments,
                           const remote_payload& payload, const remote_request& request, Wait&& wait) const {
        const remote_record<typename Type::arguments> record{remote_header::of(request.signal, payload.landed),
                                                             arguments};
        return send_with(ctx, mask, pe, payload, request, number<Type>(), record, wait);
    }

    /// Posts a command for a kernel of the host's; with the payload, if there is any.
    template <class Wait>
    LANEWAY_FN status launch(Ctx& ctx, lane_mask mask, int pe, std::uint32_t kernel, const remote_bytes& arguments,
                             const remote_payload& payload, const remote_request& request, Wait&& wait) const {
        if (kernel >= names_.n_kernels) {
            return fail(ctx, status::bad_index, operation::launch, pe, kernel, names_.n_kernels);
        }
        const remote_record<remote_bytes> record{remote_header::of(request.signal, payload.landed, kernel), arguments};
        if (payload.any) {
            return send_with(ctx, mask, pe, payload, request, kernel_kind, record, wait);
        }
        const status fine = names_.check(ctx, pe, request, rings_.n_queues);
        return fine == status::ok ? send(ctx, {mask, 1}, pe, request.queue, kernel_kind, record, wait) : fine;
    }

private:
    /// Lanes that post together in one slot, and how many commands they have: the first lanes have one each.
    struct posting {
        lane_mask mask;
        std::uint32_t commands;
    };

    template <class Type>
    static constexpr std::uint32_t number() {
        constexpr std::uint32_t found = number_of_type<Type, Types...>();
        static_assert(found < sizeof...(Types),
                      "the remote queue has no function of this name: give it to "
                      "remote_queue()");
        return found;
    }

    template <class Record, class Wait>
    LANEWAY_FN status send_with(Ctx& ctx, lane_mask mask, int pe, const remote_payload& payload,
                                const remote_request& request, std::uint32_t kind, const Record& record,
                                Wait&& wait) const {
        status result = names_.check(ctx, pe, request, rings_.n_queues);
        if (result != status::ok) return result;
        result = names_.store(
            ctx, pe, payload,
            {static_cast<std::uint64_t>(rank_in(ctx, mask)), static_cast<std::uint64_t>(Ctx::count_lanes(mask))});
        if (result != status::ok) return result;
        ctx.sync(mask);
        // Partner: the acquire load of the command's flag or words. Cumulative over the other lanes' stores.
        if (elected(ctx, mask)) ctx.fence(order::release, scope::system);
        return send(ctx, {mask, 1}, pe, request.queue, kind, record, wait);
    }

    /// Posts the commands of the first lanes of a group in one slot. Exactly its lanes, together.
    template <class Record, class Wait>
    LANEWAY_FN status send(Ctx& ctx, const posting& group, int pe, std::uint32_t queue, std::uint32_t kind,
                           const Record& record, Wait&& wait) const {
        const lane_mask mask = group.mask, first = mask & (~mask + 1);
        const chunk_sender to = rings_.sender(ctx, queue, pe);
        const bool in_words = fits_words<Record>(group.commands);
        std::uint64_t ticket = 0;
        // The ticket counts as created work, and nothing of the chunk is stored before it is known.
        const status drawn = wait(mask, wait_site{operation::enqueue, pe, queue}, [&] {
            return remote_rings_ref::try_draw(ctx, mask, first, to, in_words, guess(ctx, mask), ticket) != 0;
        });
        if (drawn != status::ok) return drawn;
        ctx.sync(mask);  // the first lane has seen that the slot is free
        ticket = ctx.shuffle(mask, ticket, Ctx::first_lane(mask));
        next_ = ticket + 1;
        const auto mine = static_cast<std::uint32_t>(rank_in(ctx, mask));
        if (in_words) {
            if (mine < group.commands) to.store_words(ctx, ticket, mine, record);
            ctx.sync(mask);
            if (elected(ctx, mask)) to.raise_flag(ctx, ticket, chunk_label::of(group.commands, kind, true), 0);
        } else {
            if (mine < group.commands) reinterpret_cast<Record*>(to.slot(ticket))[mine] = record;
            to.publish(ctx, mask, ticket, group.commands, kind);
        }
        return status::ok;
    }

    /// Posts a command of each lane, in a slot each. Exactly the lanes of the mask, together; they leave together. Each
    /// gets a status of its own.
    template <class Record, class Wait>
    LANEWAY_FN status send_each(Ctx& ctx, lane_mask mask, int pe, std::uint32_t queue, std::uint32_t kind,
                                const Record& record, Wait&& wait) const {
        constexpr bool in_words = fits_words<Record>(1);
        const chunk_sender to = rings_.sender(ctx, queue, pe);
        const lane_mask own = lane_mask{1} << ctx.lane();
        for (lane_mask left = mask; left != 0;) {
            std::uint64_t ticket = 0;
            std::uint32_t n = 0;
            const status drawn = wait(mask, wait_site{operation::enqueue, pe, queue}, [&] {
                n = remote_rings_ref::try_draw(ctx, mask, left, to, in_words, guess(ctx, mask), ticket);
                return n != 0;
            });
            if (drawn != status::ok) return (left & own) != 0 ? drawn : status::ok;
            const bool posts = (left & own) != 0 && static_cast<std::uint32_t>(rank_in(ctx, left)) < n;
            next_ = ctx.shuffle(mask, ticket, Ctx::first_lane(left)) + n;
            if (posts && in_words) {
                to.store_words(ctx, ticket, 0, record);
                to.raise_flag(ctx, ticket, chunk_label::of(1, kind, true), 0);
            } else if (posts) {
                *reinterpret_cast<Record*>(to.slot(ticket)) = record;
                to.publish(ctx, own, ticket, 1, kind);
            }
            left &= ~ctx.ballot(mask, posts);
        }
        return status::ok;
    }

    /// The ticket that comes next in the ring that the first of these lanes has posted to last, if nobody else posts.
    [[nodiscard]] LANEWAY_FN std::uint64_t guess(Ctx& ctx, lane_mask mask) const {
        return ctx.shuffle(mask, next_, Ctx::first_lane(mask));
    }

    const remote_rings_ref& rings_;
    const remote_names_ref& names_;
    mutable std::uint64_t next_ = 0;
};

}  // namespace laneway
