// Ending a run from device code: the fault record and the stop word.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// Whether the run is being stopped. Any lane, at any time; no wait. Relaxed: the word carries no
/// data.
template <class Ctx>
LANEWAY_FN bool stopped(Ctx& ctx) {
    return ctx.load(&ctx.environment().control->stop, order::relaxed, scope::device) != stop_word::none;
}

/// Whether it is ending for good. Where it is not, though it is stopped, its deadline has passed, and lanes that wait
/// tell what for.
template <class Ctx>
LANEWAY_FN bool ends_now(Ctx& ctx) {
    return ctx.load(&ctx.environment().control->stop, order::relaxed, scope::device) == stop_word::ends;
}

/// What fail() does. A function of its own on GPUs, where it would be a large part of the code of many loops.
template <class Ctx>
LANEWAY_SLOW void record_failure(Ctx& ctx, status code, operation what, int peer, std::uint64_t number,
                                 std::uint64_t limit) {
    const auto& env = ctx.environment();
    if (ctx.exchange(&env.control->fault_claim, 1u, order::relaxed, scope::device) == 0) {
        fault_record& record = *env.fault;
        record.code = code;
        record.what = what;
        record.pe = ctx.pe();
        record.block = ctx.block();
        record.warp = ctx.warp();
        record.lane = ctx.lane();
        record.peer = peer;
        record.number = number;
        record.limit = limit;
        // Partner: the host's acquire load of `written`.
        ctx.store(&record.written, 1u, order::release, scope::system);
    }
    ctx.store(&env.control->stop, stop_word::ends, order::relaxed, scope::device);
}

/// Reports a fault and stops the run. Any lane; the first of a PE wins, later ones change nothing. Returns `code`.
/// `number` and `limit`: see fault_record. A handler of an application that gives up says
/// `fail(ctx, status::handler_failed, operation::user_code, -1, number)`, with a number of its own.
template <class Ctx>
LANEWAY_FN status fail(Ctx& ctx, status code, operation what, int peer = -1, std::uint64_t number = 0,
                       std::uint64_t limit = 0) {
    if constexpr (compiled_for_host) {
        record_failure(ctx, code, what, peer, number, limit);
    } else {
        Ctx here(ctx);  // one whose address is taken would lie in memory
        record_failure(here, code, what, peer, number, limit);
    }
    return code;
}

}  // namespace laneway
