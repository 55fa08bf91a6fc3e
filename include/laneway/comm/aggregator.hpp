// The aggregator: gathers the messages of one type that a block sends, one aggregation buffer a destination, and ships
// full chunks.
// Aggregation follows Gravel (Orr 2016, ch. 5): lanes of a warp are grouped by destination, each group claims its
// positions with one atomic in shared memory. Three rules keep it free of deadlock. A warp commits what it can write
// before it waits for anything else. A wait for a buffer depends only on warps that reserved earlier. A wait for a ring
// slot depends only on the destination's servers, which never wait for this ring.
#pragma once

#include "laneway/comm/aggregation_buffer.hpp"
#include "laneway/comm/links.hpp"
#include "laneway/comm/variable_message.hpp"
#include "laneway/simt/message_order.hpp"

namespace laneway {

/// One lane's access to the aggregation buffers that its block has for one type of message. Members that take a mask
/// are called by exactly the lanes of the mask, together. `idle()` is called by all of them while they wait; it must
/// serve what the awaited event depends on where no other warp does. `Reach`: who shares the aggregation buffers;
/// device where they lie in PE memory and serve the lanes of several blocks.
template <class Ctx, class Message, scope Reach = scope::block>
class aggregator {
public:
    /// `kind` labels the chunks; `memory` holds the aggregation buffers, shape.shared_bytes of it, in the block's
    /// shared memory or that of the PE.
    LANEWAY_FN aggregator(Ctx& ctx, const links_ref& links, chunk_shape<Message> shape, std::uint32_t kind,
                          std::byte* memory)
        : links_(links), shape_(shape), kind_(kind), buffers_(reinterpret_cast<aggregation_buffer*>(memory)),
          storage_(memory + shape.aggregation_bytes(ctx.n_pes())) {}

    /// Prepares the aggregation buffers of a block; all its lanes call it before any message, and a block barrier must
    /// follow.
    LANEWAY_FN void open(Ctx& ctx) {
        const int lanes = ctx.n_warps() * Ctx::warp_lanes;
        for (int pe = ctx.warp() * Ctx::warp_lanes + ctx.lane(); pe < ctx.n_pes(); pe += lanes) {
            buffers_[pe] = shape_.empty_buffer();
        }
    }

    /// Puts the messages of the active lanes into the aggregation buffers of their PEs, which exist and are not the own
    /// one. May wait for buffers and ring slots (back-pressure).
    template <class Idle>
    LANEWAY_FN status put(Ctx& ctx, lane_mask mask, bool active, int pe, const Message& message, Idle&& idle) {
        const lane_mask peers = ctx.match(mask, active ? static_cast<std::uint32_t>(pe) : ~std::uint32_t{0});
        std::uint32_t first = 0;
        if (active && elected(ctx, peers)) first = reserve(ctx, pe, Ctx::count_lanes(peers));
        first = ctx.shuffle(mask, first, Ctx::first_lane(peers));
        const std::uint32_t position = first + static_cast<std::uint32_t>(rank_in(ctx, peers));
        return put_at(ctx, mask, peers, active, pe, position, message, idle);
    }

    /// Sends the messages of the mask's lanes at once, past the aggregation buffers, if they are so few that they would
    /// fit the words of one chunk, and if the block is aggregating nothing for their PEs; false: none was sent. May
    /// wait for ring slots.
    template <class Idle>
    [[nodiscard]] LANEWAY_FN bool send_at_once(Ctx& ctx, lane_mask mask, int pe, const Message& message, status& result,
                                               Idle&& idle) {
        if constexpr (!fits_words<Message>(1)) {
            return false;
        } else {
            const chunk_sender& ring = links_.to[pe];
            if (!fits_words<Message>(static_cast<std::uint32_t>(Ctx::count_lanes(mask)))) return false;
            const std::uint32_t position = ctx.load(&buffers_[pe].reserved, order::relaxed, Reach);
            const bool aggregates = (position & (shape_.messages() - 1)) != 0;
            if (ctx.ballot(mask, aggregates || !ring.has_words()) != 0) return false;
            const lane_mask peers = ctx.match(mask, static_cast<std::uint32_t>(pe));
            const bool leads = elected(ctx, peers);
            std::uint64_t counted = 0;
            std::uint64_t ticket = 0;
            bool free = false;
            if (leads) {
                const auto n = static_cast<std::uint32_t>(Ctx::count_lanes(peers));
                counted = count_sent(ctx, pe, n, n * sizeof(Message));
                std::uint64_t* const guess = &buffers_[pe].next_ticket;
                ticket = ring.draw(ctx, ctx.load(guess, order::relaxed, Reach), free);
                ctx.store(guess, ticket + 1, order::relaxed, Reach);
            }
            ticket = ctx.shuffle(mask, ticket, Ctx::first_lane(peers));
            result = publish_each(ctx, mask, peers, ticket, free, pe, message, counted, idle);
            return true;
        }
    }

    /// Claims consecutive positions in the aggregation buffer of a PE and returns the first; each must be filled by
    /// put_at. One lane.
    LANEWAY_FN std::uint32_t reserve(Ctx& ctx, int pe, int positions) const {
        return ctx.fetch_add(&buffers_[pe].reserved, static_cast<std::uint32_t>(positions), order::relaxed, Reach);
    }

    /// The second half of put: the positions are reserved. `peers`: lanes of the mask with the same destination, which
    /// hold consecutive positions.
    template <class Idle>
    LANEWAY_FN status put_at(Ctx& ctx, lane_mask mask, lane_mask peers, bool active, int pe, std::uint32_t position,
                             const Message& message, Idle&& idle) {
        return commit_pending(
            ctx, mask, peers, active, {active ? pe : 0, position >> shape_.log2_messages, 1},
            [&] {
                const std::uint32_t index = position & (shape_.messages() - 1);
                if (index == 0) ctx.store(&buffers_[pe].opened_ns, ctx.now_ns(), order::relaxed, Reach);
                write(ctx, buffer(pe, position >> shape_.log2_messages), index, message);
            },
            idle);
    }

    /// Sends what the block has aggregated. On return every message put before by these lanes has left or is being
    /// shipped by another warp of the block; see await_left.
    template <class Idle>
    LANEWAY_FN status flush(Ctx& ctx, lane_mask mask, Idle&& idle) {
        return close_chunks(
            ctx, mask, [](Ctx&, aggregation_buffer&, std::uint32_t) { return true; }, idle);
    }

    /// Sends the chunks whose first message has waited for the age limit; for 16 times as long where the chunk fills
    /// quickly, or where the block is busy sending: then more small chunks would slow all of them.
    template <class Idle>
    LANEWAY_FN status flush_old(Ctx& ctx, lane_mask mask, Idle&& idle) {
        const std::uint64_t now = ctx.now_ns();
        const bool busy = !all_ways_free(ctx, mask);
        const auto is_old = [&](Ctx& c, aggregation_buffer& b, std::uint32_t position) {
            const bool fills = (position & (shape_.messages() - 1)) * 16 > shape_.messages();
            const std::uint64_t opened = c.load(&b.opened_ns, order::relaxed, Reach);
            // Another warp may have opened the chunk since `now`.
            return opened < now && (now - opened) / (fills || busy ? 16 : 1) > links_.age_ns;
        };
        return close_chunks(ctx, mask, is_old, idle);
    }

    /// Sends each chunk whose predecessor has left, so while the way is busy chunks fill.
    template <class Idle>
    LANEWAY_FN status flush_ready(Ctx& ctx, lane_mask mask, Idle&& idle) {
        return close_chunks(
            ctx, mask, [&](Ctx& c, aggregation_buffer& b, std::uint32_t position) { return has_way(c, b, position); },
            idle);
    }

    /// Whether some chunk is open that has messages. The same answer for all lanes of the mask.
    LANEWAY_FN bool any_open(Ctx& ctx, lane_mask mask) const {
        bool open = false;
        for (int pe = rank_in(ctx, mask); pe < ctx.n_pes(); pe += Ctx::count_lanes(mask)) {
            const std::uint32_t position = ctx.load(&buffers_[pe].reserved, order::relaxed, Reach);
            open = open || (position & (shape_.messages() - 1)) != 0;
        }
        return ctx.ballot(mask, open) != 0;
    }

    /// Whether every message to a PE that lanes of this block put before has left. Any lane.
    LANEWAY_FN bool all_left(Ctx& ctx, int pe) const {
        const aggregation_buffer& b = buffers_[pe];
        const std::uint32_t position = ctx.load(&b.reserved, order::relaxed, Reach);
        const std::uint32_t open = position >> shape_.log2_messages;
        // Chunks alternate between the buffers, so the last two closed ones speak for all before them.
        return (position & (shape_.messages() - 1)) == 0 &&
               is_shipped(ctx, b, shape_.chunk_after(open, std::uint32_t{0} - 1)) &&
               is_shipped(ctx, b, shape_.chunk_after(open, std::uint32_t{0} - 2));
    }

    /// Waits until every chunk that was closed before has left. The same answer for all.
    template <class Idle>
    LANEWAY_SLOW status await_left(Ctx& ctx, lane_mask mask, Idle&& idle) {
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            if (pe == ctx.pe()) continue;
            const aggregation_buffer& b = buffers_[pe];
            const std::uint32_t open =
                once(ctx, mask, [&] { return ctx.load(&b.reserved, order::relaxed, Reach); }) >> shape_.log2_messages;
            for (std::uint32_t back = 2; back > 0; --back) {
                const std::uint32_t chunk = shape_.chunk_after(open, std::uint32_t{0} - back);
                const status left = wait_together(
                    ctx, mask, {operation::flush, pe, chunk}, [&] { return is_shipped(ctx, b, chunk); }, idle);
                if (left != status::ok) return left;
            }
        }
        return status::ok;
    }

protected:
    /// A share of a chunk that this lane accounts for: one message, or a flush's padding.
    struct share {
        int pe;
        std::uint32_t chunk;
        std::uint32_t positions;
    };
    /// In the positions of a variable-length message's share, see aggregation_buffer::written.
    static constexpr std::uint32_t one_message = 1u << 16;

    /// Whether the buffer that a share lies in is free for its chunk.
    LANEWAY_FN bool may_write(Ctx& ctx, const share& mine) const {
        // Partner: the release store of `ready` in ship. The last chunk of the buffer has been read out.
        return ctx.load(&buffers_[mine.pe].ready[mine.chunk % 2], order::acquire, Reach) == mine.chunk;
    }

    LANEWAY_FN void write(Ctx& ctx, Message* to, std::uint32_t index, const Message& message) const {
        to[index] = message;
        tell_history(ctx, [to](auto& history) { history.carry(to); });
    }

    LANEWAY_FN Message* buffer(int pe, std::uint32_t chunk) const {
        const auto index = static_cast<std::size_t>(pe) * 2 + chunk % 2;
        return reinterpret_cast<Message*>(storage_ + index * shape_.bytes());
    }

    /// Accounts for the shares of the pending lanes and ships the chunks that this completes. `peers`: lanes of the
    /// mask with the same destination, which hold consecutive positions.
    template <class Write, class Idle>
    LANEWAY_FN status commit_pending(Ctx& ctx, lane_mask mask, lane_mask peers, bool pending, share mine, Write&& write,
                                     Idle&& idle) {
        bounded_spin spin;
        for (;;) {
            const bool ready = pending && may_write(ctx, mine);
            if (ctx.ballot(mask, ready) != 0) {
                if (ready) write();
                const status shipped = commit(ctx, mask, peers, ready, mine, idle);
                if (shipped != status::ok) return shipped;
                pending = pending && !ready;
            }
            if (ctx.ballot(mask, pending) == 0) return status::ok;
            idle();
            const status going = spin.next(ctx, {operation::aggregate, mine.pe, mine.chunk});
            if (ctx.ballot(mask, going != status::ok) != 0) return status::stopped;
        }
    }

    template <class Idle>
    LANEWAY_FN status commit(Ctx& ctx, lane_mask mask, lane_mask peers, bool ready, share mine, Idle&& idle) {
        // Peers hold consecutive positions, so they share one chunk or two adjacent ones: parity tells them apart.
        const lane_mask odd = ctx.ballot(mask, ready && mine.chunk % 2 == 1);
        const lane_mask even = ctx.ballot(mask, ready && mine.chunk % 2 == 0);
        const lane_mask mates = peers & (mine.chunk % 2 == 1 ? odd : even);
        ctx.sync(mask);  // the mates' messages are written before the elected one accounts for them
        std::uint32_t written = 0;
        if (ready && elected(ctx, mates)) {
            const std::uint32_t positions = mine.positions * static_cast<std::uint32_t>(Ctx::count_lanes(mates));
            // Partner: itself, in other warps. Whoever completes the chunk sees what all have written.
            written =
                ctx.fetch_add(&buffers_[mine.pe].written[mine.chunk % 2], positions, order::acq_rel, Reach) + positions;
        }
        const bool complete = written % one_message == shape_.messages();
        for (lane_mask rest = ctx.ballot(mask, complete); rest != 0; rest &= rest - 1) {
            const int from = Ctx::first_lane(rest);
            const int pe = ctx.shuffle(mask, mine.pe, from);
            const std::uint32_t chunk = ctx.shuffle(mask, mine.chunk, from);
            std::uint32_t variable_messages = 0;
            if constexpr (is_granule<Message>) variable_messages = ctx.shuffle(mask, written / one_message, from);
            ctx.sync(mask);  // the completing lane's acquire covers the lanes that copy
            const status shipped = ship(ctx, mask, pe, chunk, variable_messages, idle);
            if (shipped != status::ok) return shipped;
        }
        return status::ok;
    }

    /// Publishes the chunks of words that groups of lanes send, each as soon as its slot is free: a chunk that waited
    /// for another ring could keep that ring waiting. `free`: whether the leader has seen it to be, which holds for
    /// words only.
    template <class Idle>
    LANEWAY_FN status publish_each(Ctx& ctx, lane_mask mask, lane_mask peers, std::uint64_t ticket, bool free, int pe,
                                   const Message& message, std::uint64_t counted, Idle&& idle) {
        const chunk_sender& ring = links_.to[pe];
        const bool leads = elected(ctx, peers);
        bool left = false;
        bounded_spin spin;
        for (;;) {
            const bool go = leads && !left && (free || ring.is_free(ctx, ticket));
            const bool ready = (ctx.ballot(mask, go) & peers) != 0;
            ctx.sync(mask);  // what the leaders have acquired comes before the stores of their mates
            if (ready) {
                ring.store_words(ctx, ticket, static_cast<std::uint32_t>(rank_in(ctx, peers)), message);
                tell_history(ctx, [&](auto& history) { history.carry(ring.slot(ticket)); });
            }
            ctx.sync(mask);
            if (ready && leads) {
                const auto n = static_cast<std::uint32_t>(Ctx::count_lanes(peers));
                ring.raise_flag(ctx, ticket, chunk_label::of(n, kind_, true), counted);
            }
            left = left || ready;
            if (ctx.ballot(mask, !left) == 0) return status::ok;
            idle();
            const status going = spin.next(ctx, {operation::reserve_slot, pe, ticket});
            if (ctx.ballot(mask, going != status::ok) != 0) return status::stopped;
        }
    }

    /// Counts messages as sent, before their chunk is published: termination detection must count a message before it
    /// can be served. Returns what stood there before. One lane.
    LANEWAY_FN std::uint64_t count_sent(Ctx& ctx, int pe, std::uint32_t messages, std::size_t bytes) const {
        link_counters& sent = links_.sent[pe];
        ctx.fetch_add(&sent.chunks, 1, order::relaxed, scope::device);
        ctx.fetch_add(&sent.bytes, bytes, order::relaxed, scope::device);
        return ctx.fetch_add(&sent.messages, messages, order::relaxed, scope::device);
    }

    /// Carries a complete chunk into the ring of its destination. `variable_messages`: how many it holds, where it
    /// holds variable-length messages.
    template <class Idle>
    LANEWAY_FN status ship(Ctx& ctx, lane_mask mask, int pe, std::uint32_t chunk, std::uint32_t variable_messages,
                           Idle&& idle) {
        aggregation_buffer& b = buffers_[pe];
        const chunk_sender& ring = links_.to[pe];
        const std::uint32_t filled = ctx.load(&b.limit[chunk % 2], order::relaxed, Reach);
        const std::uint32_t messages = is_granule<Message> ? variable_messages : filled;
        std::uint64_t counted = 0;
        if (elected(ctx, mask)) counted = count_sent(ctx, pe, messages, filled * sizeof(Message));
        std::uint64_t ticket = 0;
        const status reserved = ring.reserve(ctx, mask, pe, ticket, idle);
        if (reserved != status::ok) return reserved;
        const Message* chunk_data = buffer(pe, chunk);
        if (elected(ctx, mask)) {
            tell_history(ctx, [&](auto& history) { history.hand_on(chunk_data, ring.slot(ticket)); });
        }
        bool in_words = false;
        if constexpr (fits_words<Message>(1) && !is_granule<Message>) {
            in_words = ring.has_words() && fits_words<Message>(messages);
            if (in_words) ring.publish_in_words(ctx, mask, ticket, chunk_data, messages, kind_, counted);
        }
        if (!in_words) {
            copy(ctx, mask, ring.slot(ticket), chunk_data, filled);
            ring.publish(ctx, mask, ticket, messages, kind_);
        }
        if (elected(ctx, mask)) {
            ctx.store(&b.limit[chunk % 2], shape_.messages(), order::relaxed, Reach);
            ctx.store(&b.written[chunk % 2], 0, order::relaxed, Reach);
            // Partner: the acquire loads in may_write and is_shipped.
            ctx.store(&b.ready[chunk % 2], shape_.chunk_after(chunk, 2), order::release, Reach);
        }
        return status::ok;
    }

    struct alignas(16) vector16 {
        std::uint64_t words[2];
    };

    LANEWAY_FN static void copy(Ctx& ctx, lane_mask mask, std::byte* to, const Message* from, std::uint32_t positions) {
        const auto lines = static_cast<std::uint32_t>((positions * sizeof(Message) + 15) / 16);
        const auto stride = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        auto* target = reinterpret_cast<vector16*>(to);
        const auto* source = reinterpret_cast<const vector16*>(from);
        for (auto i = static_cast<std::uint32_t>(rank_in(ctx, mask)); i < lines; i += stride) target[i] = source[i];
    }

    /// Closes the open chunk of each aggregation buffer that `wanted` names: claims its free positions as padding and
    /// commits them.
    template <class Wanted, class Idle>
    LANEWAY_SLOW status close_chunks(Ctx& ctx, lane_mask mask, Wanted&& wanted, Idle&& idle) {
        const lane_mask self = lane_mask{1} << ctx.lane();
        for (int base = 0; base < ctx.n_pes(); base += Ctx::count_lanes(mask)) {
            const int pe = base + rank_in(ctx, mask);
            std::uint32_t position = 0;
            bool closed = false;
            if (pe < ctx.n_pes() && pe != ctx.pe()) closed = close(ctx, buffers_[pe], position, wanted);
            if (ctx.ballot(mask, closed) == 0) continue;
            const std::uint32_t filled = position & (shape_.messages() - 1);
            const share padding{closed ? pe : 0, position >> shape_.log2_messages, shape_.messages() - filled};
            const status committed = commit_pending(
                ctx, mask, self, closed, padding,
                [&] { ctx.store(&buffers_[pe].limit[padding.chunk % 2], filled, order::relaxed, Reach); }, idle);
            if (committed != status::ok) return committed;
        }
        return status::ok;
    }

    /// Moves the aggregation buffer's counter to the next chunk; on success `position` is where the open chunk ended.
    template <class Wanted>
    LANEWAY_FN bool close(Ctx& ctx, aggregation_buffer& b, std::uint32_t& position, Wanted&& wanted) const {
        position = ctx.load(&b.reserved, order::relaxed, Reach);
        do {
            if ((position & (shape_.messages() - 1)) == 0 || !wanted(ctx, b, position)) return false;
        } while (!ctx.compare_exchange(&b.reserved, position,
                                       ((position >> shape_.log2_messages) + 1) << shape_.log2_messages, order::relaxed,
                                       Reach));
        return true;
    }

    /// Whether the chunk before the open one has left.
    LANEWAY_FN bool has_way(Ctx& ctx, const aggregation_buffer& b, std::uint32_t position) const {
        const std::uint32_t next = shape_.chunk_after(position >> shape_.log2_messages, 1);
        return ctx.load(&b.ready[next % 2], order::relaxed, Reach) == next;
    }

    LANEWAY_FN bool all_ways_free(Ctx& ctx, lane_mask mask) const {
        bool all_free = true;
        for (int pe = rank_in(ctx, mask); pe < ctx.n_pes(); pe += Ctx::count_lanes(mask)) {
            const aggregation_buffer& b = buffers_[pe];
            if (pe != ctx.pe() && !has_way(ctx, b, ctx.load(&b.reserved, order::relaxed, Reach))) all_free = false;
        }
        return ctx.ballot(mask, !all_free) == 0;
    }

    /// Whether a chunk that has been closed has left.
    LANEWAY_FN bool is_shipped(Ctx& ctx, const aggregation_buffer& b, std::uint32_t chunk) const {
        // Partner: the release store in ship. What left was counted before.
        const std::uint32_t next = ctx.load(&b.ready[chunk % 2], order::acquire, Reach);
        return static_cast<std::int32_t>((next - chunk) << shape_.log2_messages) > 0;
    }

    const links_ref& links_;
    chunk_shape<Message> shape_;
    std::uint32_t kind_;
    aggregation_buffer* buffers_;
    std::byte* storage_;
};

}  // namespace laneway
