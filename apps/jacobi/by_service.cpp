// By a service: the lane that has computed a cell of a border asks for it to be put into the neighbour's halo, and goes
// on.
#include "jacobi/membrane.hpp"
#include "laneway/task/service.hpp"

namespace laneway::apps {

namespace {

struct step_by_service {
    membrane_ref all;
    std::uint64_t steps;

    template <class Ctx, class Service, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served, Collectives& together) const {
        computing_time spent;
        for (std::uint64_t step = 0; step < steps; ++step) {
            const auto& to = all.values[(step + 1) % 2];
            status going = status::ok;
            const auto put = [&](int pe, std::uint64_t row, std::uint64_t column, double value) {
                if (pe < 0 || pe >= ctx.n_pes() || going != status::ok) return;
                spent.but_for(ctx, [&] { going = served.put(ctx, to[all.cell(row, column)], pe, value); });
            };
            all.compute(ctx, step, spent, [&](std::uint64_t row, std::uint64_t column, double value) {
                if (row == 1) put(ctx.pe() - 1, all.rows + 1, column, value);
                if (row == all.rows) put(ctx.pe() + 1, 0, column, value);
            });
            if (going == status::ok) going = served.quiet(ctx);
            // A halo is written again in the step after next: by then all have read it.
            if (going != status::ok || together.barrier(ctx) != status::ok) return;
        }
        all.add(ctx, spent);
    }
};

}  // namespace

double jacobi_by_service(runtime& rt, const membrane& all, std::uint64_t steps, bool by_host_threads) {
    if (by_host_threads && rt.machine().has_gpus()) {
        throw usage_error("jacobi: host threads put nothing into a GPU's memory: choose another style");
    }
    service served(rt.machine(), {.by = by_host_threads ? service_by::host : service_by::warps, .heap_bytes = 0});
    auto together = rt.collectives();
    return rt.run(step_by_service{all.ref(), steps}, served, together).run_seconds;
}

}  // namespace laneway::apps
