// When a run must be over, as the host counts.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace laneway {

class run_deadline {
public:
    /// Counts from the launch. Throws usage_error for seconds that cannot be.
    run_deadline(double seconds);  // NOLINT(google-explicit-constructor): seconds say the same
    /// Counts from now, so what is set up before the launch counts as well. `late`: called by left() before it throws.
    static run_deadline from_now(double seconds, std::function<void(const std::string&)> late = {});
    /// The same, for what nobody has to be called.
    [[nodiscard]] run_deadline untold() const;

    [[nodiscard]] double seconds() const { return seconds_; }
    /// Seconds that a launch would have now: above 0, and all of them where it counts from the launch. Throws
    /// timeout_error where none are left; to be called again and again by what takes long before the launch.
    double left() const;

private:
    double seconds_;
    std::optional<std::chrono::steady_clock::time_point> start_;
    std::function<void(const std::string&)> late_;
};

}  // namespace laneway
