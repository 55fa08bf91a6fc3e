#include "communicator_suite.hpp"
#include "unit/suites_in_processes.hpp"

namespace laneway::test {
namespace {

/// The same between PEs of two processes, each with the same devices.
TEST(communicator_processes, KeepTheContract) {
    std::string suites;
    for (const char* suite : {"communicator_test", "communicator_cases", "communicator_random"}) {
        for (const char* list : {"cpu_1", "cpu_2"}) suites += std::string("devices/") + suite + ".*/" + list + ":";
    }
    pass_in_processes(2, suites);
}

}  // namespace
}  // namespace laneway::test
