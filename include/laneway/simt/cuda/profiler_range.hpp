// Named ranges that NVIDIA's profilers show.
#pragma once

namespace laneway {

/// From its construction to its end, on the thread that made it and nested as objects are. Without a profiler, or in a
/// build without CUDA, it does nothing. Host.
class profiler_range {
public:
    explicit profiler_range(const char* name);
    ~profiler_range();
    profiler_range(const profiler_range&) = delete;
    profiler_range& operator=(const profiler_range&) = delete;
};

}  // namespace laneway
