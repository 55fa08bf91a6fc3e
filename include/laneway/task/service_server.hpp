// Carrying out the requests of a slot, by a warp of a PE or by a thread of the host.
#pragma once

#include "laneway/simt/user_code.hpp"
#include "laneway/task/service_rings_ref.hpp"

namespace laneway {

/// What has come of a slot.
struct service_served {
    std::uint32_t requests = 0;
    std::uint32_t refused = 0;
};

/// In place of a forwarder: for services whose requests post no messages, so that all programs share their code, and
/// for host threads, which serve no others.
struct no_forwards {
    template <class Ctx, class Message>
    status post(Ctx& ctx, int, const Message&) const {
        ctx.fail_request();
        return status::handler_failed;
    }
};

/// Calls a request's functor. False where the request has failed, so that the run ends and nobody is answered. Any
/// lane, or a thread of the host.
template <class Type, class Ctx, class Forward>
[[nodiscard]] LANEWAY_FN bool carry_out_request(Ctx& ctx, const Type& body, const typename Type::arguments& asked,
                                                const service_call& whose, std::uint32_t number,
                                                service_answer<Type>& answer, [[maybe_unused]] Forward& forward) {
    service_call mine = whose;
    const user_code what{user_code::request, number, mine.by_host() ? -1 : mine.pe(), mine.block()};
    const auto called = [&]() -> decltype(auto) {
        if constexpr (forwarding<Type>) {
            return run_user_code(ctx, what, body, ctx, asked, mine, forward);
        } else if constexpr (requires { body(ctx, asked, mine); }) {
            return run_user_code(ctx, what, body, ctx, asked, mine);
        } else {
            return run_user_code(ctx, what, body, ctx, asked);
        }
    };
    if constexpr (std::is_void_v<typename Type::result>) {
        called();
    } else {
        answer.value = called();
    }
    answer.code = static_cast<std::uint32_t>(mine.refused());
    if (mine.failed()) {
        if constexpr (on_host<Ctx>) {
            ctx.fail_request();
        } else {
            (void)laneway::fail(ctx, status::handler_failed, operation::serving, mine.pe(), number,
                                static_cast<std::uint64_t>(mine.block()));
        }
    }
    return !mine.failed() && !threw(ctx);
}

/// A slot that has arrived.
struct service_slot {
    const service_ring& ring;
    std::uint64_t ticket;
    service_label label;

    /// A request of the slot. False where the run ends before all of its words are there.
    template <class Type, class Ctx>
    [[nodiscard]] LANEWAY_FN bool read(Ctx& ctx, std::uint32_t i, typename Type::arguments& asked) const {
        const chunk_receiver requests(ring.requests);
        if (label.label.in_words()) return requests.load_words(ctx, ticket, i, asked);
        asked = reinterpret_cast<const typename Type::arguments*>(requests.slot(ticket))[i];
        return true;
    }

    /// Says that the slot is done. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN void close(Ctx& ctx) const {
        ctx.sync(full_warp<Ctx>);
        if constexpr (on_host<Ctx>) ctx.wait_all();
        const chunk_receiver requests(ring.requests);
        requests.renew_words(ctx, full_warp<Ctx>, ticket);
        // Partners: the acquire loads in service_queue::try_draw, service_caller::quiet and service_ref::add_completed.
        // Cumulative over what the other lanes have done.
        if (ctx.lane() == 0) ring.store_done(ctx, ticket + 1);
    }
};

/// Carries out the requests of a slot, which are of one type, and answers those that are waited for.
template <class Type, class Ctx, class Forward>
LANEWAY_FN service_served serve_requests(Ctx& ctx, const service_rings_ref& rings, const Type& body,
                                         const service_slot& from, const service_call& whose, Forward& forward) {
    constexpr std::uint32_t at_once = is_by_warp<Type> ? 1 : static_cast<std::uint32_t>(Ctx::warp_lanes);
    const bool answers = !is_by_warp<Type> || ctx.lane() == 0;
    const std::uint32_t count = from.label.requests();
    service_served served{count, 0};
    for (std::uint32_t base = 0; base < count; base += at_once) {
        const std::uint32_t i = base + (is_by_warp<Type> ? 0 : static_cast<std::uint32_t>(ctx.lane()));
        typename Type::arguments asked{};
        service_answer<Type> answer;
        bool here = i < count && from.read<Type>(ctx, i, asked);
        if (here) here = carry_out_request(ctx, body, asked, whose, from.label.label.kind(), answer, forward);
        const bool refused = answers && answer.code != static_cast<std::uint32_t>(status::ok);
        served.refused += static_cast<std::uint32_t>(Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, refused)));
        if (!from.label.waits()) continue;
        if constexpr (on_host<Ctx>) ctx.wait_all();
        if constexpr (is_ordered<Type> && Ctx::tagged_order != order::release) {
            ctx.sync(full_warp<Ctx>);
            // Partner: the acquire load of the answer. What all lanes have stored comes before. By each lane, as it is
            // the fence before its own store that makes this a release.
            from.ring.fence_answers(ctx);
        }
        if (here && answers) rings.store_answer(ctx, from.ring, from.ticket, i, answer);
    }
    return served;
}

/// Carries out the requests of a slot that has arrived, a lane each, answers those that are waited for, and says that
/// the slot is done. The whole warp, together; `Ctx` is of a lane, or of a host thread. Waits for nothing but words of
/// a request that are on their way. `forward`: what requests post messages with.
template <class Ctx, class Forward, class... Types>
LANEWAY_FN service_served serve_slot(Ctx& ctx, const service_rings_ref& rings, const task_types<Types...>& types,
                                     const service_slot& from, const service_call& whose, Forward& forward) {
    service_served served;
    types.visit(from.label.label.kind(),
                [&]<class Type>(const Type& body) { served = serve_requests(ctx, rings, body, from, whose, forward); });
    from.close(ctx);
    return served;
}

}  // namespace laneway
