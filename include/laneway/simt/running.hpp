// A launched program on one PE, as the host watches it.
#pragma once

#include <chrono>
#include <cstdint>

namespace laneway {

class running {
public:
    virtual ~running() = default;
    /// Lets the lanes go, where they wait for that, with so much time until their deadline. Lanes of CPU devices do:
    /// those of the first PEs would only be in the way of the others' launch. Without any time they end at once.
    virtual void start(std::uint64_t /*timeout_ns*/) {}
    /// Whether all blocks have ended; waits for that no longer than `wait`.
    [[nodiscard]] virtual bool done(std::chrono::microseconds wait) = 0;
    /// Whether a run whose time is over has had what it takes to end; asked again and again. Lanes of CPU devices get a
    /// second of processor time each from the first question on, for longest_held_back at most: on a busy machine they
    /// may have had none in which to see that they shall end. A second, as time in which a virtual processor stood
    /// still may count as theirs.
    [[nodiscard]] virtual bool had_its_chance() { return true; }
    /// Takes the result of a run that is done; throws what the program threw.
    virtual void join() = 0;
};

}  // namespace laneway
