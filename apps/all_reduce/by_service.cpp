// By a service: a warp that has written a piece asks for it to be copied to its owner, and goes on; the owner adds a
// piece up as soon as all PEs' are here, and asks for the sums to be copied to all.
#include "all_reduce/shared_array.hpp"
#include "parallel/copying_service.hpp"

namespace laneway::apps {

namespace {

struct reduce_with_service {
    shared_array_ref array;
    symmetric_ref<float> staged;
    symmetric_ref<std::uint64_t> arrived;  ///< of each piece: PEs whose numbers its owner has, of all rounds
    std::uint32_t rounds;

    template <class Ctx, class Service, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served, Collectives& together) const {
        computing_time spent;
        std::uint64_t wrong = 0;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            if (!send(ctx, served, round, spent) || !reduce(ctx, served, round)) return;
            // Sums are everywhere when all blocks' requests are carried out, and nobody reads a PE's numbers any more.
            if (!all_go_on(ctx, served.quiet(ctx)) || !all_go_on(ctx, together.barrier(ctx))) return;
            array.verify(ctx, round, spent, wrong);
        }
        array.add(ctx, spent, wrong);
    }

private:
    template <class Ctx, class Service>
    LANEWAY_FN bool send(Ctx& ctx, Service& served, std::uint32_t round, computing_time& spent) const {
        const auto mine = working_warp::of(ctx);
        for (std::uint64_t p = mine.number; p < array.shape.pieces(); p += mine.warps) {
            spent.of(ctx, [&] { array.view(ctx).write(ctx, p, round); });
            if (!all_go_on(ctx, ctx.lane() == 0 ? send_piece(ctx, served, p) : status::ok)) return false;
        }
        return true;
    }
    template <class Ctx, class Service>
    LANEWAY_FN status send_piece(Ctx& ctx, Service& served, std::uint64_t piece) const {
        const int owner = array.shape.owner_of(piece);
        const std::uint64_t first = array.shape.begin_of(piece), count = array.shape.begin_of(piece + 1) - first;
        const std::uint64_t to = array.shape.staged_at(first, owner, ctx.pe());
        // A copy of no elements still raises the signal.
        return served.copy(ctx, array.values[first], owner == ctx.pe() ? 0 : count, staged[to], owner, arrived[piece]);
    }

    template <class Ctx, class Service>
    LANEWAY_FN bool reduce(Ctx& ctx, Service& served, std::uint32_t round) const {
        const auto mine = working_warp::of(ctx);
        const std::uint64_t end = array.shape.first_piece(ctx.pe() + 1), all = (round + 1) * array.shape.n_pes;
        for (std::uint64_t p = array.shape.first_piece(ctx.pe()) + mine.number; p < end; p += mine.warps) {
            if (!all_go_on(ctx, served.wait_signal(ctx, arrived[p], all))) return false;
            array.view(ctx).reduce(ctx, p, staged.local(ctx));
            if (!all_go_on(ctx, ctx.lane() == 0 ? give_piece(ctx, served, p) : status::ok)) return false;
        }
        return true;
    }
    template <class Ctx, class Service>
    LANEWAY_FN status give_piece(Ctx& ctx, Service& served, std::uint64_t piece) const {
        const std::uint64_t first = array.shape.begin_of(piece), count = array.shape.begin_of(piece + 1) - first;
        const auto at = array.values[first];
        status going = status::ok;
        for (int pe = 0; pe < ctx.n_pes() && going == status::ok; ++pe) {
            if (pe != ctx.pe()) going = served.copy(ctx, at, count, at, pe);
        }
        return going;
    }
};

}  // namespace

served_run reduce_by_service(runtime& rt, const shared_array& array, std::uint32_t rounds, bool by_host_threads) {
    const shared_array_ref ref = array.ref();
    const auto staged = rt.allocate<float>(ref.shape.staged_elements());
    const auto arrived = rt.allocate<std::uint64_t>(ref.shape.pieces());
    service served(rt.machine(), copying_service(by_host_threads));
    auto together = rt.collectives();
    const double seconds =
        rt.run(reduce_with_service{ref, staged.ref(), arrived.ref(), rounds}, served, together).run_seconds;
    return {seconds, served.statistics().requests};
}

}  // namespace laneway::apps
