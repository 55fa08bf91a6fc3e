// Host-driven: kernels compute, exchange or update, and the host, which waits for each, is the barrier between them.
#include "parallel/wall_seconds.hpp"
#include "training/network.hpp"

namespace laneway::apps {

namespace {

/// Forward through all layers, and the outputs' errors.
struct forward_pass {
    network_ref all;
    std::uint32_t step;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto net = all.view(ctx, step);
        const auto mine = working_warp::of(ctx);
        computing_time spent;
        spent.of(ctx, [&] {
            for (int layer = 0; layer < all.shape.n_layers; ++layer) net.forward(ctx, mine, layer);
            net.errors(ctx, mine, all.squares_of(ctx, step));
        });
        all.add(ctx, spent);
    }
};

/// Gradients of a layer, and the deltas in front of it.
struct backward_pass {
    network_ref all;
    std::uint32_t step;
    int layer;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto net = all.view(ctx, step);
        const auto mine = working_warp::of(ctx);
        computing_time spent;
        spent.of(ctx, [&] {
            for (std::uint64_t p = mine.number; p < all.shape.layers[layer].pieces(); p += mine.warps) {
                net.gradient(ctx, layer, p);
            }
            if (layer > 0) net.backward(ctx, mine, layer);
        });
        all.add(ctx, spent);
    }
};

/// Brings a layer's rows to the owners of its pieces.
struct exchange_rows {
    network_ref all;
    int layer;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const layer_shape& shape = all.shape.layers[layer];
        const auto mine = working_warp::of(ctx);
        const auto from = all.rows.local(ctx);
        for (std::uint64_t p = mine.number; p < shape.pieces(); p += mine.warps) {
            const int owner = all.shape.owner_of(layer, p);
            if (owner == ctx.pe()) continue;
            const auto to = all.rows.at(ctx, owner);
            for (int row = 0; row < all.shape.n_rows; ++row) {
                if (all.shape.rows[row].pe != ctx.pe()) continue;
                const auto lane = static_cast<std::uint64_t>(ctx.lane());
                for (std::uint64_t w = shape.piece_begin(p) + lane; w < shape.piece_begin(p + 1);
                     w += Ctx::warp_lanes) {
                    const float value = from[all.in_row(row, w)];
                    to[all.in_row(row, w)] = value;
                }
            }
        }
    }
};

/// New weights of the PE's own pieces of a layer, stored into all PEs' memory.
struct update_weights {
    network_ref all;
    std::uint32_t step;
    int layer;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto net = all.view(ctx, step);
        const auto mine = working_warp::of(ctx);
        const std::uint64_t end = all.shape.first_piece(layer, ctx.pe() + 1);
        for (std::uint64_t p = all.shape.first_piece(layer, ctx.pe()) + mine.number; p < end; p += mine.warps) {
            net.update(ctx, layer, p, [&](std::uint64_t weight, float value) {
                for (int pe = 0; pe < ctx.n_pes(); ++pe) all.weights[(step + 1) % 2].at(ctx, pe)[weight] = value;
            });
        }
    }
};

}  // namespace

double train_by_host(runtime& rt, const network& net, std::uint32_t steps) {
    const network_ref all = net.ref();
    return wall_seconds([&] {
        for (std::uint32_t step = 0; step < steps; ++step) {
            rt.run(forward_pass{all, step});
            for (int layer = net.shape().n_layers - 1; layer >= 0; --layer) {
                rt.run(backward_pass{all, step, layer});
                if (rt.n_pes() > 1) rt.run(exchange_rows{all, layer});
                rt.run(update_weights{all, step, layer});
            }
        }
    });
}

}  // namespace laneway::apps
