// Triggered: a ring over all PEs is prepared once. It goes off when all lanes of a PE have written their numbers, and
// each step's arrival sets off the next.
#include "all_reduce/shared_array.hpp"
#include "laneway/run/schedules/ring_all_reduce.hpp"

namespace laneway::apps {

namespace {

struct reduce_by_ring {
    shared_array_ref array;
    ring_all_reduce_ref ring;
    std::uint32_t rounds;

    template <class Ctx, class Triggers, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Collectives& together) const {
        const bool leads = ctx.local_rank() == 0;
        computing_time spent;
        std::uint64_t wrong = 0;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            array.write(ctx, round, spent);
            if (together.barrier(ctx) != status::ok) return;
            status going = leads ? ring.start(ctx, triggers) : status::ok;
            if (going == status::ok) going = ring.wait(ctx, triggers, round + 1);
            if (!all_go_on(ctx, going)) return;
            array.verify(ctx, round, spent, wrong);
        }
        array.add(ctx, spent, wrong);
    }
};

}  // namespace

double reduce_by_triggers(runtime& rt, const shared_array& array, std::uint32_t rounds) {
    const shared_array_ref ref = array.ref();
    auto tags = rt.triggers({.tags = ring_all_reduce_ref::n_tags(rt.n_pes())});
    const ring_all_reduce<float> ring(rt.machine(), tags, ref.values, ref.shape.elements);
    auto together = rt.collectives();
    return rt.run(reduce_by_ring{ref, ring.ref(), rounds}, tags, together).run_seconds;
}

}  // namespace laneway::apps
