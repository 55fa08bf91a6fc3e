#include "laneway/simt/run_deadline.hpp"

#include <sstream>
#include <utility>

#include "laneway/base/error.hpp"

namespace laneway {

run_deadline::run_deadline(double seconds) : seconds_(seconds) {
    if (!(seconds > 0) || seconds > 1e9) throw usage_error("timeout: expected seconds above 0, 1e9 at most");
}

run_deadline run_deadline::from_now(double seconds, std::function<void(const std::string&)> late) {
    run_deadline made(seconds);
    made.start_ = std::chrono::steady_clock::now();
    made.late_ = std::move(late);
    return made;
}

run_deadline run_deadline::untold() const {
    run_deadline same = *this;
    same.late_ = {};
    return same;
}

double run_deadline::left() const {
    if (!start_) return seconds_;
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - *start_;
    if (gone.count() < seconds_) return seconds_ - gone.count();
    std::ostringstream text;
    text << "deadline passed while the devices were set up; the deadline is " << seconds_ << " s";
    if (late_) late_(text.str());
    throw timeout_error(text.str());
}

}  // namespace laneway
