// The host half of components, as runs see it; component.hpp says what it has.
#pragma once

#include <string>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/report.hpp"
#include "laneway/comm/comm_plan.hpp"
#include "laneway/comm/termination_ref.hpp"
#include "laneway/run/component.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

template <class T>
concept component = requires(const std::remove_cvref_t<T>& t, int pe) {
    typename std::remove_cvref_t<T>::ref_type;
    { t.ref(pe) } -> std::same_as<typename std::remove_cvref_t<T>::ref_type>;
};

template <component Component>
using ref_of = typename std::remove_cvref_t<Component>::ref_type;

/// Whether a component has a view of its own for sessions.
template <class T>
concept differs_in_sessions = requires {
    typename std::remove_cvref_t<T>::session_ref_type;
};
template <component Component>
struct session_ref_type_of {
    using type = ref_of<Component>;
};
template <component Component>
requires differs_in_sessions<Component>
struct session_ref_type_of<Component> {
    using type = typename std::remove_cvref_t<Component>::session_ref_type;
};
template <component Component>
using session_ref_of = typename session_ref_type_of<Component>::type;

/// The view of a component on a PE, in a session.
template <component Component>
session_ref_of<Component> session_ref_in(const Component& c, int pe) {
    if constexpr (differs_in_sessions<Component>) {
        return c.session_ref(pe);
    } else {
        return c.ref(pe);
    }
}

template <class T>
concept prepares = requires(std::remove_cvref_t<T>& t, machine& m, const comm_plan& plan, const run_deadline& until) {
    t.begin(m, plan, until);
};
template <class T>
concept ended_by_runs = requires(std::remove_cvref_t<T>& t, run_report& report) {
    t.end(report);
};

/// Whether a component may be part of a session: see host_feed.hpp.
template <class T>
concept has_feed = requires(const std::remove_cvref_t<T>& t) {
    t.feed();
};

/// What copies of a component share: two that have the same are one.
template <component Component>
const void* identity_of(const Component& c) {
    if constexpr (requires { c.identity(); }) {
        return c.identity();
    } else if constexpr (has_feed<Component>) {
        return c.feed().get();
    } else {
        return &c;
    }
}

/// Throws usage_error where a component says that it is for runs of another runtime.
template <component Component>
void refuse_others([[maybe_unused]] const Component& c, [[maybe_unused]] const machine& machine) {
    if constexpr (requires { c.owner(); }) {
        if (c.owner() != &machine)
            throw usage_error(std::string(Component::name) + " belongs to the runtime that has made it");
    }
}

/// A component of a run or session, as the others see it.
struct present_component {
    const void* identity;
    bool renamed = false;  ///< an earlier one carries messages of its types: see component_messages.hpp
};

/// The components of a run, or a session, whose program has these views of them, and would have `Own` if they were
/// alone.
template <class... Views, class... Own, component... Components>
std::vector<present_component> present_in(std::type_identity<view_list<Views...>>,
                                          std::type_identity<view_list<Own...>>, const Components&... all) {
    return {{identity_of(all), !std::is_same_v<Views, Own>}...};
}

/// Throws usage_error where a component cannot be beside `all`, which has no pool for its tasks for instance.
template <component Component>
void refuse_beside([[maybe_unused]] const Component& c, [[maybe_unused]] const std::vector<present_component>& all) {
    if constexpr (requires { c.refuse_beside(all); }) c.refuse_beside(all);
}

template <class T>
concept numbered = requires(std::remove_cvref_t<T>& t) {
    t.take_place(std::uint32_t{0});
};
/// Tells components which of several they are that faults name by a number.
template <component... Components>
void number_components(Components&... all) {
    constexpr std::uint32_t sum = (0u + ... + (numbered<Components> ? 1u : 0u));
    [[maybe_unused]] std::uint32_t place = 0;
    [[maybe_unused]] const auto tell = [&]([[maybe_unused]] auto& c) {
        if constexpr (numbered<decltype(c)>) c.take_place(sum > 1 ? ++place : 0);
    };
    (tell(all), ...);
}

/// What a component holds on a PE before a run, in bytes.
template <component Component>
std::uint64_t held_bytes_of([[maybe_unused]] const Component& c, [[maybe_unused]] int pe) {
    if constexpr (requires { c.held_bytes(pe); }) return c.held_bytes(pe);
    return 0;
}

/// The share of a PE's blocks that a component wants to serve: those whose server warps do its work.
template <bool in_session, component Component>
double server_share_of_component([[maybe_unused]] const Component& c, [[maybe_unused]] int pe) {
    using view = std::conditional_t<in_session, session_ref_of<Component>, ref_of<Component>>;
    if constexpr (is_serving<view>) return c.server_share(pe);
    return 0;
}

/// Lets a component prepare itself for a run.
template <component Component>
void begin_component([[maybe_unused]] Component& c, [[maybe_unused]] machine& machine,
                     [[maybe_unused]] const comm_plan& plan, [[maybe_unused]] const run_deadline& until) {
    constexpr bool begins = requires { c.begin(machine, plan, until); };
    static_assert(begins || !prepares<Component>, "a run prepares this component, so it may not be const");
    if constexpr (begins) c.begin(machine, plan, until);
}

template <component Component>
void end_component([[maybe_unused]] Component& c, [[maybe_unused]] run_report& report) {
    constexpr bool ends = requires { c.end(report); };
    static_assert(ends || !ended_by_runs<Component>, "a run ends this component's part, so it may not be const");
    if constexpr (ends) c.end(report);
}

/// What a component is given that all processes of a job must give alike, as words behind "running a program".
template <component Component>
std::string given_to([[maybe_unused]] const Component& c) {
    if constexpr (requires { c.given(); }) return c.given();
    return {};
}

/// What a component adds to the message of a run that has failed.
template <component Component>
std::string account_of([[maybe_unused]] const Component& c) {
    if constexpr (requires { c.account(); }) return c.account();
    return {};
}

/// Throws usage_error where two of the components are one.
void refuse_twice(std::vector<const void*> components);

/// Throws usage_error, which begins with `whose`, where two PEs cannot store into each other's memory.
void refuse_apart(const machine& machine, const std::string& whose);
/// The same, also where they cannot do atomics there: GPUs that reach each other over PCIe alone.
void refuse_without_atomics(const machine& machine, const std::string& whose);

/// Whether a component's work has a threshold.
template <component Component>
bool has_threshold([[maybe_unused]] const Component& c) {
    if constexpr (requires { c.has_threshold(); }) return c.has_threshold();
    return false;
}
/// Throws usage_error where more than one of the components has a threshold: the termination detector raises one.
void refuse_thresholds(int with_threshold);

/// The threshold policy of the component that has one.
template <component... Components>
threshold_policy policy_of([[maybe_unused]] const Components&... all) {
    threshold_policy policy;
    [[maybe_unused]] const auto ask = [&]([[maybe_unused]] const auto& c) {
        if constexpr (requires { c.policy(); }) {
            if (has_threshold(c)) policy = c.policy();
        }
    };
    (ask(all), ...);
    return policy;
}

}  // namespace laneway
