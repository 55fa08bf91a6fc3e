// The contract of remote addresses: operations on words of another PE are atomic beside those of all other PEs, what is
// fenced comes before them, bulk copies arrive whole, and memory that is out of reach is null.
#pragma once

#include "laneway/memory/symmetric_array.hpp"
#include "laneway/simt/wait.hpp"
#include "laneway/transport/remote_copy.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

template <class Pointer>
concept led_to = requires(Pointer p) {
    *p;
}
|| requires(Pointer p) { p[0]; }
|| std::is_convertible_v<Pointer, void*> || std::is_constructible_v<std::uint64_t*, Pointer>;

static_assert(sizeof(remote_ptr<std::uint64_t>) == sizeof(void*));
static_assert(std::is_trivially_copyable_v<remote_ptr<std::uint64_t>>);
static_assert(led_to<std::uint64_t*> && !led_to<remote_ptr<std::uint64_t>>, "only a transport makes a pointer of it");

/// What all PEs work on together, on the last PE.
struct shared_words {
    std::uint64_t sum;
    std::uint64_t bits;
    std::uint64_t least;
    std::uint64_t most;
    std::uint64_t claimed;  ///< by compare-and-swap
    std::uint64_t parity;
    std::uint32_t number;  ///< of a signal
    std::uint32_t plain;
};

struct remote_words_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint64_t turns = 10;

    symmetric_ref<shared_words> words;
    symmetric_ref<std::uint64_t> reached;  ///< 1 where the PE reaches the words; how many claims it has made

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const auto at = remote_address(ctx, words[0], ctx.n_pes() - 1);
        std::uint64_t* const mine = address(ctx, reached[0]);
        mine[0] = at ? 1 : 0;
        if (!at) return;
        const auto me = static_cast<std::uint64_t>(ctx.pe());
        for (std::uint64_t i = 0; i < turns; ++i) {
            (at->*&shared_words::sum).fetch_add(ctx, me + 1);
            (at->*&shared_words::least).fetch_min(ctx, 100 - me);
            (at->*&shared_words::most).fetch_max(ctx, 100 + me);
            (at->*&shared_words::parity).fetch_xor(ctx, std::uint64_t{1} << me);
            const auto claimed = at->*&shared_words::claimed;
            std::uint64_t seen = claimed.load(ctx);
            if (claimed.compare_exchange(ctx, seen, seen + 1)) ++mine[1];
        }
        (at->*&shared_words::parity).fetch_xor(ctx, std::uint64_t{1} << me);
        (at->*&shared_words::bits).fetch_or(ctx, std::uint64_t{3} << (2 * me));
        (at->*&shared_words::bits).fetch_and(ctx, ~(std::uint64_t{1} << (2 * me)));
    }
};

/// PE 0 writes plainly and signals; the last PE waits for its own word and looks.
struct remote_signal_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t laps = 10;

    symmetric_ref<shared_words> words;
    symmetric_ref<std::uint32_t> wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.warp() != 0 || ctx.lane() != 0 || ctx.block() > 1) return;
        const int last = ctx.n_pes() - 1;
        const auto there = remote_address(ctx, words[0], last), here = remote_address(ctx, words[0], 0);
        if (!there || !here) return;
        const auto told = there->*&shared_words::number;
        const auto heard = here->*&shared_words::sum;
        for (std::uint32_t lap = 1; lap <= laps; ++lap) {
            if (ctx.pe() == 0 && ctx.block() == 0) {
                (there->*&shared_words::plain).write(lap * 7);
                ctx.fence(order::release, scope::system);
                told.store(ctx, lap, Ctx::tagged_order);
                if (!await(ctx, lap, [&] { return heard.load(ctx, order::acquire) == lap; })) return;
            }
            if (ctx.pe() == last && ctx.block() == 1) {
                if (!await(ctx, lap, [&] { return told.load(ctx, order::acquire) == lap; })) return;
                if ((there->*&shared_words::plain).read() != lap * 7) ++address(ctx, wrong[0], last)[0];
                heard.store(ctx, lap, order::release);
            }
        }
    }

private:
    template <class Ctx, class Look>
    LANEWAY_FN static bool await(Ctx& ctx, std::uint32_t lap, Look&& look) {
        return wait_until(ctx, {operation::user_code, -1, lap}, look) == status::ok;
    }
};

/// PE 0 copies its bytes to the last PE, from each place to each, in three ways, and gets them back.
struct remote_copy_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint64_t bytes = 203, room = 256, places = 17;

    symmetric_ref<std::byte> from, to, back;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.pe() != 0 || ctx.block() != 0 || ctx.warp() != 0) return;
        const int last = ctx.n_pes() - 1;
        const copy_share mine{static_cast<std::uint64_t>(ctx.lane()), static_cast<std::uint64_t>(Ctx::warp_lanes)};
        if (!remote_address(ctx, to[0], last)) return;
        const std::byte* const source = address(ctx, from[0], 0);
        std::byte* const fetched = address(ctx, back[0], 0);
        for (std::uint64_t place = 0; place < places; ++place) {
            remote_copy::put(remote_address(ctx, to[place * room + place], last), source + place % 3, bytes, mine);
        }
        const std::uint64_t whole = bytes / 4 * 4;
        remote_copy::store(remote_address(ctx, to[places * room + 4], last), remote_address(ctx, from[8], 0), whole,
                           mine);
        ctx.fence(scope::system);  // the lanes get what their mates have put
        ctx.sync(full_warp<Ctx>);
        for (std::uint64_t place = 0; place < places; ++place) {
            remote_copy::get(fetched + place * room + place % 5, remote_address(ctx, to[place * room + place], last),
                             bytes, mine);
        }
    }
};

class remote_ptr_test : public testing::TestWithParam<std::string> {};

TEST_P(remote_ptr_test, OperationsOnWordsAreAtomicBesideThoseOfAllPes) {
    every_round(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const int n = machine.n_pes();
        symmetric_array<shared_words> words(machine, 1);
        symmetric_array<std::uint64_t> reached(machine, 2);
        words.copy_in(n - 1, {{0, 0, ~std::uint64_t{0}, 0, 0, 0, 0, 0}});
        run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
            return remote_words_program{words.ref(), reached.ref()};
        });
        shared_words expected{0, 0, ~std::uint64_t{0}, 0, 0, 0, 0, 0};
        for (int pe = 0; pe < n; ++pe) {
            const auto mine = reached.copy_out(pe);
            const bool same_kind = machine.device(pe)->is_gpu() == machine.device(n - 1)->is_gpu();
            ASSERT_EQ(mine[0], pe == n - 1 || same_kind ? 1u : 0u) << "PE " << pe;
            if (mine[0] == 0) continue;
            const auto p = static_cast<std::uint64_t>(pe);
            expected.sum += remote_words_program::turns * (p + 1);
            expected.bits |= std::uint64_t{2} << (2 * p);
            expected.least = std::min(expected.least, 100 - p);
            expected.most = std::max(expected.most, 100 + p);
            expected.claimed += mine[1];
            expected.parity ^= std::uint64_t{1} << p;
        }
        const shared_words found = words.copy_out(n - 1)[0];
        EXPECT_EQ(found.sum, expected.sum);
        EXPECT_EQ(found.bits, expected.bits);
        EXPECT_EQ(found.least, expected.least);
        EXPECT_EQ(found.most, expected.most);
        EXPECT_EQ(found.claimed, expected.claimed);
        EXPECT_EQ(found.parity, expected.parity);
    });
}

TEST_P(remote_ptr_test, WhatIsFencedComesBeforeASignal) {
    every_round(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const symmetric_array<shared_words> words(machine, 1);
        const symmetric_array<std::uint32_t> wrong(machine, 1);
        run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
            return remote_signal_program{words.ref(), wrong.ref()};
        });
        EXPECT_EQ(wrong.copy_out(machine.n_pes() - 1)[0], 0u);
        if (is_mixed(GetParam())) return;
        EXPECT_EQ(words.copy_out(0)[0].sum, remote_signal_program::laps);
    });
}

TEST_P(remote_ptr_test, BulkCopiesArriveWholeWhateverTheirAlignment) {
    machine machine(GetParam());
    constexpr std::uint64_t room = remote_copy_program::room, places = remote_copy_program::places;
    constexpr std::uint64_t bytes = remote_copy_program::bytes;
    symmetric_array<std::byte> from(machine, room);
    const symmetric_array<std::byte> to(machine, (places + 1) * room), back(machine, places * room);
    std::vector<std::byte> source(room);
    for (std::size_t i = 0; i < room; ++i) source[i] = static_cast<std::byte>(i * 37 + 1);
    from.copy_in(0, source);
    run_programs(machine, small_grid(machine), is_checked(GetParam()) ? 1 : 60, [&](int) {
        return remote_copy_program{from.ref(), to.ref(), back.ref()};
    });
    if (is_mixed(GetParam())) return;
    const auto there = to.copy_out(machine.n_pes() - 1), fetched = back.copy_out(0);
    std::vector<std::byte> expected_there((places + 1) * room), expected(places * room);
    for (std::uint64_t p = 0; p < places; ++p) {
        const auto first = source.begin() + static_cast<std::ptrdiff_t>(p % 3);
        std::copy_n(first, bytes, expected_there.begin() + static_cast<std::ptrdiff_t>(p * room + p));
        std::copy_n(first, bytes, expected.begin() + static_cast<std::ptrdiff_t>(p * room + p % 5));
    }
    std::copy_n(source.begin() + 8, bytes / 4 * 4, expected_there.begin() + places * room + 4);
    EXPECT_EQ(there, expected_there);
    EXPECT_EQ(fetched, expected);
}

LANEWAY_ON_DEVICES(remote_ptr_test, device_lists());

}  // namespace laneway::test
