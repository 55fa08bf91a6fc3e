// The sending half of a mailbox: any lane posts, also in divergent code; chunks leave when full, on flush and by age.
//
// Gathering follows Gravel (Orr 2016, ch. 5): lanes of a warp are grouped by destination, each group claims its places
// with one atomic in shared memory. Three rules keep it free of deadlock. A warp commits what it can write before it
// waits for anything else. A wait for a buffer depends only on warps that reserved earlier. A wait for a ring slot
// depends only on the destination's servers, whose handlers never wait for remote space.
#pragma once

#include "laneway/comm/bin.hpp"
#include "laneway/comm/links.hpp"

namespace laneway {

/// One lane's access to the bins of its block. `Handler` serves messages to the own PE at once; `Idle` is called while
/// a lane waits for a ring slot and must serve incoming chunks where no other warp does. `shared` lies in the block's
/// shared memory, `completed` counts work in PE memory.
template <class Ctx, class Message, class Handler, class Idle>
class outbox {
public:
    LANEWAY_FN outbox(Ctx& ctx, const links_ref& links, chunk_shape<Message> shape, const Handler& handler, Idle idle,
                      std::byte* shared, std::uint64_t* completed)
        : links_(links), shape_(shape), handler_(handler), idle_(idle), bins_(reinterpret_cast<bin*>(shared)),
          done_(reinterpret_cast<std::uint64_t*>(bins_ + ctx.n_pes())), completed_(completed),
          buffers_(shared + shape.bins_bytes(ctx.n_pes())) {}

    /// Prepares the bins; all lanes of the block call it before any posts, and a block barrier must follow. Counters
    /// start four chunks before they wrap, so that no run is long enough to see something new.
    LANEWAY_FN void open(Ctx& ctx) {
        const int lanes = ctx.n_warps() * Ctx::warp_lanes;
        for (int pe = ctx.warp() * Ctx::warp_lanes + ctx.lane(); pe < ctx.n_pes(); pe += lanes) {
            const std::uint32_t first = shape_.chunk_after(0, std::uint32_t{0} - 4);
            bins_[pe] = bin{first << shape_.log2_messages,
                            {0, 0},
                            {shape_.messages(), shape_.messages()},
                            {first, first + 1},
                            0,
                            0,
                            0};
        }
        if (ctx.warp() == 0 && ctx.lane() == 0) *done_ = 0;
    }

    /// Posts a message to a PE; its handler runs there later, once, on any lane, unordered against other messages.
    /// Any lane, also in divergent code. To the own PE: the handler runs before post returns. May wait for buffers
    /// (back-pressure). Fails with bad_pe, or stopped or timeout when the run ends.
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& message) {
        if (failed_ != status::ok) return failed_;
        if (pe == ctx.pe()) {
            if (posted_ % 64 == 0 && stopped(ctx)) return failed_ = status::stopped;
            count_direct();
            handler_(ctx, message);
            return status::ok;
        }
        if (pe < 0 || pe >= ctx.n_pes()) {
            return failed_ = fail(ctx, status::bad_pe, operation::post, pe);
        }
        // Where a warp is one lane, nobody else looks after the age of messages.
        if (Ctx::warp_lanes == 1 && (posted_ - direct_) % 64 == 0) (void)flush_old(ctx);
        ++posted_;
        const lane_mask group = ctx.converged();
        const lane_mask peers = ctx.match(group, static_cast<std::uint32_t>(pe));
        std::uint32_t first = 0;
        if (elected(ctx, peers)) {
            const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(peers));
            first = ctx.fetch_add(&bins_[pe].reserved, lanes, order::relaxed, scope::block);
        }
        first = ctx.shuffle(group, first, Ctx::first_lane(peers));
        const std::uint32_t position = first + static_cast<std::uint32_t>(rank_in(ctx, peers));
        return failed_ = settle(ctx, group, peers, true, {pe, position >> shape_.log2_messages, 1}, [&] {
                   const std::uint32_t place = position & (shape_.messages() - 1);
                   if (place == 0) ctx.store(&bins_[pe].opened_ns, ctx.now_ns(), order::relaxed, scope::block);
                   buffer(pe, position >> shape_.log2_messages)[place] = message;
               });
    }

    /// Counts a message to the own PE that the caller has served itself, in the way the handler would. Any lane.
    LANEWAY_FN void count_direct() {
        ++posted_;
        ++direct_;
    }

    /// Sends what the block has gathered. Any set of lanes, together. On return every message posted before by these
    /// lanes has left or is being shipped by another warp of the block; see drain.
    LANEWAY_FN status flush(Ctx& ctx) {
        return close_bins(ctx, [](Ctx&, bin&, std::uint32_t) { return true; });
    }

    /// Sends the chunks that nobody has added to for the age limit, and those whose first message has waited for 16
    /// times as long: a chunk that fills quickly is left to fill. Any set of lanes, together.
    LANEWAY_FN status flush_old(Ctx& ctx) {
        const std::uint64_t now = ctx.now_ns();
        return close_bins(ctx, [&](Ctx& c, bin& b, std::uint32_t position) {
            if (c.load(&b.looked_at, order::relaxed, scope::block) != position) {
                c.store(&b.looked_at, position, order::relaxed, scope::block);
                c.store(&b.looked_ns, now, order::relaxed, scope::block);
                return (now - c.load(&b.opened_ns, order::relaxed, scope::block)) / 16 > links_.age_ns;
            }
            return now - c.load(&b.looked_ns, order::relaxed, scope::block) > links_.age_ns;
        });
    }

    /// Flushes and waits until every message that lanes of this block posted before has left. Any set of lanes,
    /// together.
    LANEWAY_FN status drain(Ctx& ctx) {
        status result = flush(ctx);
        const lane_mask group = ctx.converged();
        for (int pe = rank_in(ctx, group); pe < ctx.n_pes() && result == status::ok; pe += Ctx::count_lanes(group)) {
            if (pe != ctx.pe()) result = await_shipped(ctx, pe);
        }
        return any_failed(ctx, group, result);
    }

    /// Waits until every message that lanes of this block posted before has been served. Any set of lanes, together.
    LANEWAY_FN status quiet(Ctx& ctx) {
        const status drained = drain(ctx);
        const lane_mask group = ctx.converged();
        status result = any_failed(ctx, group, drained);
        for (int pe = 0; pe < ctx.n_pes() && result == status::ok; ++pe) {
            if (pe != ctx.pe()) result = await_served(ctx, group, pe);
        }
        return result;
    }

    /// Counts `items` of work as done once every message posted so far has left. Any lane; cheap, does not wait.
    LANEWAY_FN void complete(Ctx& ctx, std::uint64_t items) {
        if (ctx.n_pes() == 1) {
            publish_completed(ctx, items);
        } else {
            // Partner: the exchange in run_dry.
            ctx.fetch_add(done_, items, order::release, scope::block);
        }
    }

    /// For a warp that has nothing to do, again and again: sends what the block has gathered and makes completed work
    /// known. A chunk is sent when the one before it has left, so while the way is busy chunks fill. Any set of lanes,
    /// together. Waits for ring slots only.
    LANEWAY_FN status run_dry(Ctx& ctx) {
        if (ctx.n_pes() == 1) return status::ok;
        const lane_mask group = ctx.converged();
        const status sent = close_bins(ctx, [&](Ctx& c, bin& b, std::uint32_t position) {
            const std::uint32_t next = shape_.chunk_after(position >> shape_.log2_messages, 1);
            return c.load(&b.ready[next % 2], order::relaxed, scope::block) == next;
        });
        // Partner: the release add in complete. The messages of this work are in bins that the look below covers.
        const std::uint64_t items = once(ctx, group, [&]() -> std::uint64_t {
            if (ctx.load(done_, order::relaxed, scope::block) == 0) return 0;
            return ctx.exchange(done_, 0, order::acquire, scope::block);
        });
        if (sent != status::ok || items == 0) return sent;
        const bool all_left = nothing_gathered(ctx, group);
        ctx.sync(group);  // what the other lanes saw leave comes before the release below
        if (elected(ctx, group)) {
            if (all_left) {
                publish_completed(ctx, items);
            } else {
                ctx.fetch_add(done_, items, order::release, scope::block);
            }
        }
        return status::ok;
    }

    /// Adds what this lane has posted to the PE's counters, for the audit. Once, at the end.
    LANEWAY_FN void account(Ctx& ctx) const {
        if (posted_ == 0) return;
        ctx.fetch_add(&links_.work->posted, posted_, order::relaxed, scope::device);
        ctx.fetch_add(&links_.work->direct, direct_, order::relaxed, scope::device);
    }

private:
    /// A share of a chunk that this lane accounts for: one message, or a flush's padding.
    struct share {
        int pe;
        std::uint32_t chunk;
        std::uint32_t positions;
    };

    LANEWAY_FN void publish_completed(Ctx& ctx, std::uint64_t items) {
        // Partner: the acquire load of the ledger. What the items created has been counted before.
        ctx.fetch_add(completed_, items, order::release, scope::device);
    }

    LANEWAY_FN Message* buffer(int pe, std::uint32_t chunk) const {
        const auto index = static_cast<std::size_t>(pe) * 2 + chunk % 2;
        return reinterpret_cast<Message*>(buffers_ + index * shape_.bytes());
    }

    LANEWAY_FN static status any_failed(Ctx& ctx, lane_mask group, status mine) {
        ctx.sync(group);  // what a lane has acquired is visible to its mates
        return ctx.ballot(group, mine != status::ok) == 0 ? status::ok : status::stopped;
    }

    /// Accounts for the shares of the group's active lanes and ships the chunks that this completes. `peers`: lanes of
    /// the group with the same destination, which hold consecutive positions. All lanes of the group, together.
    template <class Write>
    LANEWAY_FN status settle(Ctx& ctx, lane_mask group, lane_mask peers, bool pending, share mine, Write&& write) {
        bounded_spin spin;
        for (;;) {
            // Partner: the release store of `ready` in ship. The last chunk of the buffer has been read out.
            const bool ready =
                pending && ctx.load(&bins_[mine.pe].ready[mine.chunk % 2], order::acquire, scope::block) == mine.chunk;
            if (ctx.ballot(group, ready) != 0) {
                if (ready) write();
                const status shipped = commit(ctx, group, peers, ready, mine);
                if (shipped != status::ok) return shipped;
                pending = pending && !ready;
            }
            if (ctx.ballot(group, pending) == 0) return status::ok;
            const status going = spin.next(ctx, {operation::gather, mine.pe, mine.chunk});
            if (ctx.ballot(group, going != status::ok) != 0) return status::stopped;
        }
    }

    LANEWAY_FN status commit(Ctx& ctx, lane_mask group, lane_mask peers, bool ready, share mine) {
        // Peers hold consecutive positions, so they share one chunk or two adjacent ones: parity tells them apart.
        const lane_mask odd = ctx.ballot(group, ready && mine.chunk % 2 == 1);
        const lane_mask even = ctx.ballot(group, ready && mine.chunk % 2 == 0);
        const lane_mask mates = peers & (mine.chunk % 2 == 1 ? odd : even);
        ctx.sync(group);  // the mates' messages are written before the elected one accounts for them
        bool complete = false;
        if (ready && elected(ctx, mates)) {
            const std::uint32_t positions = mine.positions * static_cast<std::uint32_t>(Ctx::count_lanes(mates));
            // Partner: itself, in other warps. Whoever completes the chunk sees what all have written.
            complete = ctx.fetch_add(&bins_[mine.pe].written[mine.chunk % 2], positions, order::acq_rel, scope::block) +
                           positions ==
                       shape_.messages();
        }
        for (lane_mask rest = ctx.ballot(group, complete); rest != 0; rest &= rest - 1) {
            const int from = Ctx::first_lane(rest);
            const int pe = ctx.shuffle(group, mine.pe, from);
            const std::uint32_t chunk = ctx.shuffle(group, mine.chunk, from);
            ctx.sync(group);  // the completing lane's acquire covers the lanes that copy
            const status shipped = ship(ctx, group, pe, chunk);
            if (shipped != status::ok) return shipped;
        }
        return status::ok;
    }

    /// Carries a complete chunk into the ring of its destination. All lanes of the group, together.
    LANEWAY_FN status ship(Ctx& ctx, lane_mask group, int pe, std::uint32_t chunk) {
        bin& b = bins_[pe];
        const chunk_sender& ring = links_.to[pe];
        std::uint64_t ticket = 0;
        const status reserved = once(ctx, group, [&] { return ring.reserve(ctx, pe, ticket, idle_); });
        if (reserved != status::ok) return reserved;
        ticket = ctx.shuffle(group, ticket, Ctx::first_lane(group));
        const std::uint32_t messages = ctx.load(&b.limit[chunk % 2], order::relaxed, scope::block);
        copy(ctx, group, ring.slot(ticket), buffer(pe, chunk), messages);
        if (elected(ctx, group)) {
            // Before the publishing release: termination detection must count a message before it can be served.
            ctx.fetch_add(&links_.sent[pe].messages, messages, order::relaxed, scope::device);
            ctx.fetch_add(&links_.sent[pe].chunks, 1, order::relaxed, scope::device);
        }
        ring.publish(ctx, group, ticket, messages);
        if (elected(ctx, group)) {
            ctx.store(&b.limit[chunk % 2], shape_.messages(), order::relaxed, scope::block);
            ctx.store(&b.written[chunk % 2], 0, order::relaxed, scope::block);
            // Partner: the acquire loads in settle and is_shipped.
            ctx.store(&b.ready[chunk % 2], shape_.chunk_after(chunk, 2), order::release, scope::block);
        }
        return status::ok;
    }

    struct alignas(16) line16 {
        std::uint64_t words[2];
    };

    LANEWAY_FN static void copy(Ctx& ctx, lane_mask group, std::byte* to, const Message* from, std::uint32_t messages) {
        const auto lines = static_cast<std::uint32_t>((messages * sizeof(Message) + 15) / 16);
        const auto stride = static_cast<std::uint32_t>(Ctx::count_lanes(group));
        auto* target = reinterpret_cast<line16*>(to);
        const auto* source = reinterpret_cast<const line16*>(from);
        for (auto i = static_cast<std::uint32_t>(rank_in(ctx, group)); i < lines; i += stride) target[i] = source[i];
    }

    /// Closes the open chunk of each bin that `wanted` names: claims its free positions as padding and settles them.
    template <class Wanted>
    LANEWAY_FN status close_bins(Ctx& ctx, Wanted&& wanted) {
        const lane_mask group = ctx.converged();
        const lane_mask self = lane_mask{1} << ctx.lane();
        for (int base = 0; base < ctx.n_pes(); base += Ctx::count_lanes(group)) {
            const int pe = base + rank_in(ctx, group);
            std::uint32_t position = 0;
            bool closed = false;
            if (pe < ctx.n_pes() && pe != ctx.pe()) closed = close(ctx, bins_[pe], position, wanted);
            if (ctx.ballot(group, closed) == 0) continue;
            const std::uint32_t filled = position & (shape_.messages() - 1);
            const share padding{closed ? pe : 0, position >> shape_.log2_messages, shape_.messages() - filled};
            const status settled = settle(ctx, group, self, closed, padding, [&] {
                ctx.store(&bins_[pe].limit[padding.chunk % 2], filled, order::relaxed, scope::block);
            });
            if (settled != status::ok) return settled;
        }
        return status::ok;
    }

    /// Moves the bin's counter to the next chunk; on success `position` is where the open chunk ended.
    template <class Wanted>
    LANEWAY_FN bool close(Ctx& ctx, bin& b, std::uint32_t& position, Wanted&& wanted) const {
        position = ctx.load(&b.reserved, order::relaxed, scope::block);
        do {
            if ((position & (shape_.messages() - 1)) == 0 || !wanted(ctx, b, position)) return false;
        } while (!ctx.compare_exchange(&b.reserved, position,
                                       ((position >> shape_.log2_messages) + 1) << shape_.log2_messages, order::relaxed,
                                       scope::block));
        return true;
    }

    /// Whether a chunk that has been closed has left.
    LANEWAY_FN bool is_shipped(Ctx& ctx, const bin& b, std::uint32_t chunk) const {
        // Partner: the release store in ship. What left was counted before.
        const std::uint32_t next = ctx.load(&b.ready[chunk % 2], order::acquire, scope::block);
        return static_cast<std::int32_t>((next - chunk) << shape_.log2_messages) > 0;
    }

    /// Whether every message that lanes of this block posted before has left. All lanes of the group, together.
    LANEWAY_FN bool nothing_gathered(Ctx& ctx, lane_mask group) const {
        bool clean = true;
        for (int pe = rank_in(ctx, group); pe < ctx.n_pes(); pe += Ctx::count_lanes(group)) {
            if (pe == ctx.pe()) continue;
            const bin& b = bins_[pe];
            const std::uint32_t position = ctx.load(&b.reserved, order::relaxed, scope::block);
            const std::uint32_t open = position >> shape_.log2_messages;
            // Chunks alternate between the buffers, so the last two closed ones speak for all before them.
            clean = clean && (position & (shape_.messages() - 1)) == 0 &&
                    is_shipped(ctx, b, shape_.chunk_after(open, std::uint32_t{0} - 1)) &&
                    is_shipped(ctx, b, shape_.chunk_after(open, std::uint32_t{0} - 2));
        }
        return ctx.ballot(group, !clean) == 0;
    }

    LANEWAY_FN status await_shipped(Ctx& ctx, int pe) {
        const bin& b = bins_[pe];
        const std::uint32_t open = ctx.load(&b.reserved, order::relaxed, scope::block) >> shape_.log2_messages;
        for (std::uint32_t back = 2; back > 0; --back) {
            const std::uint32_t chunk = shape_.chunk_after(open, std::uint32_t{0} - back);
            const status left =
                wait_until(ctx, {operation::flush, pe, chunk}, [&] { return is_shipped(ctx, b, chunk); });
            if (left != status::ok) return left;
        }
        return status::ok;
    }

    /// Waits until all chunks so far have been served. The same answer for all lanes of the group, together.
    LANEWAY_FN status await_served(Ctx& ctx, lane_mask group, int pe) {
        const chunk_sender& ring = links_.to[pe];
        // One look for all: lanes that saw different tails would share out different tickets and leave some to nobody.
        const std::uint64_t end = once(ctx, group, [&] { return ctx.load(ring.tail, order::relaxed, scope::device); });
        const std::uint64_t begin = end < ring.n_slots ? 0 : end - ring.n_slots;
        const auto stride = static_cast<std::uint64_t>(Ctx::count_lanes(group));
        std::uint64_t t = begin + static_cast<std::uint64_t>(rank_in(ctx, group));
        status served = status::ok;
        for (; t < end && served == status::ok; t += stride) {
            const std::uint64_t* credit = ring.credits + t % ring.n_slots;
            // Partner: chunk_receiver::give_back. The handlers' effects are visible to this lane afterwards.
            served = wait_until(
                ctx, {operation::quiet, pe, t}, [&] { return ctx.load(credit, order::acquire, scope::system) > t; },
                idle_);
        }
        return any_failed(ctx, group, served);
    }

    const links_ref& links_;
    chunk_shape<Message> shape_;
    const Handler& handler_;
    Idle idle_;
    bin* bins_;
    std::uint64_t* done_;       ///< in shared memory: work of the block not yet made known
    std::uint64_t* completed_;  ///< in PE memory: work made known, read by the ledger
    std::byte* buffers_;
    status failed_ = status::ok;  ///< of an earlier post: the run is ending, and further posts return at once
    std::uint64_t posted_ = 0;
    std::uint64_t direct_ = 0;
};

}  // namespace laneway
