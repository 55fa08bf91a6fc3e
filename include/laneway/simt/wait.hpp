// Bounded waits. Nothing in the library spins except through bounded_spin.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Names a wait for the fault record.
struct wait_site {
    operation what = operation::user_code;
    int peer = -1;
    std::uint64_t number = 0;  ///< as words_of tells it
    std::uint64_t limit = 0;   ///< see fault_record
};

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
        }
        // Long waits look less often: a thousand warps that poll one word, over PCIe above all, slow down its writer.
        ctx.pause(spins_ / 16 < max_patience_ ? spins_ / 16 : max_patience_);
        return status::ok;
    }

private:
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
