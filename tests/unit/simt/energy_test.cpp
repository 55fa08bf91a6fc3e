#include "laneway/simt/energy.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace laneway {
namespace {

/// Meters of GPUs by their numbers; those that are not listed have none.
struct meters {
    std::map<int, std::optional<double>> joules;
    energy_reader reader() {
        return [this](const device_id& id) -> std::optional<double> {
            const auto found = joules.find(id.index);
            return id.kind == device_kind::cuda && found != joules.end() ? found->second : std::nullopt;
        };
    }
};

const device_id gpu_0{device_kind::cuda, 0}, gpu_1{device_kind::cuda, 1}, cpu_0{device_kind::cpu, 0};

TEST(energy_test, DevicesThatAreNoGpusHaveNoMeter) {
    for (const device_kind kind : {device_kind::cpu, device_kind::checked}) {
        EXPECT_EQ(consumed_joules({kind, 0}), std::nullopt);
    }
    EXPECT_EQ(energy_span({cpu_0}).joules(), std::nullopt);
}

TEST(energy_test, AGpuThatIsNotThereHasNoMeter) {
    EXPECT_EQ(consumed_joules({device_kind::cuda, 1000}), std::nullopt);
    EXPECT_EQ(consumed_joules({device_kind::cuda, -1}), std::nullopt);
}

TEST(energy_test, WhatSeveralGpusConsumeIsAddedUp) {
    meters them{{{0, 1000.5}, {1, 70.25}}};
    const energy_span both({gpu_0, gpu_1}, them.reader()), one({gpu_1}, them.reader());
    EXPECT_EQ(both.joules(), 0.0);
    them.joules = {{0, 1010.5}, {1, 70.5}};
    EXPECT_EQ(both.joules(), 10.25);
    EXPECT_EQ(one.joules(), 0.25);
    them.joules = {{0, 1020.5}, {1, 71.5}};
    EXPECT_EQ(both.joules(), 21.25) << "from the beginning again, not from the last question";
}

TEST(energy_test, OneDeviceWithoutAMeterLeavesNoSum) {
    meters them{{{0, 5.0}}};
    const energy_span with_a_cpu({gpu_0, cpu_0}, them.reader()), with_another({gpu_1, gpu_0}, them.reader());
    them.joules[0] = 9.0;
    EXPECT_EQ(with_a_cpu.joules(), std::nullopt);
    EXPECT_EQ(with_another.joules(), std::nullopt);
    EXPECT_EQ(energy_span({}, them.reader()).joules(), std::nullopt) << "none consumes nothing that is known";
}

TEST(energy_test, AReadingThatFailsLeavesNoSum) {
    meters them{{{0, std::nullopt}, {1, 3.0}}};
    const energy_span failed_first({gpu_0, gpu_1}, them.reader());
    them.joules[0] = 8.0;
    EXPECT_EQ(failed_first.joules(), std::nullopt) << "the whole count since the driver was loaded is no answer";
    const energy_span fails_last({gpu_0, gpu_1}, them.reader());
    them.joules[1] = std::nullopt;
    EXPECT_EQ(fails_last.joules(), std::nullopt);
    them.joules[1] = 4.0;
    EXPECT_EQ(fails_last.joules(), 1.0) << "it may be asked again";
}

TEST(energy_test, AMeterThatGoesBackLeavesNoSum) {
    meters them{{{0, 500.0}, {1, 500.0}}};
    const energy_span both({gpu_0, gpu_1}, them.reader());
    them.joules = {{0, 2.0}, {1, 5000.0}};  // of which the sum has grown
    EXPECT_EQ(both.joules(), std::nullopt);
}

}  // namespace
}  // namespace laneway
