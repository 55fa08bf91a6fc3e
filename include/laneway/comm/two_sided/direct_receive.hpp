// Receiving a short message straight from its ring, by the lane that waits for it: without a request, a turn of the
// shard and its queues, where nothing stands in these. That is the usual case of lone lanes that pass messages back and
// forth, whose times are those of a few loads behind each other.
//
// The order is MPI's all the same. While a lane looks, its receive has not been posted; it takes the message that is
// next in its ring, and only where no receive is posted, or about to be, and no message waits: so there is no earlier
// receive for it, and no earlier message.
#pragma once

#include "laneway/comm/two_sided/message_sender.hpp"
#include "laneway/comm/two_sided/shard_lock.hpp"

namespace laneway {

/// One lane, as a warp of its own (simt/lone_lane.hpp).
template <class Ctx>
class direct_receive {
public:
    LANEWAY_FN direct_receive(const two_sided_ref& view, const message_shard_ref& shard, int source)
        : view_(view), shard_(shard), rings_(view, shard), in_(shard.from[source]), source_(source) {}

    /// Whether a receive of such a key may be tried so.
    [[nodiscard]] static LANEWAY_FN bool suits(const two_sided_ref& view, const match_key& key) {
        return key.source != any_source && !view.rules.is_unordered() && !view.rules.no_unexpected;
    }

    /// Looks so often whether the next message of the ring has come, and takes it if it is short and `key` accepts it.
    /// False where it is for the queues. One that is too long for the buffer ends the run. `looks` above 1: turns of
    /// the shard leave the ring alone meanwhile, unless something is asked of it.
    LANEWAY_SLOW bool operator()(Ctx& ctx, const match_key& key, const message_buffer& buffer, int looks,
                                 message_status& got) const {
        std::uint32_t* const watchers = &shard_.state->watchers;
        if (looks > 1) ctx.fetch_add(watchers, 1u, order::relaxed, scope::device);
        const std::uint64_t ticket = rings_.next(ctx, source_);
        bool come = false;
        int tries = 0;
        outcome found = outcome::busy;
        // Also as long as somebody else has the shard: soon it is free again.
        for (int i = 0; i < looks && found == outcome::busy; ++i) {
            come = come || chunk_receiver::label_of(in_.peek(ctx, ticket), ticket).bits != 0;
            if (come) found = take(ctx, ticket, key, buffer, tries++, got);
        }
        if (looks > 1) ctx.fetch_add(watchers, ~0u, order::relaxed, scope::device);
        return found == outcome::taken;
    }

private:
    enum class outcome { taken, busy, for_queues };

    /// `tries`: before this one.
    LANEWAY_FN outcome take(Ctx& ctx, std::uint64_t ticket, const match_key& key, const message_buffer& buffer,
                            int tries, message_status& got) const {
        const shard_lock<Ctx> lock(*shard_.state);
        if (!(tries == 0 ? lock.take_at_once(ctx) : lock.take(ctx))) return outcome::busy;
        const message_delivery<Ctx> delivery(view_);
        incoming_message message;
        const chunk_label label = is_next(ctx, ticket) ? in_.arrived(ctx, ticket) : chunk_label{};
        const bool taken = label.bits != 0 && delivery.read(ctx, in_, ticket, label, source_, message) &&
                           message.form == message_form::in_words && key.accepts(message.key);
        if (taken) {
            if (delivery.fits(ctx, message, buffer.bytes)) message.copy_words_to(buffer.data);
            got = {message.key.source, message.key.tag, message.bytes, false};
            rings_.go_on(ctx, in_, source_, ticket + 1);
            count(ctx);
        }
        delivery.fence(ctx, source_);
        if (taken) {
            if (message.synchronous) request_pool<Ctx>::answer(ctx, view_, source_, message.place);
            in_.give_back_relaxed(ctx, lane_mask{1}, ticket);
        }
        lock.give_back(ctx, view_, taken ? 1 : 0);
        return taken ? outcome::taken : outcome::for_queues;
    }
    /// Whether a receive that is posted now would get the next message of the ring, whatever else stands anywhere. A
    /// place in the queue `asked` that has been drawn counts, also before it is filled: it may be this lane's.
    [[nodiscard]] LANEWAY_FN bool is_next(Ctx& ctx, std::uint64_t ticket) const {
        // Where they lie first, then all that they hold, and only then a look at it: each step is one way to memory.
        const std::uint64_t* const drawn_at = shard_.asked.drawn;
        const std::uint64_t* const taken_at = shard_.asked.taken;
        const matching_engine_ref& engine = shard_.engine;
        const std::uint32_t waiting = engine.posted.length() + engine.unexpected.length() + shard_.state->overtaken;
        const std::uint64_t drawn = ctx.load(drawn_at, order::relaxed, scope::device);
        const std::uint64_t taken = ctx.load(taken_at, order::relaxed, scope::device);
        return (rings_.next(ctx, source_) == ticket) & (drawn == taken) & (waiting == 0);
    }
    /// As a turn would have.
    LANEWAY_FN void count(Ctx& ctx) const {
        const std::uint64_t arrived = ctx.load(&shard_.state->arrived, order::relaxed, scope::device);
        ctx.store(&shard_.state->arrived, arrived + 1, order::relaxed, scope::device);
        match_counts& counts = *shard_.engine.counts;
        ++counts.messages;
        ++counts.receives;
        ++counts.matches;
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
    ring_reader<Ctx> rings_;
    const chunk_receiver& in_;
    int source_;
};

}  // namespace laneway
