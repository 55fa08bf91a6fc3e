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

/// Writes a record, by the lane that has claimed it.
template <class Ctx>
LANEWAY_FN void write_fault(Ctx& ctx, fault_record& record, status code, operation what, int peer, std::uint64_t number,
                            std::uint64_t limit) {
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

/// Reports a fault and stops the run. Any lane; the first of a PE wins, later ones change nothing. Returns `code`.
/// `number` and `limit`: see fault_record. A handler of an application that gives up says
/// `fail(ctx, status::handler_failed, operation::user_code, -1, number)`, with a number of its own.
template <class Ctx>
LANEWAY_FN status fail(Ctx& ctx, status code, operation what, int peer = -1, std::uint64_t number = 0,
                       std::uint64_t limit = 0) {
    const auto& env = ctx.environment();
    if (ctx.exchange(&env.control->fault_claim, 1u, order::relaxed, scope::device) == 0) {
        write_fault(ctx, *env.fault, code, what, peer, number, limit);
    }
    ctx.store(&env.control->stop, stop_word::ends, order::relaxed, scope::device);
    return code;
}

/// Reports that not all work is done by the deadline, `open` known to be open, and asks the PE's lanes what they wait
/// for, as the host then asks those of all PEs. It has a record of its own: a lane that waits for the cause may not
/// have run since the deadline, and what it reports with fail() says more. Any lane; the first of a PE wins.
template <class Ctx>
LANEWAY_FN void report_deadline(Ctx& ctx, std::uint64_t open = 0) {
    const auto& env = ctx.environment();
    if (ctx.exchange(&env.control->late_claim, 1u, order::relaxed, scope::device) == 0) {
        write_fault(ctx, *env.late, status::timeout, operation::run_to_end, -1, open, 0);
    }
    if (!stopped(ctx)) ctx.store(&env.control->stop, stop_word::deadline, order::relaxed, scope::device);
}

}  // namespace laneway
