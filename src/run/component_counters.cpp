#include "laneway/run/component_counters.hpp"

namespace laneway {

LANEWAY_DETECTORS(, cpu::context)
LANEWAY_DETECTORS(, checked::context)

}  // namespace laneway
