// What lanes of CPU devices have thrown, on its way to the host. Host only.
#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "laneway/simt/user_code.hpp"

namespace laneway {

/// Base of exceptions that the library throws through an application to end a lane: whoever catches them there passes
/// them on.
struct ends_lane {};

/// An exception, and the lane and the code that threw it.
struct thrown_in_lane {
    int pe = 0;
    int block = 0;
    int warp = 0;
    int lane = 0;
    user_code what;
    std::exception_ptr exception;
};

/// The first exception of a run. Any thread.
class thrown_log {
public:
    void clear();
    /// Later ones are dropped.
    void keep(thrown_in_lane thrown);
    /// The same for one of the library's own, which says where it comes from and keeps its type.
    void keep_as_it_is(std::exception_ptr thrown);

    [[nodiscard]] bool any() const;
    /// What rethrow() would say, given the names of all PEs' devices; empty where there is nothing.
    [[nodiscard]] std::string text(const std::vector<std::string>& devices) const;
    /// Throws what was kept, if anything was: lane_error with the exception nested in it, or one of the library's own.
    void rethrow(const std::vector<std::string>& devices) const;

private:
    [[nodiscard]] thrown_in_lane first() const;

    mutable std::mutex mutex_;
    thrown_in_lane first_;
    bool as_it_is_ = false;
};

}  // namespace laneway
