// Messages with a payload that host threads post to a session.
#pragma once

#include <thread>
#include <vector>

#include "unit/run/component_job.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

/// Where handlers count: elements, and messages.
enum payload_count : std::uint64_t { summed, messages, payload_counts };

struct shipment {
    std::uint64_t number;
};
struct sum_shipment {
    using element = std::uint32_t;
    symmetric_ref<std::uint64_t> counts;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const shipment&, payload<const element> all) const {
        std::uint64_t sum = 0;
        for (const std::uint32_t x : all) sum += x;
        atomic_add(ctx, counts[summed], sum);
        atomic_add(ctx, counts[messages], 1);
    }
};
/// Has them stored where they belong by their number; rejects the last one.
struct store_shipment {
    using element = std::uint32_t;
    static constexpr bool allocates = true;
    symmetric_ref<std::uint64_t> counts;
    symmetric_ref<std::uint32_t> store;
    std::uint64_t each;
    template <class Ctx>
    LANEWAY_FN symmetric_ptr<std::uint32_t> allocate(Ctx&, const shipment& m, std::uint64_t) const {
        return m.number == store.size() / each ? rejected<std::uint32_t>() : store[m.number * each];
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const shipment& m, payload<const element> all) const {
        std::uint64_t sum = 0;
        for (const std::uint32_t x : all) sum += x + m.number;
        atomic_add(ctx, counts[summed], sum);
        atomic_add(ctx, counts[messages], 1);
    }
};

class session_payloads_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static options settings(std::uint64_t seed = 1) {
        options o = options_for(GetParam(), seed);
        o.lease_seconds = 0;
        o.chunk_bytes = 256;
        o.gpu_blocks = 8;
        return o;
    }
    [[nodiscard]] static std::uint64_t seeds() { return is_checked(GetParam()) ? rounds_of(GetParam()) : 3; }
};

/// 0, 1, 2 and so on, and their sum.
std::vector<std::uint32_t> counting(std::uint32_t n) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < n; ++i) all.push_back(i);
    return all;
}
std::uint64_t sum_of_counting(std::uint64_t n) { return n * (n - 1) / 2; }

TEST_P(session_payloads_test, SeveralThreadsPostPayloads) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        runtime rt(settings(seed));
        const auto counts = rt.allocate<std::uint64_t>(payload_counts);
        auto session = rt.start(rt.mailbox<shipment>(sum_shipment{counts.ref()}));
        std::uint64_t sum = 0;
        std::vector<std::thread> threads;
        for (std::uint32_t t = 0; t < 3; ++t) {
            for (std::uint32_t i = 0; i < 20; ++i) sum += sum_of_counting((i * 7 + t) % 40);
            threads.emplace_back([&, t] {
                for (std::uint32_t i = 0; i < 20; ++i) {
                    auto data = counting((i * 7 + t) % 40);
                    session.post(static_cast<int>(i + t) % rt.n_pes(), shipment{i}, data.data(), data.size());
                    data.assign(data.size(), 1'000'000);  // what has been posted has been copied
                }
            });
        }
        for (auto& t : threads) t.join();
        EXPECT_EQ(session.quiesce().posted, 60u);
        EXPECT_EQ(total(counts, rt.n_pes(), summed), sum);
        EXPECT_EQ(total(counts, rt.n_pes(), messages), 60u);
        session.post(0, shipment{0}, nullptr, 0);
        const run_report report = session.stop();
        EXPECT_EQ(report.direct, 61u) << "each is served where it arrives";
        EXPECT_EQ(total(counts, rt.n_pes(), messages), 61u);
    }
}

TEST_P(session_payloads_test, LongPayloadsGoWhereTheirHandlerWantsThem) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        constexpr std::uint64_t each = 500, all = 6;  // much more than a chunk
        runtime rt(settings(seed));
        const auto counts = rt.allocate<std::uint64_t>(payload_counts);
        const auto store = rt.allocate<std::uint32_t>(all * each);
        auto session = rt.start(rt.mailbox<shipment>(store_shipment{counts.ref(), store.ref(), each}));
        const auto data = counting(each);
        for (std::uint64_t i = 0; i <= all; ++i) {  // the last one is rejected
            session.post(static_cast<int>(i) % rt.n_pes(), shipment{i}, data.data(), each);
        }
        EXPECT_EQ(session.quiesce().posted, all + 1);
        EXPECT_EQ(total(counts, rt.n_pes(), messages), all);
        EXPECT_EQ(total(counts, rt.n_pes(), summed), all * sum_of_counting(each) + each * (all * (all - 1) / 2));
        for (std::uint64_t i = 0; i < all; ++i) {
            const auto there = store.copy_out(static_cast<int>(i) % rt.n_pes());
            for (std::uint64_t k = 0; k < each; ++k) ASSERT_EQ(there[i * each + k], k);
        }
        session.stop();
    }
}

TEST_P(session_payloads_test, MoreThanThereIsRoomForWaitsForLanes) {
    runtime rt(settings());
    const auto counts = rt.allocate<std::uint64_t>(payload_counts);
    constexpr std::uint64_t each = 100'000, all = 8;  // of four bytes: room is for two of them at a time
    const auto store = rt.allocate<std::uint32_t>(all * each);
    auto session = rt.start(rt.mailbox<shipment>(store_shipment{counts.ref(), store.ref(), each}));
    const auto data = counting(each);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = t; i < all; i += 2) {
                session.post(static_cast<int>(i) % rt.n_pes(), shipment{i}, data.data(), each);
            }
        });
    }
    for (auto& t : threads) t.join();
    session.quiesce();
    EXPECT_EQ(total(counts, rt.n_pes(), messages), all);
    EXPECT_EQ(total(counts, rt.n_pes(), summed), all * sum_of_counting(each) + each * (all * (all - 1) / 2));
}

TEST_P(session_payloads_test, PayloadsThatCannotBeAreRefusedAndTheSessionGoesOn) {
    runtime rt(settings());
    const auto counts = rt.allocate<std::uint64_t>(payload_counts);
    const auto data = counting(1 << 18);
    {
        auto session = rt.start(rt.mailbox<shipment>(sum_shipment{counts.ref()}));
        EXPECT_EQ(thrown<usage_error>([&] { session.post(0, shipment{1}, data.data(), 1000); }),
                  "a payload of 4000 bytes, where options::chunk_bytes leaves room for 240");
        EXPECT_EQ(
            thrown<usage_error>([&] { session.post(9, shipment{1}, data.data(), 10); }),
            "PE 9 does not exist: the session has " + std::to_string(rt.n_pes()) + (rt.n_pes() == 1 ? " PE" : " PEs"));
        session.post(0, shipment{1}, data.data(), 60);
        session.quiesce();
        EXPECT_EQ(total(counts, rt.n_pes(), summed), sum_of_counting(60));
    }
    const auto store = rt.allocate<std::uint32_t>(data.size());
    auto session = rt.start(rt.mailbox<shipment>(store_shipment{counts.ref(), store.ref(), data.size()}));
    EXPECT_EQ(thrown<usage_error>([&] { session.post(0, shipment{0}, data.data(), data.size()); }),
              "a payload of 1048576 bytes, where a session leaves room for 1048560");
    session.stop();
}

INSTANTIATE_TEST_SUITE_P(devices, session_payloads_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace
}  // namespace laneway::test
