// Types of task: functors that a worker's lanes call together.
//
//   struct square {
//       using arguments = double;
//       using result = double;
//       template <class Ctx>
//       LANEWAY_FN result operator()(Ctx& ctx, const arguments& x) const { return x * x; }
//   };
//
// All lanes of the worker call it with the same arguments. What lane 0 returns is the task's result. `arguments` and
// `result` are trivially copyable; `result` may be void. With a third parameter, `Worker& worker`, the body gets the
// place of its lane, a barrier among the worker's lanes, and ways to fail and to spawn tasks: task_worker.hpp. A type
// whose body spawns tasks, or has one follow, says `static constexpr bool spawns = true;`. A body that throws on a CPU
// device does so on all lanes of its worker, between the same two barriers. A type that not all devices can run says
// `static constexpr auto runs_on = lw::task_devices::gpu;`, or `cpu`: its body is compiled for these alone, and its
// tasks go to no others.
#pragma once

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "laneway/simt/context.hpp"
#include "laneway/simt/user_code.hpp"

namespace laneway {

/// `arguments` of a task type without any.
struct no_arguments {};

template <class Result>
inline constexpr std::size_t result_alignment_of = alignof(Result);
template <>
inline constexpr std::size_t result_alignment_of<void> = 1;

template <class T>
concept task_type = trivially_copyable<T> && trivially_copyable<typename T::arguments> &&
                        (std::is_void_v<typename T::result> ||
                         trivially_copyable<typename T::result>)&&alignof(typename T::arguments) <= 16 &&
                    result_alignment_of<typename T::result> <= 16;

/// Bytes of a result; 0 for void.
template <class Result>
inline constexpr std::size_t result_bytes_of = sizeof(Result);
template <>
inline constexpr std::size_t result_bytes_of<void> = 0;

/// Where a result may go that a task of the same PE waits for.
template <class Type>
using result_pointer = typename Type::result*;

/// The lanes that run one task of a type. With `lane` those of a warp run as many tasks of a batch side by side.
enum class task_width : std::uint32_t { lane, warp, block };

/// A type whose tasks take a whole block says `static constexpr task_width width = task_width::block;`, one whose tasks
/// a lane runs by itself `task_width::lane`.
template <class Type>
inline constexpr task_width width_of = task_width::warp;
template <class Type>
requires requires { Type::width; }
inline constexpr task_width width_of<Type> = Type::width;

/// Kinds of devices. Checked devices are CPU devices.
enum class task_devices : std::uint8_t { none = 0, cpu = 1, gpu = 2, all = 3 };
constexpr task_devices operator&(task_devices a, task_devices b) {
    return static_cast<task_devices>(static_cast<std::uint8_t>(a) & static_cast<std::uint8_t>(b));
}
constexpr task_devices operator|(task_devices a, task_devices b) {
    return static_cast<task_devices>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
/// Those of `a` without those of `b`.
constexpr task_devices operator-(task_devices a, task_devices b) {
    return static_cast<task_devices>(static_cast<std::uint8_t>(a) & ~static_cast<std::uint8_t>(b));
}

/// The devices that run tasks of a type.
template <class Type>
inline constexpr task_devices devices_of = task_devices::all;
template <class Type>
requires requires { Type::runs_on; }
inline constexpr task_devices devices_of<Type> = Type::runs_on;

/// Whether devices of a context do.
template <class Ctx, class Type>
inline constexpr bool runs_here = (devices_of<Type> &
                                   (catching<Ctx> ? task_devices::cpu : task_devices::gpu)) != task_devices::none;

/// Whether bodies of a type spawn tasks.
template <class Type>
inline constexpr bool spawns_tasks = false;
template <class Type>
requires requires { Type::spawns; }
inline constexpr bool spawns_tasks<Type> = Type::spawns;

/// Whether lanes submit tasks of a type, by triggered operations: it says `static constexpr bool from_lanes = true;`.
template <class Type>
inline constexpr bool from_lanes = false;
template <class Type>
requires requires { Type::from_lanes; }
inline constexpr bool from_lanes<Type> = Type::from_lanes;
/// Whether some tasks of a pool wait in nodes of the PE: those that others spawn or lanes submit.
template <class... Types>
inline constexpr bool use_nodes = ((spawns_tasks<Types> || from_lanes<Types>) || ...);

/// Names a task type where a body spawns it: `worker.spawn(ctx, lw::task<fib>, n - 1, &left)`.
template <class Type>
struct task_name {};
template <class Type>
inline constexpr task_name<Type> task{};

/// The functors of a pool, in the order of their numbers.
template <class... Types>
struct task_types {
    template <class Visit>
    LANEWAY_FN void visit(std::uint32_t, Visit&&) const {}
};

template <class First, class... Rest>
struct task_types<First, Rest...> {
    First first;
    task_types<Rest...> rest;

    /// Calls `use(functor)` with the one of this number.
    template <class Use>
    LANEWAY_FN void visit(std::uint32_t number, Use&& use) const {
        if (number == 0) {
            use(first);
        } else {
            rest.visit(number - 1, use);
        }
    }
    /// The same, compiled for those types alone that devices of the context run.
    template <class Ctx, class Use>
    LANEWAY_FN void visit_here(std::uint32_t number, const Use& use) const {
        visit(number, [&]<class Type>(const Type& body) {
            if constexpr (runs_here<Ctx, Type>) use(body);
        });
    }
};

inline task_types<> task_types_of() { return {}; }
template <class First, class... Rest>
task_types<First, Rest...> task_types_of(const First& first, const Rest&... rest) {
    return {first, task_types_of(rest...)};
}

/// Number of a type among the types of a pool.
template <class Type, class... Types>
constexpr std::uint32_t number_of_type() {
    constexpr bool same[] = {std::is_same_v<Type, Types>...};
    return static_cast<std::uint32_t>(std::find(std::begin(same), std::end(same), true) - std::begin(same));
}

}  // namespace laneway
