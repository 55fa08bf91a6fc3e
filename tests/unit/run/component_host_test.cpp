// What the host refuses before a run that a component could not do in it.
#include "laneway/run/component_host.hpp"

#include <gtest/gtest.h>

#include <string>

#include "laneway/base/error.hpp"

namespace laneway {
namespace {

std::string refusal(const machine& machine) {
    try {
        refuse_apart(machine, "triggers");
        return {};
    } catch (const usage_error& refused) {
        return refused.what();
    }
}

TEST(component_host_test, PesThatReachEachOthersMemoryAreNotRefused) {
    EXPECT_EQ(refusal(machine("cpu:3")), "");
    EXPECT_EQ(refusal(machine("cpu:1", 1, {}, nullptr, transport_model::proxied)), "") << "alone";
}

TEST(component_host_test, PesBetweenWhichProxiesCarryAreRefused) {
    EXPECT_EQ(refusal(machine("cpu:3", 1, {}, nullptr, transport_model::proxied)),
              "triggers: PE 0 (cpu:0) and PE 1 (cpu:1) cannot store into each other's memory, as proxies carry between "
              "them");
}

}  // namespace
}  // namespace laneway
