// Transports, mapped channels and remote addresses between CPU devices of two processes: over memory that one exports
// to the other.
#include "unit/suites_in_processes.hpp"

namespace laneway::test {

TEST(transport_processes_test, CarryBetweenProcesses) { pass_in_processes(2, "devices/transport_test.*/cpu_*"); }

TEST(transport_processes_test, MappedChannelsCarryBetweenProcesses) {
    pass_in_processes(2, "devices/channel_test.Mapped*/cpu_*");
}

TEST(transport_processes_test, MappedWordChannelsCarryBetweenProcesses) {
    pass_in_processes(2, "devices/word_channel_test.Mapped*/cpu_*");
}

TEST(transport_processes_test, RemoteAddressesReachOtherProcesses) {
    pass_in_processes(2, "devices/remote_ptr_test.*/cpu_*");
}

}  // namespace laneway::test
