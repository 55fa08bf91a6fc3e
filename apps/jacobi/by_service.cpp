// By a service: when a lane has computed its cells, it asks for those of a border to be put into the neighbour's halo.
#include "jacobi/membrane.hpp"
#include "parallel/copying_service.hpp"

namespace laneway::apps {

namespace {

struct step_by_service {
    membrane_ref all;
    std::uint64_t steps;

    template <class Ctx, class Service, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served, Collectives& together) const {
        computing_time spent;
        for (std::uint64_t step = 0; step < steps; ++step) {
            all.compute(ctx, step, spent);
            // A put of one word has no order of its own. It comes behind the barrier, and so behind who has read the
            // halo that it writes, only with a fence of the lane that asks for it.
            ctx.fence(order::release, scope::system);
            status going = put_row(ctx, served, step, 1, ctx.pe() - 1, all.rows + 1);
            if (going == status::ok) going = put_row(ctx, served, step, all.rows, ctx.pe() + 1, 0);
            if (going == status::ok) going = served.quiet(ctx);
            // A halo is written again in the step after next: by then all have read it.
            if (going != status::ok || together.barrier(ctx) != status::ok) return;
        }
        all.add(ctx, spent);
    }

private:
    /// Has the cells of a row that this lane has computed put into another PE's.
    template <class Ctx, class Service>
    LANEWAY_FN status put_row(Ctx& ctx, Service& served, std::uint64_t step, std::uint64_t row, int pe,
                              std::uint64_t to_row) const {
        status going = status::ok;
        if (pe < 0 || pe >= ctx.n_pes()) return going;
        const auto& array = all.values[(step + 1) % 2];
        const auto values = array.local(ctx);
        all.each_computed(ctx, row, [&](std::uint64_t column) {
            const double value = values[all.cell(row, column)];
            if (going == status::ok) going = served.put(ctx, array[all.cell(to_row, column)], pe, value);
        });
        return going;
    }
};

}  // namespace

served_run jacobi_by_service(runtime& rt, const membrane& all, std::uint64_t steps, bool by_host_threads) {
    service served(rt.machine(), copying_service(by_host_threads));
    auto together = rt.collectives();
    const double seconds = rt.run(step_by_service{all.ref(), steps}, served, together).run_seconds;
    return {seconds, served.statistics().requests};
}

}  // namespace laneway::apps
