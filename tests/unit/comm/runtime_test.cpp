#include "laneway/runtime.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace laneway::test {
namespace {

// What a runtime gives refers to its machine, so it must not change its place.
static_assert(!std::is_move_constructible_v<runtime> && !std::is_move_assignable_v<runtime>);
static_assert(!std::is_copy_constructible_v<runtime> && !std::is_copy_assignable_v<runtime>);
static_assert(!std::is_move_constructible_v<machine> && !std::is_move_assignable_v<machine>);

struct count_lane {
    symmetric_ref<std::uint64_t> lanes;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        atomic_add(ctx, lanes[0], 1);
    }
};

runtime make_runtime(std::string devices) {
    options o;
    o.devices = std::move(devices);
    return runtime(o);
}

TEST(runtime_test, AFunctionCanReturnOneThatItMakes) {
    runtime made = make_runtime("cpu:2");
    const auto lanes = made.allocate<std::uint64_t>(1);
    for (std::uint64_t run = 1; run <= 2; ++run) {
        made.run(count_lane{lanes.ref()}, made.one_sided());
        EXPECT_EQ(lanes.copy_out(0)[0] + lanes.copy_out(1)[0], 2 * run);
    }
}

TEST(runtime_test, DeadlinesCoverTheSetUpOfCpuDevices) {
    options o;
    o.devices = "cpu:5";
    o.timeout_seconds = 1e-9;
    runtime late(o);
    const auto lanes = late.allocate<std::uint64_t>(1);
    for (int run = 0; run < 2; ++run) {
        try {
            late.run(count_lane{lanes.ref()}, late.one_sided());
            FAIL() << "was set up in no time";
        } catch (const timeout_error& e) {
            EXPECT_EQ(std::string(e.what()), "deadline passed while the devices were set up; the deadline is 1e-09 s");
        }
    }
    EXPECT_EQ(lanes.copy_out(0)[0], 0u);
}

TEST(runtime_test, ADeadlineThatPassesLeavesDevicesThatAreNotSetUp) {
    options o;
    o.devices = "cpu:64";
    o.timeout_seconds = 1e-9;
    const auto held_by = [](runtime& rt) {
        std::uint64_t bytes = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) bytes += rt.machine().device(pe)->held_bytes();
        return bytes;
    };
    runtime late(o);
    const auto few = late.allocate<std::uint64_t>(1);
    EXPECT_THROW(late.run(count_lane{few.ref()}, late.one_sided()), timeout_error);
    o.timeout_seconds = 60;
    runtime in_time(o);
    const auto lanes = in_time.allocate<std::uint64_t>(1);
    in_time.run(count_lane{lanes.ref()}, in_time.one_sided());
    EXPECT_LT(held_by(late), held_by(in_time) / 8);
}

}  // namespace
}  // namespace laneway::test
