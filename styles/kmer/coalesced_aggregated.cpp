// kmer in the coalesced style with aggregation: a block sorts its k-mers and posts them, destination after destination.
#include "styles/block_call.hpp"
#include "styles/kmer/problem.hpp"

namespace laneway::styles {

namespace {

struct count_kmer {
    kmer_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t kmer) const {
        data.count(ctx, ctx.pe(), kmer, scope::device);
    }
};

struct post_sorted {
    kmer_data data;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        block_memory<std::uint64_t> own;
        block_call<Ctx, std::uint64_t> call(ctx, own, box.team().index, box.team().warps);
        const std::uint64_t stretches = data.stretches();
        for (std::uint64_t first; (first = take(ctx, call)) < stretches;) {
            const std::uint64_t i = first + call.lane();
            // All lanes of the block walk, those without a stretch too: they take part in the calls.
            data.walk(ctx, i < stretches ? i : first, [&](bool shown, std::uint64_t kmer) {
                call.sort(shown && i < stretches, data.owner(ctx, kmer), kmer);
                for (int pe = 0; pe < ctx.n_pes(); ++pe) post(ctx, box, call, pe);
            });
        }
    }

private:
    /// The first of as many stretches as the block has lanes.
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

work kmer_coalesced_aggregated(launcher& on, const kmer_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(count_kmer{data});
    return [=, &on] { on.runtime().run(post_sorted{data}, box); };
}

}  // namespace laneway::styles
