// The answering half of a server: runs handlers that answer, and sends their answers back.
#pragma once

#include "laneway/comm/aggregator.hpp"
#include "laneway/comm/answers.hpp"
#include "laneway/comm/routes.hpp"
#include "laneway/comm/server.hpp"

namespace laneway {

/// Aggregation buffers for replies of one type; nothing where no handler answers with it.
template <class Ctx, class Message, bool Used>
struct reply_aggregator {
    LANEWAY_FN reply_aggregator(Ctx&, const links_ref&, std::size_t, std::uint32_t, std::byte*&) {}
};

template <class Ctx, class Message>
struct reply_aggregator<Ctx, Message, true> : aggregator<Ctx, Message> {
    LANEWAY_FN reply_aggregator(Ctx& ctx, const links_ref& replies, std::size_t chunk_bytes, std::uint32_t kind,
                                std::byte*& shared)
        : aggregator<Ctx, Message>(ctx, replies, chunk_shape<Message>::fitting(chunk_bytes), kind, shared) {
        shared += chunk_shape<Message>::fitting(chunk_bytes).shared_bytes(ctx.n_pes());
    }
};

template <class Ctx, class Routes, class Idle>
class responder;

/// One serving lane's part. `idle()` must serve arrived replies: then space for replies always comes.
template <class Ctx, class... M, class... H, class Idle>
class responder<Ctx, routes<route<M, H>...>, Idle>
    : reply_aggregator<Ctx, M, route_list<routes<route<M, H>...>>::template is_reply<M>>... {
    using routes_type = routes<route<M, H>...>;
    using list = route_list<routes_type>;
    template <class Message>
    using aggregator_for = reply_aggregator<Ctx, Message, list::template is_reply<Message>>;

public:
    LANEWAY_FN responder(Ctx& ctx, const links_ref& replies, std::size_t chunk_bytes,
                         const delivery<routes_type>& handlers, const answers_ref& answers, Idle idle,
                         std::byte* shared)
        : aggregator_for<M>(ctx, replies, chunk_bytes, list::template kind<M>, shared)..., links_(replies),
          handlers_(handlers), answers_(answers), idle_(idle) {}

    /// Prepares the aggregation buffers; all lanes of the block call it, and a block barrier must follow.
    LANEWAY_FN void open(Ctx& ctx) {
        each([&](auto& part) {
            part.open(ctx);
            return status::ok;
        });
    }

    /// Runs the handlers of a chunk's requests. The whole warp, together. May wait for space for replies.
    template <class Message, answering Handler>
    LANEWAY_FN void serve(Ctx& ctx, int source, const arrived_chunk& chunk) {
        using answer_type = typename Handler::answer;
        constexpr lane_mask all = full_warp<Ctx>;
        for (std::uint32_t row = 0; row < chunk.label.messages(); row += Ctx::warp_lanes) {
            const std::uint32_t i = row + static_cast<std::uint32_t>(ctx.lane());
            bool posted = false;
            answer_type answer{};
            const auto run = [&](const request<Message>& asked) {
                answer = handlers_.run(ctx, source, asked.message);
                if (threw(ctx)) return;  // there is no answer
                posted = asked.token == 0;
                if (!posted) answers_.give(ctx, source, asked.token, answer);
            };
            if (i < chunk.label.messages()) chunk.use<request<Message>>(ctx, i, run);
            if constexpr (list::template has<answer_type>) {
                const lane_mask replying = ctx.ballot(all, posted);
                if (replying == 0) continue;
                // Before the request counts as served, and before the reply can be, which may travel without a fence:
                // so it is put when the atomic has answered. The highest bit of the count is 0.
                const std::uint64_t before = once(ctx, all, [&] {
                    return ctx.fetch_add(&links_.work->replied, static_cast<std::uint32_t>(Ctx::count_lanes(replying)),
                                         order::relaxed, scope::device);
                });
                aggregator_for<answer_type>& out = *this;
                if (out.put(ctx, all, posted && before >> 63 == 0, source, answer, idle_) != status::ok) return;
            }
        }
    }

    /// For a serving warp that has nothing to do: sends replies while the way is free. The whole warp, together.
    LANEWAY_FN void flush_ready(Ctx& ctx) {
        each([&](auto& part) { return part.flush_ready(ctx, full_warp<Ctx>, idle_); });
    }

private:
    template <class Message, class Use>
    LANEWAY_FN bool on(Use& use) {
        if constexpr (list::template is_reply<Message>) {
            return use(static_cast<aggregator<Ctx, Message>&>(static_cast<aggregator_for<Message>&>(*this))) ==
                   status::ok;
        } else {
            return true;
        }
    }
    template <class Use>
    LANEWAY_FN void each(Use&& use) {
        (void)(on<M>(use) && ...);
    }

    const links_ref& links_;
    const delivery<routes_type>& handlers_;
    const answers_ref& answers_;
    Idle idle_;
};

}  // namespace laneway
