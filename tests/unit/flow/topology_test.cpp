#include "laneway/flow/topology.hpp"

#include <gtest/gtest.h>

#include "laneway/flow/context.hpp"
#include "unit/thrown.hpp"

namespace laneway::flow {
namespace {

TEST(topology, CpuDevicesShareTheHostsMemory) {
    options o;
    o.devices = "cpu:2";
    const context ctx(o);
    const topology& paths = ctx.paths();
    for (const int from : {host_memory, 0, 1}) {
        for (const int to : {host_memory, 0, 1}) {
            EXPECT_EQ(paths.path(from, to).kind, path_kind::same_memory);
            EXPECT_TRUE(paths.path(from, to).peer_access);
        }
    }
    EXPECT_EQ(paths.lines(), (std::vector<std::string>{"cpu:0 -> cpu:1: same memory", "cpu:1 -> cpu:0: same memory"}));
    for (const int wrong : {-2, 2}) {
        const auto why = test::thrown<usage_error>([&] { (void)paths.path(0, wrong); });
        EXPECT_EQ(why, "there is no device " + std::to_string(wrong) + " among 2");
        EXPECT_THROW((void)paths.bandwidth(wrong, 0), usage_error);
    }
}

TEST(topology, BandwidthIsMeasuredOnce) {
    options o;
    o.devices = "cpu:1";
    double first = 0;
    {
        const context ctx(o);
        first = ctx.paths().bandwidth(host_memory, 0);
    }
    EXPECT_GT(first, 1e7);  // bytes a second, of any machine
    const context again(o);
    EXPECT_EQ(again.paths().bandwidth(host_memory, 0), first);
}

}  // namespace
}  // namespace laneway::flow
