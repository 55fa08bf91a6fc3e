// Rounds alone: the end is never told while work is open anywhere, and thresholds rise as far as they must.
#pragma once

#include "laneway/comm/comm_resources.hpp"
#include "laneway/comm/grid.hpp"
#include "laneway/comm/termination.hpp"
#include "laneway/transport/transport.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Work of one PE in its own memory.
struct hop_words {
    std::uint64_t created;
    std::uint64_t completed;
    std::uint64_t hops;       ///< tokens handed on or ended here
    std::uint64_t threshold;  ///< as applied last
    std::uint64_t rises;
    std::uint64_t fallen;  ///< thresholds lower than one before
};

struct hop_counters {
    hop_words* words;
    std::uint64_t needs;  ///< work is deferred until the threshold is above this
    static constexpr bool non_generating = false;

    template <class Ctx>
    LANEWAY_FN keyed_reply look(Ctx& ctx) const {
        keyed_reply now;
        now.completed = ctx.load(&words->completed, order::acquire, scope::device);
        now.created = ctx.load(&words->created, order::relaxed, scope::device);
        now.deferred =
            ctx.load(&words->threshold, order::relaxed, scope::device) <= needs ? now.created - now.completed : 0;
        if (now.deferred != 0) now.least = needs;
        return now;
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx& ctx, std::uint64_t threshold) const {
        if (threshold < words->threshold) ++words->fallen;
        ++words->rises;
        ctx.store(&words->threshold, threshold, order::release, scope::device);
    }
};

/// A token goes round the PEs: each counts it as created before it hands it on, and its own as completed afterwards.
/// Whoever has it gives errands to the next PE, which makes nothing new of them. A token is open all the time, so a
/// detection that adds up counters of different moments ends too early: it may see errands run and not yet given. It
/// begins and ends at the last PE, so that a detection without the PEs farthest below the coordinator sees nothing
/// open.
struct hop_program {
    static constexpr int cuda_warps = 2;

    termination_ref termination;
    hop_words* words = nullptr;
    std::uint64_t* inbox = nullptr;   ///< this PE's: tokens, then errands given to it so far
    std::uint64_t* sender = nullptr;  ///< the next PE's
    std::uint64_t hops = 0;           ///< of this PE
    bool starts = false;
    std::uint64_t needs = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || (ctx.warp() != 0 && Ctx::warp_lanes == 1)) return;
        termination_detector<Ctx, hop_counters> control(ctx, termination, {words, needs});
        const bool works = Ctx::warp_lanes == 1 || (ctx.warp() == 1 && ctx.lane() == 0);
        done_here mine;
        for (;;) {
            if (ctx.warp() == 0) control.turn(ctx);
            if (works) hop(ctx, mine);
            const std::uint32_t ended = once(ctx, full_warp<Ctx>, [&]() -> std::uint32_t {
                return termination.has_finished(ctx) || stopped(ctx) ? 1 : 0;
            });
            if (ended != 0) break;
            ctx.pause();
        }
        if (works) words->hops = mine.tokens;
    }

private:
    static constexpr std::uint64_t errands = 3;

    /// Of this PE's worker: tokens handed on, errands sent, errands of others run.
    struct done_here {
        std::uint64_t tokens = 0;
        std::uint64_t sent = 0;
        std::uint64_t run = 0;
    };

    template <class Ctx>
    LANEWAY_FN void hop(Ctx& ctx, done_here& mine) const {
        if (ctx.load(inbox + 1, order::acquire, scope::system) > mine.run) {
            ++mine.run;
            ctx.fetch_add(&words->completed, 1, order::release, scope::device);
        }
        if (mine.tokens == hops || ctx.load(&words->threshold, order::acquire, scope::device) <= needs) return;
        if (ctx.load(inbox, order::acquire, scope::system) + (starts ? 1 : 0) <= mine.tokens) return;
        const bool last = starts && mine.tokens + 1 == hops;  // the token comes home and ends
        if (!last) {
            // The next PE's work is counted here, before it can be seen there.
            ctx.fetch_add(&words->created, 1, order::relaxed, scope::device);
            if (mine.sent < errands * (mine.tokens + 1)) {
                ctx.store(sender + 1, ++mine.sent, order::release, scope::system);
                return;
            }
            ctx.store(sender, mine.tokens + 1, order::release, scope::system);
        }
        ctx.fetch_add(&words->completed, 1, order::release, scope::device);
        ++mine.tokens;
    }
};

class termination_test : public testing::TestWithParam<std::string> {};

inline std::vector<hop_words> run_hops(const options& o, std::uint64_t laps, const threshold_policy& policy,
                                       std::uint64_t needs) {
    machine machine(o.devices, o.seed, {}, nullptr, o.transport);
    const auto pes = static_cast<std::size_t>(machine.n_pes());
    launch_shape shape = small_grid(machine);
    shape.warps_per_block = machine.device(0)->id().kind == device_kind::cpu && !machine.has_gpus() ? 1 : 2;
    std::vector<pe_grid> grids;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const bool one_lane = shape.warps_per_block == 1;
        grids.push_back({shape, one_lane ? 0 : 1, false, one_lane ? device_kind::cpu : device_kind::checked});
    }
    comm_resources resources(machine, o, plan_comm(o, std::vector<pe_outline>(pes), {64}, [&](std::uint32_t bytes) {
                                 return comm_draft{{bytes}, grids};
                             }));
    std::vector<buffer<hop_words>> words;
    std::vector<std::shared_ptr<std::byte>> inboxes;
    for (std::size_t p = 0; p < pes; ++p) {
        words.emplace_back(machine.device(static_cast<int>(p)), 1);
        const hop_words start{p + 1 == pes ? 1u : 0u, 0, 0, policy.first, 0, 0};
        words.back().copy_in(&start, 1);
        const auto& source = machine.device(static_cast<int>((p + pes - 1) % pes));
        const auto& own = machine.device(static_cast<int>(p));
        inboxes.push_back(find_transport(*source, *own).allocate(source, own, 2 * sizeof(std::uint64_t)));
    }
    run_programs(machine, shape, o.timeout_seconds, [&](int pe) {
        const auto p = static_cast<std::size_t>(pe);
        hop_program made;
        made.termination = resources.termination(pe, policy);
        made.words = words[p].data();
        made.inbox = reinterpret_cast<std::uint64_t*>(inboxes[p].get());
        made.sender = reinterpret_cast<std::uint64_t*>(inboxes[(p + 1) % pes].get());
        made.starts = p + 1 == pes;
        made.hops = made.starts ? laps + 1 : laps;
        made.needs = needs;
        return made;
    });
    std::vector<hop_words> ends;
    for (const auto& w : words) ends.push_back(w.copy_out()[0]);
    return ends;
}

TEST_P(termination_test, TheEndIsNotToldWhileATokenGoesRound) {
    every_round(GetParam(), [&](const options& o) {
        const std::uint64_t laps = 1 + o.seed % 7;
        const auto ends = run_hops(o, laps, {}, 0);
        for (std::size_t p = 0; p < ends.size(); ++p) {
            EXPECT_EQ(ends[p].hops, laps + (p + 1 == ends.size() ? 1 : 0)) << "PE " << p;
        }
    });
}

TEST_P(termination_test, ThresholdsRiseOverWideGapsInFewSteps) {
    every_round(GetParam(), [&](const options& o) {
        const auto ends = run_hops(o, 2, {10, 10, 0}, 1'000'000);
        for (const hop_words& end : ends) {
            EXPECT_GT(end.threshold, 1'000'000u);
            EXPECT_EQ(end.fallen, 0u);
            EXPECT_LE(end.rises, 3u) << "empty steps are left out";
        }
        EXPECT_EQ(ends.back().hops, 3u);
    });
}

TEST_P(termination_test, ThresholdsOfTheWholeRangeAreReached) {
    options o = options_of(GetParam(), 0);
    const auto ends = run_hops(o, 1, {1, 1, 0}, ~std::uint64_t{0} - 1);
    EXPECT_EQ(ends.back().threshold, ~std::uint64_t{0});
    EXPECT_EQ(ends.back().hops, 2u);
}

LANEWAY_ON_DEVICES(termination_test, with_proxies(device_lists()));

}  // namespace laneway::test
