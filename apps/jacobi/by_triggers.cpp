// Triggered: the exchange of each array's borders is prepared once, and goes off when the warps that compute a border
// have written it. Only these wait for the halo; what else a step needs is a barrier of the own PE.
#include "jacobi/membrane.hpp"
#include "laneway/run/schedules/halo_exchange.hpp"

namespace laneway::apps {

namespace {

struct step_by_triggers {
    membrane_ref all;
    halo_exchange_ref halos[2];
    std::uint64_t steps;

    template <class Ctx, class Triggers, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Collectives& own) const {
        const auto upper = cells_of_warp(ctx, 1), lower = cells_of_warp(ctx, all.rows);
        computing_time spent;
        for (std::uint64_t step = 0; step < steps; ++step) {
            const halo_exchange_ref& written = halos[(step + 1) % 2];
            all.compute(ctx, step, spent);
            if (written.wrote_left(ctx, triggers, upper) != status::ok) return;
            if (written.wrote_right(ctx, triggers, lower) != status::ok) return;
            if (own.barrier(ctx) != status::ok) return;
            if (upper + lower == 0) continue;
            if (written.wait(ctx, triggers, step / 2 + 1) != status::ok) return;
        }
        all.add(ctx, spent);
    }

private:
    /// How many cells of a row the warp computes. All its lanes, together.
    template <class Ctx>
    LANEWAY_FN std::uint32_t cells_of_warp(Ctx& ctx, std::uint64_t row) const {
        std::uint32_t mine = 0;
        all.each_computed(ctx, row, [&](std::uint64_t) { ++mine; });
        return warp_sum(ctx, mine);
    }
};

}  // namespace

double jacobi_by_triggers(runtime& rt, const membrane& all, std::uint64_t steps) {
    const membrane_ref ref = all.ref();
    auto tags = rt.triggers({.tags = 2 * halo_exchange_ref::n_tags});
    const auto exchange = [&](int which) {
        return halo_exchange<double>(rt.machine(), tags, ref.values[which], ref.rows * ref.width, ref.width,
                                     {.first_tag = static_cast<std::uint32_t>(which) * halo_exchange_ref::n_tags,
                                      .parts = static_cast<std::uint32_t>(ref.width - 2),
                                      .waits_for_free = false});
    };
    const auto of_a = exchange(0), of_b = exchange(1);
    collective_options each_alone;
    for (int pe = 0; pe < rt.n_pes(); ++pe) each_alone.teams.push_back(pe);
    auto own = rt.collectives(each_alone);
    return rt.run(step_by_triggers{ref, {of_a.ref(), of_b.ref()}, steps}, tags, own).run_seconds;
}

}  // namespace laneway::apps
