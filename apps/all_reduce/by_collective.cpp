// By a collective inside the kernel: all lanes of all PEs meet, each loads its share from all, reduces, and stores the
// sums to all.
#include "all_reduce/shared_array.hpp"

namespace laneway::apps {

namespace {

struct reduce_together {
    shared_array_ref array;
    std::uint32_t rounds;

    template <class Ctx, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Collectives& together) const {
        computing_time spent;
        std::uint64_t wrong = 0;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            array.write(ctx, round, spent);
            const status going = together.all_reduce(ctx, array.values[0], array.shape.elements, reduction::sum{});
            if (going != status::ok) return;
            array.verify(ctx, round, spent, wrong);
        }
        array.add(ctx, spent, wrong);
    }
};

}  // namespace

double reduce_by_collective(runtime& rt, const shared_array& array, std::uint32_t rounds) {
    auto together = rt.collectives();
    return rt.run(reduce_together{array.ref(), rounds}, together).run_seconds;
}

}  // namespace laneway::apps
