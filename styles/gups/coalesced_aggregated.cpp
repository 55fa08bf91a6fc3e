// gups in the coalesced style with aggregation: a block sorts its updates and posts them, destination after
// destination.
#include "styles/block_call.hpp"
#include "styles/gups/problem.hpp"

namespace laneway::styles {

namespace {

struct apply_update {
    gups_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t value) const {
        ctx.fetch_xor(data.word(ctx, value), value, order::relaxed, scope::device);
    }
};

struct post_sorted {
    gups_data data;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        block_memory<std::uint64_t> own;
        block_call<Ctx, std::uint64_t> call(ctx, own, box.team().index, box.team().warps);
        const std::uint64_t updates = data.updates.size();
        for (std::uint64_t first; (first = take(ctx, call)) < updates;) {
            const std::uint64_t i = first + call.lane();
            std::uint64_t value = 0;
            if (i < updates) value = data.updates.local(ctx)[i];
            call.sort(i < updates, data.owner(value), value);
            for (int pe = 0; pe < ctx.n_pes(); ++pe) post(ctx, box, call, pe);
        }
    }

private:
    /// The first of as many updates as the block has lanes.
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

work gups_coalesced_aggregated(launcher& on, const gups_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(apply_update{data});
    return [=, &on] { on.runtime().run(post_sorted{data}, box); };
}

}  // namespace laneway::styles
