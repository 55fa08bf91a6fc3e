// Samples of a PE's counters for the timeline of a run, taken now and then by the control warp: what is counted anyway
// costs those who count it nothing more.
#pragma once

#include "laneway/comm/links.hpp"
#include "laneway/simt/pe_timeline.hpp"
#if !defined(__CUDACC_RTC__)
#include "laneway/simt/checked/context.hpp"
#include "laneway/simt/cpu/context.hpp"
#endif

namespace laneway {

/// Runs on each PE's control warp. Keeps nothing in the lane's registers: what it remembers lies in the log.
template <class Ctx>
class timeline_sampler {
public:
    /// `replies`: their links, where messages bring some.
    LANEWAY_FN timeline_sampler(const links_ref& requests, const links_ref& replies)
        : requests_(requests), replies_(replies) {}

    /// Part of each turn of the control warp; never waits. `open`: as timeline_sample has it. Works on a copy of the
    /// context, as termination_detector::turn does.
    LANEWAY_FN void turn(const Ctx& ctx, std::uint64_t open) const {
        if (ctx.environment().timeline == nullptr) return;
        Ctx here(ctx);
        look(here, open, false);
    }

    /// The last sample: when this PE has been told that nothing is left anywhere, or to stop. The control warp.
    LANEWAY_FN void close(const Ctx& ctx, std::uint64_t open) const {
        if (ctx.environment().timeline == nullptr) return;
        Ctx here(ctx);
        look(here, open, true);
    }

private:
    static constexpr unsigned turns_a_look = 16;  ///< at the clock

    LANEWAY_SLOW void look(Ctx& ctx, std::uint64_t open, bool last) const;

    LANEWAY_FN timeline_sample take(Ctx& ctx, std::uint64_t open) const {
        timeline_sample now;
        now.time_ns = ctx.now_ns();
        now.open = open;
        // Served before sent: what is served has been sent, so on one PE alone the difference is never too small.
        const work_counters& work = *requests_.work;
        const work_before& before = requests_.before;
        now.served = read(ctx, work.served) + read(ctx, work.replies_served) - before.served;
        now.returned = read(ctx, work.returned) - before.returned;
        now.barriers = read(ctx, work.released) - before.released;
        add(ctx, requests_.sent, now);
        if (replies_.sent != nullptr) add(ctx, replies_.sent, now);
        now.sent -= before.sent;
        now.chunks -= before.chunks;
        now.bytes -= before.bytes;
        return now;
    }

    LANEWAY_FN void add(Ctx& ctx, const link_counters* sent, timeline_sample& now) const {
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            now.sent += read(ctx, sent[pe].messages);
            now.chunks += read(ctx, sent[pe].chunks);
            now.bytes += read(ctx, sent[pe].bytes);
        }
    }

    /// Relaxed: each counter by itself only grows, and nothing is concluded from them together.
    static LANEWAY_FN std::uint64_t read(Ctx& ctx, const std::uint64_t& counter) {
        return ctx.load(&counter, order::relaxed, scope::device);
    }

    const links_ref& requests_;
    const links_ref& replies_;
};

// Not inline on CPU devices, so that a program can leave it to the library.
template <class Ctx>
LANEWAY_SLOW void timeline_sampler<Ctx>::look(Ctx& ctx, std::uint64_t open, bool last) const {
    if (ctx.lane() != 0) return;
    pe_timeline& log = *ctx.environment().timeline;
    if (last) {
        log.last = take(ctx, open);
        return;
    }
    if (log.turns++ % turns_a_look != 0) return;
    const std::uint64_t now = ctx.now_ns();
    if (now < log.next_ns) return;
    log.samples[thinning::place(log.next_number, log.max_samples)] = take(ctx, open);
    ++log.n_samples;
    log.next_number += thinning::stride(log.next_number, log.max_samples);
    log.next_ns = now + log.gap_ns * thinning::stride(log.next_number, log.max_samples);
}

// Compiled once, in the library, for CPU devices.
#if LANEWAY_HOST_PASS
extern template void timeline_sampler<cpu::context>::look(cpu::context&, std::uint64_t, bool) const;
extern template void timeline_sampler<checked::context>::look(checked::context&, std::uint64_t, bool) const;
#endif

}  // namespace laneway
