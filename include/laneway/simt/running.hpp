// A launched program on one PE, as the host watches it.
#pragma once

#include <chrono>

namespace laneway {

class running {
public:
    virtual ~running() = default;
    /// Lets the lanes go, where they wait for that: those of PEs that are launched first would only be in the way of
    /// the others' launch.
    virtual void start() {}
    /// Whether all blocks have ended; waits for that no longer than `wait`.
    [[nodiscard]] virtual bool done(std::chrono::microseconds wait) = 0;
    /// Takes the result of a run that is done; throws what the program threw.
    virtual void join() = 0;
};

}  // namespace laneway
