// Walking lists of different lengths, a list a lane: three ways to post from a loop that some lanes leave early.
//
// Orr 2016, table 5-1: the plain loop, software predication, and the loop with a fine-grain barrier.
#pragma once

#include "laneway/simt/wait.hpp"

namespace laneway::study {

/// Whether lanes must say when they will post no more, as those that wait for them would wait for ever.
template <class Box, class Ctx>
concept finishing = requires(Box& box, Ctx& ctx) {
    box.finish(ctx);
};

/// Whether all lanes of a block can walk in step.
template <class Box, class Ctx>
concept predicating = requires(Box& box, Ctx& ctx, std::uint64_t steps) {
    { box.longest(ctx, steps, steps) } -> std::same_as<status>;
};

/// Calls `post_one(i)` for i below `count` until one does not give ok, and tells the box with the last that the lane
/// is done: within the loop, as a lane that waits for its warp behind the loop could tell nothing. Any lane, once a
/// run.
template <class Ctx, class Box, class PostOne>
LANEWAY_FN void walk(Ctx& ctx, Box& box, std::uint64_t count, PostOne&& post_one) {
    if constexpr (finishing<Box, Ctx>) {
        if (count == 0) box.finish(ctx);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        const status posted = post_one(i);
        if constexpr (finishing<Box, Ctx>) {
            if (i + 1 == count || posted != status::ok) box.finish(ctx);
        }
        if (posted != status::ok) return;
    }
}

/// The same with software predication: all lanes of a block walk to the end of its longest list. `post_one(i, active)`
/// posts with box.post_if. All working lanes of the block, once a run.
template <class Ctx, class Box, class PostOne>
requires predicating<Box, Ctx> LANEWAY_FN void walk_predicated(Ctx& ctx, Box& box, std::uint64_t count,
                                                               PostOne&& post_one) {
    std::uint64_t steps = 0;
    if (box.longest(ctx, count, steps) != status::ok) return;
    for (std::uint64_t i = 0; i < steps; ++i) {
        if (post_one(i, i < count) != status::ok) return;
    }
    box.finish(ctx);
}

}  // namespace laneway::study
