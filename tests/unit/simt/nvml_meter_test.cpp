#include "simt/cuda/nvml_meter.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "simt/cuda/nvml_links.hpp"

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

/// GPUs 1 to 4 with links, as NVML tells them, by the number of their bus.
struct linked_driver {
    struct link {
        int active = 1;
        unsigned far_bus = 0;
        int state_code = 0, remote_code = 0;
    };
    static inline std::map<unsigned, std::vector<link>> gpus;

    static int begin() { return 0; }
    static int find(const char* address, void** device) {
        unsigned domain = 0, bus = 0;
        if (std::sscanf(address, "%x:%x", &domain, &bus) != 2 || gpus.count(bus) == 0) return 6;
        *device = &gpus[bus];
        return 0;
    }
    static int state(void* device, unsigned number, int* active) {
        const auto& links = *static_cast<std::vector<link>*>(device);
        if (links.empty()) return 3;
        if (number >= links.size()) return 2;
        *active = links[number].active;
        return links[number].state_code;
    }
    static int remote(void* device, unsigned number, cuda_backend::nvml_pci_info* end) {
        const link& one = static_cast<std::vector<link>*>(device)->at(number);
        end->bus = one.far_bus;
        std::snprintf(end->address, sizeof end->address, "00000000:%02X:00.0", one.far_bus);
        return one.remote_code;
    }
};

std::string address_of(unsigned bus) { return "0000:0" + std::to_string(bus) + ":00.0"; }

TEST(nvml_links_test, GpusAreJoinedDirectlyOrByASwitch) {
    static_assert(sizeof(cuda_backend::nvml_pci_info) == 68, "as in nvml.h");
    const cuda_backend::nvml_links links(
        {linked_driver::begin, linked_driver::find, linked_driver::state, linked_driver::remote});
    const auto join = [&](unsigned one, unsigned other) { return links.join(address_of(one), address_of(other)); };
    linked_driver::gpus = {{1, {{1, 2}, {0, 9}}}, {2, {{1, 1}, {1, 3}}}, {3, {{1, 2}, {0, 9}}}, {4, {}}};
    EXPECT_EQ(join(1, 2), true);
    EXPECT_EQ(join(3, 2), true);
    EXPECT_EQ(join(1, 3), false) << "both reach GPU 2, which is no switch, and a switch by links that are down";
    EXPECT_EQ(join(1, 4), false);
    EXPECT_EQ(join(4, 1), false);
    EXPECT_EQ(join(1, 5), std::nullopt) << "there is no GPU 5";
    linked_driver::gpus = {{1, {{0, 0}, {1, 8}, {1, 9}}}, {2, {{1, 9}}}, {3, {{1, 8}}}};
    EXPECT_EQ(join(1, 2), true);
    EXPECT_EQ(join(1, 3), true);
    EXPECT_EQ(join(2, 3), false) << "of two switches one each";
    for (const linked_driver::link& silent :
         {linked_driver::link{1, 0}, linked_driver::link{1, 9, 999}, linked_driver::link{1, 9, 0, 999}}) {
        linked_driver::gpus[2] = {silent};
        EXPECT_EQ(join(1, 2), std::nullopt);
        EXPECT_EQ(join(2, 1), std::nullopt);
    }
    EXPECT_EQ(cuda_backend::nvml_links({}).join(address_of(1), address_of(3)), std::nullopt);
}

}  // namespace
}  // namespace laneway
