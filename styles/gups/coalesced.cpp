// gups in the coalesced style: a block sorts its updates and puts them into inboxes, which a second kernel applies.
#include <algorithm>

#include "styles/block_call.hpp"
#include "styles/gups/problem.hpp"
#include "styles/inbox.hpp"

namespace laneway::styles {

namespace {

struct put_updates {
    gups_data data;
    inbox_ref<std::uint64_t> inbox;
    std::uint64_t first;
    std::uint64_t count;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        block_memory<std::uint64_t> own;
        block_call<Ctx, std::uint64_t> call(ctx, own, ctx.warp(), ctx.n_warps());
        const auto blocks = static_cast<std::uint64_t>(ctx.n_blocks());
        for (auto row = static_cast<std::uint64_t>(ctx.block()); row * call.lanes() < count; row += blocks) {
            const std::uint64_t i = row * call.lanes() + call.lane();
            std::uint64_t value = 0;
            if (i < count) value = data.updates.local(ctx)[first + i];
            call.sort(i < count, data.owner(value), value);
            for (int pe = 0; pe < ctx.n_pes(); ++pe) inbox.put(ctx, call, pe);
        }
    }
};

struct apply_inbox {
    gups_data data;
    inbox_ref<std::uint64_t> inbox;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, *inbox.length.local(ctx), [&](std::uint64_t i) {
            const std::uint64_t value = inbox.messages.local(ctx)[i];
            ctx.fetch_xor(data.word(ctx, value), value, order::relaxed, scope::device);
        });
    }
};

}  // namespace

work gups_coalesced(launcher& on, const gups_data& data) {
    const std::uint64_t updates = data.updates.size();
    const std::uint64_t round = std::min(updates, on.round_messages());
    const auto in = std::make_shared<inbox<std::uint64_t>>(on.runtime().machine(), round);
    return [=, &on] {
        for (std::uint64_t first = 0; first < updates; first += round) {
            in->clear();
            on.launch(put_updates{data, in->ref(), first, std::min(round, updates - first)});
            on.launch(apply_inbox{data, in->ref()});
        }
    };
}

}  // namespace laneway::styles
