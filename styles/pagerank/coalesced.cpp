// pagerank in the coalesced style: a block sorts its shares and puts them into inboxes, which a second kernel adds up.
#include <algorithm>

#include "styles/block_call.hpp"
#include "styles/inbox.hpp"
#include "styles/pagerank/problem.hpp"

namespace laneway::styles {

namespace {

struct put_shares {
    pagerank_data data;
    inbox_ref<std::uint64_t> inbox;
    std::uint64_t first;
    std::uint64_t end;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        block_memory<std::uint64_t> own;
        block_call<Ctx, std::uint64_t> call(ctx, own, ctx.warp(), ctx.n_warps());
        const std::uint64_t arcs = data.arcs(ctx) < end ? data.arcs(ctx) : end;
        const auto blocks = static_cast<std::uint64_t>(ctx.n_blocks());
        for (auto row = static_cast<std::uint64_t>(ctx.block()); first + row * call.lanes() < arcs; row += blocks) {
            const std::uint64_t arc = first + row * call.lanes() + call.lane();
            const bool has = arc < arcs;
            call.sort(has, has ? data.owner(ctx, arc) : 0, has ? data.message(ctx, arc) : 0);
            for (int pe = 0; pe < ctx.n_pes(); ++pe) inbox.put(ctx, call, pe);
        }
    }
};

struct add_inbox {
    pagerank_data data;
    inbox_ref<std::uint64_t> inbox;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, *inbox.length.local(ctx),
                       [&](std::uint64_t i) { data.add(ctx, ctx.pe(), inbox.messages.local(ctx)[i], scope::device); });
    }
};

}  // namespace

work pagerank_coalesced(launcher& on, const pagerank_data& data) {
    const std::uint64_t max_arcs = data.heads.size();
    const std::uint64_t round = std::min(max_arcs, on.round_messages());
    const auto in = std::make_shared<inbox<std::uint64_t>>(on.runtime().machine(), round);
    return [=, &on] {
        for (std::uint64_t first = 0; first < max_arcs; first += round) {
            in->clear();
            on.launch(put_shares{data, in->ref(), first, first + round});
            on.launch(add_inbox{data, in->ref()});
        }
    };
}

}  // namespace laneway::styles
