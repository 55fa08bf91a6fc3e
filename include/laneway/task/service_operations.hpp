// The request types that every service has: stores, atomics and loads on symmetric memory, and memory of a PE's heap.
// What they name has been checked where they were posted.
#pragma once

#include "laneway/comm/memory_operation.hpp"
#include "laneway/comm/triggers/move_range.hpp"
#include "laneway/memory/device_heap_ref.hpp"
#include "laneway/task/service_request.hpp"

namespace laneway {

/// Operations that take one value and tell nothing.
template <memory_op Op>
inline constexpr bool is_service_update =
    Op != memory_op::get&& Op != memory_op::exchange&& Op != memory_op::compare_exchange;
/// Operations that tell what the word held.
template <memory_op Op>
inline constexpr bool is_service_fetch = Op != memory_op::put;

/// Calls `use(copies)` where a host thread serves that cannot touch symmetric memory (service_copies.hpp); whether.
template <class Ctx, class Use>
LANEWAY_FN bool by_copies([[maybe_unused]] Ctx& ctx, [[maybe_unused]] const Use& use) {
    if constexpr (on_host<Ctx>) {
        if (ctx.copies() == nullptr) return false;
        use(*ctx.copies());
        return true;
    } else {
        return false;
    }
}

/// Applies an operation to a word of a PE, and tells nothing of it.
struct service_update {
    struct arguments {
        memory_target target;
        std::uint64_t value;
        std::int32_t pe;
    };
    using result = void;
    static constexpr const char* name = "update";
    static constexpr bool ordered = false;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& a) const {
        if (by_copies(ctx, [&](auto& copies) { copies.update(a.target, a.pe, a.value); })) return;
        (void)apply_at(ctx, a.target, a.value, 0, a.pe);
    }
};

/// The same, and tells what the word held.
struct service_fetch {
    struct arguments {
        memory_target target;
        std::uint64_t value;
        std::uint64_t expected;
        std::int32_t pe;
    };
    using result = std::uint64_t;
    static constexpr const char* name = "fetch";
    static constexpr bool ordered = false;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& a) const {
        result held = 0;
        if (by_copies(ctx, [&](auto& copies) { held = copies.apply(a.target, a.pe, a.value, a.expected); }))
            return held;
        return apply_at(ctx, a.target, a.value, a.expected, a.pe);
    }
};

/// An operation on a signal word once the data is there.
struct service_signal {
    memory_target word;
    std::uint64_t value = 0;
    bool any = false;

    template <class Ctx>
    LANEWAY_FN void raise(Ctx& ctx, int pe) const {
        if (!any) return;
        if (by_copies(ctx, [&](auto& copies) { copies.signal(word, pe, value); })) return;
        const auto to = remote_address(ctx, word.element<std::uint64_t>(), pe);
        // Partner: the acquire load of who waits for the word.
        ctx.fence(scope::system);
        if (word.op() == memory_op::add) {
            to.fetch_add(ctx, value, Ctx::tagged_order);
        } else {
            to.store(ctx, value, Ctx::tagged_order);
        }
    }
};

/// Stores a few words that travel in the request, and raises a signal.
struct service_put {
    static constexpr std::uint32_t most = 4;

    struct arguments {
        memory_target first;
        std::uint64_t words[most];
        service_signal signal;
        std::uint32_t count;
        std::int32_t pe;
    };
    using result = void;
    static constexpr const char* name = "put";

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& a) const {
        if (!by_copies(ctx, [&](auto& copies) { copies.put(a.first, a.pe, a.words, a.count); })) store(ctx, a);
        a.signal.raise(ctx, a.pe);
    }

private:
    template <class Ctx>
    static LANEWAY_FN void store(Ctx& ctx, const arguments& a) {
        a.first.visit([&]<class T>() {
            const remote_ptr<T> to = remote_address(ctx, a.first.template element<T>(), a.pe);
            for (std::uint32_t i = 0; i < a.count; ++i) (to + i).store(ctx, word_of<T>(a.words[i]));
        });
    }
};

/// Copies elements of one PE's part of an array to another PE, and raises a signal there. A call is refused with
/// `stopped` where the run has ended before all of them were copied.
struct service_copy {
    struct arguments {
        memory_target from;
        memory_target to;
        std::uint64_t count;
        service_signal signal;
        std::int32_t from_pe;
        std::int32_t pe;
    };
    using result = void;
    static constexpr const char* name = "copy";
    static constexpr bool by_warp = true;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& a, service_call& call) const {
        if (by_copies(ctx, [&](auto& copies) { copies.copy(a.from, a.from_pe, a.to, a.pe, a.count); })) {
            return a.signal.raise(ctx, a.pe);
        }
        bool ended = false;
        for (std::uint64_t first = 0; first < a.count && !ended; first += piece) {
            move(ctx, a, first, a.count - first < piece ? a.count - first : piece);
            ended = call.ends(ctx);
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.ballot(full_warp<Ctx>, ended) != 0) return call.refuse(status::stopped);
        if (ctx.lane() == 0) a.signal.raise(ctx, a.pe);  // cumulative over what the other lanes have stored
    }

private:
    static constexpr std::uint64_t piece = std::uint64_t{1} << 14;  ///< elements between looks at the run's end

    /// This lane's share of elements.
    template <class Ctx>
    static LANEWAY_FN void move(Ctx& ctx, const arguments& a, std::uint64_t begin, std::uint64_t count) {
        const copy_share mine{static_cast<std::uint64_t>(ctx.lane()), static_cast<std::uint64_t>(Ctx::warp_lanes)};
        remote_ptr<std::byte> to{};
        remote_ptr<const std::byte> from{};
        std::uint64_t bytes = 0;
        a.from.visit([&]<class T>() {
            const auto first = a.from.template element<T>(), target = a.to.template element<T>();
            if constexpr (checks_accesses<Ctx>) {  // they see each access
                const auto here = call_site_of<Ctx>::current();
                const auto source = remote_elements(ctx, first, a.from_pe, here);
                const auto stored = remote_elements(ctx, target, a.pe, here);
                for (std::uint64_t i = begin + mine.first; i < begin + count; i += mine.step) {
                    stored.write(source.read(i), i);
                }
            } else {
                to = (remote_address(ctx, target, a.pe) + begin).template as<std::byte>();
                from = (remote_address(ctx, first, a.from_pe) + begin).template as<const std::byte>();
                bytes = count * sizeof(T);
            }
        });
        remote_copy::store(to, from, bytes, mine);  // once for all types
    }
};

/// A piece of the server's heap: of the PE that serves, or, where host threads do, of the one that asks.
struct service_allocate {
    using arguments = std::uint64_t;  ///< bytes
    using result = void*;
    static constexpr const char* name = "allocate";

    device_heap_ref heap;
    bool any = false;  ///< there is a heap

    template <class Ctx>
    LANEWAY_FN void* operator()(Ctx& ctx, const arguments& bytes, service_call& call) const {
        void* piece = nullptr;
        if constexpr (on_host<Ctx>) {
            if (any) piece = ctx.allocate(bytes);
        } else {
            if (any) piece = heap.allocate(ctx, bytes);
        }
        if (piece == nullptr) call.refuse(status::no_room);
        return piece;
    }
};

/// Takes such a piece back.
struct service_free {
    using arguments = void*;
    using result = void;
    static constexpr const char* name = "free";

    device_heap_ref heap;
    bool any = false;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& piece, service_call& call) const {
        bool freed = false;
        if constexpr (on_host<Ctx>) {
            freed = any && ctx.deallocate(piece);
        } else {
            freed = any && heap.deallocate(ctx, piece);
        }
        if (!freed) call.refuse(status::bad_range);
    }
};

}  // namespace laneway
