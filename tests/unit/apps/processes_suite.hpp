// Programs over two processes: their suites hold, each with the same devices in both.
#pragma once

#include "unit/suites_in_processes.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

inline std::vector<std::string> programs_over_processes() {
#if defined(__CUDACC__)
    // Each process has a GPU of its own.
    const auto gpus = device_lists(2);
    if (std::find(gpus.begin(), gpus.end(), "cuda") == gpus.end()) return {};
#endif
    return {"gups_test"};
}

class app_processes_test : public testing::TestWithParam<std::string> {};

TEST_P(app_processes_test, KeepTheContract) {
#if defined(__CUDACC__)
    pass_in_processes(2, "devices/" + GetParam() + ".*/cuda_*");
#else
    pass_in_processes(2, "devices/" + GetParam() + ".*/cpu_1:devices/" + GetParam() + ".*/cpu_2");
#endif
}

INSTANTIATE_TEST_SUITE_P(programs, app_processes_test, testing::ValuesIn(programs_over_processes()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(app_processes_test);

}  // namespace laneway::test
