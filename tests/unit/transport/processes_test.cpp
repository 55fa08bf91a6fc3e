// Transports, channels of both models and remote addresses between CPU devices of two processes: over memory that one
// exports to the other. Of proxied channels that is each side's: a proxy of the writer's process carries between.
#include "unit/suites_in_processes.hpp"

namespace laneway::test {

TEST(transport_processes_test, CarryBetweenProcesses) { pass_in_processes(2, "devices/transport_test.*/cpu_*"); }

TEST(transport_processes_test, ChannelsCarryBetweenProcesses) {
    pass_in_processes(2, "devices/channel_test.*Carries*/cpu_*");
}

TEST(transport_processes_test, WordChannelsCarryBetweenProcesses) {
    pass_in_processes(2, "devices/word_channel_test.*/cpu_*");
}

TEST(transport_processes_test, RemoteAddressesReachOtherProcesses) {
    pass_in_processes(2, "devices/remote_ptr_test.*/cpu_*");
}

}  // namespace laneway::test
