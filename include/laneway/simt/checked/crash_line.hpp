// The last line of a checked run that crashes: which lane it was, and what it ran into. Host only.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace laneway::checked {

class lane_history;

/// What runs on a thread at the moment of a crash.
struct crash_scene {
    const lane_history* lane = nullptr;  ///< null: a host thread's fiber
    std::uintptr_t stack = 0;            ///< lowest address; the guard lies below
};

/// While it lives, a segmentation fault of this thread first writes one line to standard error, then does what it would
/// have done: ends the process, mostly. What other threads do is left as it was. Other code may have had its own
/// handler, which then follows.
class crash_watch {
public:
    /// `scene` tells what runs; it is called in a signal handler, on this thread.
    explicit crash_watch(crash_scene (*scene)());
    ~crash_watch();
    crash_watch(const crash_watch&) = delete;
    crash_watch& operator=(const crash_watch&) = delete;

private:
    std::unique_ptr<std::byte[]> stack_;  ///< of the handler: that of the lane may have overflowed
    stack_t before_{};
};

}  // namespace laneway::checked
