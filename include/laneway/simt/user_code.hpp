// Code of an application, as the library runs it: its functor, its handlers, what a worklist asks of it.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// What of an application runs, for messages.
struct user_code {
    enum part_of : std::uint32_t {
        functor,
        handler,
        allocate,
        arcs,
        visit,
        remote,
        request,
        task,   ///< that a lane has submitted
        parts,  ///< this one and those below: of an item worklist
        work,
        pack,
        unpack,
        on_send,
        on_receive,
        priority
    };

    part_of part = functor;
    /// Of a handler and of allocate: number of the message's type in the program; of a remote queue's function, of a
    /// service's request, and of a pool's task, its number.
    std::uint32_t type = 0;
    int source = -1;  ///< of these: the PE that posted the message or the command; -1: the host
    int block = -1;   ///< of a service's request: the block that posted it
};

/// A context that keeps what an application throws (cpu/catching.hpp), and ends the run with it. On GPUs nothing
/// throws.
template <class Ctx>
concept catching = requires(const Ctx& ctx) {
    { ctx.threw() } -> std::same_as<bool>;
};

LANEWAY_STRICT_BEGIN
/// A call of `code`. Where nvcc refuses it, `code` lacks LANEWAY_FN.
template <class Code, class... Arguments>
LANEWAY_FN decltype(auto) call_needs_LANEWAY_FN(const Code& code, Arguments&&... arguments) {
    if constexpr (requires { code(static_cast<Arguments&&>(arguments)...); }) {
        return code(static_cast<Arguments&&>(arguments)...);
    } else {
        static_assert(sizeof(Code) == 0,
                      "it cannot be called with what it is given: a body is called as body(ctx, agents...), with one "
                      "agent for each component in the order of the call, and for_each's as body(ctx, i, agents...); "
                      "its operator() is const");
    }
}
LANEWAY_STRICT_END

/// Calls `code(arguments...)` and returns what it returns. Any lane. Where it throws on a CPU device, the run ends with
/// that, the lane goes on with a value that means nothing, and threw() tells so.
template <class Ctx, class Code, class... Arguments>
LANEWAY_FN decltype(auto) run_user_code(Ctx& ctx, [[maybe_unused]] const user_code& what, const Code& code,
                                        Arguments&&... arguments) {
    if constexpr (catching<Ctx>) {
        return ctx.guard(what, [&]() -> decltype(auto) {
            return call_needs_LANEWAY_FN(code, static_cast<Arguments&&>(arguments)...);
        });
    } else {
        return call_needs_LANEWAY_FN(code, static_cast<Arguments&&>(arguments)...);
    }
}

/// Whether the last code that this context has run threw.
template <class Ctx>
LANEWAY_FN bool threw([[maybe_unused]] const Ctx& ctx) {
    if constexpr (catching<Ctx>) return ctx.threw();
    return false;
}

}  // namespace laneway
