// Work that lanes of a block have done. It is made known to the PE when the messages that it posted have left the
// block's aggregation buffers: whoever counts it as done then finds them counted as sent.
#pragma once

#include "laneway/comm/links.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// In shared memory: work of a block that is not yet made known.
struct alignas(16) done_words {
    std::uint64_t completed;
    std::uint64_t forwarded;
};

/// One lane's access. Members that take a mask are called by exactly the lanes of the mask, together.
template <class Ctx>
class done_work {
public:
    /// `completed`: where work items of the block are counted, in PE memory.
    LANEWAY_FN done_work(done_words& unpublished, std::uint64_t* completed, work_counters& work)
        : unpublished_(unpublished), completed_(completed), work_(work) {}

    /// One lane of the block, before use; a block barrier must follow.
    LANEWAY_FN void open() { unpublished_ = done_words{}; }

    /// Work items, and posts of handlers that have been sent. Any lane; cheap, does not wait. `told`: behind_fence,
    /// where a release shared_fence of the device stands before it.
    LANEWAY_FN void complete(Ctx& ctx, std::uint64_t items, order told = order::release) {
        add(ctx, unpublished_.completed, completed_, items, told);
    }
    LANEWAY_FN void forward(Ctx& ctx, std::uint64_t posts) {
        add(ctx, unpublished_.forwarded, &work_.forwarded, posts, order::release);
    }

    /// Whether something is not yet known. Cheap: thousands of warps that have no work ask again and again.
    [[nodiscard]] LANEWAY_FN bool any(Ctx& ctx, lane_mask mask) const {
        return once(ctx, mask, [&] {
            return ctx.load(&unpublished_.completed, order::relaxed, scope::block) != 0 ||
                   ctx.load(&unpublished_.forwarded, order::relaxed, scope::block) != 0;
        });
    }

    /// Makes known what has been unpublished, if `all_left()`: every message of the block has left. A collective.
    template <class AllLeft>
    LANEWAY_FN void tell(Ctx& ctx, lane_mask mask, AllLeft&& all_left) {
        const std::uint64_t items = take(ctx, mask, unpublished_.completed);
        const std::uint64_t forwards = take(ctx, mask, unpublished_.forwarded);
        if (items == 0 && forwards == 0) return;
        ctx.sync(mask);  // what the elected lane has acquired is visible to those that look
        const bool left = all_left();
        if (!elected(ctx, mask)) return;
        if (left) {
            publish(ctx, completed_, items);
            publish(ctx, &work_.forwarded, forwards);
        } else {
            // Partner: the exchange in take.
            ctx.fetch_add(&unpublished_.completed, items, order::release, scope::block);
            ctx.fetch_add(&unpublished_.forwarded, forwards, order::release, scope::block);
        }
    }

private:
    LANEWAY_FN void add(Ctx& ctx, std::uint64_t& unpublished, std::uint64_t* known, std::uint64_t items, order told) {
        if (ctx.n_pes() == 1) {
            publish(ctx, known, items, told);
        } else {
            // Partner: the exchange in take.
            ctx.fetch_add(&unpublished, items, told, scope::block);
        }
    }

    LANEWAY_FN std::uint64_t take(Ctx& ctx, lane_mask mask, std::uint64_t& unpublished) {
        // Partner: the release add in add. The messages of this work are in aggregation buffers that all_left covers.
        return once(ctx, mask, [&]() -> std::uint64_t {
            if (ctx.load(&unpublished, order::relaxed, scope::block) == 0) return 0;
            return ctx.exchange(&unpublished, 0, order::acquire, scope::block);
        });
    }

    LANEWAY_FN static void publish(Ctx& ctx, std::uint64_t* known, std::uint64_t items, order told = order::release) {
        // Partner: the acquire load of pe_counters. What the items created has been counted before.
        if (items != 0) ctx.fetch_add(known, items, told, scope::device);
    }

    done_words& unpublished_;
    std::uint64_t* completed_;
    work_counters& work_;
};

}  // namespace laneway
