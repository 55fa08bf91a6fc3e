// pagerank in the coalesced style with aggregation: a block sorts its shares and posts them, destination after
// destination.
#include "styles/block_call.hpp"
#include "styles/pagerank/problem.hpp"

namespace laneway::styles {

namespace {

struct add_share {
    pagerank_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t message) const {
        data.add(ctx, ctx.pe(), message, scope::device);
    }
};

struct post_sorted {
    pagerank_data data;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        block_memory<std::uint64_t> own;
        block_call<Ctx, std::uint64_t> call(ctx, own, box.team().index, box.team().warps);
        const std::uint64_t arcs = data.arcs(ctx);
        for (std::uint64_t first; (first = take(ctx, call)) < arcs;) {
            const std::uint64_t arc = first + call.lane();
            const bool has = arc < arcs;
            call.sort(has, has ? data.owner(ctx, arc) : 0, has ? data.message(ctx, arc) : 0);
            for (int pe = 0; pe < ctx.n_pes(); ++pe) post(ctx, box, call, pe);
        }
    }

private:
    /// The first of as many arcs as the block has lanes.
    template <class Ctx>
    LANEWAY_FN std::uint64_t take(Ctx& ctx, block_call<Ctx, std::uint64_t>& call) const {
        return call.once([&] { return atomic_add(ctx, data.taken, call.lanes()); });
    }
    /// A post that fails ends the run; the lanes of the block go on together.
    template <class Ctx, class Box>
    LANEWAY_FN static void post(Ctx& ctx, Box& box, const block_call<Ctx, std::uint64_t>& call, int pe) {
        for (std::uint32_t i = call.lane(); i < call.count(pe); i += call.lanes()) {
            (void)box.post(ctx, pe, call.messages(pe)[i]);
        }
    }
};

}  // namespace

work pagerank_coalesced_aggregated(launcher& on, const pagerank_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(add_share{data});
    return [=, &on] { on.runtime().run(post_sorted{data}, box); };
}

}  // namespace laneway::styles
