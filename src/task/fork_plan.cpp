#include "laneway/task/fork_plan.hpp"

#include <algorithm>
#include <bit>

#include "laneway/base/error.hpp"

namespace laneway {

fork_join_plan plan_fork_join(const std::vector<channel_plan>& plans, const fork_join_options& options,
                              std::uint32_t useful, bool warps_keep) {
    std::uint32_t least = 1;
    for (const auto& plan : plans) least = std::max(least, plan.options.at_once);
    if (options.levels == 0) throw usage_error("a fork-join program has one level at least");
    constexpr std::uint32_t any_sharers = ~std::uint32_t{0};
    const auto bytes = [&](std::uint32_t width) {
        std::vector<channel_plan> all = plans;
        for (auto& plan : all) plan.options.width = width;
        return channel_memory::bytes_of(all, any_sharers);
    };
    if (options.width != 0) {
        if (options.width < least) {
            throw usage_error("a width of " + std::to_string(options.width) + " is below the minimum, " +
                              std::to_string(least) + ": a function spawns so many at once");
        }
        const std::uint32_t width = std::bit_ceil(options.width);
        return {width, options.memory_bytes - std::min(options.memory_bytes, bytes(width))};
    }
    std::uint32_t width = std::bit_ceil(least);
    if (bytes(width) > options.memory_bytes) {
        throw usage_error(std::to_string(options.memory_bytes) + " bytes for channels are below the minimum, " +
                          std::to_string(bytes(width)) + ": " + std::to_string(options.levels) + " levels of " +
                          std::to_string(width) + " elements of " + std::to_string(plans.size()) + " functions");
    }
    // Where warps keep elements, most never come to a channel.
    const std::uint64_t share = warps_keep ? options.memory_bytes / 4 : options.memory_bytes;
    const std::uint64_t of_channels = std::max(bytes(width), share);
    while (width < useful && bytes(2 * width) <= of_channels) width *= 2;
    return {width, options.memory_bytes - bytes(width)};
}

}  // namespace laneway
