#include "termination_suite.hpp"  // on GPUs

namespace laneway::test {
namespace {

/// With a GPU that passes on what PE 0 asks.
std::vector<std::string> lists_of_two_levels() {
    if (device_lists().empty()) return {};
    return {"cpu:1,cuda:0,cpu:34"};
}

INSTANTIATE_TEST_SUITE_P(two_levels, termination_test, testing::ValuesIn(lists_of_two_levels()), name_of);

}  // namespace
}  // namespace laneway::test
