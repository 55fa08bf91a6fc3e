// Calls that a warp or a block makes as one: one message, one receive, one wait, whoever of them does it.
#pragma once

#include "laneway/comm/two_sided/message_waiting.hpp"
#include "laneway/comm/width.hpp"

namespace laneway {

/// What a call gives.
struct message_result {
    status code = status::ok;
    message_request request;
    message_status got;
    std::uint32_t number = 0;  ///< which, or whether
};

/// In a block's shared memory.
struct alignas(16) shared_call_state {
    std::uint32_t come;      ///< warps that have come to calls of the whole block, of all so far
    std::uint32_t released;  ///< such calls that are over; of the last one:
    message_result result;
};

/// The warp that comes last makes the block's call, as a warp; what the others have stored is seen by it, and what it
/// received by them. A result is read before its warp comes to the next call, and so before it is overwritten.
template <class Ctx, class Out>
class shared_calls {
public:
    LANEWAY_FN shared_calls(Out& out, shared_call_state& state) : out_(out), state_(state) {}

    /// `call(width)` is made by a lane, or by a warp, whose lane 0 then has the result; all lanes get it. `meanwhile()`
    /// is for warps that wait, whole.
    template <class Call, class Meanwhile>
    LANEWAY_FN message_result operator()(Ctx& ctx, width lanes, Call&& call, Meanwhile&& meanwhile) {
        if (lanes == width::lane) return call(width::lane);
        ctx.sync(full_warp<Ctx>);  // what its lanes have stored comes first
        if (lanes == width::warp) return of_lane_0(ctx, call(width::warp));
        return as_block(ctx, call, meanwhile);
    }

private:
    template <class Call, class Meanwhile>
    LANEWAY_FN message_result as_block(Ctx& ctx, Call&& call, Meanwhile&& meanwhile) {
        const auto warps = static_cast<std::uint32_t>(out_.team().warps);
        const std::uint32_t number = ++calls_;
        go_before(ctx, &state_.come);
        // Partner: itself, in other warps: the last one sees what all have stored.
        const std::uint32_t come = once(
            ctx, full_warp<Ctx>, [&] { return ctx.fetch_add(&state_.come, 1u, order::acq_rel, scope::block) + 1; });
        ctx.sync(full_warp<Ctx>);
        message_result result;
        if (come == number * warps) {
            come_behind(ctx, &state_.come);
            result = of_lane_0(ctx, call(width::warp));
            go_before(ctx, &state_.released);
            ctx.sync(full_warp<Ctx>);
            if (ctx.lane() == 0) {
                state_.result = result;
                // Partner: the acquire load below, in other warps.
                ctx.store(&state_.released, number, order::release, scope::block);
            }
            return result;
        }
        const status waited = wait_together(
            ctx, full_warp<Ctx>, {operation::meet_block, -1, number},
            [&] { return ctx.load(&state_.released, order::acquire, scope::block) == number; }, meanwhile);
        if (waited != status::ok) {
            result.code = waited;
            return result;
        }
        come_behind(ctx, &state_.released);
        return state_.result;
    }

    static LANEWAY_FN message_result of_lane_0(Ctx& ctx, const message_result& mine) {
        const auto told = [&](auto value) { return ctx.shuffle(full_warp<Ctx>, value, 0); };
        ctx.sync(full_warp<Ctx>);  // what lane 0 has received is visible to all
        message_result all;
        all.code = static_cast<status>(told(static_cast<std::uint32_t>(mine.code)));
        const std::uint32_t generation = told(mine.request.generation());
        all.request = {told(mine.request.number()), generation, told(mine.request.communicator())};
        all.got.source = told(mine.got.source);
        all.got.tag = told(mine.got.tag);
        all.got.bytes = told(mine.got.bytes);
        all.got.cancelled = told(std::uint32_t{mine.got.cancelled}) != 0;
        all.number = told(mine.number);
        return all;
    }

    Out& out_;
    shared_call_state& state_;
    std::uint32_t calls_ = 0;
};

}  // namespace laneway
