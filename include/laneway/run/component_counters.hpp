// What the termination detector of a program counts: on CPU devices of few types, so that the library holds their
// detectors.
#pragma once

#include "laneway/run/pe_counters.hpp"
#if !defined(__CUDACC_RTC__)
#include "laneway/simt/checked/context.hpp"
#include "laneway/simt/cpu/context.hpp"
#endif

namespace laneway {

/// The pe_counters of any components, behind functions. They stay where they are. `Fed`: by the host.
template <class Ctx, bool Fed>
class component_counters {
public:
    static constexpr bool non_generating = false;
    static constexpr bool fed_by_host = Fed;
    using reply = std::conditional_t<Fed, fed_reply, keyed_reply>;

    template <class Counters>
    LANEWAY_FN explicit component_counters(const Counters& counters)
        : counters_(&counters), look_(look_at<Counters>), apply_(apply_to<Counters>), take_(take_for<Counters>) {
        static_assert(std::is_same_v<decltype(counters.look(std::declval<Ctx&>())), reply>);
    }

    [[nodiscard]] LANEWAY_FN reply look(Ctx& ctx) const { return look_(counters_, ctx); }
    LANEWAY_FN void apply(Ctx& ctx, std::uint64_t threshold) const { apply_(counters_, ctx, threshold); }
    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const { take_(counters_, ctx, orders); }

private:
    template <class Counters>
    static LANEWAY_FN reply look_at(const void* counters, Ctx& ctx) {
        return static_cast<const Counters*>(counters)->look(ctx);
    }
    template <class Counters>
    static LANEWAY_FN void apply_to(const void* counters, Ctx& ctx, std::uint64_t threshold) {
        static_cast<const Counters*>(counters)->apply(ctx, threshold);
    }
    template <class Counters>
    static LANEWAY_FN void take_for(const void* counters, Ctx& ctx, std::uint64_t orders) {
        static_cast<const Counters*>(counters)->take_from_host(ctx, orders);
    }

    const void* counters_;
    reply (*look_)(const void*, Ctx&);
    void (*apply_)(const void*, Ctx&, std::uint64_t);
    void (*take_)(const void*, Ctx&, std::uint64_t);
};

/// The counters of a program as its termination detector takes them. They stay where they are for as long.
template <class Ctx, bool NonGenerating>
LANEWAY_FN auto detected(const message_counters<Ctx, NonGenerating>& counters) {
    return counters;
}
template <class Ctx, class List, class... Views>
LANEWAY_FN auto detected(const pe_counters<Ctx, List, Views...>& counters) {
    if constexpr (Ctx::warp_lanes == 32) {  // a GPU's: calls through pointers would keep its lanes from their registers
        return counters;
    } else {
        return component_counters<Ctx, pe_counters<Ctx, List, Views...>::fed_by_host>(counters);
    }
}

// Compiled once, in the library, for CPU devices.
#if LANEWAY_HOST_PASS
#define LANEWAY_DETECTORS(declare, Ctx)                                                         \
    declare template void termination_detector<Ctx, message_counters<Ctx, true>>::look(Ctx&);   \
    declare template void termination_detector<Ctx, message_counters<Ctx, false>>::look(Ctx&);  \
    declare template void termination_detector<Ctx, component_counters<Ctx, true>>::look(Ctx&); \
    declare template void termination_detector<Ctx, component_counters<Ctx, false>>::look(Ctx&);
LANEWAY_DETECTORS(extern, cpu::context)
LANEWAY_DETECTORS(extern, checked::context)
#endif

}  // namespace laneway
