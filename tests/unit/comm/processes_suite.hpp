// PEs of two processes: the contract suites of one process hold, each with the same devices in both.
#pragma once

#include "unit/suites_in_processes.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Suites whose tests make the same calls in every process.
inline std::vector<std::string> suites_over_processes() {
#if defined(__CUDACC__)
    // Each process has a GPU of its own.
    const auto gpus = device_lists(2);
    if (std::find(gpus.begin(), gpus.end(), "cuda") == gpus.end()) return {};
#endif
    return {"mailbox_test", "one_sided_test", "collectives_test"};
}

class processes_test : public testing::TestWithParam<std::string> {};

TEST_P(processes_test, KeepTheContract) {
#if defined(__CUDACC__)
    pass_in_processes(2, "devices/" + GetParam() + ".*/cuda_*");
#else
    pass_in_processes(2, "devices/" + GetParam() + ".*/cpu_1:devices/" + GetParam() + ".*/cpu_2");
#endif
}

#if !defined(__CUDACC__)
/// In each process a proxy carries what its own PEs write.
TEST(proxies_in_processes_test, KeepTheContract) {
    pass_in_processes(2,
                      "devices/mailbox_test.AllToAll/cpu_3_proxied:"
                      "devices/mailbox_test.RunsFollowEachOtherOnOneRuntime/cpu_3_proxied:"
                      "devices/one_sided_test.PutsAndGetsOfLanes/cpu_3_proxied");
}
#endif

INSTANTIATE_TEST_SUITE_P(suites, processes_test, testing::ValuesIn(suites_over_processes()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(processes_test);

}  // namespace laneway::test
