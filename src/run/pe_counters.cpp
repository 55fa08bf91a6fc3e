#include "laneway/run/pe_counters.hpp"

namespace laneway {

template void termination_detector<cpu::context, message_counters<cpu::context, true>>::look(cpu::context&);
template void termination_detector<cpu::context, message_counters<cpu::context, false>>::look(cpu::context&);
template void termination_detector<checked::context, message_counters<checked::context, true>>::look(checked::context&);
template void termination_detector<checked::context, message_counters<checked::context, false>>::look(
    checked::context&);

}  // namespace laneway
