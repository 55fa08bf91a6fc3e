// How lanes carry out the data part of a triggered operation.
#pragma once

#include "laneway/comm/triggers/trigger_operation.hpp"
#include "laneway/transport/remote_copy.hpp"

namespace laneway {

/// As many numbers as lie in 16 bytes.
template <class T>
struct alignas(16) number_pack {
    T numbers[16 / sizeof(T)];
};

/// What a combining operation makes of a word of its target: a number, or each of a pack, of both.
struct combine_with {
    static constexpr bool reads = true;

    memory_op op;

    template <class T>
    LANEWAY_FN void operator()(T& target, const T& source) const {
        const T a = target, b = source;
        if (op == memory_op::add) {
            target = static_cast<T>(a + b);
        } else {
            target = (b < a) == (op == memory_op::min) ? b : a;
        }
    }
    template <class T>
    LANEWAY_FN void operator()(number_pack<T>& target, const number_pack<T>& source) const {
        for (unsigned i = 0; i < 16 / sizeof(T); ++i) (*this)(target.numbers[i], source.numbers[i]);
    }
};

/// to[i] = op(to[i], from[i]) for this lane's share.
template <class T>
LANEWAY_FN void combine_range(memory_op op, remote_ptr<T> to, remote_ptr<const T> from, std::uint64_t count,
                              copy_share mine) {
    remote_copy::combine<number_pack<T>>(to, from, count, mine, combine_with{op});
}

/// Where a range begins, in bytes.
LANEWAY_FN symmetric_ptr<std::byte> first_byte(const trigger_operation& op, const memory_target& range) {
    const auto first = range.element<std::byte>();
    return {first.segment, first.index * op.element_bytes()};
}

/// Where an operation's ranges and its signal lie, for this PE.
struct operation_places {
    remote_ptr<const std::byte> from{};  ///< null where it moves nothing
    remote_ptr<std::byte> to{};          ///< the same
    remote_ptr<std::uint64_t> signal{};  ///< null where it raises none
    bool can_move = false;               ///< what it moves is there, and this PE reaches it, or it moves nothing
    bool can_signal = false;             ///< the same of the signal
};

/// Looks an operation's memory up, which may have been freed since it was prepared. Nothing is looked at that depends
/// on what has been looked at before but the table itself, so all loads are on their way at once: behind a fence each
/// of them goes to the second level of cache.
template <class Ctx>
LANEWAY_FN operation_places find_places(const Ctx& ctx, const trigger_operation& op) {
    const pe_environment& env = ctx.environment();
    const auto look_up = [&]<class T>(symmetric_ptr<std::byte> first, int pe, std::uint64_t bytes, bool used,
                                      remote_ptr<T>& place) {
        const bool named = first.segment < env.n_segments;
        const std::uint32_t segment = named ? first.segment : 0;  // the tags lie in one, so there is one at least
        const std::uint64_t held = env.segment_bytes[segment];
        const auto base = remote_address(ctx, symmetric_ptr<std::byte>{segment, 0}, pe);
        const bool there = named & static_cast<bool>(base) & (first.index <= held) & (bytes <= held - first.index);
        if (used & there) place = (base + first.index).template as<T>();
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
                combine_with{op.target().op()}(before, value);
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
    const auto from = places.from + skipped;
    const auto to = places.to + skipped;
    if (op.target().op() == memory_op::put) {
        remote_copy::store(to, from, count * op.element_bytes(), mine);
    } else {
        op.target().visit([&]<class T>() {
            combine_range(op.target().op(), to.template as<T>(), from.template as<const T>(), count, mine);
        });
    }
}

}  // namespace laneway
