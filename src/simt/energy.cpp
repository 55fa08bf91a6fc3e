#include "laneway/simt/energy.hpp"

#include "laneway/simt/cuda/support.hpp"

namespace laneway {

std::optional<double> consumed_joules(const device_id& id) {
    if (id.kind != device_kind::cuda) return std::nullopt;
    return cuda_backend::consumed_joules(id.index);
}

}  // namespace laneway
