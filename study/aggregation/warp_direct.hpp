// SIMT-direct aggregation at warp width: the lanes that arrive together are grouped by destination and write into
// aggregation buffers in PE memory, which several blocks share (Orr 2016, section 3.3: figure 3-6 with a wavefront as
// the SIMT group).
#pragma once

#include "buffer_sets.hpp"

namespace laneway::study {

template <class Message>
struct warp_direct {
    using memory = buffer_sets<Message>;
    using view = buffer_sets_view;

    /// Warps of a block of `warps` that help: one looks after the age of messages.
    static int helper_warps(const study_options&, int) { return 1; }
    static std::size_t shared_bytes(chunk_shape<Message>, int, int) { return 0; }

    template <class Ctx, class Idle>
    class agent {
    public:
        static constexpr bool meets = false;

        LANEWAY_FN agent(Ctx& ctx, const view& sets, const links_ref& links, chunk_shape<Message> shape, std::byte*,
                         const place& mine, Idle idle)
            : sets_(sets), links_(links), shape_(shape),
              buffers_(ctx, links, shape, 0, sets.of_block(mine.worker_block)), idle_(idle) {}

        LANEWAY_FN void open(Ctx&) {}
        LANEWAY_FN status post(Ctx& ctx, bool active, int pe, const Message& message) {
            return buffers_.put(ctx, ctx.converged(), active, pe, message, idle_);
        }
        LANEWAY_FN void finish(Ctx&) {}
        LANEWAY_FN void turn(Ctx& ctx) { (void)buffers_.flush_old(ctx, full_warp<Ctx>, idle_); }
        LANEWAY_FN status drain(Ctx& ctx) { return sets_.drain(ctx, links_, shape_, idle_); }

    private:
        const view& sets_;
        const links_ref& links_;
        chunk_shape<Message> shape_;
        aggregator<Ctx, Message, scope::device> buffers_;
        Idle idle_;
    };
};

}  // namespace laneway::study
