// What devices consume.
#pragma once

#include <optional>

#include "laneway/simt/device_list.hpp"

namespace laneway {

/// Joules that a GPU has consumed since its driver was loaded, by NVML's meter; empty where there is none, as for CPU
/// devices. The meter moves some ten times a second: readings should lie half a second apart or more. Never throws.
std::optional<double> consumed_joules(const device_id& id);

}  // namespace laneway
