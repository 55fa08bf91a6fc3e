#include "triggers_suite.hpp"
#include "unit/suites_in_processes.hpp"

namespace laneway::test {
namespace {

/// PEs of two processes: all that needs neither a session nor a stream.
TEST(trigger_processes_test, KeepTheContract) {
    std::string filter;
    for (const char* tests :
         {"triggers_test.*", "trigger_messages_test.*", "trigger_schedules_test.*", "trigger_stress_test.FewTags*",
          "trigger_stress_test.TheHostDisarms*", "triggers_misuse_test.*OneProcess"}) {
        filter += std::string(filter.empty() ? "" : ":") + "devices/" + tests + "/cpu_1";
    }
    pass_in_processes(2, filter + "-*Session*:*HostThreads*");
}

}  // namespace
}  // namespace laneway::test
