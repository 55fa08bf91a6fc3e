// Taking places of a PE's pool of requests, and giving them back. The numbers of free ones stand in a queue: to look
// for one among those in use would take as many loads as there are.
#pragma once

#include "laneway/comm/two_sided/two_sided_ref.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/transport/remote_ptr.hpp"

namespace laneway {

template <class Ctx>
class request_pool {
public:
    LANEWAY_FN explicit request_pool(const two_sided_ref& view) : view_(view) {}

    static constexpr std::uint32_t none = free_numbers_ref::none;

    /// Claims a free place for a message; `none` where each was in use when the lane came by. Any lane; does not wait.
    /// The place is open.
    LANEWAY_FN std::uint32_t claim(Ctx& ctx) const { return claim(ctx, view_.free_requests); }
    /// The same for a look at the queues, which is soon over: there are places that only these take, so that receives
    /// can be taken back where all others are in use.
    LANEWAY_FN std::uint32_t claim_for_look(Ctx& ctx) const { return claim(ctx, view_.free_looks); }
    [[nodiscard]] LANEWAY_FN message_request handle(Ctx& ctx, std::uint32_t number) const {
        const request_word now{ctx.load(&view_.requests[number].word, order::relaxed, scope::device)};
        return {number, now.generation(), view_.number};
    }

    /// The slot that a handle names; null where it names none any more, or one of another communicator.
    [[nodiscard]] LANEWAY_FN request_slot* find(Ctx& ctx, const message_request& handle) const {
        if (handle.number() >= view_.n_requests + view_.n_looks || handle.communicator() != view_.number)
            return nullptr;
        request_slot* const slot = view_.requests + handle.number();
        const request_word now{ctx.load(&slot->word, order::relaxed, scope::device)};
        return now.generation() == handle.generation() && now.state() != request_word::free ? slot : nullptr;
    }

    /// Where the operation stands; what it brought is visible when it is over. Any lane.
    [[nodiscard]] LANEWAY_FN request_word look(Ctx& ctx, const message_request& handle) const {
        request_slot& slot = view_.requests[handle.number()];
        request_word now{ctx.load(&slot.word, order::relaxed, scope::device)};
        if (now.state() == request_word::open && slot.kind != request_kind::send) return now;
        // Partner: the release store in message_delivery::complete. Only on arrival, as in has_come.
        now.bits = ctx.load(&slot.word, order::acquire, scope::device);
        if (now.state() != request_word::open || slot.kind != request_kind::send) return now;
        if (slot.answered == 0) return now;
        const std::uint64_t* const answer = address(ctx, view_.answers[handle.number()]);
        // Partner: the release store of answer, by the receiver.
        const std::uint64_t fetched = ctx.load(answer, order::acquire, scope::system);
        return {request_word::of(now.generation(),
                                 fetched == answer_of(now.generation()) ? request_word::done : request_word::open)};
    }
    /// Tells a PE that its send has been matched, or its payload fetched.
    static LANEWAY_FN void answer(Ctx& ctx, const two_sided_ref& view, int source, const payload_place& place) {
        // Partner: the acquire load in look, on the sender's PE.
        remote_address(ctx, view.answers[place.request], source)
            .store(ctx, answer_of(place.generation), order::release);
    }
    static LANEWAY_FN std::uint64_t answer_of(std::uint32_t generation) { return std::uint64_t{generation} + 1; }

    /// Gives a place back that is over; false where another lane has, as it waited for it as well.
    LANEWAY_FN bool give_back(Ctx& ctx, const message_request& handle) const {
        std::uint64_t* const word = &view_.requests[handle.number()].word;
        request_word seen{ctx.load(word, order::relaxed, scope::device)};
        if (seen.generation() != handle.generation() || seen.state() == request_word::free) return false;
        // Several lanes may come; one of them gives it back.
        if (!ctx.compare_exchange(word, seen.bits, request_word::of(seen.generation() + 1, request_word::free),
                                  order::relaxed, scope::device))
            return false;
        const bool looks = handle.number() >= view_.n_requests;
        (looks ? view_.free_looks : view_.free_requests).put_back(ctx, handle.number());
        return true;
    }

private:
    LANEWAY_FN std::uint32_t claim(Ctx& ctx, const free_numbers_ref& free) const {
        const std::uint32_t number = free.take(ctx);
        if (number == none) return none;
        std::uint64_t* const word = &view_.requests[number].word;
        const request_word seen{ctx.load(word, order::relaxed, scope::device)};
        ctx.store(word, request_word::of(seen.generation(), request_word::open), order::relaxed, scope::device);
        return number;
    }

    const two_sided_ref& view_;
};

}  // namespace laneway
