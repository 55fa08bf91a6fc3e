// Bounded waits. Nothing in the library spins except through bounded_spin.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/simt/pe_timeline.hpp"

namespace laneway {

/// Names a wait for the fault record.
struct wait_site {
    operation what = operation::user_code;
    int peer = -1;
    std::uint64_t number = 0;  ///< as words_of tells it
    std::uint64_t limit = 0;   ///< see fault_record
};

/// Writes down that a wait goes on. `noted`: what the last call for this wait has returned, 0 before. Any lane.
template <class Ctx>
LANEWAY_SLOW std::uint32_t note_wait(Ctx ctx, wait_site site, std::uint32_t noted) {
    pe_timeline& log = *ctx.environment().timeline;
    const bool begins = noted == 0;
    if (begins) {
        const std::uint64_t before = ctx.fetch_add(&log.n_waits, 1, order::relaxed, scope::device);
        noted = before < timeline_wait::max_claim ? static_cast<std::uint32_t>(before) + 1 : timeline_wait::max_claim;
    }
    const std::uint64_t n = noted - 1;
    if (n % thinning::stride(n, log.max_waits) != 0 || noted == timeline_wait::max_claim) return noted;
    timeline_wait& record = log.waits[thinning::place(n, log.max_waits)];
    const auto write = [&]<class Word>(Word& word, Word value) {
        ctx.store(&word, value, order::relaxed, scope::device);
    };
    const std::uint64_t now = ctx.now_ns();
    if (begins) {
        write(record.start_ns, now);
        write(record.number, site.number);
        write(record.what, static_cast<std::uint32_t>(site.what));
        write(record.peer, static_cast<std::int32_t>(site.peer));
        write(record.block, static_cast<std::uint32_t>(ctx.block()));
        write(record.warp_lane, static_cast<std::uint32_t>(ctx.warp() << 16 | ctx.lane()));
        write(record.claim, std::uint64_t{noted});
    } else if (ctx.load(&record.claim, order::relaxed, scope::device) != noted) {
        return noted;  // a later wait has its place
    }
    write(record.end_ns, now);
    return noted;
}

/// The bound of one wait: call next() between two looks.
class bounded_spin {
public:
    /// `max_patience`: of the pauses. Little where lanes look at words of their own block.
    LANEWAY_FN explicit bounded_spin(unsigned max_patience = 6) : max_patience_(max_patience) {}

    /// Pauses. Returns ok to look again, stopped when the run is ending, or timeout after reporting a fault.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN status next(Ctx& ctx, const wait_site& site) {
        if (++spins_ % 16 == 0) {
            const std::uint32_t told = ctx.load(&ctx.environment().control->stop, order::relaxed, scope::device);
            if (told == stop_word::ends) return status::stopped;
            // A lane that waits for an aggregation buffer waits for another that waits for the cause, which names it.
            const std::uint64_t grace = site.what == operation::aggregate ? ctx.environment().timeout_ns / 32 : 0;
            if (told == stop_word::deadline || ctx.now_ns() > ctx.deadline_ns() + grace) {
                return fail(ctx, status::timeout, site.what, site.peer, site.number, site.limit);
            }
            if (ctx.environment().timeline != nullptr && spins_ >= timeline_wait::min_looks) note(ctx, site);
        }
        // Long waits look less often: a thousand warps that poll one word, over PCIe above all, slow down its writer.
        ctx.pause(spins_ / 16 < max_patience_ ? spins_ / 16 : max_patience_);
        return status::ok;
    }

private:
    /// From min_looks on, where patience is at its end, the looks need no count but for the last 16: so what is above
    /// these bits is the place in the timeline, without a register of its own.
    template <class Ctx>
    LANEWAY_FN void note(Ctx& ctx, const wait_site& site) {
        const unsigned before = spins_ < noting ? 0 : (spins_ - noting) / 16 - 1;
        spins_ = noting + 16 * note_wait(ctx, site, before);
    }

    static constexpr unsigned noting = 1u << 31;
    static_assert(timeline_wait::min_looks % 16 == 0);

    unsigned max_patience_;
    unsigned spins_ = 0;
};

/// Waits until `done()` holds. Any lane; lanes wait independently. Calls `idle()` between looks, which may do work that
/// the awaited event depends on. Returns ok, stopped (the run is ending), or timeout after reporting a fault.
template <class Ctx, class Done, class Idle>
[[nodiscard]] LANEWAY_FN status wait_until(Ctx& ctx, const wait_site& site, Done&& done, Idle&& idle) {
    bounded_spin spin;
    while (!done()) {
        idle();
        const status going = spin.next(ctx, site);
        if (going != status::ok) return going;
    }
    return status::ok;
}

template <class Ctx, class Done>
[[nodiscard]] LANEWAY_FN status wait_until(Ctx& ctx, const wait_site& site, Done&& done) {
    return wait_until(ctx, site, static_cast<Done&&>(done), [] {});
}

/// The same for lanes that wait together: the elected one looks, and all of the mask call `idle()` between looks, so
/// that it may be a collective. Called by exactly the lanes of the mask; all get the same answer, stopped in place of
/// timeout but for the elected lane's fault record. What `done` acquired is visible to all of them.
template <class Ctx, class Done, class Idle>
[[nodiscard]] LANEWAY_FN status wait_together(Ctx& ctx, lane_mask mask, const wait_site& site, Done&& done,
                                              Idle&& idle) {
    enum : std::uint32_t { again, over, ended };
    bounded_spin spin;
    for (;;) {
        const auto seen = once(ctx, mask, [&]() -> std::uint32_t {
            if (done()) return over;
            return spin.next(ctx, site) == status::ok ? again : ended;
        });
        if (seen != again) {
            ctx.sync(mask);
            return seen == over ? status::ok : status::stopped;
        }
        idle();
    }
}

}  // namespace laneway
