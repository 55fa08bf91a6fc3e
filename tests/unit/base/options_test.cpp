#include "laneway/base/options.hpp"

#include <gtest/gtest.h>

#include "laneway/simt/machine.hpp"

namespace laneway {
namespace {

TEST(options_test, DefaultsAreARunnableJobWithoutFaults) {
    const options o;
    EXPECT_EQ(o.fault, injected_fault::none);
    EXPECT_TRUE(o.devices.empty());
    EXPECT_GT(o.timeout_seconds, 0);
    EXPECT_GE(o.checked_warps, 2);  // block 0 loses one warp to control
    EXPECT_FALSE(o.servers_in_every_block);
    EXPECT_EQ(o.server_share, 0);  // the program's own
}

TEST(options_test, EmptyDeviceListOpensSomething) { EXPECT_GE(machine(options{}.devices).n_pes(), 1); }

}  // namespace
}  // namespace laneway
