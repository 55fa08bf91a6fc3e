// How an element gets to its kernel.
#pragma once

#include <new>

#include "laneway/simt/user_code.hpp"
#include "laneway/task/channel_remote.hpp"

namespace laneway {

/// Calls `run(kernel, element)` with the kernel of this number, where it is of this width; with a copy of an element
/// that `came` in a room, whose place may get the next one as soon as the kernel has forwarded it. Any lane.
template <task_width Width, class Kernels, class Run>
LANEWAY_FN outcome consume(const Kernels& kernels, std::uint32_t number, std::byte* at, [[maybe_unused]] bool came,
                           Run&& run) {
    outcome out = outcome::done;
    kernels.visit(number, [&]<class Kernel>(const Kernel& code) {
        if constexpr (width_of<Kernel> == Width) {
            using element = typename Kernel::element;
            auto* given = reinterpret_cast<element*>(at);
            if constexpr (receives_elements<Kernel>) {
                alignas(element) std::byte copy[sizeof(element)];
                if (came) given = ::new (static_cast<void*>(copy)) element(*given);
                out = run(code, *given);
                if (came && out == outcome::yield) *reinterpret_cast<element*>(at) = *given;
            } else {
                out = run(code, *given);
            }
        }
    });
    return out;
}

/// Calls a kernel. `more`: the node, and of a block the worker.
template <class Ctx, class Kernel, class Element, class... More>
LANEWAY_FN outcome call_kernel(Ctx& ctx, const Kernel& code, Element& element, More&... more) {
    if constexpr (std::is_void_v<decltype(code(ctx, element, more...))>) {
        run_user_code(ctx, {user_code::functor}, code, ctx, element, more...);
        return outcome::done;
    } else {
        return run_user_code(ctx, {user_code::functor}, code, ctx, element, more...);
    }
}

}  // namespace laneway
