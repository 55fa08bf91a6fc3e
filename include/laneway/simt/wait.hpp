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

/// Whether what is waited for may still come: ok, stopped when the run is ending, or timeout after reporting a fault.
template <class Ctx>
[[nodiscard]] LANEWAY_FN status check_deadline(Ctx& ctx, const wait_site& site) {
    const std::uint32_t told = ctx.load(&ctx.environment().control->stop, order::relaxed, scope::device);
    if (told == stop_word::ends) return status::stopped;
    // A lane that waits for an aggregation buffer waits for another that waits for the cause, which names it.
    const std::uint64_t grace = site.what == operation::aggregate ? ctx.environment().timeout_ns / 32 : 0;
    if (told == stop_word::deadline || ctx.is_late(grace)) {
        return fail(ctx, status::timeout, site.what, site.peer, site.number, site.limit);
    }
    return status::ok;
}

/// How long behind the deadline a run goes on, so that those that wait tell what for. A thread may have no core for a
/// second. Before machine::watch tells all lanes that the time is over.
template <class Ctx>
[[nodiscard]] LANEWAY_FN constexpr std::uint64_t time_for_cause_ns(std::uint64_t timeout_ns) {
    constexpr std::uint64_t least = Ctx::warp_lanes == 1 ? 1'000'000'000 : 0;
    return timeout_ns / 16 > least ? timeout_ns / 16 : least;
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
            const status going = check_deadline(ctx, site);
            if (going != status::ok) return going;
            pe_timeline* const log = ctx.environment().timeline;
            if (log != nullptr && spins_ >= timeline_wait::min_looks) note(ctx, log, site);
        }
        // Long waits look less often: a thousand warps that poll one word, over PCIe above all, slow down its writer.
        ctx.pause(spins_ / 16 < max_patience_ ? spins_ / 16 : max_patience_, spins_ > 1);
        return status::ok;
    }

private:
    /// Writes down that the wait goes on. In line and without a call, and with no register of its own: from min_looks
    /// on, where patience is at its end, looks need no count but for the last 16, so the bits above hold the claim.
    template <class Ctx>
    LANEWAY_FN void note(Ctx& ctx, pe_timeline* log, const wait_site& site) {
        const auto write = [&]<class Word>(Word& word, std::type_identity_t<Word> value) {
            ctx.store(&word, value, order::relaxed, scope::device);
        };
        const bool begins = spins_ < noting;
        if (begins) {
            const std::uint64_t before = ctx.fetch_add(&log->n_waits, 1, order::relaxed, scope::device);
            spins_ = noting + 16 * static_cast<std::uint32_t>(before % timeline_wait::max_claims);
        } else {
            spins_ -= 16;
        }
        const std::uint32_t claim = (spins_ - noting) / 16;
        timeline_wait& record = log->waits[claim & (log->max_waits - 1)];
        if (begins) {
            write(record.claim, claim);
            write(record.start_ns, ctx.now_ns());
            write(record.number, site.number);
            write(record.what, static_cast<std::uint32_t>(site.what));
            write(record.peer, site.peer);
            write(record.place, static_cast<std::uint32_t>(ctx.block() << 12 | ctx.warp() << 6 | ctx.lane()));
        }
        // A later wait may have taken its place.
        if (ctx.load(&record.claim, order::relaxed, scope::device) == claim) write(record.end_ns, ctx.now_ns());
    }

    static constexpr unsigned noting = 1u << 31;
    static_assert(timeline_wait::min_looks % 16 == 0);

    unsigned max_patience_;
    unsigned spins_ = 0;
};

/// Whether a word says what is waited for; then all is visible that came before the store that has said so. Any lane;
/// does not wait. Acquired only then: on GPUs an acquire empties the multiprocessor's cache, and with it what its other
/// warps have no registers for, so that looking would slow down those whose work is waited for. There a fence does it,
/// which takes no second way to memory; elsewhere the word is loaded again.
template <class Ctx, class Word, class Holds>
[[nodiscard]] LANEWAY_FN bool has_come(Ctx& ctx, const Word* word, scope s, Holds&& holds) {
    if (!holds(ctx.load(word, order::relaxed, s))) return false;
    if constexpr (!acquires_by_fence<Ctx>) return holds(ctx.load(word, order::acquire, s));
    ctx.fence(order::acquire, s);
    return true;
}
/// The same for a counter that is to reach a value.
template <class Ctx>
[[nodiscard]] LANEWAY_FN bool reaches(Ctx& ctx, const std::uint64_t* word, std::uint64_t value, scope s) {
    return has_come(ctx, word, s, [=](std::uint64_t now) { return now >= value; });
}

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
