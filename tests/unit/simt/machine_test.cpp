#include "laneway/simt/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "laneway/base/interruption.hpp"
#include "laneway/simt/run_limits.hpp"
#include "laneway/simt/wait.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

/// Does as told on PE 0, or everywhere.
template <class Body>
struct program {
    static constexpr int cuda_warps = 1;
    Body body;
    bool everywhere = false;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (everywhere || ctx.pe() == 0) body(ctx);
    }
};

template <class Body>
double run(machine& machine, const launch_shape& shape, const run_deadline& until, Body body, bool everywhere = false) {
    const std::vector<program<Body>> programs(static_cast<std::size_t>(machine.n_pes()), {body, everywhere});
    const std::vector<launch_shape> shapes(programs.size(), shape);
    return machine.run(programs, shapes, until, [] { return std::string("; the account"); });
}

TEST(machine_test, OpensTheDevicesOfItsListInOrder) {
    const machine machine("cpu:2,cpu:1");
    EXPECT_EQ(machine.n_pes(), 3);
    EXPECT_EQ(machine.names(), (std::vector<std::string>{"cpu:0", "cpu:1", "cpu:2"}));
    EXPECT_FALSE(machine.has_gpus());
    EXPECT_THROW(laneway::machine("cpu:0"), usage_error);
}

class machine_kinds_test : public testing::TestWithParam<std::string> {};

TEST_P(machine_kinds_test, EveryLaneRunsOnceAndKnowsItsPlace) {
    machine machine(GetParam());
    const bool checked = is_checked(GetParam());
    const launch_shape shape{3, checked ? 2 : 1, 512};
    std::atomic<std::uint64_t> places{0}, wrong{0}, lanes{0};
    auto* p = &places;
    auto* w = &wrong;
    auto* l = &lanes;
    run(machine, shape, 10, [=](auto& ctx) {
        const auto warp_lanes = std::decay_t<decltype(ctx)>::warp_lanes;
        const int place = (ctx.block() * ctx.n_warps() + ctx.warp()) * warp_lanes + ctx.lane();
        if ((p->fetch_or(std::uint64_t{1} << place) >> place & 1) != 0) ++*w;
        if (ctx.n_blocks() != shape.blocks || ctx.n_warps() != shape.warps_per_block) ++*w;
        if (reinterpret_cast<std::uintptr_t>(ctx.shared()) % 128 != 0) ++*w;
        ctx.shared()[511] = std::byte{1};
        ++*l;
    });
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(lanes, checked ? 24u : 3u);
    EXPECT_EQ(places, (std::uint64_t{1} << lanes) - 1);
}

TEST_P(machine_kinds_test, TheFirstFaultOfAPeWinsAndEndsTheRun) {
    machine machine(GetParam());
    const launch_shape shape{2, is_checked(GetParam()) ? 2 : 1, 0};
    try {
        run(machine, shape, 10, [](auto& ctx) {
            if (ctx.block() == 1 && ctx.warp() == 0 && ctx.lane() == 0) {
                (void)fail(ctx, status::handler_failed, operation::user_code, 5, 42);
                (void)fail(ctx, status::bad_pe, operation::post, 6, 43);
            }
            bounded_spin spin;
            while (spin.next(ctx, {operation::quiet, 1, 2}) == status::ok) {
            }
        });
        FAIL() << "the fault was lost";
    } catch (const device_fault& e) {
        EXPECT_EQ(std::string(e.what()), "PE 0 (" + machine.names()[0] +
                                             ") block 1 warp 0 lane 0: the application reported an error while running "
                                             "application code for PE 5: number 42; the account");
    }
    EXPECT_NO_THROW(run(machine, shape, 10, [](auto&) {})) << "a fault does not outlive its run";
}

TEST_P(machine_kinds_test, AWaitEndsAtItsDeadlineAndNamesItself) {
    machine machine(GetParam());
    try {
        run(machine, {}, 0.05, [](auto& ctx) {
            int idles = 0;
            const status waited = wait_until(
                ctx, {operation::quiet, 3, 77}, [] { return false; }, [&] { ++idles; });
            if (waited != status::timeout || idles == 0) (void)fail(ctx, status::bad_pe, operation::post);
        });
        FAIL() << "waited for ever";
    } catch (const timeout_error& e) {
        EXPECT_NE(std::string(e.what()).find("deadline passed while waiting for messages to be served by PE 3: ticket "
                                             "77; the deadline is 0.05 s"),
                  std::string::npos)
            << e.what();
    }
    EXPECT_NO_THROW(run(machine, {}, 10, [](auto&) {})) << "it was left behind";
}

TEST_P(machine_kinds_test, AnInterruptionEndsTheRunInOrder) {
    machine machine(GetParam());
    std::atomic<int> begun{0}, ended{0};
    auto* b = &begun;
    auto* e = &ended;
    const auto wait_for_ever = [=](auto& ctx) {
        ++*b;
        const status waited = wait_until(ctx, {operation::quiet, 3, 77}, [] { return false; });
        *e += waited == status::stopped ? 1 : 0;
    };
    {
        const interruption leave([&] {
            if (begun > 0) throw std::domain_error("enough");
        });
        EXPECT_THROW(run(machine, {}, 1e5, wait_for_ever), std::domain_error);
    }
    EXPECT_GT(begun, 0);
    EXPECT_EQ(ended, begun) << "lanes are told to stop, and none is left behind";
    EXPECT_NO_THROW(run(machine, {}, 10, [](auto&) {})) << "an interruption does not outlive its run";
    std::stop_source stop;
    const interruption leave(stop.get_token());
    std::jthread caller([&] {
        while (begun == ended) std::this_thread::yield();
        stop.request_stop();
    });
    EXPECT_THROW(run(machine, {}, 1e5, wait_for_ever), interrupted);
}

TEST_P(machine_kinds_test, AWaitForWhatHoldsReturnsAtOnceAndNeverIdles) {
    machine machine(GetParam());
    std::atomic<int> idles{0};
    auto* i = &idles;
    EXPECT_NO_THROW(run(machine, {}, 5, [=](auto& ctx) {
        if (wait_until(
                ctx, {}, [] { return true; }, [&] { ++*i; }) != status::ok)
            ++*i;
    }));
    EXPECT_EQ(idles, 0);
}

INSTANTIATE_TEST_SUITE_P(devices, machine_kinds_test, testing::Values("cpu:1", "cpu:3", "checked:1", "checked:3"),
                         name_of);

/// Runs until it is told to stop; the copy that `fails` cannot be made once the launch has begun.
struct copied_program {
    static constexpr int cuda_warps = 1;
    std::atomic<int>* ended;
    const bool* launching;
    bool fails;

    copied_program(std::atomic<int>* e, const bool* l, bool f) : ended(e), launching(l), fails(f) {}
    copied_program(const copied_program& other) : ended(other.ended), launching(other.launching), fails(other.fails) {
        if (fails && *launching) throw std::domain_error("no copy");
    }

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        while (ctx.load(ctx.environment().host_stop, order::relaxed, scope::system) == 0) ctx.pause();
        ++*ended;
    }
};

TEST(machine_test, ALaunchThatFailsEndsThePesThatRunAlready) {
    machine machine("cpu:3");
    std::atomic<int> ended{0};
    bool launching = false;
    std::vector<copied_program> programs;
    for (int pe = 0; pe < 3; ++pe) programs.emplace_back(&ended, &launching, pe == 2);
    launching = true;
    EXPECT_THROW(machine.run(programs, std::vector<launch_shape>(3), 5, [] { return std::string{}; }),
                 std::domain_error);
    EXPECT_EQ(ended, 0) << "a run that never began called its program";
    EXPECT_NO_THROW(run(machine, {}, 5, [](auto&) {})) << "all PEs have ended, so the devices can be used again";
}

/// Its copy for PE 1, made before any PE is launched, takes until the deadline has passed.
struct slow_program : copied_program {
    const run_deadline* until;

    slow_program(std::atomic<int>* e, const bool* l, bool slow, const run_deadline* u)
        : copied_program(e, l, slow), until(u) {}
    slow_program(const slow_program& other) : copied_program(other.ended, other.launching, false), until(other.until) {
        fails = other.fails;
        if (!fails || !*launching) return;
        try {
            while (until->left() > 0) {
            }
        } catch (const timeout_error&) {
            fails = false;
        }
    }
};

TEST(machine_test, ADeadlineThatPassesDuringTheLaunchEndsIt) {
    machine machine("cpu:3");
    std::atomic<int> ended{0};
    bool launching = false;
    const run_deadline until = run_deadline::from_now(0.5);
    std::vector<slow_program> programs;
    for (int pe = 0; pe < 3; ++pe) programs.emplace_back(&ended, &launching, pe == 1, &until);
    launching = true;
    try {
        machine.run(programs, std::vector<launch_shape>(3), until, [] { return std::string{}; });
        FAIL() << "launched the last PE after the deadline";
    } catch (const timeout_error& e) {
        EXPECT_EQ(std::string(e.what()), "deadline passed while the devices were set up; the deadline is 0.5 s");
    }
    EXPECT_EQ(ended, 0) << "a run whose deadline had passed called its program";
    EXPECT_NO_THROW(run(machine, {}, 5, [](auto&) {})) << "all PEs have ended, so the devices can be used again";
}

TEST(machine_test, LanesThatHaveHadNoProcessorTimeAreNotGivenUp) {
    machine machine("cpu:2");
    // A thread that sleeps gets as little as one that a busy machine holds back.
    EXPECT_THROW(run(machine, {}, 0.1, [](auto&) { std::this_thread::sleep_for(std::chrono::seconds(5)); }),
                 timeout_error);
    EXPECT_NO_THROW(run(machine, {}, 10, [](auto&) {}));
}

TEST(machine_test, LanesThatSleepForEverAreGivenUpAllAtOnce) {
    static std::atomic<bool> over{false};  // the threads outlive the run
    static std::atomic<int> asleep{0};
    const auto sleep = [](auto&) {
        ++asleep;
        while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        --asleep;
    };
    const auto start = std::chrono::steady_clock::now();
    {
        machine machine("cpu:3");
        const interruption leave([] {
            if (asleep == 3) throw std::domain_error("enough");
        });
        EXPECT_THROW(run(machine, {}, 60, sleep, true), std::domain_error);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 2 * longest_held_back);
    over = true;
    while (asleep != 0) std::this_thread::yield();
}

TEST(machine_test, ADeadlineBelowAClockTickIsOneAllTheSame) {
    machine machine("cpu:1");
    std::atomic<int> called{0};
    auto* count = &called;
    const run_deadline least(1e-12);
    run(machine, {}, least, [=](auto&) { ++*count; });
    EXPECT_EQ(called, 1);
}

/// Lane 0 votes while its mates shuffle.
struct mismatched_program {
    template <class Ctx>
    void operator()(Ctx& ctx) const {
        if (ctx.lane() == 0) {
            (void)ctx.ballot(full_warp<Ctx>, true);
        } else {
            (void)ctx.shuffle(full_warp<Ctx>, ctx.lane(), 0);
        }
    }
};

TEST(checked_machine_test, LanesOfOneMaskInDifferentCollectivesAreRefused) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        machine machine("checked:1", seed);
        try {
            machine.run(std::vector{mismatched_program{}}, {launch_shape{}}, 1, [] { return std::string{}; });
            FAIL() << "met, seed " << seed;
        } catch (const usage_error& e) {
            const std::string what = e.what();
            EXPECT_NE(what.find("ballot"), what.npos) << what;
            EXPECT_NE(what.find("shuffle"), what.npos) << what;
        }
    }
}

/// Order in which a run's lanes draw from one counter.
std::vector<std::uint32_t> order_under(std::uint64_t seed) {
    machine machine("checked:2", seed);
    std::vector<std::uint32_t> order(64);
    std::uint32_t next = 0;
    auto* words = order.data();
    auto* counter = &next;
    run(machine, {2, 2, 0}, 5, [=](auto& ctx) {
        for (int i = 0; i < 4; ++i) {
            const auto me = static_cast<std::uint32_t>(ctx.block() * 100 + ctx.warp() * 10 + ctx.lane());
            words[ctx.fetch_add(counter, 1, order::relaxed, scope::device)] = me;
        }
    });
    return order;
}

TEST(checked_machine_test, ASeedReplaysARunAndSeedsDiffer) {
    std::set<std::vector<std::uint32_t>> orders;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const auto order = order_under(seed);
        EXPECT_EQ(order_under(seed), order) << "seed " << seed;
        orders.insert(order);
    }
    EXPECT_EQ(orders.size(), 100u);
}

TEST(buffer_test, StartsZeroedAndCopiesBothWays) {
    const auto device = open_device({device_kind::cpu, 0});
    buffer<std::uint32_t> words(device, 5);
    EXPECT_EQ(words.copy_out(), std::vector<std::uint32_t>(5));
    const std::uint32_t value = 7;
    words.copy_in(&value, 1, 3);
    EXPECT_EQ(words.copy_out(), (std::vector<std::uint32_t>{0, 0, 0, 7, 0}));
    words.fill_bytes(0xff);
    EXPECT_EQ(words.copy_out(), std::vector<std::uint32_t>(5, 0xffffffff));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(words.data()) % 256, 0u);
    EXPECT_TRUE(buffer<std::uint32_t>(device, 0).copy_out().empty());
}

std::ptrdiff_t mappings() {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

TEST(buffer_test, DevicesCountWhatTheyHoldAndWhatIsCopiedIn) {
    const machine machine("cpu:2");
    const device& counted = *machine.device(1);
    const std::uint64_t held = counted.held_bytes();
    const std::uint64_t copied = counted.copied_in_bytes();
    {
        buffer<std::uint32_t> memory(machine.device(1), 1000);
        const buffer<std::uint32_t> same = memory;
        EXPECT_EQ(counted.held_bytes(), held + 4000);
        memory.copy_in(std::vector<std::uint32_t>(10));
        memory.fill_bytes(1);
        (void)memory.copy_out();
        EXPECT_EQ(counted.copied_in_bytes(), copied + 40);
    }
    EXPECT_EQ(counted.held_bytes(), held);
    EXPECT_EQ(counted.peak_bytes(), held + 4000) << "what was held at once stays known";
    (void)buffer<std::uint32_t>(machine.device(1), 900);
    EXPECT_EQ(counted.peak_bytes(), held + 4000);
    (void)buffer<std::uint32_t>(machine.device(1), 1100);
    EXPECT_EQ(counted.peak_bytes(), held + 4400);
    EXPECT_EQ(machine.device(0)->held_bytes(), held) << "each device counts its own";
}

TEST(buffer_test, GuardsOfCheckedDevicesLeaveMappingsForOthers) {
    const std::ptrdiff_t before = mappings();
    std::vector<buffer<std::uint64_t>> many;
    for (const int number : {0, 1, 2}) {
        const auto device = open_device({device_kind::checked, number});
        for (int i = 0; i < 4000; ++i) many.emplace_back(device, 4);
    }
    EXPECT_LT(mappings() - before, 9000) << "the system allows 65,530, for stacks and rings as well";
    EXPECT_EQ(many.back().copy_out(), std::vector<std::uint64_t>(4));
    many.clear();
    EXPECT_LT(mappings() - before, 100);
    const auto device = open_device({device_kind::checked, 0});
    for (int i = 0; i < 4000; ++i) many.emplace_back(device, 4);
#if !defined(__SANITIZE_ADDRESS__)
    EXPECT_GT(mappings() - before, 4000) << "guards were counted that are no more";
#endif
}

TEST(buffer_test, RefusesCountsWhoseBytesOverflow) {
    const auto device = open_device({device_kind::cpu, 0});
    for (const std::size_t count : {std::size_t{1} << 61, (std::size_t{1} << 61) + 1, ~std::size_t{0}}) {
        EXPECT_THROW(buffer<std::uint64_t>(device, count), usage_error) << count;
    }
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // their allocators end the process instead
TEST(buffer_test, NamesTheSizeThatCannotBeHad) {
    const auto device = open_device({device_kind::cpu, 3});
    try {
        const buffer<std::byte> all(device, std::size_t{1} << 60);
        FAIL();
    } catch (const system_error& e) {
        EXPECT_EQ(std::string(e.what()), "cpu:3: no memory for 1152921504606846976 bytes");
    }
}
#endif

}  // namespace
}  // namespace laneway::test
