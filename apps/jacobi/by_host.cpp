// Host-driven: kernels compute or exchange, and the host, which waits for each, is the barrier between them.
#include "jacobi/membrane.hpp"
#include "parallel/wall_seconds.hpp"

namespace laneway::apps {

namespace {

struct compute_step {
    membrane_ref all;
    std::uint64_t step;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        computing_time spent;
        all.compute(ctx, step, spent);
        all.add(ctx, spent);
    }
};

struct exchange_borders {
    membrane_ref all;
    std::uint64_t step;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto& array = all.values[(step + 1) % 2];
        const std::uint64_t lanes = ctx.local_size();
        const auto copy = [&](std::uint64_t from_row, int pe, std::uint64_t to_row) {
            if (pe < 0 || pe >= ctx.n_pes()) return;
            const auto from = array.local(ctx), to = array.at(ctx, pe);
            for (std::uint64_t c = ctx.local_rank(); c < all.width; c += lanes) {
                const double value = from[all.cell(from_row, c)];
                to[all.cell(to_row, c)] = value;
            }
        };
        copy(1, ctx.pe() - 1, all.rows + 1);
        copy(all.rows, ctx.pe() + 1, 0);
    }
};

}  // namespace

double jacobi_by_host(runtime& rt, const membrane& all, std::uint64_t steps) {
    return wall_seconds([&] {
        for (std::uint64_t step = 0; step < steps; ++step) {
            rt.run(compute_step{all.ref(), step});
            if (rt.n_pes() > 1) rt.run(exchange_borders{all.ref(), step});
        }
    });
}

}  // namespace laneway::apps
