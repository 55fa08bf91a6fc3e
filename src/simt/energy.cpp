#include "laneway/simt/energy.hpp"

#include <utility>

#include "laneway/simt/cuda/support.hpp"

namespace laneway {

std::optional<double> consumed_joules(const device_id& id) {
    if (id.kind != device_kind::cuda) return std::nullopt;
    return cuda_backend::consumed_joules(id.index);
}

energy_span::energy_span(std::vector<device_id> devices, energy_reader read)
    : devices_(std::move(devices)), read_(std::move(read)) {
    for (const device_id& id : devices_) before_.push_back(read_(id));
}

std::optional<double> energy_span::joules() const {
    if (devices_.empty()) return std::nullopt;
    double sum = 0;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (!before_[i]) return std::nullopt;
        const std::optional<double> now = read_(devices_[i]);
        if (!now || *now < *before_[i]) return std::nullopt;
        sum += *now - *before_[i];
    }
    return sum;
}

}  // namespace laneway
