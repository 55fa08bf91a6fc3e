// Triggered: the exchange of each array's borders is prepared once, and goes off when all lanes of a PE have written
// theirs and the neighbour has read its halo.
#include "jacobi/membrane.hpp"
#include "laneway/run/schedules/halo_exchange.hpp"

namespace laneway::apps {

namespace {

struct step_by_triggers {
    membrane_ref all;
    halo_exchange_ref halos[2];
    std::uint64_t steps;

    template <class Ctx, class Triggers, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Collectives& together) const {
        const bool leads = ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) == 0;
        if (leads) {
            for (const auto& halo : halos) {
                if (halo.free(ctx, triggers) != status::ok) return;
            }
        }
        computing_time spent;
        for (std::uint64_t step = 0; step < steps; ++step) {
            const halo_exchange_ref &read = halos[step % 2], &written = halos[(step + 1) % 2];
            all.compute(ctx, step, spent);
            if (together.barrier(ctx) != status::ok) return;
            // Of the first array the halo was not exchanged before it was read.
            if (leads && step > 0 && read.free(ctx, triggers) != status::ok) return;
            if (leads && written.send(ctx, triggers) != status::ok) return;
            if (written.wait(ctx, triggers, step / 2 + 1) != status::ok) return;
        }
        all.add(ctx, spent);
    }
};

}  // namespace

double jacobi_by_triggers(runtime& rt, const membrane& all, std::uint64_t steps) {
    const membrane_ref ref = all.ref();
    auto tags = rt.triggers({.tags = 2 * halo_exchange_ref::n_tags});
    const auto exchange = [&](int which) {
        return halo_exchange<double>(rt.machine(), tags, ref.values[which], ref.rows * ref.width, ref.width,
                                     static_cast<std::uint32_t>(which) * halo_exchange_ref::n_tags);
    };
    const auto of_a = exchange(0), of_b = exchange(1);
    auto together = rt.collectives();
    return rt.run(step_by_triggers{ref, {of_a.ref(), of_b.ref()}, steps}, tags, together).run_seconds;
}

}  // namespace laneway::apps
