// A service in a session: host threads ask, and the PEs' working lanes carry out what they ask for. A request is a
// message of the session's inboxes whose handler is the request's functor, so epochs, back-pressure, deadlines and the
// audit are those of messages. service_client.hpp is the host's side.
#pragma once

#include "laneway/memory/copy_bytes.hpp"
#include "laneway/run/component.hpp"
#include "laneway/simt/lone_lane.hpp"
#include "laneway/task/service_server.hpp"

namespace laneway {

/// A request of a host thread, as it is carried, to a service with these request types.
template <class... Types>
struct service_question {
    alignas(8) std::byte arguments[greatest(sizeof(typename Types::arguments)...)];
    std::uint32_t type;
    std::int32_t pe;  ///< in whose name it is asked
};

/// Its answer; of a post nobody reads it.
template <class... Types>
struct service_reply {
    alignas(8) std::byte value[greatest(sizeof(service_result<Types>)...)];
    std::uint32_t code;   ///< a status
    std::uint32_t ended;  ///< 1: the request has ended the session
};

/// Carries questions out.
template <class... Types>
struct answer_question {
    using answer = service_reply<Types...>;
    static constexpr bool forwards = (forwarding<Types> || ...);

    symmetric_ref<service_counts> counts;
    task_types<Types...> types;

    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const service_question<Types...>& asked) const requires(!forwards) {
        const no_forwards none;
        return carried_out(ctx, asked, none);
    }
    template <class Ctx, class Forward>
    LANEWAY_FN answer operator()(Ctx& ctx, const service_question<Types...>& asked, Forward& forward) const
        requires(forwards) {
        return carried_out(ctx, asked, forward);
    }

private:
    template <class Ctx, class Forward>
    LANEWAY_FN answer carried_out(Ctx& ctx, const service_question<Types...>& asked, Forward& forward) const {
        answer given{};
        types.visit(asked.type, [&]<class Type>(const Type& body) {
            typename Type::arguments arguments{};
            copy_bytes(reinterpret_cast<std::byte*>(&arguments), asked.arguments, sizeof arguments);
            service_answer<Type> found;
            const service_call whose(asked.pe, service_call::host_thread, true);
            const auto run = [&](auto& lane) {
                return carry_out_request(lane, body, arguments, whose, asked.type, found, forward);
            };
            bool done = false;
            if constexpr (is_by_warp<Type>) {
                done = as_lone_lane(ctx, run);
            } else {
                done = run(ctx);
            }
            given.code = found.code;
            given.ended = done ? 0 : 1;
            if constexpr (!std::is_void_v<typename Type::result>) {
                copy_bytes(given.value, reinterpret_cast<const std::byte*>(&found.value), sizeof found.value);
            }
        });
        count(ctx, given.code != 0);
        return given;
    }
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, bool refused) const {
        service_counts& mine = *address(ctx, counts[0]);
        ctx.fetch_add(&mine.requests, std::uint64_t{1}, order::relaxed, scope::device);
        if (refused) ctx.fetch_add(&mine.refused, std::uint64_t{1}, order::relaxed, scope::device);
    }
};

/// Device view of a service on a PE, in a session. Lanes of a session have no body that would ask: their agents do
/// nothing.
template <class... Types>
struct service_session_ref {
    using routes_type = routes<route<service_question<Types...>, answer_question<Types...>>>;

    answer_question<Types...> handler;

    [[nodiscard]] routes_type handlers() const { return {{handler}}; }

    struct agent_type {};
    template <class Ctx, class Out>
    LANEWAY_FN agent_type agent(Ctx&, Out&, const roles&, std::byte*) const {
        return {};
    }
};

}  // namespace laneway
