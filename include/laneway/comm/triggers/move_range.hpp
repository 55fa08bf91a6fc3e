// How lanes carry out the data part of a triggered operation.
#pragma once

#include "laneway/comm/copy_bytes.hpp"
#include "laneway/comm/triggers/trigger_operation.hpp"

namespace laneway {

/// What an operation makes of a word of its target: for a put, the word of its source.
struct overwrite {
    static constexpr bool reads = false;  ///< whether it needs what the target has

    template <class Word>
    LANEWAY_FN void operator()(Word& target, const Word& source) const {
        target = source;
    }
};

/// As many numbers as lie in 16 bytes.
template <class T>
struct alignas(16) number_pack {
    T numbers[16 / sizeof(T)];
};

/// The same for a combining operation: a number, or each of a pack, of both.
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

/// This lane's share of `words` words, in memory of any PE that it can reach. Several loads are on their way at once:
/// what a lane waits for is one latency a batch.
template <class Word, class Become>
LANEWAY_FN void move_words(Word* to, const Word* from, std::uint64_t words, copy_share mine, const Become& become) {
    constexpr unsigned batch = 4;
    std::uint64_t i = mine.first;
    for (; i + (batch - 1) * mine.step < words; i += batch * mine.step) {
        Word target[batch], source[batch];
        for (unsigned k = 0; k < batch; ++k) source[k] = from[i + k * mine.step];
        if constexpr (Become::reads) {
            for (unsigned k = 0; k < batch; ++k) target[k] = to[i + k * mine.step];
        }
        for (unsigned k = 0; k < batch; ++k) become(target[k], source[k]);
        for (unsigned k = 0; k < batch; ++k) to[i + k * mine.step] = target[k];
    }
    LANEWAY_NOT_UNROLLED
    for (; i < words; i += mine.step) become(to[i], from[i]);
}

/// The same for `count` words, whatever they are aligned to: in `Wide` ones of 16 bytes where both sides allow it.
template <class Wide, class Word, class Become>
LANEWAY_FN void move_wide(Word* to, const Word* from, std::uint64_t count, copy_share mine, const Become& become) {
    constexpr std::uint64_t words_each = sizeof(Wide) / sizeof(Word);
    const auto alignment = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    std::uint64_t moved = 0;
    if (alignment % sizeof(Wide) == 0) {
        move_words(reinterpret_cast<Wide*>(to), reinterpret_cast<const Wide*>(from), count / words_each, mine, become);
        moved = count / words_each * words_each;
    }
    move_words(to + moved, from + moved, count - moved, mine, become);
}

/// Stores this lane's share of `bytes`, a multiple of 4, as both addresses are.
LANEWAY_FN void store_range(std::byte* to, const std::byte* from, std::uint64_t bytes, copy_share mine) {
    move_wide<byte_word<16>>(reinterpret_cast<byte_word<4>*>(to), reinterpret_cast<const byte_word<4>*>(from),
                             bytes / 4, mine, overwrite{});
}

/// to[i] = op(to[i], from[i]) for this lane's share.
template <class T>
LANEWAY_FN void combine_range(memory_op op, T* to, const T* from, std::uint64_t count, copy_share mine) {
    move_wide<number_pack<T>>(to, from, count, mine, combine_with{op});
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
