// A program with GPU code on a host without a driver: it says what is missing, and runs on CPU devices.
#include <gtest/gtest.h>

#include <algorithm>

#include "laneway/simt/machine.hpp"

// The library's other objects were compiled without CUDA, and nothing in them depends on it.
const char laneway::library_was_built_without_cuda = 0;

namespace laneway::test {
namespace {

TEST(no_driver_test, DevicesSayWhatIsMissing) {
    const auto found = find_devices();
    const auto gpus =
        std::find_if(found.begin(), found.end(), [](const device_finding& d) { return d.name.starts_with("cuda"); });
    ASSERT_NE(gpus, found.end());
    EXPECT_FALSE(gpus->usable);
    EXPECT_EQ(gpus->reason, "no NVIDIA driver on this host");
}

TEST(no_driver_test, CpuDevicesOpen) {
    const machine m("");
    EXPECT_FALSE(m.has_gpus());
    EXPECT_GE(m.n_pes(), 1);
}

}  // namespace
}  // namespace laneway::test
