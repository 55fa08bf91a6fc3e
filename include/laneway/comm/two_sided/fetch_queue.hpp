// Fetching payloads that stay with their senders until a receive is there: straight from the sender's symmetric memory
// into the receiver's buffer, in pieces, by any lanes that have time.
//
// Queues name receives, several of them as one compare-and-swap after the other is slow. A piece is taken by a
// compare-and-swap of the receive's word, which has how many pieces there are, how many have been taken, and the
// receive's place in the queue: so a lane that comes late, when the receive has become another one, takes nothing. Who
// takes the last piece moves the queue on, before it is copied: so no receive has two places.
#pragma once

#include "laneway/comm/triggers/move_range.hpp"
#include "laneway/comm/two_sided/request_pool.hpp"
#include "laneway/simt/message_order.hpp"

namespace laneway {

template <class Ctx>
class fetch_queue {
public:
    LANEWAY_FN explicit fetch_queue(const two_sided_ref& view) : view_(view) {}

    /// Begins with the payload of a receive, whose slot has been filled in. Each lane another.
    LANEWAY_FN void begin(Ctx& ctx, std::uint32_t number) const {
        request_slot& slot = view_.requests[number];
        slot.pieces_done = 0;
        const number_queue_ref queue = view_.fetch_queue_of(number);
        const std::uint64_t place = queue.draw(ctx);
        // Partner: the acquire load in take. The slot's other words are seen behind it.
        ctx.store(&slot.fetched, word_of(place, pieces_of(slot.length)), order::release, scope::device);
        queue.put(ctx, place, number);
        // Partner: the fence in take_from_any. Either who clears the bit finds the receive, or the bit is seen clear
        // here.
        ctx.fence(scope::device);
        mark(ctx, number % view_.n_fetch_queues);
    }

    [[nodiscard]] LANEWAY_FN bool any(Ctx& ctx) const { return fetching(ctx) != 0; }

    /// Fetches a piece, if there is one, from the queues at or behind `first` if it can be. The lanes of the mask,
    /// together. Whether there was one.
    LANEWAY_SLOW bool turn(Ctx& ctx, lane_mask mask, std::uint32_t first) const {
        const std::uint64_t taken = once(ctx, mask, [&] { return take_from_any(ctx, first); });
        if (taken == 0) return false;
        ctx.sync(mask);  // what one lane has acquired is visible to all
        const auto number = static_cast<std::uint32_t>(taken >> 32);
        request_slot& slot = view_.requests[number];
        copy_piece(
            ctx, slot, static_cast<std::uint32_t>(taken) - 1,
            {static_cast<std::uint64_t>(rank_in(ctx, mask)), static_cast<std::uint64_t>(Ctx::count_lanes(mask))});
        ctx.sync(mask);
        if (elected(ctx, mask)) finish_piece(ctx, number, slot);
        ctx.sync(mask);
        return true;
    }

private:
    static constexpr std::uint64_t min_piece = 8192, max_pieces_each = 64;

    static LANEWAY_FN std::uint64_t piece_bytes(std::uint64_t bytes) {
        const std::uint64_t even = (bytes / max_pieces_each + 511) / 512 * 512;
        return even < min_piece ? min_piece : even;
    }
    static LANEWAY_FN std::uint64_t pieces_of(std::uint64_t bytes) {
        return (bytes + piece_bytes(bytes) - 1) / piece_bytes(bytes);
    }
    /// Place, 32 bits of it; pieces, and those that have been taken, 16 each.
    static LANEWAY_FN std::uint64_t word_of(std::uint64_t place, std::uint64_t pieces) {
        return place << 32 | pieces << 16;
    }

    [[nodiscard]] LANEWAY_FN std::uint32_t fetching(Ctx& ctx) const {
        return ctx.load(&view_.counters->fetching, order::relaxed, scope::device);
    }
    LANEWAY_FN void mark(Ctx& ctx, std::uint32_t queue) const {
        const std::uint32_t bit = 1u << queue;
        if ((fetching(ctx) & bit) == 0) ctx.fetch_or(&view_.counters->fetching, bit, order::relaxed, scope::device);
    }

    /// A request's number and 1 more than that of a piece; 0 where there is none. One lane.
    LANEWAY_FN std::uint64_t take_from_any(Ctx& ctx, std::uint32_t first) const {
        const std::uint32_t all = fetching(ctx);
        if (all == 0) return 0;
        const std::uint32_t behind = all >> (first % max_fetch_queues) << (first % max_fetch_queues);
        const auto number = static_cast<std::uint32_t>(Ctx::first_lane(behind != 0 ? behind : all));
        const number_queue_ref queue = view_.fetch_queue_of(number);
        const std::uint64_t taken = take(ctx, queue);
        if (taken == 0 && !queue.any(ctx)) {
            ctx.fetch_and(&view_.counters->fetching, ~(1u << number), order::relaxed, scope::device);
            // Partner: the fence in begin.
            ctx.fence(scope::device);
            if (queue.any(ctx)) mark(ctx, number);
        }
        return taken;
    }
    /// The same of one queue.
    LANEWAY_FN std::uint64_t take(Ctx& ctx, const number_queue_ref& queue) const {
        for (int tries = 0; tries < 4; ++tries) {
            std::uint64_t place = ctx.load(queue.taken, order::relaxed, scope::device);
            const std::uint32_t number = queue.at(ctx, place);
            if (number == number_queue_ref::none) return 0;
            std::uint64_t* const word = &view_.requests[number].fetched;
            // Partner: the release store in begin.
            std::uint64_t seen = ctx.load(word, order::acquire, scope::device);
            const std::uint64_t pieces = seen >> 16 & 0xffff, piece = seen & 0xffff;
            if (seen >> 32 != (place & 0xffff'ffff) || piece == pieces) continue;  // another lane has moved on
            if (!ctx.compare_exchange(word, seen, seen + 1, order::acquire, scope::device)) continue;
            // Nobody else takes the last piece.
            if (piece + 1 == pieces) ctx.store(queue.taken, place + 1, order::relaxed, scope::device);
            return std::uint64_t{number} << 32 | (piece + 1);
        }
        return 0;
    }

    LANEWAY_FN void copy_piece(Ctx& ctx, request_slot& slot, std::uint32_t piece, copy_share mine) const {
        const std::uint64_t size = piece_bytes(slot.length), first = piece * size;
        const std::uint64_t left = slot.length - first, bytes = left < size ? left : size;
        const symmetric_ptr<std::byte> from{slot.place.segment, slot.place.index + first};
        const bool of_host = from.segment == host_visible_segment;
        if (checks_accesses<Ctx> && !of_host) return copy_watched(ctx, slot, from, {first, bytes}, mine);
        const remote_ptr<const std::byte> there =
            of_host ? remote_ptr<const std::byte>(reinterpret_cast<const std::byte*>(from.index))
                    : remote_address(ctx, from, static_cast<int>(slot.source));
        remote_copy::get(slot.data + first, there, bytes, mine);
    }

    struct piece_range {
        std::uint64_t first, bytes;
    };
    /// On checked devices, which see each read: a sender that changes its buffer too early is told.
    LANEWAY_FN void copy_watched([[maybe_unused]] Ctx& ctx, request_slot& slot, symmetric_ptr<std::byte> from,
                                 const piece_range& piece, copy_share mine) const {
        if constexpr (checks_accesses<Ctx>) {
            come_behind(ctx, &slot);
            const auto there =
                ctx.template element<std::uint8_t>(from.segment, static_cast<int>(slot.source), ~std::uint64_t{0},
                                                   from.index, call_site_of<Ctx>::current());
            for (std::uint64_t i = mine.first; i < piece.bytes; i += mine.step) {
                slot.data[piece.first + i] = static_cast<std::byte>(static_cast<std::uint8_t>(there[i]));
            }
            go_before(ctx, &slot.pieces_done);
        }
    }

    /// Behind the last piece the receive is done, and its sender is told. One lane.
    LANEWAY_FN void finish_piece(Ctx& ctx, std::uint32_t number, request_slot& slot) const {
        const payload_place place = slot.place;
        const int source = static_cast<int>(slot.source);
        const std::uint64_t pieces = pieces_of(slot.length);
        // Partners: these adds of the other pieces.
        if (ctx.fetch_add(&slot.pieces_done, 1u, order::acq_rel, scope::device) + 1 != pieces) return;
        come_behind(ctx, &slot.pieces_done);
        go_before(ctx, view_.requests + number);
        request_pool<Ctx>::answer(ctx, view_, source, place);  // all pieces have been read
        const request_word now{ctx.load(&slot.word, order::relaxed, scope::device)};
        // Partner: the acquire load in request_pool::look.
        ctx.store(&slot.word, request_word::of(now.generation(), request_word::done), order::release, scope::device);
        // Partner: the acquire load of communicator_ref.
        ctx.fetch_add(&view_.counters->completed, std::uint64_t{1}, order::release, scope::device);
    }

    const two_sided_ref& view_;
};

}  // namespace laneway
