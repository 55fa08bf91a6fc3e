// Who deals with a shard: one warp, or a lone lane, at a time. Who finds it in use goes on with something else.
#pragma once

#include "laneway/comm/two_sided/two_sided_ref.hpp"

namespace laneway {

/// One lane of who has, or wants, the shard.
template <class Ctx>
class shard_lock {
public:
    LANEWAY_FN explicit shard_lock(shard_state& state) : word_(&state.lock) {}

    /// What those before did to the shard is visible to the lane then.
    [[nodiscard]] LANEWAY_FN bool take(Ctx& ctx) const {
        return ctx.load(word_, order::relaxed, scope::device) == 0 && take_at_once(ctx);
    }
    /// The same for who has seen that there is something to do, and so does not ask all the time.
    [[nodiscard]] LANEWAY_FN bool take_at_once(Ctx& ctx) const {
        // Partner: the store in give_back.
        return ctx.exchange(word_, 1u, order::acquire, scope::device) == 0;
    }
    /// Counts what is `done`, and gives the shard free. Behind all that has been done to it, with a fence of the lane's
    /// where Ctx::tagged_order orders nothing: one for both, and for what else the lane tells.
    LANEWAY_FN void give_back(Ctx& ctx, const two_sided_ref& view, std::uint64_t done) const {
        // Partner: the acquire load of communicator_ref.
        if (done != 0) ctx.fetch_add(&view.counters->completed, done, Ctx::tagged_order, scope::device);
        // Partner: the exchange in take.
        ctx.store(word_, 0u, Ctx::tagged_order, scope::device);
    }

private:
    std::uint32_t* word_;
};

}  // namespace laneway
