// Components: the parts of a persistent program. A program has one kernel, one set of rings between PEs, one progress
// loop and one termination detector, whatever components it is made of: mailboxes, a worklist, an index space.
//
// The host half of a component is an object that runtime::run takes. It has
//   using ref_type = ...;                                  its device view
//   ref_type ref(int pe) const;                            that of a PE, for the run that begins
// and, where it needs them (component_host.hpp has the defaults),
//   const machine* owner() const;                          whose runs it is for, and what messages call it: a run of
//   static constexpr const char* name = "...";             others is refused. What prepares itself may do that in begin
//   std::uint64_t held_bytes(int pe) const;                memory that it holds on a PE, so that plans count it
//   void take_place(std::uint32_t place);                  where faults tell of it by a number: before begin, one more
//                                                          than its number among such components of the run or
//                                                          session; 0 where there is no other
//   void begin(machine&, const comm_plan&, const run_deadline&);   before ref is called
//   void end(run_report&);                                 after a run without a fault; it may add to the report. A run
//                                                          takes a constant where both are const
//   std::string account() const;                           after a run that failed: what its message shall say
//   std::string given() const;                             what all processes of a job must give it alike, where no
//                                                          size of memory tells: a difference ends the job, and is
//                                                          shown behind "running a program"
//   double server_share(int pe) const;                     where its view serves: of the PE's blocks that shall, also
//                                                          where it is alone
//   bool has_threshold() const;                            whether its work has a threshold: one component's of a
//   threshold_policy policy() const;                       program may; and which
//   void refuse_beside(const std::vector<present_component>& all) const;
//                                                          throws where a component that it needs is not there, or
//                                                          not as it needs it
//   const void* identity() const;                          where copies are the same component: what they share
//   std::shared_ptr<session_feed> feed() const;            where host threads feed it in a session (host_feed.hpp)
//   using session_ref_type = ...;                          its view in a session, where that is another one
//   session_ref_type session_ref(int pe) const;
//
// The device view is a trivially copyable type with
//   using routes_type = routes<...>;                       the messages that it sends; routes<> for none
//   routes_type handlers() const;                          their handlers; host
//   static constexpr std::size_t shared_bytes = ...;       of each block, a multiple of 16; left out for none
//   agent(ctx, out, mine, shared) const                    what a lane of the body holds; any type, or `out` itself,
//                                                          the endpoint through which all components send
// A view whose agents have tasks run by the warps of a block together says `static constexpr bool uses_team = true;`.
// Its agent() gets two things more, behind `shared`: the block_team of the program, and the number by which it calls
// it. An agent in which the body's warps meet says `static constexpr bool meets = true;` and has
//   void open(ctx);                                        each working warp, whole; a block barrier follows
//   void leave(ctx);                                       the same, when its body has returned
// An agent that has something to tell before its warp's body counts as completed says
// `static constexpr bool leaves = true;` and has
//   void leave(ctx);                                       each working warp, whole, when its body has returned
// A component with work of its own has an agent that says `static constexpr bool polls = true;` and has
//   void open(ctx);                                        all lanes of the block; a block barrier follows
//   bool poll(ctx);                                        a turn of its work, for a whole warp; false: there was none
//   void refresh(ctx);                                     now and then, one lane of the block at a time
//   void attend(ctx);                                      the control warp, at each of its turns, where the agent says
//                                                          `static constexpr bool attends = true;`
//   void assist(ctx);                                      a turn at what lanes of other components may wait for, also
//                                                          while bodies run, where the agent says
//                                                          `static constexpr bool assists = true;`: by warps that flush
//                                                          (comm/roles.hpp), the control warp where none does, and
//                                                          where a warp is one lane by lanes that wait. It does not
//                                                          wait
//   void close(ctx);                                       each lane, when all work everywhere is done
// A view whose work server warps do (comm/roles.hpp), in threads mode also each lane that waits, says
// `static constexpr bool serves = true;` and has
//   using server_state = ...;                              what a server warp's lane keeps between turns
//   bool serve(ctx, mine, server_state&, shared, forward&) const;
//                                                          a turn, for a whole warp; false: there was nothing to do.
//                                                          `shared` is what its agents get.
//                                                          Where it says `static constexpr bool servers_post = true;`
//                                                          it posts messages of the program as handlers do, by
//                                                          forward.post (comm/forward_queue.hpp)
// and a view that says `static constexpr bool counts_work = true;` and has
//   std::uint64_t* completed(int block) const;             where a working block's finished work is counted; left out
//                                                          where the program's own counter will do. A block counts in
//                                                          one place what it has finished for all components
//   void add_completed(ctx, keyed_reply&) const;           each lane adds its part of the PE's counters: first those
//   void add_created(ctx, keyed_reply&) const;             of finished work, then those of all work
//   void apply(ctx, std::uint64_t threshold) const;        lane 0 of the control warp
// Messages are counted by the program.
#pragma once

#include "laneway/comm/block_team.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/comm/routes.hpp"

namespace laneway {

template <class View>
inline constexpr std::size_t shared_bytes_of = 0;
template <class View>
requires requires { View::shared_bytes; }
inline constexpr std::size_t shared_bytes_of<View> = View::shared_bytes;

template <class View>
inline constexpr bool counts_work = false;
template <class View>
requires requires { View::counts_work; }
inline constexpr bool counts_work<View> = View::counts_work;

/// Whether server warps do a component's work.
template <class View>
inline constexpr bool is_serving = false;
template <class View>
requires requires { View::serves; }
inline constexpr bool is_serving<View> = View::serves;

/// Whether server warps, or a component's turns, leave messages in the forward queue.
template <class View>
inline constexpr bool servers_post = false;
template <class View>
requires requires { View::servers_post; }
inline constexpr bool servers_post<View> = View::servers_post;

/// What a server warp's lane keeps for a component.
template <class View>
struct server_state_of {
    struct type {};
};
template <class View>
requires(is_serving<View>) struct server_state_of<View> {
    using type = typename View::server_state;
};
/// The same for all components of a program.
template <class... Views>
struct server_states {};
template <class First, class... Rest>
struct server_states<First, Rest...> {
    typename server_state_of<First>::type first{};
    server_states<Rest...> rest{};
};

template <class View>
inline constexpr bool counts_blocks = requires(const View& view) {
    view.completed(0);
};

template <class View>
inline constexpr bool uses_team = false;
template <class View>
requires requires { View::uses_team; }
inline constexpr bool uses_team<View> = View::uses_team;

/// Whether the host feeds the component while a program runs: then epochs end the program, and the view has
/// `void take_from_host(ctx, orders) const`, as the `Counters` of termination.hpp. One that takes
/// messages has `void add_epoch(ctx, fed_reply&) const`, in which each lane adds its part of what was taken and served.
template <class View>
inline constexpr bool takes_from_host = false;
template <class View>
requires requires { View::takes_from_host; }
inline constexpr bool takes_from_host<View> = View::takes_from_host;

/// Warps of a GPU's block for components and bodies of which a step's time matters: each lane has 128 registers where
/// 32 warps have 64 and keep the rest in memory, and fewer warps look for work beside one whose fence waits for all
/// loads of its multiprocessor.
inline constexpr int small_block_warps = 16;

/// Warps of a GPU's block that suit a component or a body; 32 where it does not say.
template <class View>
inline constexpr int cuda_warps_of = 32;
template <class View>
requires requires { View::cuda_warps; }
inline constexpr int cuda_warps_of<View> = View::cuda_warps;

template <class Agent>
concept polling = requires {
    requires Agent::polls;
};

template <class Agent>
concept meeting = requires {
    requires Agent::meets;
};
template <class Agent>
concept leaving = meeting<Agent> || requires {
    requires Agent::leaves;
};
template <class Agent>
concept attending = requires {
    requires Agent::attends;
};

template <class Agent>
concept assisting = requires {
    requires Agent::assists;
};

/// Device views of a program's components, in the order of the body's agents.
template <class... Views>
struct view_list {
    using states = server_states<>;

    template <class Use>
    LANEWAY_FN void each(Use&&) const {}
    template <class Ctx, class Forward>
    LANEWAY_FN bool serve(Ctx&, const roles&, states&, std::byte*, Forward&) const {
        return false;
    }

    /// Makes a lane's agents and calls `use(agents...)`. `shared`: the components' part of the block's memory.
    template <class Ctx, class Out, class Use, class... Agents>
    LANEWAY_FN void with_agents(Ctx&, Out&, const roles&, block_team<Ctx>&, std::byte*, Use&& use,
                                Agents&... agents) const {
        use(agents...);
    }
};

template <class First, class... Rest>
struct view_list<First, Rest...> {
    using states = server_states<First, Rest...>;

    First first;
    view_list<Rest...> rest;

    /// A turn at what server warps do for the components; whether there was anything to do. The whole warp, together.
    /// `shared`: as for with_agents.
    template <class Ctx, class Forward>
    LANEWAY_FN bool serve(Ctx& ctx, const roles& mine, states& kept, std::byte* shared, Forward& forward) const {
        bool served = false;
        if constexpr (is_serving<First>) served = first.serve(ctx, mine, kept.first, shared, forward);
        return rest.serve(ctx, mine, kept.rest, shared + shared_bytes_of<First>, forward) || served;
    }

    template <class Use>
    LANEWAY_FN void each(Use&& use) const {
        use(first);
        rest.each(use);
    }

    template <class Ctx, class Out, class Use, class... Agents>
    LANEWAY_FN void with_agents(Ctx& ctx, Out& out, const roles& mine, block_team<Ctx>& team, std::byte* shared,
                                Use&& use, Agents&... agents) const {
        decltype(auto) agent = first_agent(ctx, out, mine, team, shared);
        rest.with_agents(ctx, out, mine, team, shared + shared_bytes_of<First>, use, agents..., agent);
    }

private:
    template <class Ctx, class Out>
    LANEWAY_FN decltype(auto) first_agent(Ctx& ctx, Out& out, const roles& mine, [[maybe_unused]] block_team<Ctx>& team,
                                          std::byte* shared) const {
        if constexpr (uses_team<First>) {
            return first.agent(ctx, out, mine, shared, team, static_cast<std::uint32_t>(sizeof...(Rest)));
        } else {
            return first.agent(ctx, out, mine, shared);
        }
    }
};

template <class First, class... Rest>
view_list<First, Rest...> in_front(const First& first, const view_list<Rest...>& rest) {
    return {first, rest};
}

template <class... All>
struct joined_routes;
template <class... R>
struct joined_routes<routes<R...>> {
    using type = routes<R...>;
};
template <class... A, class... B, class... Rest>
struct joined_routes<routes<A...>, routes<B...>, Rest...> : joined_routes<routes<A..., B...>, Rest...> {};

/// A handler of a program in which others than handlers forward messages.
template <class Handler>
struct beside_others : Handler {
    static_assert(!std::is_final_v<Handler>, "a handler in a run with a service that posts messages is not `final`");
    static constexpr bool others_forward = true;
};

/// The same messages, of which the first has such a handler.
template <class Message, class Handler, class... Rest>
auto with_forwards(const routes<route<Message, Handler>, Rest...>& all) {
    if constexpr (route_list<routes<route<Message, Handler>, Rest...>>::forwards) {
        return all;
    } else {
        const routes<route<Message, beside_others<Handler>>> first{{{handler_of<Message>(all)}}};
        return first + routes<Rest...>{static_cast<const Rest&>(all)...};
    }
}

template <bool Forwards, class Joined>
struct routes_that_forward {
    using type = Joined;
};
template <class Joined>
struct routes_that_forward<true, Joined> {
    using type = decltype(with_forwards(std::declval<const Joined&>()));
};

/// The messages of all components of a program.
template <class... Views>
using routes_of =
    typename routes_that_forward<(servers_post<Views> || ...),
                                 typename joined_routes<routes<>, typename Views::routes_type...>::type>::type;

template <class Routes>
inline constexpr bool messages_differ = true;
template <class... M, class... H>
inline constexpr bool messages_differ<routes<route<M, H>...>> = all_differ<M...>;

inline routes<> handlers_in(const view_list<>&) { return {}; }
template <class First, class... Rest>
auto handlers_in(const view_list<First, Rest...>& views) {
    return views.first.handlers() + handlers_in(views.rest);
}

/// The handlers of these messages. Host.
template <class... Views>
routes_of<Views...> joined_handlers(const view_list<Views...>& views) {
    if constexpr ((std::is_same_v<typename Views::routes_type, routes<>> && ...)) {
        return {};
    } else if constexpr ((servers_post<Views> || ...)) {
        return with_forwards(handlers_in(views));
    } else {
        return handlers_in(views);
    }
}

}  // namespace laneway
