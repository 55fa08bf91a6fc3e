#include "simt/cuda/nvml_meter.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace laneway {
namespace {

/// In place of the driver's library, whose functions take no state.
struct driver {
    static constexpr int failure = 999;
    static inline int begin_code = 0, find_code = 0, read_code = 0;
    static inline std::map<std::string, unsigned long long> millijoules;

    static int begin() { return begin_code; }
    static int find(const char* pci_address, void** device) {
        const auto found = millijoules.find(pci_address);
        if (find_code != 0 || found == millijoules.end()) return failure;
        *device = &found->second;
        return 0;
    }
    static int read(void* device, unsigned long long* to) {
        *to = *static_cast<const unsigned long long*>(device);  // also where it fails
        return read_code;
    }
};

class nvml_meter_test : public testing::Test {
protected:
    void SetUp() override {
        driver::begin_code = driver::find_code = driver::read_code = 0;
        driver::millijoules = {{"0000:1b:00.0", 1500}, {"0000:1c:00.0", 18'000'000'000'000'000'000ull}};
    }
    cuda_backend::nvml_functions functions_{driver::begin, driver::find, driver::read};
};

TEST_F(nvml_meter_test, GpusAreFoundByTheirAddresses) {
    const cuda_backend::nvml_meter meter(functions_);
    EXPECT_EQ(meter.joules("0000:1b:00.0"), 1.5);
    EXPECT_EQ(meter.joules("0000:1c:00.0"), 1.8e16) << "of 64 bits without a sign";
    EXPECT_EQ(meter.joules("0000:1d:00.0"), std::nullopt);
    driver::millijoules["0000:1b:00.0"] = 2750;
    EXPECT_EQ(meter.joules("0000:1b:00.0"), 2.75);
}

TEST_F(nvml_meter_test, WithoutTheLibraryOrOneOfItsFunctionsThereIsNoMeter) {
    EXPECT_EQ(cuda_backend::nvml_meter({}).joules("0000:1b:00.0"), std::nullopt);
    for (int missing = 0; missing < 3; ++missing) {
        cuda_backend::nvml_functions some = functions_;
        if (missing == 0) some.begin = nullptr;
        if (missing == 1) some.find = nullptr;
        if (missing == 2) some.read = nullptr;
        EXPECT_EQ(cuda_backend::nvml_meter(some).joules("0000:1b:00.0"), std::nullopt) << missing;
    }
}

TEST_F(nvml_meter_test, WhatNvmlRefusesIsNoReading) {
    const cuda_backend::nvml_meter meter(functions_);
    driver::read_code = driver::failure;
    EXPECT_EQ(meter.joules("0000:1b:00.0"), std::nullopt);
    driver::read_code = 0;
    driver::find_code = driver::failure;
    EXPECT_EQ(meter.joules("0000:1b:00.0"), std::nullopt);
    driver::find_code = 0;
    EXPECT_EQ(meter.joules("0000:1b:00.0"), 1.5) << "as when a GPU that was lost is back";
    driver::begin_code = driver::failure;
    EXPECT_EQ(cuda_backend::nvml_meter(functions_).joules("0000:1b:00.0"), std::nullopt);
}

}  // namespace
}  // namespace laneway
