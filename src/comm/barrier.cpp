#include "laneway/comm/barrier.hpp"

namespace laneway {

template bool barrier_control<cpu::context>::looks(cpu::context&);
template bool barrier_control<checked::context>::looks(checked::context&);

}  // namespace laneway
