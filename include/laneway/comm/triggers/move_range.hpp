// How lanes carry out the data part of a triggered operation.
#pragma once

#include "laneway/comm/copy_bytes.hpp"
#include "laneway/comm/triggers/trigger_operation.hpp"

namespace laneway {

/// Stores this lane's share of `bytes` into memory of any PE that it can reach, in words as wide as both sides are
/// aligned to. Several loads are on their way at once: what a lane waits for is one latency a batch.
template <std::size_t Bytes>
LANEWAY_FN void store_words(std::byte* to, const std::byte* from, std::uint64_t bytes, copy_share mine) {
    constexpr int batch = 4;
    auto* const target = reinterpret_cast<byte_word<Bytes>*>(to);
    const auto* const source = reinterpret_cast<const byte_word<Bytes>*>(from);
    const std::uint64_t words = bytes / Bytes, stride = batch * mine.step;
    std::uint64_t i = mine.first;
    for (; i + (batch - 1) * mine.step < words; i += stride) {
        byte_word<Bytes> loaded[batch];
        for (int k = 0; k < batch; ++k) loaded[k] = source[i + static_cast<unsigned>(k) * mine.step];
        for (int k = 0; k < batch; ++k) target[i + static_cast<unsigned>(k) * mine.step] = loaded[k];
    }
    for (; i < words; i += mine.step) target[i] = source[i];
}

/// `bytes` is a multiple of 4, as both addresses are.
LANEWAY_FN void store_range(std::byte* to, const std::byte* from, std::uint64_t bytes, copy_share mine) {
    const auto alignment = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    std::uint64_t stored = 0;
    if (alignment % 16 == 0) {
        store_words<16>(to, from, bytes, mine);
        stored = bytes / 16 * 16;
    }
    store_words<4>(to + stored, from + stored, bytes - stored, mine);
}

/// to[i] = op(to[i], from[i]) for this lane's share.
template <class T>
LANEWAY_FN void combine_range(memory_op op, T* to, const T* from, std::uint64_t count, copy_share mine) {
    for (std::uint64_t i = mine.first; i < count; i += mine.step) {
        const T a = to[i], b = from[i];
        if (op == memory_op::add) {
            to[i] = static_cast<T>(a + b);
        } else {
            to[i] = (b < a) == (op == memory_op::min) ? b : a;
        }
    }
}

/// Where a range begins, in bytes.
LANEWAY_FN symmetric_ptr<std::byte> first_byte(const trigger_operation& op, const memory_target& range) {
    const auto first = range.element<std::byte>();
    return {first.segment, first.index * op.element_bytes()};
}

/// Where an operation's ranges and its signal lie, for this PE.
struct operation_places {
    const std::byte* from = nullptr;  ///< null where it moves nothing
    std::byte* to = nullptr;          ///< the same
    std::uint64_t* signal = nullptr;  ///< null where it raises none
    bool can_move = false;            ///< what it moves is there, and this PE reaches it, or it moves nothing
    bool can_signal = false;          ///< the same of the signal
};

/// Looks an operation's memory up, which may have been freed since it was prepared. Nothing is looked at that depends
/// on what has been looked at before but the table itself, so all loads are on their way at once: behind a fence each
/// of them goes to the second level of cache.
template <class Ctx>
LANEWAY_FN operation_places find_places(const Ctx& ctx, const trigger_operation& op) {
    const pe_environment& env = ctx.environment();
    const auto look_up = [&](symmetric_ptr<std::byte> first, int pe, std::uint64_t bytes, bool used, auto*& place) {
        const bool named = first.segment < env.n_segments;
        const std::uint64_t segment = named ? first.segment : 0;  // the tags lie in one, so there is one at least
        const std::uint64_t held = env.segment_bytes[segment];
        auto* const base = static_cast<std::byte*>(
            env.segments[segment * static_cast<unsigned>(env.n_pes) + static_cast<unsigned>(pe)]);
        const bool there = named & (base != nullptr) & (first.index <= held) & (bytes <= held - first.index);
        using type = std::remove_reference_t<decltype(place)>;
        if (used & there) place = reinterpret_cast<type>(base + first.index);
        return there | !used;
    };
    const bool moves = op.count() != 0;
    const auto word = op.signal_target().element<std::uint64_t>();
    operation_places found;
    const bool from = look_up(first_byte(op, op.source()), env.pe, op.bytes(), moves, found.from);
    const bool to = look_up(first_byte(op, op.target()), op.pe(), op.bytes(), moves, found.to);
    found.can_move = from & to;
    found.can_signal = look_up({word.segment, word.index * sizeof(std::uint64_t)}, op.pe(), sizeof(std::uint64_t),
                               op.signals(), found.signal);
    return found;
}

/// As move_range on checked devices, which see each access: who writes a source too early, or reads a target, is told.
template <class Ctx>
LANEWAY_FN void move_watched(Ctx& ctx, const trigger_operation& op, std::uint64_t first, std::uint64_t count,
                             copy_share mine) {
    op.target().visit([&]<class T>() {
        const auto watched = [&](const memory_target& range, int pe) {
            const auto start = range.element<T>();
            return ctx.template element<T>(start.segment, pe, ~std::uint64_t{0}, start.index + first,
                                           call_site_of<Ctx>::current());
        };
        const auto from = watched(op.source(), ctx.pe()), to = watched(op.target(), op.pe());
        for (std::uint64_t i = mine.first; i < count; i += mine.step) {
            T value = from[i];
            if (op.target().op() != memory_op::put) {
                T before = to[i];
                combine_range(op.target().op(), &before, &value, 1, {});
                value = before;
            }
            to[i] = value;
        }
    });
}

/// Carries out this lane's share of at most `most` elements of an operation from `first` on.
template <class Ctx>
LANEWAY_SLOW void move_range(Ctx& ctx, const trigger_operation& op, const operation_places& places, std::uint64_t first,
                             std::uint64_t most, copy_share mine) {
    if (op.count() == 0) return;
    const std::uint64_t count = op.count() - first < most ? op.count() - first : most;
    if constexpr (checks_accesses<Ctx>) {
        move_watched(ctx, op, first, count, mine);
        return;
    }
    const std::uint64_t skipped = first * op.element_bytes();
    const std::byte* const from = places.from + skipped;
    std::byte* const to = places.to + skipped;
    if (op.target().op() == memory_op::put) {
        store_range(to, from, count * op.element_bytes(), mine);
    } else {
        op.target().visit([&]<class T>() {
            combine_range(op.target().op(), reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), count, mine);
        });
    }
}

}  // namespace laneway
