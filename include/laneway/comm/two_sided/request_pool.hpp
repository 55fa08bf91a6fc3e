// Taking places of a PE's pool of requests, and giving them back.
#pragma once

#include "laneway/comm/two_sided/two_sided_ref.hpp"
#include "laneway/simt/fail.hpp"

namespace laneway {

template <class Ctx>
class request_pool {
public:
    /// `first`: where the lane looks first.
    LANEWAY_FN request_pool(const two_sided_ref& view, std::uint32_t first) : view_(view), next_(first) {}

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// Claims a free place for a message; `none` where each was in use when the lane came by. Any lane; does not wait.
    /// The place is open.
    LANEWAY_FN std::uint32_t claim(Ctx& ctx) { return claim(ctx, 0, view_.n_requests); }
    /// The same for a look at the queues, which is soon over: there are places that only these take, so that receives
    /// can be taken back where all others are in use.
    LANEWAY_FN std::uint32_t claim_for_look(Ctx& ctx) { return claim(ctx, view_.n_requests, view_.n_looks); }
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
        const std::uint64_t* const answer = address(ctx, view_.answers[handle.number()], ctx.pe());
        // Partner: the release store of answer, by the receiver.
        const std::uint64_t fetched = ctx.load(answer, order::acquire, scope::system);
        return {request_word::of(now.generation(),
                                 fetched == answer_of(now.generation()) ? request_word::done : request_word::open)};
    }
    /// Tells a PE that its send has been matched, or its payload fetched.
    static LANEWAY_FN void answer(Ctx& ctx, const two_sided_ref& view, int source, const payload_place& place) {
        // Partner: the acquire load in look, on the sender's PE.
        ctx.store(address(ctx, view.answers[place.request], source), answer_of(place.generation), order::release,
                  scope::system);
    }
    static LANEWAY_FN std::uint64_t answer_of(std::uint32_t generation) { return std::uint64_t{generation} + 1; }

    /// Gives a place back that is over; false where another lane has, as it waited for it as well.
    LANEWAY_FN bool give_back(Ctx& ctx, const message_request& handle) const {
        std::uint64_t* const word = &view_.requests[handle.number()].word;
        request_word seen{ctx.load(word, order::relaxed, scope::device)};
        if (seen.generation() != handle.generation() || seen.state() == request_word::free) return false;
        // Partner: the acquire in claim.
        return ctx.compare_exchange(word, seen.bits, request_word::of(seen.generation() + 1, request_word::free),
                                    order::release, scope::device);
    }

private:
    LANEWAY_FN std::uint32_t claim(Ctx& ctx, std::uint32_t from, std::uint32_t places) {
        for (std::uint32_t i = 0; i < places; ++i) {
            const std::uint32_t number = from + (next_ + i) % places;
            request_word seen{ctx.load(&view_.requests[number].word, order::relaxed, scope::device)};
            if (seen.state() != request_word::free) continue;
            const std::uint64_t mine = request_word::of(seen.generation(), request_word::open);
            // Partner: the release in give_back.
            if (ctx.compare_exchange(&view_.requests[number].word, seen.bits, mine, order::acquire, scope::device)) {
                next_ = number - from + 1;
                return number;
            }
        }
        return none;
    }

    const two_sided_ref& view_;
    std::uint32_t next_;
};

}  // namespace laneway
