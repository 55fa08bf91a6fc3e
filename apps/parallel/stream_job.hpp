// Programs whose kernels and copies are put into streams: the grid of their kernels, and the time from a common start.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "laneway/flow/context.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "parallel/wall_seconds.hpp"

namespace laneway::apps {

/// Blocks of a grid all of which are resident at once, whichever of these bodies it runs: a warp that had to wait for
/// others to end would not be computing in that time, as if it were blocked.
template <class... Bodies>
int resident_grid(const device_stream& stream) {
    constexpr int warps = stream_program<int>::cuda_warps;
    if constexpr (compiled_with_cuda) {
        if (stream.device().is_gpu()) {
            launch_shape shape;
            shape.warps_per_block = warps;
            const int gpu = stream.device().id().index;
            return std::min(
                {static_cast<int>(stream.warps()) / warps,
                 cuda_backend::resident_blocks(gpu, shape, cuda_backend::kernel_of<stream_program<Bodies>>())...});
        }
    }
    return 0;  // as many as suit the device
}

/// What streams wait for before anything else, so that their operations are timed from when all have been given.
class common_start {
public:
    [[nodiscard]] const event& mark() const { return mark_; }
    /// Lets them go, and waits for the ends. On GPUs the mark is the host's: their operations are handed over, in
    /// order, when it has come, so that this is part of the time.
    [[nodiscard]] double seconds_until(flow::context& ctx, const std::vector<event>& ends, const std::string& what) {
        return wall_seconds([&] {
            mark_.complete();
            ctx.wait(when_all(ends), what);
        });
    }

private:
    event mark_ = event::pending();
};

}  // namespace laneway::apps
