// Operations on symmetric memory as messages: what they say, and how their owner serves them.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/transport/remote_ptr.hpp"

namespace laneway {

enum class memory_op : std::uint32_t { put, add, bit_and, bit_or, bit_xor, min, max, exchange, compare_exchange, get };

/// Types of a word, by number.
enum class word_type : std::uint32_t { i32, u32, i64, u64, f32, f64 };

template <class T>
concept remote_word =
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, std::uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

template <class T>
concept remote_integer = remote_word<T> && std::is_integral_v<T>;

template <remote_word T>
inline constexpr word_type type_of = std::is_same_v<T, std::int32_t>    ? word_type::i32
                                     : std::is_same_v<T, std::uint32_t> ? word_type::u32
                                     : std::is_same_v<T, std::int64_t>  ? word_type::i64
                                     : std::is_same_v<T, std::uint64_t> ? word_type::u64
                                     : std::is_same_v<T, float>         ? word_type::f32
                                                                        : word_type::f64;

/// A word of any type in 64 bits.
template <remote_word T>
LANEWAY_FN std::uint64_t word_bits(T value) {
    if constexpr (sizeof(T) == 8) {
        return __builtin_bit_cast(std::uint64_t, value);
    } else {
        return __builtin_bit_cast(std::uint32_t, value);
    }
}
template <remote_word T>
LANEWAY_FN T word_of(std::uint64_t bits) {
    if constexpr (sizeof(T) == 8) {
        return __builtin_bit_cast(T, bits);
    } else {
        return __builtin_bit_cast(T, static_cast<std::uint32_t>(bits));
    }
}

/// What an operation is applied to, in 8 bytes: operation, type, segment and element.
class memory_target {
public:
    memory_target() = default;
    template <remote_word T>
    LANEWAY_FN memory_target(memory_op op, symmetric_ptr<T> element)
        : bits_(static_cast<std::uint64_t>(op) << 60 | static_cast<std::uint64_t>(type_of<T>) << 57 |
                std::uint64_t{element.segment} << index_bits | element.index) {}

    [[nodiscard]] LANEWAY_FN memory_op op() const { return static_cast<memory_op>(bits_ >> 60); }
    [[nodiscard]] LANEWAY_FN word_type type() const { return static_cast<word_type>(bits_ >> 57 & 7); }
    template <class T>
    [[nodiscard]] LANEWAY_FN symmetric_ptr<T> element() const {
        return {static_cast<std::uint32_t>(bits_ >> index_bits) & (max_segments - 1),
                bits_ & ((std::uint64_t{1} << index_bits) - 1)};
    }

    /// Calls `visit.template operator()<T>()` for the place's type.
    template <class Visit>
    LANEWAY_FN auto visit(Visit&& visit) const {
        switch (type()) {
            case word_type::i32: return visit.template operator()<std::int32_t>();
            case word_type::u32: return visit.template operator()<std::uint32_t>();
            case word_type::i64: return visit.template operator()<std::int64_t>();
            case word_type::u64: return visit.template operator()<std::uint64_t>();
            case word_type::f32: return visit.template operator()<float>();
            default: return visit.template operator()<double>();
        }
    }

private:
    static constexpr int index_bits = 40;
    static_assert(std::uint64_t{max_segments} << index_bits == std::uint64_t{1} << 57);

    std::uint64_t bits_ = 0;
};

/// Whether an operation has a meaning for words of a type.
template <memory_op Op, remote_word T>
inline constexpr bool applies = std::is_integral_v<T> ||
                                (Op != memory_op::bit_and && Op != memory_op::bit_or && Op != memory_op::bit_xor);

/// Applies an operation to a word that this lane can reach, and returns what the word held; of a put, nothing useful.
/// Relaxed: lanes of other PEs may work on the word at the same time.
template <memory_op Op, class Ctx, remote_word T>
requires applies<Op, T> LANEWAY_FN T apply(Ctx& ctx, remote_ptr<T> word, std::type_identity_t<T> value,
                                           std::type_identity_t<T> expected = {}) {
    if constexpr (Op == memory_op::put) {
        word.store(ctx, value);
        return value;
    } else if constexpr (Op == memory_op::get) {
        return word.load(ctx);
    } else if constexpr (Op == memory_op::add) {
        return word.fetch_add(ctx, value);
    } else if constexpr (Op == memory_op::min) {
        return word.fetch_min(ctx, value);
    } else if constexpr (Op == memory_op::max) {
        return word.fetch_max(ctx, value);
    } else if constexpr (Op == memory_op::bit_and) {
        return word.fetch_and(ctx, value);
    } else if constexpr (Op == memory_op::bit_or) {
        return word.fetch_or(ctx, value);
    } else if constexpr (Op == memory_op::bit_xor) {
        return word.fetch_xor(ctx, value);
    } else if constexpr (Op == memory_op::exchange) {
        return word.exchange(ctx, value);
    } else {
        (void)word.compare_exchange(ctx, expected, value);
        return expected;
    }
}

/// The same, of an operation that is known by its number.
template <class Ctx, remote_word T>
LANEWAY_FN T apply(Ctx& ctx, memory_op op, remote_ptr<T> word, T value, T expected) {
    const auto held = [&]<memory_op Op>() -> T {
        if constexpr (applies<Op, T>) return apply<Op>(ctx, word, value, expected);
        return {};
    };
    switch (op) {
        case memory_op::put: return held.template operator()<memory_op::put>();
        case memory_op::add: return held.template operator()<memory_op::add>();
        case memory_op::bit_and: return held.template operator()<memory_op::bit_and>();
        case memory_op::bit_or: return held.template operator()<memory_op::bit_or>();
        case memory_op::bit_xor: return held.template operator()<memory_op::bit_xor>();
        case memory_op::min: return held.template operator()<memory_op::min>();
        case memory_op::max: return held.template operator()<memory_op::max>();
        case memory_op::exchange: return held.template operator()<memory_op::exchange>();
        case memory_op::compare_exchange: return held.template operator()<memory_op::compare_exchange>();
        default: return held.template operator()<memory_op::get>();
    }
}

/// Applies the operation of a place to the word of a PE that this lane reaches. Not inlined: it holds every operation
/// on every type.
template <class Ctx>
LANEWAY_SLOW std::uint64_t apply_at(Ctx& ctx, const memory_target& target, std::uint64_t value, std::uint64_t expected,
                                    int pe) {
    return target.visit([&]<class T>() {
        const remote_ptr<T> word = remote_address(ctx, target.element<T>(), pe);
        return word_bits(apply(ctx, target.op(), word, word_of<T>(value), word_of<T>(expected)));
    });
}

/// The same for the own PE's word.
template <class Ctx>
LANEWAY_FN std::uint64_t apply_at(Ctx& ctx, const memory_target& target, std::uint64_t value, std::uint64_t expected) {
    return apply_at(ctx, target, value, expected, ctx.pe());
}

/// "Apply this to your word." Nobody waits for an answer.
struct remote_update {
    memory_target target;
    std::uint64_t value;
};
/// "Store these words, then apply the signal." `words` of `values` count.
struct remote_signal {
    memory_target target;
    std::uint64_t value;
    memory_target signal;
    std::uint64_t signal_value;
};
/// "Apply this to your word and tell me what it held."
struct remote_fetch {
    memory_target target;
    std::uint64_t value;
    std::uint64_t expected;
};
/// "Send me your word to my `to`." `lane` of the PE, counted over all warps of all blocks, has asked.
struct remote_get {
    memory_target from;
    memory_target to;
    std::uint64_t lane;
};
/// The answer to remote_get.
struct remote_got {
    memory_target to;
    std::uint64_t value;
    std::uint64_t lane;
};

/// Gets that a lane has asked for as messages, and those that have come.
struct lane_gets {
    std::uint32_t asked;
    std::uint32_t come;
};

/// Values of a bulk get that a lane has on their way at the same time.
inline constexpr std::uint64_t max_values_asked = 4;

/// Serves all of them on the PE that owns the words. Places were checked where they were posted.
struct serve_memory {
    static constexpr bool shares_buffers = false;  // many travel
    symmetric_ref<lane_gets> gets;                 ///< one for each lane of a PE, block by block
    symmetric_ref<std::uint64_t> values;           ///< max_values_asked for each of them: where those of bulk gets come

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const remote_update& m) const {
        (void)apply_at(ctx, m.target, m.value, 0);
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const remote_signal& m) const {
        (void)apply_at(ctx, m.target, m.value, 0);
        // Partner: the acquire load of who waits for the signal.
        ctx.fence(scope::system);
        (void)apply_at(ctx, m.signal, m.signal_value, 0);
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const remote_got& m) const {
        (void)apply_at(ctx, m.to, m.value, 0);
        // Partner: the fence in one_sided::await_gets, after loads of the counters of many lanes.
        ctx.fence(scope::device);
        ctx.fetch_add(&gets.local(ctx)[m.lane].come, 1, order::relaxed, scope::device);
    }
};

struct serve_fetch : serve_memory {
    using answer = std::uint64_t;

    template <class Ctx>
    LANEWAY_FN std::uint64_t operator()(Ctx& ctx, const remote_fetch& m) const {
        return apply_at(ctx, m.target, m.value, m.expected);
    }
};

struct serve_get : serve_memory {
    using answer = remote_got;

    template <class Ctx>
    LANEWAY_FN remote_got operator()(Ctx& ctx, const remote_get& m) const {
        return {m.to, apply_at(ctx, m.from, 0, 0), m.lane};
    }
};

}  // namespace laneway
