// A bounded queue of small values whose producers and consumers are groups of lanes: one atomic operation on each of
// two words serves all lanes that come together, and their loads and stores lie side by side. It may lie in PE memory,
// for all warps of a PE, or in a block's shared memory.
//
// After the warp-parallel queue of Klenk (Communication Architectures for Scalable GPU-centric Computing Systems, 2017,
// 6.2.1 and 6.2.2), where a lane of each warp takes a range of places by compare-and-swap. Here ranges are handed out
// by adds, which never fail, as in the broker queue (Kerbl and others, ICS 2018): producers first take from the number
// of places that are free, and consumers from that of values that are there, so each position that is drawn has
// somebody on the other side who has been there already. Each word of a place says for which lap it is, and whether it
// is filled: whoever fills or empties it waits for its turn, as a producer may still be storing the value of the lap
// before when the next one comes.
//
// Counters are words of 32 bits and wrap round: in shared memory GPUs add to these in one operation, and to wider ones
// in a loop of compare-and-swap.
//
// Who has drawn a position waits only for who has drawn an earlier one, and does nothing else meanwhile: so lanes may
// take values out while they wait for room.
#pragma once

#include "laneway/queue/tagged_words.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// Counters of a queue, zeroed before use.
struct warp_queue_words {
    alignas(destructive_bytes) std::uint32_t tail = 0;   ///< places handed out to producers
    alignas(destructive_bytes) std::uint32_t head = 0;   ///< and to consumers
    alignas(destructive_bytes) std::uint32_t used = 0;   ///< places that producers have claimed, consumers not freed
    alignas(destructive_bytes) std::uint32_t ready = 0;  ///< values that no consumer has claimed, as a signed number
};

/// Device view of a queue. `Scope`: device where it lies in PE memory, block where it lies in shared memory.
template <class T, scope Scope>
class warp_queue_ref {
    static_assert(trivially_copyable<T> && sizeof(T) <= 8, "values of up to 8 bytes");

public:
    static constexpr std::uint32_t value_words_of = tagged_words<T>;

    /// `entries`: capacity * value_words_of words, zeroed before use; `capacity`: a power of two, a warp's lanes or
    /// more, 2 to 2^30.
    LANEWAY_FN warp_queue_ref(warp_queue_words* words, std::uint64_t* entries, std::uint32_t capacity)
        : words_(words), entries_(entries), capacity_(capacity) {}

    /// Puts in a value for each lane of the mask; exactly these lanes, together. Waits for room; all of them call
    /// `idle()` meanwhile. `o`: release where what the lane has stored before belongs to the value, else relaxed. Fails
    /// with stopped or timeout.
    template <class Ctx, class Idle>
    LANEWAY_FN status push(Ctx& ctx, lane_mask mask, const T& value, order o, Idle&& idle) const {
        const auto n = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        ctx.sync(mask);  // as in pop
        const status room = wait_together(
            ctx, mask, {operation::queue_room, -1, n}, [&] { return reserve(ctx, n); }, static_cast<Idle&&>(idle));
        if (room != status::ok) return room;
        const std::uint32_t first =
            once(ctx, mask, [&] { return ctx.fetch_add(&words_->tail, n, order::relaxed, Scope); });
        const status written = write(ctx, first + static_cast<std::uint32_t>(rank_in(ctx, mask)), value, o);
        ctx.sync(mask);
        if (elected(ctx, mask)) ctx.fetch_add(&words_->ready, n, order::relaxed, Scope);
        return written;
    }

    /// Takes values, one for each of the first `most` lanes of the mask at most; exactly these lanes, together. Returns
    /// whether this lane has got one. Waits for nothing but values whose producers are storing them. `o`: acquire where
    /// push says release.
    template <class Ctx>
    LANEWAY_FN bool pop(Ctx& ctx, lane_mask mask, std::uint32_t most, T& value, order o) const {
        const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        std::uint32_t first = 0;
        ctx.sync(mask);  // who draws a position waits for no mate afterwards, who may be waiting for that place
        const std::uint32_t got = once(ctx, mask, [&] { return claim(ctx, most < lanes ? most : lanes, first); });
        if (got == 0) return false;
        first = ctx.shuffle(mask, first, Ctx::first_lane(mask));
        const auto mine = static_cast<std::uint32_t>(rank_in(ctx, mask));
        const bool taken = mine < got && read(ctx, first + mine, value, o);
        ctx.sync(mask);
        // Partner: the add in reserve. The places are empty before.
        if (elected(ctx, mask)) ctx.fetch_add(&words_->used, ~got + 1, order::release, Scope);
        return taken;
    }

    /// Values that nobody has claimed, about. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t waiting(Ctx& ctx) const {
        const auto ready = static_cast<std::int32_t>(ctx.load(&words_->ready, order::relaxed, Scope));
        return ready > 0 ? static_cast<std::uint32_t>(ready) : 0;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t capacity() const { return capacity_; }

private:
    /// A word of a value. Those of neighbours lie side by side.
    [[nodiscard]] LANEWAY_FN std::uint64_t* word(std::uint32_t position, std::uint32_t number) const {
        return entries_ + std::uint64_t{number} * capacity_ + (position & (capacity_ - 1));
    }
    /// What a word of its place says while it is empty for the value of a position: the lap, in its upper bits. The
    /// lowest one says that it is filled.
    [[nodiscard]] LANEWAY_FN std::uint32_t lap(std::uint32_t position) const { return position & ~(capacity_ - 1); }
    static constexpr std::uint32_t filled = 1;

    /// Whether there is room for `n`, which is taken then. One lane. What others have taken and give back may make it
    /// seem that there is none.
    template <class Ctx>
    LANEWAY_FN bool reserve(Ctx& ctx, std::uint32_t n) const {
        if (ctx.load(&words_->used, order::relaxed, Scope) + n > capacity_) return false;
        // Partner: the release add in pop.
        if (ctx.fetch_add(&words_->used, n, order::acquire, Scope) + n <= capacity_) return true;
        ctx.fetch_add(&words_->used, ~n + 1, order::relaxed, Scope);
        return false;
    }

    template <class Ctx>
    LANEWAY_FN status write(Ctx& ctx, std::uint32_t position, const T& value, order o) const {
        const auto empty = [&] {
            bool all = true;
            for (std::uint32_t i = 0; i < value_words_of; ++i) {
                // Relaxed: coherence of the one word orders the store below behind it.
                all = ctx.load(word(position, i), order::relaxed, Scope) >> 32 == lap(position) && all;
            }
            return all;
        };
        // The value of the lap before is not stored yet, or not taken.
        if (!empty()) {
            const status waited = wait_until(ctx, {operation::queue_place, -1, position}, empty);
            if (waited != status::ok) return waited;
        }
        const auto parts = __builtin_bit_cast(value_words<T>, padded_value<T>{value});
        for (std::uint32_t i = 0; i < value_words_of; ++i) {
            // Partner: the load of the last word in read.
            const order how = i + 1 < value_words_of ? order::relaxed : o;
            ctx.store(word(position, i), std::uint64_t{lap(position) | filled} << 32 | parts.words[i], how, Scope);
        }
        return status::ok;
    }

    /// Takes up to `wanted` of what is there; one lane. Only consumers take from `ready`, so what it gives is there.
    template <class Ctx>
    LANEWAY_FN std::uint32_t claim(Ctx& ctx, std::uint32_t wanted, std::uint32_t& first) const {
        const std::uint32_t seen = waiting(ctx);
        if (seen == 0) return 0;
        if (seen < wanted) wanted = seen;
        const auto before =
            static_cast<std::int32_t>(ctx.fetch_add(&words_->ready, ~wanted + 1, order::relaxed, Scope));
        const std::uint32_t got = before <= 0                                   ? 0
                                  : static_cast<std::uint32_t>(before) < wanted ? static_cast<std::uint32_t>(before)
                                                                                : wanted;
        if (got < wanted) ctx.fetch_add(&words_->ready, wanted - got, order::relaxed, Scope);
        if (got != 0) first = ctx.fetch_add(&words_->head, got, order::relaxed, Scope);
        return got;
    }

    /// Waits for the value at a position that this lane has drawn, takes it, and empties the place. False where the run
    /// ends.
    template <class Ctx>
    LANEWAY_FN bool read(Ctx& ctx, std::uint32_t position, T& value, order o) const {
        value_words<T> parts;
        const auto here = [&] {
            bool all = true;
            for (std::uint32_t i = 0; i < value_words_of; ++i) {
                // Partner: the store of the last word in write.
                const std::uint64_t seen =
                    ctx.load(word(position, i), i + 1 < value_words_of ? order::relaxed : o, Scope);
                parts.words[i] = static_cast<std::uint32_t>(seen);
                all = static_cast<std::uint32_t>(seen >> 32) == (lap(position) | filled) && all;
            }
            return all;
        };
        if (!here() && wait_until(ctx, {operation::queue_place, -1, position}, here) != status::ok) return false;
        value = __builtin_bit_cast(padded_value<T>, parts).value;
        for (std::uint32_t i = 0; i < value_words_of; ++i) {
            ctx.store(word(position, i), std::uint64_t{lap(position + capacity_)} << 32, order::relaxed, Scope);
        }
        return true;
    }

    warp_queue_words* words_;
    std::uint64_t* entries_;
    std::uint32_t capacity_;
};

}  // namespace laneway
