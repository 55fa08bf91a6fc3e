// Transfers that host threads post while a session goes on.
#pragma once

#include <atomic>
#include <numeric>
#include <thread>

#include "transfer_job.hpp"

namespace laneway::test {
namespace {

class transfer_session : public testing::TestWithParam<std::string> {
protected:
    /// Options of a session: the deadline is of the host's clock.
    [[nodiscard]] options with(std::uint64_t round, double lease_seconds = 0) const {
        options o = options_of(GetParam(), round);
        o.timeout_seconds = 60;
        o.lease_seconds = lease_seconds;
        return o;
    }
};

std::vector<std::uint64_t> numbered_on(int pe, std::uint64_t count) {
    std::vector<std::uint64_t> words(count);
    std::iota(words.begin(), words.end(), (static_cast<std::uint64_t>(pe) + 1) << 32);
    return words;
}

/// What one thread posts, `each` transfers: for all PEs in turn, small and large, to the next PE; it waits for some.
struct session_poster {
    static constexpr std::uint64_t cell = 96, each = 40;

    runtime& rt;
    transfers& moves;
    symmetric_ref<std::uint64_t> from, to, told;
    std::uint64_t thread;

    [[nodiscard]] static std::uint64_t words(std::uint64_t i) { return i % 7 == 6 ? cell : 1 + i % 6; }

    void operator()() const {
        for (std::uint64_t i = 0; i < each; ++i) {
            const int pe = static_cast<int>((i + thread) % static_cast<std::uint64_t>(rt.n_pes()));
            const std::uint64_t first = (thread * each + i) * cell;
            const auto t = transfer::copy(from[first], pe, to[first], (pe + 1) % rt.n_pes(), words(i)).notify(told[0]);
            const host_transfer sent = moves.post(pe, t.under(static_cast<std::uint32_t>(i % 4)));
            if (i % 3 != 0) continue;
            sent.wait();
            EXPECT_TRUE(sent.is_over());
        }
    }
};

TEST_P(transfer_session, WhatSeveralThreadsPostArrivesOnce) {
    for (const double lease : {0.0, 1e-6}) {
        repeat_rounds(GetParam(), is_checked(GetParam()) ? rounds_of(GetParam()) / 20 + 1 : 2, [&](const options& o) {
            constexpr std::uint64_t n_threads = 3, n = n_threads * session_poster::each;
            runtime rt(with(o.seed, lease));
            constexpr std::uint64_t words = n * session_poster::cell;
            auto from = rt.allocate<std::uint64_t>(words);
            const auto to = rt.allocate<std::uint64_t>(words), told = rt.allocate<std::uint64_t>(1);
            for (int pe = 0; pe < rt.n_pes(); ++pe) from.copy_in(pe, numbered_on(pe, words));
            transfer_options how = transfer_options_of(o);
            how.engine_bytes = 0;
            how.method = static_cast<transfer_method>(o.seed % 4);
            transfers moves(rt.machine(), how);
            auto session = rt.start(moves);
            std::vector<std::thread> threads;
            for (std::uint64_t t = 0; t < n_threads; ++t) {
                threads.emplace_back(session_poster{rt, moves, from.ref(), to.ref(), told.ref(), t});
            }
            for (auto& thread : threads) thread.join();
            EXPECT_EQ(session.quiesce().posted, n);
            std::uint64_t notices = 0;
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                const auto arrived = to.copy_out(pe);
                notices += told.copy_out(pe)[0];
                const int by = (pe + rt.n_pes() - 1) % rt.n_pes();
                std::vector<std::uint64_t> wanted(words);
                for (std::uint64_t i = 0; i < n; ++i) {
                    const std::uint64_t in = i % session_poster::each, first = i * session_poster::cell;
                    const auto poster = (in + i / session_poster::each) % static_cast<std::uint64_t>(rt.n_pes());
                    if (poster != static_cast<std::uint64_t>(by)) continue;
                    const auto all = numbered_on(by, first + session_poster::words(in));
                    std::copy(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                              wanted.begin() + static_cast<std::ptrdiff_t>(first));
                }
                EXPECT_EQ(arrived, wanted) << "PE " << pe;
            }
            EXPECT_EQ(notices, n);
            session.stop();
            EXPECT_EQ(moves.statistics().transfers, n);
        });
    }
}

TEST_P(transfer_session, EpochsHoldWhatNobodyWaitsFor) {
    runtime rt(with(1));
    constexpr std::uint64_t n = 300;  // more than host threads have slots
    auto from = rt.allocate<std::uint32_t>(n);
    const auto to = rt.allocate<std::uint32_t>(n);
    transfers moves(rt.machine());
    auto session = rt.start(moves);
    for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) {
        std::vector<std::uint32_t> values(n);
        std::iota(values.begin(), values.end(), epoch * 1000);
        for (int pe = 0; pe < rt.n_pes(); ++pe) from.copy_in(pe, values);  // the program leaves the devices for it
        std::vector<host_transfer> sent;
        const int last = rt.n_pes() - 1;
        for (std::uint64_t i = 0; i < n; ++i) {
            sent.push_back(moves.post(0, transfer::copy(from.ref()[i], last, to.ref()[n - 1 - i], 0, 1)));
        }
        EXPECT_EQ(session.quiesce().posted, n);
        std::vector<std::uint32_t> wanted(values.rbegin(), values.rend());
        EXPECT_EQ(to.copy_out(0), wanted) << "epoch " << epoch;
        for (const host_transfer& one : sent) EXPECT_TRUE(one.is_over());
    }
    session.stop();
}

TEST_P(transfer_session, TheProgramComesBackForATransfer) {
    runtime rt(with(2));
    auto words = rt.allocate<std::uint64_t>(8), to = rt.allocate<std::uint64_t>(8);
    transfers moves(rt.machine());
    {
        auto session = rt.start(moves);
        for (std::uint64_t round = 1; round <= 4; ++round) {
            session.release();  // no kernel is there
            const host_transfer sent = moves.post(0, transfer::copy(words.ref()[0], 0, to.ref()[0], 0, 8));
            session.release();
            EXPECT_TRUE(sent.is_over()) << "who leaves has told";
            sent.wait();
        }
        says_so(thrown<usage_error>([&] { rt.run(post_nothing{}, moves); }), "session");
    }
    EXPECT_EQ(moves.statistics().transfers, 4u);
    EXPECT_NO_THROW(rt.run(post_nothing{}, moves));
    auto again = rt.start(moves);
    moves.post(rt.n_pes() - 1, transfer::copy(words.ref()[0], 0, to.ref()[0], 0, 0)).wait();
    again.stop();
    EXPECT_EQ(moves.statistics().transfers, 1u);
}

TEST_P(transfer_session, WhatCannotBeIsRefused) {
    runtime rt(with(3));
    const auto words = rt.allocate<std::uint32_t>(64);
    const auto told = rt.allocate<std::uint64_t>(1);
    transfers moves(rt.machine());
    const auto at = words.ref();
    const auto good = transfer::copy(at[0], 0, at[32], 0, 4);
    const auto refused = [&](int pe, const transfer& t) {
        return thrown<usage_error>([&] { (void)moves.post(pe, t); });
    };
    const std::string none = "host threads post transfers while a session of them goes on";
    says_so(refused(0, good), none);
    auto session = rt.start(moves);
    const std::string pes = "where there are 0 to " + std::to_string(rt.n_pes() - 1);
    says_so(refused(-1, good), "a transfer of a host thread: no PE -1, " + pes);
    says_so(refused(0, transfer::copy(at[0], 0, at[32], 99, 4)),
            "a transfer of a host thread for PE 0: no such PE while posting a transfer to PE 99");
    says_so(
        refused(0, transfer::copy(at[60], 0, at[0], 0, 5)),
        "an address outside symmetric memory while posting a transfer to PE 0: element 64, where there are 0 to 63");
    says_so(refused(0, transfer::copy(at[0], 0, at[4], 0, 8)),
            "rows that overlap while posting a transfer to PE 0: 16 bytes from row to row, and a row has 32");
    says_so(refused(0, good.under(64)),
            "no such index while using a key of transfers: key 64, where there are 0 to 63");
    says_so(refused(0, good.notify(told.ref()[1])), "an address outside symmetric memory while posting");
    moves.post(0, good).wait();  // nothing is left of that
    const host_transfer kept = moves.post(0, good.notify(told.ref()[0]));
    session.stop();
    kept.wait();  // it was done before
    says_so(refused(0, good), none);
    EXPECT_EQ(told.copy_out(0)[0], 1u);
    EXPECT_EQ(moves.statistics().transfers, 2u);
    if (is_checked(GetParam())) return;
    transfer_options engines;
    engines.engine_bytes = 1;
    transfers by_engine(rt.machine(), engines);
    says_so(thrown<usage_error>([&] { (void)rt.start(by_engine); }), "transfers: copy engines are for runs");
}

TEST_P(transfer_session, WhatEndsASessionIsToldToWhoWaits) {
    runtime rt(with(4));
    const auto words = rt.allocate<std::uint32_t>(64);
    auto indices = rt.allocate<std::uint32_t>(2);
    transfers moves(rt.machine());
    indices.copy_in(0, {1, 99});
    const auto at = words.ref();
    {
        auto session = rt.start(moves);
        const auto failed = [&] {
            const auto t = transfer::gather(at[0], 0, indices.ref()[0], at[32], 0, 2, 4);
            moves.post(0, t).wait();
        };
        says_so(thrown<device_fault>(failed), "no such index while carrying out a transfer with PE 0: index 99");
        EXPECT_THROW((void)moves.post(0, transfer::copy(at[0], 0, at[32], 0, 4)), device_fault);
        EXPECT_THROW((void)session.stop(), device_fault);
    }
    auto session = rt.start(moves);  // nothing is left of that
    moves.post(0, transfer::copy(at[0], 0, at[32], 0, 4)).wait();
}

std::vector<std::string> session_lists() {
    std::vector<std::string> lists = transfer_devices();
    if (!lists.empty() && lists.front().starts_with("cpu")) lists.push_back("cpu:2");
    return lists;
}

INSTANTIATE_TEST_SUITE_P(devices, transfer_session, testing::ValuesIn(session_lists()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(transfer_session);

}  // namespace
}  // namespace laneway::test
