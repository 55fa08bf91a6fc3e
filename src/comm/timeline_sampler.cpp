#include "laneway/comm/timeline_sampler.hpp"

namespace laneway {

template void timeline_sampler<cpu::context>::look(cpu::context&, std::uint64_t, bool) const;
template void timeline_sampler<checked::context>::look(checked::context&, std::uint64_t, bool) const;

}  // namespace laneway
