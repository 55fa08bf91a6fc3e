// By a service: a warp that has written a piece of a gradient asks for it to be copied to the piece's owner, and goes
// on with the next. Owners add pieces up when the backward pass is through, and have the new weights copied to all.
#include "parallel/copying_service.hpp"
#include "training/network.hpp"

namespace laneway::apps {

namespace {

struct train_with_service {
    network_ref all;
    symmetric_ref<std::uint64_t> arrived;  ///< of each layer: rows of the PE's own pieces that are here, of all steps
    std::uint32_t steps;

    template <class Ctx, class Service, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served, Collectives& together) const {
        computing_time spent;
        bool going = true;
        for (std::uint32_t step = 0; step < steps && going; ++step) {
            going = all.forward(ctx, served, step, spent) && backward(ctx, served, together, step, spent) &&
                    update(ctx, served, step);
        }
        all.add(ctx, spent);
    }

private:
    template <class Ctx, class Service, class Collectives>
    LANEWAY_FN bool backward(Ctx& ctx, Service& served, Collectives& together, std::uint32_t step,
                             computing_time& spent) const {
        const auto net = all.view(ctx, step);
        const auto mine = working_warp::of(ctx);
        for (int layer = all.shape.n_layers - 1; layer >= 0; --layer) {
            if (!all_go_on(ctx, together.barrier(ctx))) return false;  // deltas of all samples are there
            for (std::uint64_t p = mine.number; p < all.shape.layers[layer].pieces(); p += mine.warps) {
                spent.of(ctx, [&] { net.gradient(ctx, layer, p); });
                if (!all_go_on(ctx, ctx.lane() == 0 ? send(ctx, served, layer, p) : status::ok)) return false;
            }
            if (layer > 0) spent.of(ctx, [&] { net.backward(ctx, mine, layer); });
        }
        return true;
    }

    /// Asks for the PE's rows of a piece to be copied to its owner. Of its own ones none has to move: a copy of no
    /// elements still raises the signal.
    template <class Ctx, class Service>
    LANEWAY_FN status send(Ctx& ctx, Service& served, int layer, std::uint64_t piece) const {
        const layer_shape& shape = all.shape.layers[layer];
        const std::uint64_t first = shape.piece_begin(piece), count = shape.piece_begin(piece + 1) - first;
        const int owner = all.shape.owner_of(layer, piece);
        status going = status::ok;
        for (int row = 0; row < all.shape.n_rows && going == status::ok; ++row) {
            if (all.shape.rows[row].pe != ctx.pe()) continue;
            const auto at = all.rows[all.in_row(row, first)];
            going =
                served.copy(ctx, at, owner == ctx.pe() ? 0 : count, at, owner, arrived[static_cast<unsigned>(layer)]);
        }
        return going;
    }

    template <class Ctx, class Service>
    LANEWAY_FN bool update(Ctx& ctx, Service& served, std::uint32_t step) const {
        const auto net = all.view(ctx, step);
        const auto sums = all.rows.local(ctx);
        const auto mine = working_warp::of(ctx);
        for (int layer = all.shape.n_layers - 1; layer >= 0; --layer) {
            const std::uint64_t a_step = all.shape.pieces_of(layer, ctx.pe()) * static_cast<unsigned>(all.shape.n_rows);
            const auto here = arrived[static_cast<unsigned>(layer)];
            if (!all_go_on(ctx, served.wait_signal(ctx, here, (step + 1) * a_step))) return false;
            const std::uint64_t end = all.shape.first_piece(layer, ctx.pe() + 1);
            for (std::uint64_t p = all.shape.first_piece(layer, ctx.pe()) + mine.number; p < end; p += mine.warps) {
                net.update(ctx, layer, p, [&](std::uint64_t weight, float value) { sums[weight] = value; });
                if (!all_go_on(ctx, ctx.lane() == 0 ? give(ctx, served, step, layer, p) : status::ok)) return false;
            }
        }
        return true;
    }

    /// Asks for the new weights of a piece, which lie in the first row, to be copied to all PEs.
    template <class Ctx, class Service>
    LANEWAY_FN status give(Ctx& ctx, Service& served, std::uint32_t step, int layer, std::uint64_t piece) const {
        const layer_shape& shape = all.shape.layers[layer];
        const std::uint64_t first = shape.piece_begin(piece), count = shape.piece_begin(piece + 1) - first;
        const auto to = all.weights[(step + 1) % 2][first];
        status going = status::ok;
        for (int pe = 0; pe < ctx.n_pes() && going == status::ok; ++pe) {
            going = served.copy(ctx, all.rows[first], count, to, pe, all.updated[static_cast<unsigned>(layer)]);
        }
        return going;
    }
};

}  // namespace

served_run train_by_service(runtime& rt, const network& net, std::uint32_t steps, bool by_host_threads) {
    const auto arrived = rt.allocate<std::uint64_t>(static_cast<unsigned>(net.shape().n_layers));
    service served(rt.machine(), copying_service(by_host_threads));
    auto together = rt.collectives();
    const double seconds = rt.run(train_with_service{net.ref(), arrived.ref(), steps}, served, together).run_seconds;
    return {seconds, served.statistics().requests};
}

}  // namespace laneway::apps
