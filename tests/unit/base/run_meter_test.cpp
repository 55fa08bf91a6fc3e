#include "laneway/base/run_meter.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

TEST(run_meter_test, BeforeTheFirstRunNothingIsKnown) {
    const run_meter meter;
    EXPECT_EQ(meter.read().served, 0u);
    EXPECT_EQ(meter.read().open, 0u);
}

struct take {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint32_t) const {}
};

/// Lanes of PE 0 post to PE 1, and the last of them goes on when a function of the host lets it. On CPU devices the
/// first one has the part of the control warp, so it must not be the one that waits.
struct post_and_ask {
    std::uint32_t count;
    host_calls_ref<std::uint32_t, std::uint32_t> let_go;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() != 0) return;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (box.post(ctx, 1, i) != status::ok) return;
        }
        if (box.quiet(ctx) == status::ok && ctx.local_rank() == ctx.local_size() - 1) (void)let_go.call(ctx, 1);
    }
};

class run_meter_on : public testing::TestWithParam<std::string> {};

TEST_P(run_meter_on, TheEndOfARunIsTold) {
    options o = options_of(GetParam(), 1);
    o.meter = std::make_shared<run_meter>();
    runtime rt(o);
    const auto calls = rt.host_calls<std::uint32_t, std::uint32_t>("let go", [](std::uint32_t) { return 1u; });
    for (const std::uint32_t count : {100u, 7u}) {
        const auto report = rt.run(post_and_ask{count, calls.ref()}, rt.mailbox<std::uint32_t>(take{}));
        EXPECT_GT(report.served, 0u);
        EXPECT_EQ(o.meter->read().served, report.served);
        EXPECT_EQ(o.meter->read().open, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(devices, run_meter_on, testing::Values("cpu:2", "cpu:3", "checked:2"), name_of);

/// The run cannot end before the meter has told of its messages.
TEST(run_meter_test, ARunThatGoesOnIsTold) {
    options o;
    o.devices = "cpu:2";
    o.cpu_threads = 2;
    o.meter = std::make_shared<run_meter>();
    runtime rt(o);
    const auto calls = rt.host_calls<std::uint32_t, std::uint32_t>("let go", [&](std::uint32_t) {
        while (o.meter->read().served < 100) std::this_thread::yield();
        return 1u;
    });
    EXPECT_NO_THROW(rt.run(post_and_ask{100, calls.ref()}, rt.mailbox<std::uint32_t>(take{})));
}

}  // namespace
}  // namespace laneway::test
