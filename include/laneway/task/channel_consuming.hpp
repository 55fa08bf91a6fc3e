// How an element gets to its kernel.
#pragma once

#include <algorithm>
#include <new>

#include "laneway/simt/user_code.hpp"
#include "laneway/task/channel_remote.hpp"

namespace laneway {

/// Whether a kernel's elements may lie on a stack, from which they are copied before they run: where they are small,
/// and it does not say `static constexpr bool keeps = false;`.
template <class Kernel>
inline constexpr bool fits_stacks = sizeof(typename Kernel::element) <= max_kept_bytes;
template <class Kernel>
requires requires { Kernel::keeps; }
inline constexpr bool fits_stacks<Kernel> = Kernel::keeps;

/// Whether a block takes a kernel's elements one at a time, so that other blocks find the rest: where it says
/// `static constexpr bool keeps = false;`. Elements that are too large for stacks need not take long.
template <class Kernel>
inline constexpr bool takes_long = false;
template <class Kernel>
requires requires { Kernel::keeps; }
inline constexpr bool takes_long<Kernel> = !Kernel::keeps;

/// Whether a warp may keep a kernel's elements, which lanes run by themselves.
template <class Kernel>
inline constexpr bool keeps_elements = width_of<Kernel> == task_width::warp&& fits_stacks<Kernel>;

/// Whether a kernel ends elements that wait for others, as continuations do. It is for lanes, and produces seldom.
template <class Kernel>
inline constexpr bool ends_others = false;
template <class Kernel>
requires requires { Kernel::follows; }
inline constexpr bool ends_others<Kernel> = Kernel::follows;

/// Whether blocks may keep what these kernels produce: where blocks do all the work, but for continuations, and the
/// elements of one at least fit. Else warps keep what is theirs, and what is for blocks lies in queues.
template <class... Kernels>
inline constexpr bool blocks_keep_elements = ((width_of<Kernels> == task_width::block || ends_others<Kernels>)&&...) &&
                                             ((width_of<Kernels> == task_width::block && fits_stacks<Kernels>) || ...);

/// A copy of an element of any of these kernels that a warp, or a block, may keep.
template <class... Kernels>
struct element_copy {
    template <class Kernel>
    static constexpr bool fits = blocks_keep_elements<Kernels...> ? fits_stacks<Kernel> : keeps_elements<Kernel>;

    static constexpr std::size_t align =
        std::max({std::size_t{4}, fits<Kernels> ? alignof(typename Kernels::element) : 1 ...});
    static constexpr std::size_t size = std::max({align, fits<Kernels> ? sizeof(typename Kernels::element) : 1 ...});

    alignas(align) std::byte bytes[size];

    /// As words: of an assignment nvcc makes a load of each byte.
    LANEWAY_FN void load(const std::byte* from) { memcpy(bytes, __builtin_assume_aligned(from, align), size); }
    LANEWAY_FN void store(std::byte* to) const { memcpy(__builtin_assume_aligned(to, align), bytes, size); }
};
template <class List>
struct copies_of;
template <class... Kernels>
struct copies_of<task_types<Kernels...>> {
    using type = element_copy<Kernels...>;
};

/// What deals with continuations in frames of warps, which kernels of functions that fork name `frames`, all the same;
/// no_frames where no kernel does.
struct no_frames {};
template <class... Kernels>
struct first_frames {
    using type = no_frames;
};
template <class First, class... Rest>
struct first_frames<First, Rest...> : first_frames<Rest...> {};
template <class First, class... Rest>
requires requires { typename First::frames; }
struct first_frames<First, Rest...> {
    using type = typename First::frames;
};
template <class List>
struct frames_of;
template <class... Kernels>
struct frames_of<task_types<Kernels...>> : first_frames<Kernels...> {};

/// Takes a lane's copy of an element where its kernel runs on one. Any lane.
template <class Kernels, class Copy>
LANEWAY_FN void copy_element(const Kernels& kernels, std::uint32_t number, const std::byte* at, Copy& copy) {
    kernels.visit(number, [&]<class Kernel>(const Kernel&) {
        if constexpr (keeps_elements<Kernel>) {
            using element = typename Kernel::element;
            ::new (static_cast<void*>(copy.bytes)) element(*reinterpret_cast<const element*>(at));
        }
    });
}

/// Calls `run(kernel, element)` with the kernel of this number, where it is of this width. Where a warp may keep its
/// elements the kernel gets the lane's copy, which goes back to where the element is, if that `stays` and is not done;
/// else a copy of one that `came` in a room, whose place may get the next one as soon as the kernel has forwarded it.
/// Any lane.
template <task_width Width, class Kernels, class Copy, class Run>
LANEWAY_FN outcome consume(const Kernels& kernels, std::uint32_t number, std::byte* at, [[maybe_unused]] bool came,
                           [[maybe_unused]] Copy& copy, Run&& run, [[maybe_unused]] bool stays) {
    outcome out = outcome::done;
    kernels.visit(number, [&]<class Kernel>(const Kernel& code) {
        if constexpr (width_of<Kernel> == Width) {
            using element = typename Kernel::element;
            if constexpr (keeps_elements<Kernel>) {
                auto& given = *reinterpret_cast<element*>(copy.bytes);
                out = run(code, given);
                if (out != outcome::done && stays) *reinterpret_cast<element*>(at) = given;
            } else if constexpr (receives_elements<Kernel>) {
                auto* given = reinterpret_cast<element*>(at);
                alignas(element) std::byte of_room[sizeof(element)];
                if (came) given = ::new (static_cast<void*>(of_room)) element(*given);
                out = run(code, *given);
                if (came && out != outcome::done) *reinterpret_cast<element*>(at) = *given;
            } else {
                out = run(code, *reinterpret_cast<element*>(at));
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
