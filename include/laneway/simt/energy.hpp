// What devices consume.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "laneway/simt/device_list.hpp"

namespace laneway {

/// Joules that a GPU has consumed since its driver was loaded, by NVML's meter; empty where there is none, as for CPU
/// devices. The meter moves some ten times a second: readings should lie half a second apart or more. Never throws.
std::optional<double> consumed_joules(const device_id& id);

/// Reads a meter as consumed_joules does.
using energy_reader = std::function<std::optional<double>(const device_id&)>;

/// What some devices consume together from here on. Host only.
class energy_span {
public:
    explicit energy_span(std::vector<device_id> devices, energy_reader read = consumed_joules);

    /// Joules since this was made. Empty where there is no device, where one of them has no meter or could not be read,
    /// then or now, and where a meter has gone back, as it does when the driver is loaded anew.
    [[nodiscard]] std::optional<double> joules() const;

private:
    std::vector<device_id> devices_;
    energy_reader read_;
    std::vector<std::optional<double>> before_;  ///< of each device
};

}  // namespace laneway
