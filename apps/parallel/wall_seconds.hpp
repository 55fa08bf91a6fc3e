// The host's clock around what a program does.
#pragma once

#include <chrono>

namespace laneway::apps {

/// Seconds that `work()` takes, whatever the host does in between.
template <class Work>
double wall_seconds(Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace laneway::apps
