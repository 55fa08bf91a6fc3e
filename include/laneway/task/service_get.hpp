// A request type of a service that loads several values, which come back in the answer.
#pragma once

#include "laneway/task/service_operations.hpp"

namespace laneway {

/// Loads a few neighbouring words of a PE. A type of its own, to be given to the service, as the answers of all types
/// take as much memory as the longest:
///   lw::service served(runtime.machine(), {}, lw::service_get{});
///   served.get(ctx, from[7], pe, values, 3);          // in the body
struct service_get {
    static constexpr std::uint32_t most = service_put::most;

    struct arguments {
        memory_target first;
        std::uint32_t count;
        std::int32_t pe;
    };
    struct result {
        std::uint64_t words[most] = {};

        template <remote_word T>
        LANEWAY_FN void give(T* values, std::uint32_t count) const {
            for (std::uint32_t i = 0; i < count; ++i) values[i] = word_of<T>(words[i]);
        }
    };
    static constexpr const char* name = "get";

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& a) const {
        result held;
        if (by_copies(ctx, [&](auto& copies) { copies.get(a.first, a.pe, held.words, a.count); })) return held;
        a.first.visit([&]<class T>() {
            const remote_ptr<T> from = remote_address(ctx, a.first.template element<T>(), a.pe);
            for (std::uint32_t i = 0; i < a.count; ++i) held.words[i] = word_bits((from + i).load(ctx));
        });
        return held;
    }
};

}  // namespace laneway
