// Atomics of one-sided operations: every operation on every type, direct and aggregated, on any devices.
#pragma once

#include "unit/comm/one_sided_job.hpp"

namespace laneway::test {

class one_sided_atomics_test : public testing::TestWithParam<std::string> {};

/// Words that all lanes of all PEs work on; each PE has its own set.
enum word_of_set : std::uint64_t { sums, least, most, swapped, claims, counted, cleared, flagged, flipped, n_words };

/// Every lane works on the words of all PEs by turns; the answers do not depend on the order.
template <class T>
struct contend {
    symmetric_ref<T> words;
    symmetric_ref<T> drawn;  ///< sum of all that fetch_add and fetch_inc gave
    std::uint32_t rounds;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        for (std::uint32_t i = 0; i < rounds; ++i) {
            const int pe = static_cast<int>((ctx.rank() + i) % static_cast<unsigned>(ctx.n_pes()));
            const T mine = static_cast<T>(ctx.rank() % 50 + 1);
            (void)remote.add(words[sums], pe, T{2});
            (void)remote.inc(words[sums], pe);
            (void)remote.min(words[least], pe, static_cast<T>(100 - mine));
            (void)remote.max(words[most], pe, mine);
            // What an exchange takes out is put in by exactly one other: the sum of all is kept.
            const auto taken = remote.exchange(words[swapped], pe, mine);
            (void)remote.add(words[claims], pe, static_cast<T>(mine - taken.value));
            if (ctx.rank() % 64 != 1) {  // few compare: each makes all others try again
                const auto number = remote.fetch_add(words[counted], pe, T{1});
                (void)remote.add(drawn[0], 0, number.value);
            } else {
                count_by_compare(ctx, remote, pe);
            }
            if constexpr (std::is_integral_v<T>) bits(remote, pe, ctx.rank(), i);
        }
    }

private:
    template <class Ctx, class Remote>
    LANEWAY_FN void count_by_compare(Ctx& ctx, Remote& remote, int pe) const {
        answered<T> seen = remote.get(words[counted], pe);
        while (seen.code == status::ok && !stopped(ctx)) {
            const auto held = remote.compare_exchange(words[counted], pe, seen.value, seen.value + 1);
            if (held.code == status::ok && held.value == seen.value) break;
            seen = held;
        }
        (void)remote.add(drawn[0], 0, seen.value);
    }

    template <class Remote>
    LANEWAY_FN void bits(Remote& remote, int pe, std::uint64_t rank, std::uint32_t i) const {
        const T bit = static_cast<T>(T{1} << (rank % 16));
        if (i % 2 == 0) {
            (void)remote.bit_and(words[cleared], pe, static_cast<T>(~bit));
            (void)remote.bit_or(words[flagged], pe, bit);
            (void)remote.bit_xor(words[flipped], pe, bit);
        } else {
            (void)remote.fetch_bit_and(words[cleared], pe, static_cast<T>(~bit));
            (void)remote.fetch_bit_or(words[flagged], pe, bit);
            (void)remote.fetch_bit_xor(words[flipped], pe, bit);
        }
    }
};

template <class T>
void contended_words_agree(const options& o) {
    runtime rt(o);
    const auto ranks = rt.allocate<std::uint64_t>(2);
    rt.run(count_ranks{ranks.ref()}, rt.one_sided());
    const std::uint64_t lanes = ranks.copy_out(0)[0];
    auto words = rt.allocate<T>(n_words);
    const auto drawn = rt.allocate<T>(1);
    std::vector<T> start(n_words);
    start[least] = T{100};
    if constexpr (std::is_integral_v<T>) start[cleared] = static_cast<T>(~T{0});
    for (int pe = 0; pe < rt.n_pes(); ++pe) words.copy_in(pe, start);
    // Lanes that compare and exchange over PCIe fail most of the time.
    const bool over_pcie = is_mixed(o.devices);
    const std::uint32_t rounds = over_pcie ? 1 : is_checked(o.devices) ? 2 : o.devices.starts_with("cuda") ? 4 : 12;
    rt.run(contend<T>{words.ref(), drawn.ref(), rounds}, rt.one_sided());

    const auto all = static_cast<T>(lanes * rounds);
    EXPECT_EQ(total(words, rt.n_pes(), sums), static_cast<T>(3 * all));
    EXPECT_EQ(total(words, rt.n_pes(), counted), all);
    EXPECT_EQ(total(words, rt.n_pes(), claims), total(words, rt.n_pes(), swapped));
    T numbers{};  // wraps as the sums do
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto seen = words.copy_out(pe);
        const T n = seen[counted];
        const auto drawn_here = static_cast<std::uint64_t>(n);
        numbers += static_cast<T>(drawn_here * (drawn_here - 1) / 2);
        if (n == T{}) continue;
        EXPECT_GE(seen[least], T{50});
        EXPECT_EQ(seen[least], T{100} - seen[most]) << "both follow the greatest rank that came here";
        if constexpr (std::is_integral_v<T>) {
            EXPECT_EQ(seen[cleared], static_cast<T>(~seen[flagged]));
        }
    }
    EXPECT_EQ(drawn.copy_out(0)[0], numbers) << "a number was drawn twice";
}

TEST_P(one_sided_atomics_test, AtomicsOfSignedWords) {
    every_round(GetParam(), [](options o) { contended_words_agree<std::int32_t>(one_sided_options(o)); });
}
TEST_P(one_sided_atomics_test, AtomicsOfLongWords) {
    every_round(GetParam(), [](options o) { contended_words_agree<std::uint64_t>(one_sided_options(o)); });
}
TEST_P(one_sided_atomics_test, AtomicsOfDoubles) {
    every_round(GetParam(), [](options o) { contended_words_agree<double>(one_sided_options(o)); });
}
TEST_P(one_sided_atomics_test, AtomicsOfTheOtherTypes) {
    for (std::uint64_t round = 0; round < 4; ++round) {
        const options o = one_sided_options(options_of(GetParam(), round));
        contended_words_agree<std::uint32_t>(o);
        contended_words_agree<std::int64_t>(o);
        // Sums of floats stay below 2^24 and so exact: fewer numbers.
        if (!o.devices.starts_with("cuda")) contended_words_agree<float>(o);
    }
}

struct raise {
    std::uint64_t by;
};
struct raise_own {
    symmetric_ref<std::uint64_t> words;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const raise& m) const {
        atomic_add(ctx, words[0], m.by);
    }
};

/// All lanes add to one word of each PE at once, by direct operations, by messages and where it lies.
struct add_in_all_ways {
    symmetric_ref<std::uint64_t> words;  ///< the one, and the number of lanes of the job
    std::uint32_t rounds;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        if (ctx.rank() == 0) words.local(ctx)[1] = ctx.size();
        for (std::uint32_t i = 0; i < rounds; ++i) {
            const int pe = static_cast<int>((ctx.rank() + i) % static_cast<unsigned>(ctx.n_pes()));
            (void)remote.add(words[0], pe, 1, path::direct);
            (void)box.post(ctx, pe, raise{100});
            atomic_add(ctx, words[0], 10'000);
        }
    }
};

TEST_P(one_sided_atomics_test, AtomicsOfOwnersAndOfOthersMeetOnOneWord) {
    every_round(GetParam(), [](options plain) {
        runtime rt(one_sided_options(plain));
        const auto words = rt.allocate<std::uint64_t>(2);
        const std::uint32_t rounds = is_checked(plain.devices) ? 2 : 50;
        rt.run(add_in_all_ways{words.ref(), rounds}, rt.one_sided<raise>(raise_own{words.ref()}));
        EXPECT_EQ(total(words, rt.n_pes(), 0), 10'101 * words.copy_out(0)[1] * rounds);
    });
}

LANEWAY_ON_DEVICES(one_sided_atomics_test, device_lists());

}  // namespace laneway::test
