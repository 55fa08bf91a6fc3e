// kmer in the coalesced style: a block sorts its k-mers and puts them into inboxes, which a second kernel counts.
#include <algorithm>

#include "styles/block_call.hpp"
#include "styles/inbox.hpp"
#include "styles/kmer/problem.hpp"

namespace laneway::styles {

namespace {

struct put_kmers {
    kmer_data data;
    inbox_ref<std::uint64_t> inbox;
    std::uint64_t first;
    std::uint64_t stretches;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        block_memory<std::uint64_t> own;
        block_call<Ctx, std::uint64_t> call(ctx, own, ctx.warp(), ctx.n_warps());
        const auto blocks = static_cast<std::uint64_t>(ctx.n_blocks());
        for (auto row = static_cast<std::uint64_t>(ctx.block()); row * call.lanes() < stretches; row += blocks) {
            const std::uint64_t i = row * call.lanes() + call.lane();
            // All lanes of the block walk, those without a stretch too: they take part in the calls.
            data.walk(ctx, i < stretches ? first + i : first, [&](bool shown, std::uint64_t kmer) {
                call.sort(shown && i < stretches, data.owner(ctx, kmer), kmer);
                for (int pe = 0; pe < ctx.n_pes(); ++pe) inbox.put(ctx, call, pe);
            });
        }
    }
};

struct count_inbox {
    kmer_data data;
    inbox_ref<std::uint64_t> inbox;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, *inbox.length.local(ctx), [&](std::uint64_t i) {
            data.count(ctx, ctx.pe(), inbox.messages.local(ctx)[i], scope::device);
        });
    }
};

}  // namespace

work kmer_coalesced(launcher& on, const kmer_data& data) {
    const std::uint64_t stretches = data.stretches();
    const std::uint64_t round = std::min(stretches, stretches_within(on.round_messages()));
    const auto in = std::make_shared<inbox<std::uint64_t>>(on.runtime().machine(), round * kmer_data::stretch_steps);
    return [=, &on] {
        for (std::uint64_t first = 0; first < stretches; first += round) {
            in->clear();
            on.launch(put_kmers{data, in->ref(), first, std::min(round, stretches - first)});
            on.launch(count_inbox{data, in->ref()});
        }
    };
}

}  // namespace laneway::styles
