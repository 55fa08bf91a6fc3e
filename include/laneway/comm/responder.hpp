// The answering half of a server: runs handlers that answer, and sends their answers back.
#pragma once

#include "laneway/comm/answers.hpp"
#include "laneway/comm/block_aggregation.hpp"
#include "laneway/comm/shared_buffers.hpp"

namespace laneway {

/// Aggregation buffers for replies that chunks of one type carry; nothing where none does.
template <class Ctx, class Carried, class Handler, bool Used>
struct reply_aggregator {
    LANEWAY_FN reply_aggregator(Ctx&, const links_ref&, std::size_t, std::uint32_t, std::byte*&) {}
};

template <class Ctx, class Carried, class Handler>
struct reply_aggregator<Ctx, Carried, Handler, true> : aggregator_of<Ctx, Carried, Handler> {
    using shape = chunk_shape<typename record_of<Carried, Handler>::type>;

    LANEWAY_FN reply_aggregator(Ctx& ctx, const links_ref& replies, std::size_t chunk_bytes, std::uint32_t kind,
                                std::byte*& shared)
        : aggregator_of<Ctx, Carried, Handler>(ctx, replies, shape::fitting(chunk_bytes), kind, shared) {
        shared += shape::fitting(chunk_bytes).shared_bytes(ctx.n_pes());
    }
};

/// `Carried`: the routes that chunks are told apart by, see route_list.
template <class Ctx, class Routes, class Idle, class Carried = typename route_list<Routes>::carried>
class responder;

/// One serving lane's part. `idle()` must serve arrived replies: then space for replies always comes.
template <class Ctx, class Routes, class Idle, class... C, class... H>
class responder<Ctx, Routes, Idle, routes<route<C, H>...>>
    : reply_aggregator<Ctx, C, H, route_list<Routes>::template holds_replies<C>>... {
    using list = route_list<Routes>;
    template <class Carried>
    using handler_of_chunk = typename route_list<routes<route<C, H>...>>::template handler<Carried>;
    template <class Carried>
    using aggregator_for =
        reply_aggregator<Ctx, Carried, handler_of_chunk<Carried>, list::template holds_replies<Carried>>;

public:
    LANEWAY_FN responder(Ctx& ctx, const links_ref& replies, [[maybe_unused]] std::size_t chunk_bytes,
                         const delivery<Routes>& handlers, const answers_ref& answers, Idle idle,
                         [[maybe_unused]] std::byte* shared)
        : aggregator_for<C>(ctx, replies, chunk_bytes, route_list<routes<route<C, H>...>>::template kind<C>, shared)...,
          links_(replies), handlers_(handlers), answers_(answers), idle_(idle) {}

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
        for (std::uint32_t row = 0; row < chunk.label.messages(); row += Ctx::warp_lanes) {
            const std::uint32_t i = row + static_cast<std::uint32_t>(ctx.lane());
            const auto ask = [&](const auto& run) {
                if (i >= chunk.label.messages()) return;
                chunk.use<request<Message>>(ctx, i,
                                            [&](const request<Message>& asked) { run(asked.message, asked.token); });
            };
            if (!answer<Handler>(ctx, source, ask)) return;
        }
    }

    /// The same for a chunk of messages that share aggregation buffers, whether or not they are requests.
    template <class Shape>
    LANEWAY_FN void serve_shared(Ctx& ctx, int source, const arrived_chunk& chunk, Shape shape) {
        const auto run_all = [&]<class Message, class Handler>(bool has, const auto& message, std::uint64_t token) {
            if constexpr (answering<Handler>) {
                (void)answer<Handler>(ctx, source, [&](const auto& run) {
                    if (has) run(message(), token);
                });
            } else {
                if (has) handlers_.run(ctx, source, message());
            }
        };
        laneway::serve_shared<list>(ctx, chunk, shape.messages(), run_all);
    }

    /// For a serving warp that has nothing to do: sends replies while the way is free. The whole warp, together.
    LANEWAY_FN void flush_ready(Ctx& ctx) {
        each([&](auto& part) { return part.flush_ready(ctx, full_warp<Ctx>, idle_); });
    }

private:
    /// Answers the requests of one type that lanes have: `ask(run)` calls `run(message, token)` on each lane that has
    /// one. False when the run ends. The whole warp, together.
    template <answering Handler, class Ask>
    LANEWAY_FN bool answer(Ctx& ctx, int source, Ask&& ask) {
        using answer_type = typename Handler::answer;
        constexpr lane_mask all = full_warp<Ctx>;
        bool posted = false;
        answer_type given{};
        ask([&](const auto& message, std::uint64_t token) {
            given = handlers_.run(ctx, source, message);
            if (threw(ctx)) return;  // there is no answer
            posted = token == 0;
            if (!posted) answers_.give(ctx, source, token, given);
        });
        if constexpr (list::template has<answer_type>) {
            const lane_mask replying = ctx.ballot(all, posted);
            if (replying == 0) return true;
            // Before the request counts as served, and before the reply can be, which may travel without a fence:
            // so it is put when the atomic has answered. The highest bit of the count is 0.
            const std::uint64_t before = once(ctx, all, [&] {
                return ctx.fetch_add(&links_.work->replied, static_cast<std::uint32_t>(Ctx::count_lanes(replying)),
                                     order::relaxed, scope::device);
            });
            return reply(ctx, posted && before >> 63 == 0, source, given) == status::ok;
        }
        return true;
    }

    /// Sends the replies of the lanes that have one to a PE. The whole warp, together.
    template <class Answer>
    LANEWAY_FN status reply(Ctx& ctx, bool active, int pe, const Answer& given) {
        if constexpr (list::template shares<Answer>) {
            aggregator_for<typename list::shared>& out = *this;
            return out.put_variable(ctx, full_warp<Ctx>, active, pe, shared_of<list>(given, 0), idle_);
        } else {
            aggregator_for<Answer>& out = *this;
            return out.put(ctx, full_warp<Ctx>, active, pe, given, idle_);
        }
    }

    template <class Carried, class Use>
    LANEWAY_FN bool on(Use& use) {
        if constexpr (list::template holds_replies<Carried>) {
            return use(static_cast<aggregator_of<Ctx, Carried, handler_of_chunk<Carried>>&>(
                       static_cast<aggregator_for<Carried>&>(*this))) == status::ok;
        } else {
            return true;
        }
    }
    template <class Use>
    LANEWAY_FN void each(Use&& use) {
        (void)(on<C>(use) && ...);
    }

    const links_ref& links_;
    const delivery<Routes>& handlers_;
    const answers_ref& answers_;
    Idle idle_;
};

}  // namespace laneway
