// Pools of tasks: results of single tasks and of batches.
#pragma once

#include <cmath>
#include <set>

#include "unit/task/task_types.hpp"

namespace laneway::test {
namespace {

class task_pool_test : public on_devices {};

static_assert(program<no_body, task_pool_ref<square>>::server_share < 0.01, "nothing is sent, so nobody serves");

TEST_P(task_pool_test, TasksOfSeveralTypesGiveTheirResults) {
    runtime rt(chosen());
    const auto counts = rt.allocate<std::uint64_t>(many()), order = rt.allocate<std::uint64_t>(1);
    task_pool pool(square{}, reversed{}, count_run{counts.ref(), order.ref()});
    auto session = rt.start(pool);
    std::vector<task_future<double>> squares;
    std::vector<task_future<numbers>> lists;
    std::vector<task_future<std::uint64_t>> counted;
    for (std::uint64_t i = 0; i < many(); ++i) {
        squares.push_back(pool.submit<square>(static_cast<double>(i)));
        numbers given;
        std::iota(std::begin(given.values), std::end(given.values), i);
        lists.push_back(pool.submit<reversed>(given));
        counted.push_back(pool.submit<count_run>(i));
    }
    for (std::uint64_t i = many(); i-- > 0;) {
        ASSERT_EQ(squares[i].get(), static_cast<double>(i * i));
        const numbers list = lists[i].get();
        for (std::uint64_t k = 0; k < 20; ++k) ASSERT_EQ(list.values[k], i + 19 - k);
        counted[i].wait();
    }
    EXPECT_EQ(squares[3].get(), 9) << "again";
    session.stop();
    std::vector<std::uint64_t> sums(many());
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto part = counts.copy_out(pe);
        for (std::uint64_t i = 0; i < many(); ++i) sums[i] += part[i];
    }
    EXPECT_EQ(sums, std::vector<std::uint64_t>(many(), 1)) << "each once";
    const task_statistics all = pool.statistics();
    EXPECT_EQ(all.submitted, 3 * many());
    EXPECT_EQ(all.done, 3 * many());
    EXPECT_EQ(all.failed, 0u);
    EXPECT_EQ(std::accumulate(all.entries.begin(), all.entries.end(), std::uint64_t{0}), 3 * many());
    for (const std::uint64_t entries : all.entries) EXPECT_GT(entries, 0u) << "every device has a part";
}

TEST_P(task_pool_test, LanesOfAWorkerMeet) {
    runtime rt(chosen());
    const auto words = rt.allocate<std::uint32_t>(32 * 64);
    task_pool pool(lanes_together{words.ref()});
    auto session = rt.start(pool);
    std::vector<task_future<std::uint32_t>> sums;
    for (std::uint32_t i = 0; i < 64; ++i) sums.push_back(pool.submit<lanes_together>(i));
    for (const auto& sum : sums) {
        const std::uint32_t lanes = sum.get();
        if (GetParam().starts_with("cpu")) {
            EXPECT_EQ(lanes, 1u);
        }
        if (GetParam() == "cuda:0" || GetParam() == "cuda") {
            EXPECT_EQ(lanes, 32u);
        }
        if (checked()) {
            EXPECT_GT(lanes, 1u);
        }
    }
}

TEST_P(task_pool_test, BatchesGiveTheirResultsInTheOrderOfTheArguments) {
    runtime rt(chosen());
    task_pool pool(square{}, reversed{});
    auto session = rt.start(pool);
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}, 3 * many()}) {
        std::vector<double> given(count);
        std::iota(given.begin(), given.end(), 0.5);
        auto all = pool.submit_many<square>(given);
        ASSERT_EQ(all.get().size(), count);
        for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(all.get()[i], given[i] * given[i]);
        for (const std::uint32_t status : all.statuses()) ASSERT_EQ(status, task_status::done);
    }
    std::vector<numbers> lists(100);
    for (std::uint64_t i = 0; i < 100; ++i) lists[i].values[19] = i;
    auto turned = pool.submit_many<reversed>(lists);
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(turned.get()[i].values[0], i);
}

/// Run by one lane, which it tells.
struct run_alone {
    struct arguments {
        std::uint32_t number;
        std::uint32_t fails;
    };
    using result = std::uint64_t;
    static constexpr task_width width = task_width::lane;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& given, Worker& worker) const {
        if (given.fails != 0) worker.fail(given.fails);
        if (worker.lane() != 0 || worker.lanes() != 1 || !worker.sync(ctx)) worker.fail(99);
        return std::uint64_t{given.number + worker.index()} << 32 | static_cast<std::uint32_t>(ctx.lane());
    }
};

TEST_P(task_pool_test, LanesRunTasksOfTheirOwn) {
    runtime rt(chosen());
    task_pool pool(square{}, run_alone{});
    auto session = rt.start(pool);
    EXPECT_EQ(pool.submit<run_alone>({7, 0}).get(), std::uint64_t{7} << 32);
    EXPECT_THROW((void)pool.submit<run_alone>({7, 3}).get(), task_failed);
    std::set<std::uint32_t> lanes;
    for (const std::uint32_t count : {0u, 1u, 33u, static_cast<std::uint32_t>(3 * many())}) {
        auto all = pool.submit_many<run_alone>(std::vector<run_alone::arguments>(count));
        ASSERT_EQ(all.get().size(), count);
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(all.get()[i] >> 32, i);
            lanes.insert(static_cast<std::uint32_t>(all.get()[i]));
        }
    }
    if (GetParam().starts_with("cpu")) {
        EXPECT_EQ(lanes.size(), 1u);
    } else if (checked()) {
        EXPECT_GT(lanes.size(), 1u);
    }
    std::vector<run_alone::arguments> some(200);
    some[70].fails = some[199].fails = 5;
    auto failed = pool.submit_many<run_alone>(some);
    const auto statuses = failed.statuses();
    for (std::size_t i = 0; i < some.size(); ++i) ASSERT_EQ(statuses[i], some[i].fails);
}

/// Its place in the batch, from a first one on.
struct number_from {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx&, const arguments& first, Worker& worker) const {
        return first + worker.index();
    }
};

TEST_P(task_pool_test, ABatchMayHaveTheSameArgumentsForAll) {
    runtime rt(chosen());
    task_pool_options few;
    few.batch_bytes = 16 * 3 * many();  // no room for arguments of each
    task_pool pool(few, number_from{}, run_alone{});
    auto session = rt.start(pool);
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{33}, 3 * many()}) {
        const auto some = static_cast<std::uint32_t>(count);
        const auto all = pool.submit_many<number_from>(some, 100);
        ASSERT_EQ(all.get().size(), count);
        for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(all.get()[i], 100 + i);
    }
    const auto alone = pool.submit_many<run_alone>(77, {5, 0});
    for (std::uint32_t i = 0; i < 77; ++i) ASSERT_EQ(alone.get()[i] >> 32, 5 + i);
}

/// Its lane 0 has two pieces of device memory for a while.
struct keep_pieces {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    device_memory_ref memory;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& given) const {
        if (ctx.lane() != 0) return 0;
        auto* const piece = static_cast<std::uint64_t*>(memory.allocate(ctx, 8 + given % 7 * 40));
        auto* const other = static_cast<std::uint64_t*>(memory.allocate(ctx, 24));
        if (piece == nullptr || other == nullptr) return 0;
        *piece = given;
        *other = 1;
        const std::uint64_t sum = *piece + *other;
        (void)memory.release(ctx, piece);
        (void)memory.release(ctx, other);
        return sum;
    }
};

TEST_P(task_pool_test, BodiesAllocateDeviceMemory) {
    runtime rt(chosen());
    const auto memory = rt.device_memory({.bytes = 16 << 20});
    task_pool pool(keep_pieces{memory.ref()});
    auto session = rt.start(pool);
    std::vector<std::uint64_t> given(many());
    std::iota(given.begin(), given.end(), 0);
    const auto all = pool.submit_many<keep_pieces>(given);
    for (std::uint64_t i = 0; i < many(); ++i) ASSERT_EQ(all.get()[i], i + 1);
    session.stop();
    EXPECT_NO_THROW(memory.refuse_leaks());
}

TEST_P(task_pool_test, DevicesCanBeHadWhileTasksWait) {
    runtime rt(chosen());
    task_pool pool(square{});
    auto session = rt.start(pool);
    std::vector<task_future<double>> squares;
    for (std::uint64_t i = 0; i < many(); ++i) squares.push_back(pool.submit<square>(static_cast<double>(i)));
    const auto given = [&] {
        const auto entries = pool.statistics().entries;
        return std::accumulate(entries.begin(), entries.end(), std::uint64_t{0});
    };
    std::thread([&] {  // not the one that has started the session
        pool.feed()->hold_back(60, [&] {
            const std::uint64_t before = given();
            EXPECT_EQ(pool.statistics().done, before) << "devices have done what they had";
            (void)session.quiesce();
            session.while_away([&] {
                EXPECT_NO_THROW((void)rt.machine().refuse_during_run());
                squares.push_back(pool.submit<square>(0.5));
                EXPECT_EQ(given(), before) << "and get no more";
            });
        });
        EXPECT_THROW(pool.feed()->hold_back(60, [] { throw usage_error("of the caller"); }), usage_error);
    })
        .join();
    EXPECT_EQ(squares.back().get(), 0.25);
    squares.pop_back();
    for (std::uint64_t i = 0; i < many(); ++i) ASSERT_EQ(squares[i].get(), static_cast<double>(i * i));
}

TEST_P(task_pool_test, StatusesOfABatchAreItsOwn) {
    runtime rt(chosen());
    task_pool_options small;
    small.batch_bytes = 16 * 1024;  // the same memory again and again
    task_pool pool(small, fail_with{}, square{});
    auto session = rt.start(pool);
    std::vector<std::uint32_t> numbers(1000);
    for (std::uint32_t round = 0; round < 4; ++round) {
        std::fill(numbers.begin(), numbers.end(), 0u);
        if (round % 2 != 0) numbers[17 * round] = numbers[999] = round;
        auto batch = pool.submit_many<fail_with>(numbers);
        const auto statuses = batch.statuses();
        ASSERT_EQ(std::vector(statuses.begin(), statuses.end()), numbers);
        if (round % 2 == 0) {
            EXPECT_NO_THROW(batch.wait());
        } else {
            EXPECT_THROW(batch.wait(), task_failed);
        }
        batch = {};
        const auto large = pool.submit_many<square>(std::vector<double>(500, 1e300));
        EXPECT_EQ(large.get()[0], INFINITY);
    }
}

/// A result of any size.
template <std::size_t Bytes>
struct fill_bytes {
    struct arguments {
        std::uint8_t bytes[Bytes];
    };
    using result = arguments;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& given) const {
        result made;
        for (std::size_t i = 0; i < Bytes; ++i) made.bytes[i] = static_cast<std::uint8_t>(given.bytes[i] + i);
        return made;
    }
};
template <std::size_t Bytes, class Pool>
void expect_filled(Pool& pool) {
    typename fill_bytes<Bytes>::arguments given;
    std::iota(std::begin(given.bytes), std::end(given.bytes), std::uint8_t{3});
    const auto lone = pool.template submit<fill_bytes<Bytes>>(given);
    const auto batch = pool.template submit_many<fill_bytes<Bytes>>(std::vector(40, given));
    for (std::size_t i = 0; i < Bytes; ++i) {
        ASSERT_EQ(lone.get().bytes[i], static_cast<std::uint8_t>(2 * i + 3)) << Bytes;
        ASSERT_EQ(batch.get()[39].bytes[i], static_cast<std::uint8_t>(2 * i + 3)) << Bytes;
    }
}

TEST_P(task_pool_test, ArgumentsAndResultsHaveAnySize) {
    runtime rt(chosen());
    {
        task_pool pool(fill_bytes<1>{}, fill_bytes<8>{}, fill_bytes<9>{}, fill_bytes<16>{}, fill_bytes<17>{});
        auto session = rt.start(pool);
        expect_filled<1>(pool);
        expect_filled<8>(pool);
        expect_filled<9>(pool);
        expect_filled<16>(pool);
        expect_filled<17>(pool);
    }
    task_pool pool(fill_bytes<3>{}, fill_bytes<300>{}, fill_bytes<1000>{});  // more than is staged
    auto session = rt.start(pool);
    expect_filled<3>(pool);
    expect_filled<300>(pool);
    expect_filled<1000>(pool);
}

/// A number and words that are made of it: those of two tasks could mix.
template <std::uint32_t Words>
struct number_if_whole {
    struct arguments {
        std::uint32_t number;
        std::uint32_t derived[Words];
        static LANEWAY_FN std::uint32_t word(std::uint32_t number, std::uint32_t i) {
            return (number + 31 * i) * 2654435761u;
        }
    };
    using result = std::uint32_t;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& given) const {
        for (std::uint32_t i = 0; i < Words; ++i) {
            if (given.derived[i] != arguments::word(given.number, i)) return ~0u;
        }
        return given.number;
    }
};
/// Many single tasks through few slots.
template <std::uint32_t Words>
void expect_whole(const options& o, std::uint32_t tasks) {
    runtime rt(o);
    task_pool_options few;
    few.max_ahead = few.bundle_tasks = 1;
    task_pool pool(few, number_if_whole<Words>{});
    auto session = rt.start(pool);
    std::vector<task_future<std::uint32_t>> all;
    for (std::uint32_t number = 0; number < tasks; ++number) {
        typename number_if_whole<Words>::arguments given{number, {}};
        for (std::uint32_t i = 0; i < Words; ++i) given.derived[i] = given.word(number, i);
        all.push_back(pool.template submit<number_if_whole<Words>>(given));
    }
    for (std::uint32_t number = 0; number < tasks; ++number) ASSERT_EQ(all[number].get(), number) << Words << " words";
}

// Slots are freed behind no fence where their tasks are copied to shared memory (docs/design/0085).
TEST_P(task_pool_test, ArgumentsAreReadBeforeTheirSlotsAreWrittenAgain) {
    options o = chosen();
    o.gpu_blocks = 2;
    const std::uint32_t tasks = checked() ? 60 : GetParam().starts_with("cuda") ? 20'000 : 2'000;
    expect_whole<2>(o, tasks);    // in the words that have tags
    expect_whole<30>(o, tasks);   // and more
    expect_whole<250>(o, tasks);  // more than is copied
}

TEST_P(task_pool_test, MemoryOfBatchesIsUsedAgain) {
    runtime rt(chosen());
    task_pool_options small;
    small.batch_bytes = 64 * 1024;
    task_pool pool(small, square{});
    auto session = rt.start(pool);
    const std::vector<double> given(2000, 3.0);  // 40,000 bytes with results and statuses: two do not fit at once
    for (int i = 0; i < 5; ++i) {
        const auto one = pool.submit_many<square>(given);
        EXPECT_EQ(one.get().back(), 9);
    }
    auto kept = pool.submit_many<square>(given);
    kept.wait();
    EXPECT_THROW((void)pool.submit_many<square>(given), task_queue_full) << "its future holds the first";
    EXPECT_EQ(kept.get()[0], 9);
    EXPECT_EQ(pool.submit<square>(4.0).get(), 16) << "single tasks go on";
    kept = {};
    EXPECT_THROW((void)pool.submit_many<square>(std::vector<double>(5000)), task_queue_full) << "never fits";
    std::vector<batch_future<double>> at_once;
    for (int i = 0; i < 8; ++i) {
        at_once.clear();
        at_once.push_back(pool.submit_many<square>(given));
    }
    EXPECT_EQ(at_once[0].get()[1999], 9);
}

TEST_P(task_pool_test, TasksRunThoughNobodyWantsTheirResults) {
    runtime rt(chosen());
    const auto counts = rt.allocate<std::uint64_t>(1), order = rt.allocate<std::uint64_t>(1);
    task_pool pool(count_run{counts.ref(), order.ref()});
    auto session = rt.start(pool);
    for (std::uint64_t i = 0; i < many(); ++i) (void)pool.submit<count_run>(0);
    session.quiesce();
    std::uint64_t sum = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) sum += counts.copy_out(pe)[0];
    EXPECT_EQ(sum, many());
}

TEST_P(task_pool_test, SeveralThreadsSubmitAndCancelAndNothingIsLost) {
    // LANEWAY_TASKS: for a long run.
    const char* const said = std::getenv("LANEWAY_TASKS");
    const std::uint64_t threads = 8, each = said != nullptr ? std::stoull(said) / threads : many() / 4;
    runtime rt(chosen());
    const auto counts = rt.allocate<std::uint64_t>(threads * each), order = rt.allocate<std::uint64_t>(1);
    task_pool_options options;
    options.capacity = 1000;  // less than there are
    task_pool pool(options, count_run{counts.ref(), order.ref()});
    auto session = rt.start(pool);
    std::vector<std::uint64_t> cancelled(threads * each);
    const auto submit_all = [&](std::uint64_t t) {
        std::mt19937_64 random(t);
        std::deque<std::pair<std::uint64_t, task_future<std::uint64_t>>> open;
        const auto end_first = [&] {
            auto& [i, future] = open.front();
            if (random() % 4 == 0) cancelled[i] = future.cancel() ? 1 : 0;
            if (cancelled[i] == 0) future.wait();
            open.pop_front();
        };
        for (std::uint64_t i = t * each; i < (t + 1) * each; ++i) {
            open.emplace_back(i, pool.submit<count_run>(i));
            if (random() % 8 == 0) cancelled[i] = open.back().second.cancel() ? 1 : 0;
            if (open.size() > 50) end_first();
        }
        while (!open.empty()) end_first();
    };
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < threads; ++t) all.emplace_back(submit_all, t);
    for (auto& t : all) t.join();
    session.stop();
    std::vector<std::uint64_t> sums(threads * each);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto part = counts.copy_out(pe);
        for (std::uint64_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
    }
    for (std::uint64_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i] + cancelled[i], 1u) << "task " << i;
    EXPECT_EQ(pool.statistics().done, threads * each);
}

LANEWAY_ON_DEVICES(task_pool_test, device_lists());

}  // namespace
}  // namespace laneway::test
