// Mailboxes of many types of message, most of which share aggregation buffers.
#pragma once

#include <utility>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

// 64 types on CPU devices. nvcc takes more than five minutes for so many, so GPUs have 22: more than 16, so they share
// buffers as well.
#if defined(__CUDACC__)
inline constexpr std::size_t plain_types = 12, asking_types = 3, passing_types = 3;
#else
inline constexpr std::size_t plain_types = 40, asking_types = 8, passing_types = 7;
#endif

/// Of 16 to 40 bytes; says to which PE it was posted.
template <std::size_t I>
struct plain_message {
    std::uint32_t pe, value;
    std::uint64_t more[1 + I % 4];
};
/// Posted, it is answered by a message; called with, by a value.
template <std::size_t I>
struct asking_message {
    std::uint32_t pe, value;
};
template <std::size_t I>
struct told_message {
    std::uint32_t value;
};
/// Posts a plain one, to the next PE.
template <std::size_t I>
struct passing_message {
    std::uint32_t pe, value;
    std::uint64_t more[16];
};
/// With aggregation buffers of its own.
struct hot_message {
    std::uint32_t pe, value;
};

/// Counts messages and sums their values by type; behind them counts what came to a wrong PE or damaged, and lanes.
struct type_sums {
    static constexpr std::size_t types = plain_types + 2 * asking_types + passing_types + 1;
    symmetric_ref<std::uint64_t> counts, sums;

    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, std::size_t type, std::uint32_t value) const {
        atomic_add(ctx, counts[type], 1);
        atomic_add(ctx, sums[type], value);
    }
    template <class Ctx>
    LANEWAY_FN void expect_here(Ctx& ctx, std::uint32_t pe, bool whole = true) const {
        if (pe != static_cast<std::uint32_t>(ctx.pe()) || !whole) atomic_add(ctx, counts[types], 1);
    }
};
template <std::size_t I>
struct serve_plain_type : type_sums {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const plain_message<I>& m) const {
        bool whole = true;
        for (std::size_t k = 0; k < 1 + I % 4; ++k) whole = whole && m.more[k] == m.value + k;
        expect_here(ctx, m.pe, whole);
        add(ctx, I, m.value);
    }
};
template <std::size_t I>
struct serve_asking_type : type_sums {
    using answer = told_message<I>;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const asking_message<I>& m) const {
        expect_here(ctx, m.pe);
        add(ctx, plain_types + I, m.value);
        return {m.value + static_cast<std::uint32_t>(I)};
    }
};
template <std::size_t I>
struct serve_told_type : type_sums {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const told_message<I>& m) const {
        add(ctx, plain_types + asking_types + I, m.value);
    }
};
template <std::size_t I>
struct serve_passing_type : type_sums {
    static constexpr bool forwards = true;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const passing_message<I>& m, Forward& forward) const {
        expect_here(ctx, m.pe, m.more[15] == m.value);
        add(ctx, plain_types + 2 * asking_types + I, m.value);
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        (void)forward.post(ctx, next, plain_message<0>{static_cast<std::uint32_t>(next), m.value, {m.value}});
    }
};
struct serve_hot : type_sums {
    static constexpr bool shares_buffers = false;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const hot_message& m) const {
        expect_here(ctx, m.pe);
        add(ctx, types - 1, m.value);
    }
};

template <std::size_t... P, std::size_t... A, std::size_t... F>
auto box_of_all(const runtime& rt, const type_sums& sums, std::index_sequence<P...>, std::index_sequence<A...>,
                std::index_sequence<F...>) {
    return rt
        .mailbox<plain_message<P>..., asking_message<A>..., told_message<A>..., passing_message<F>..., hot_message>(
            serve_plain_type<P>{sums}..., serve_asking_type<A>{sums}..., serve_told_type<A>{sums}...,
            serve_passing_type<F>{sums}..., serve_hot{sums});
}
inline auto box_of_all(const runtime& rt, const type_sums& sums) {
    return box_of_all(rt, sums, std::make_index_sequence<plain_types>(), std::make_index_sequence<asking_types>(),
                      std::make_index_sequence<passing_types>());
}

/// Calls `use(i)` with `which` as a constant.
template <class Use, std::size_t... I>
LANEWAY_FN void with_number(std::size_t which, Use&& use, std::index_sequence<I...>) {
    (void)((which == I && (use(std::integral_constant<std::size_t, I>()), true)) || ...);
}

/// Each lane posts `rounds` messages of each kind in turn, and calls; sums of values by type are the same for host and
/// lanes: see value().
struct post_all_types {
    std::uint64_t rounds;
    type_sums sums;

    [[nodiscard]] LANEWAY_FN static std::uint32_t value(std::uint64_t rank, std::uint64_t i) {
        return static_cast<std::uint32_t>(1 + rank * 31 + i);
    }
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        atomic_add(ctx, sums.counts[type_sums::types + 1], 1);
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t n = ctx.rank() + i;
            const int pe = static_cast<int>((ctx.rank() * 7 + i * 3) % static_cast<unsigned>(ctx.n_pes()));
            const auto to = static_cast<std::uint32_t>(pe);
            const std::uint32_t v = value(ctx.rank(), i);
            with_number(
                n % plain_types, [&](auto t) { post_plain<decltype(t)::value>(ctx, box, pe, v); },
                std::make_index_sequence<plain_types>());
            with_number(
                n % asking_types, [&](auto t) { ask<decltype(t)::value>(ctx, box, pe, v, i % 2 == 0); },
                std::make_index_sequence<asking_types>());
            with_number(
                n % passing_types,
                [&](auto t) {
                    passing_message<decltype(t)::value> m{to, v, {}};
                    m.more[15] = v;
                    (void)box.post(ctx, pe, m);
                },
                std::make_index_sequence<passing_types>());
            (void)box.post(ctx, pe, hot_message{to, v});
        }
    }

private:
    template <std::size_t I, class Ctx, class Box>
    LANEWAY_FN static void post_plain(Ctx& ctx, Box& box, int pe, std::uint32_t v) {
        plain_message<I> m{};
        m.pe = static_cast<std::uint32_t>(pe);
        m.value = v;
        for (std::size_t k = 0; k < 1 + I % 4; ++k) m.more[k] = v + k;
        (void)box.post(ctx, pe, m);
    }
    template <std::size_t I, class Ctx, class Box>
    LANEWAY_FN void ask(Ctx& ctx, Box& box, int pe, std::uint32_t v, bool call) const {
        const asking_message<I> m{static_cast<std::uint32_t>(pe), v};
        if (!call) {
            (void)box.post(ctx, pe, m);
            return;
        }
        const auto told = box.call(ctx, pe, m);
        if (told.code == status::ok && told.value.value != v + I) atomic_add(ctx, sums.counts[type_sums::types], 1);
    }
};

class many_types_test : public testing::TestWithParam<std::string> {};

inline void expect_every_type(const std::string& devices, options o) {
    o.devices = devices;
    // A GPU has some 130,000 lanes, and in each round a handler forwards for every one of them: there is room for all.
    const bool on_gpus = devices.starts_with("cuda");
    if (on_gpus) o.forward_slots = 1 << 19;
    runtime rt(o);
    const std::uint64_t rounds = on_gpus ? 2 : devices.starts_with("checked") ? 6 : 40;
    const auto counts = rt.allocate<std::uint64_t>(type_sums::types + 2);
    const auto sums = rt.allocate<std::uint64_t>(type_sums::types);
    const type_sums handler{counts.ref(), sums.ref()};
    const auto report = rt.run(post_all_types{rounds, handler}, box_of_all(rt, handler));
    std::vector<std::uint64_t> count(type_sums::types + 2), sum(type_sums::types);
    const auto add = [&](std::size_t type, std::uint64_t value) {
        ++count[type];
        sum[type] += value;
    };
    std::vector<std::uint64_t> counted(count.size()), summed(sum.size());
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto c = counts.copy_out(pe), s = sums.copy_out(pe);
        for (std::size_t t = 0; t < c.size(); ++t) counted[t] += c[t];
        for (std::size_t t = 0; t < s.size(); ++t) summed[t] += s[t];
    }
    count[type_sums::types + 1] = counted[type_sums::types + 1];
    for (std::uint64_t rank = 0; rank < counted[type_sums::types + 1]; ++rank) {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t v = post_all_types::value(rank, i), n = rank + i;
            add(n % plain_types, v);
            add(plain_types + n % asking_types, v);
            if (i % 2 != 0) add(plain_types + asking_types + n % asking_types, v + n % asking_types);
            add(plain_types + 2 * asking_types + n % passing_types, v);
            add(0, v);  // which that one has passed on
            add(type_sums::types - 1, v);
        }
    }
    EXPECT_EQ(counted, count) << "the last but one counts what was damaged, or came to a wrong PE";
    EXPECT_EQ(summed, sum);
    EXPECT_EQ(report.carried, report.served);
}

TEST_P(many_types_test, EachMessageIsServedOnceByTheHandlerOfItsType) {
    const std::uint64_t seeds = is_checked(GetParam()) ? rounds_of(GetParam()) : 2;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        SCOPED_TRACE(seed);
        options o;
        o.seed = seed;
        if (seed % 2 != 0) o.chunk_bytes = 256;  // the least for the longest type
        expect_every_type(GetParam(), o);
    }
}

/// As those above, but for the handlers' word.
struct serve_seldom : serve_asking_type<0> {
    static constexpr bool shares_buffers = true;
};
struct serve_seldom_told : serve_told_type<0> {
    static constexpr bool shares_buffers = true;
};
struct post_few_types {
    std::uint64_t rounds;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const int pe = static_cast<int>((ctx.rank() + i) % static_cast<unsigned>(ctx.n_pes()));
            (void)box.post(ctx, pe, hot_message{static_cast<std::uint32_t>(pe), 1});
            (void)box.post(ctx, pe, asking_message<0>{static_cast<std::uint32_t>(pe), 2});
        }
    }
};

TEST_P(many_types_test, FewTypesShareWhereTheirHandlersSaySo) {
    options o;
    o.devices = GetParam();
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(type_sums::types + 2),
               sums = rt.allocate<std::uint64_t>(type_sums::types);
    const type_sums all{counts.ref(), sums.ref()};
    const std::uint64_t rounds = 30;
    const auto report =
        rt.run(post_few_types{rounds}, rt.mailbox<hot_message, asking_message<0>, told_message<0>>(
                                           serve_hot{all}, serve_seldom{{all}}, serve_seldom_told{{all}}));
    std::uint64_t hot = 0, asked = 0, told = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto s = sums.copy_out(pe);
        hot += s[type_sums::types - 1];
        asked += s[plain_types];
        told += s[plain_types + asking_types];
        EXPECT_EQ(counts.copy_out(pe)[type_sums::types], 0u);
    }
    EXPECT_EQ(asked, 2 * hot);
    EXPECT_EQ(told, 2 * hot);
    EXPECT_EQ(hot % rounds, 0u);
    EXPECT_GE(hot, rounds);
    EXPECT_EQ(report.carried, report.served);
}

INSTANTIATE_TEST_SUITE_P(devices, many_types_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace laneway::test
