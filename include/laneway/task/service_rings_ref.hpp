// The queues of a service, as lanes see them: each block has one of its own, whose slots hold the requests of lanes
// that post together, all of one type. Requests lie where they are served, in memory of the serving PE or of the host;
// answers and the number of slots that are done lie where the block looks for them. So each word has one writing side.
#pragma once

#include "laneway/memory/copy_bytes.hpp"
#include "laneway/memory/symmetric.hpp"
#include "laneway/queue/chunk_ring.hpp"
#include "laneway/task/service_request.hpp"

namespace laneway {

/// What a PE has served.
struct alignas(destructive_bytes) service_counts {
    std::uint64_t slots = 0;     ///< that were served
    std::uint64_t requests = 0;  ///< in them
    std::uint64_t refused = 0;   ///< of these, see service_call::refuse
};

/// The queues of one PE that host threads serve; host-visible memory. Null elsewhere.
struct service_host_rings {
    std::byte* slots = nullptr;
    std::uint64_t* flags = nullptr;
    std::uint64_t* answers = nullptr;
    std::uint64_t* done = nullptr;
};

/// What the label of a slot says beside its type: how many requests it holds, and whether their lanes wait.
struct service_label {
    static constexpr std::uint32_t waits_bit = 0x8000;

    chunk_label label;

    static LANEWAY_FN service_label of(std::uint32_t requests, bool waits, std::uint32_t type, bool in_words) {
        return {chunk_label::of(requests | (waits ? waits_bit : 0), type, in_words)};
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t requests() const { return label.messages() & (waits_bit - 1); }
    [[nodiscard]] LANEWAY_FN bool waits() const { return (label.messages() & waits_bit) != 0; }
};

/// Words of their own line of memory.
inline constexpr std::uint32_t service_line = destructive_bytes / sizeof(std::uint64_t);

/// A block's queue. Where warps of the same PE serve it, its words are told at the scope of the PE: what lanes of other
/// PEs see behind them comes by a later release or fence of the system, before which all of it comes too.
struct service_ring {
    chunk_ring_layout requests;
    std::uint64_t* answers = nullptr;  ///< n_slots × answer_words × columns, tagged
    std::uint64_t* done = nullptr;     ///< slots that have been served, one after the other
    bool within_pe = false;            ///< who posts and who serves are of one PE

    /// Says that so many slots are done. One lane. Partner: load_done.
    template <class Ctx>
    LANEWAY_FN void store_done(Ctx& ctx, std::uint64_t slots) const {
        if (within_pe) {
            ctx.store(done, slots, order::release, scope::device);
        } else {
            ctx.store(done, slots, order::release, scope::system);
        }
    }
    /// How many are. What was done in them is visible.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t load_done(Ctx& ctx) const {
        return within_pe ? ctx.load(done, order::acquire, scope::device)
                         : ctx.load(done, order::acquire, scope::system);
    }
    /// Whether so many are, the same.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool has_done(Ctx& ctx, std::uint64_t slots) const {
        return within_pe ? reaches(ctx, done, slots, scope::device) : reaches(ctx, done, slots, scope::system);
    }
    /// Says that the requests of a slot are there. One lane. Partner: chunk_receiver::poll.
    template <class Ctx>
    LANEWAY_FN void store_flag(Ctx& ctx, std::uint64_t ticket, chunk_label label) const {
        std::uint64_t* const flag = requests.flags + requests.slot_of(ticket);
        if (within_pe) {
            ctx.store(flag, label.flag(ticket), order::release, scope::device);
        } else {
            ctx.store(flag, label.flag(ticket), order::release, scope::system);
        }
    }
    /// What this lane has done, and what it knows of others, comes before answers that it stores relaxed.
    template <class Ctx>
    LANEWAY_FN void fence_answers(Ctx& ctx) const {
        if (within_pe) {
            ctx.fence(scope::device);
        } else {
            ctx.fence(scope::system);
        }
    }
};

/// The same bits on every PE, but for `of_host`.
struct service_rings_ref {
    symmetric_ref<byte_word<16>> slots;
    symmetric_ref<std::uint64_t> flags;
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> answers;
    symmetric_ref<std::uint64_t> done;
    symmetric_ref<std::uint64_t> heads;   ///< of the serving PE: the next ticket of each queue
    symmetric_ref<std::uint64_t> locks;   ///< of the same: 1 while a lane serves a queue, in threads mode
    symmetric_ref<std::uint64_t> posted;  ///< one a block: slots that its bodies have posted which have returned
    symmetric_ref<service_counts> counts;
    std::uint32_t n_slots = 1;  ///< of a queue; a power of two
    std::uint32_t slot_bytes = 16;
    std::uint32_t n_blocks = 1;      ///< queues of a PE
    std::uint32_t columns = 1;       ///< requests of a slot, at most
    std::uint32_t answer_words = 1;  ///< of a request
    service_by by = service_by::warps;
    std::int32_t server_pe = 0;      ///< where one PE serves all
    std::uint32_t server_warps = 1;  ///< of this PE
    service_host_rings of_host;

    /// Who serves a PE's queues; -1: the host.
    [[nodiscard]] LANEWAY_FN int server_of(int pe) const {
        return by == service_by::host ? -1 : by == service_by::pe ? server_pe : pe;
    }
    /// Queues that a PE serves.
    [[nodiscard]] LANEWAY_FN std::uint32_t served_by(int pe, int n_pes) const {
        if (server_of(pe) != pe) return 0;
        return n_blocks * (by == service_by::pe ? static_cast<std::uint32_t>(n_pes) : 1);
    }
    /// Whose queue the one with this number is.
    [[nodiscard]] LANEWAY_FN int pe_of(std::uint32_t number, int me) const {
        return by == service_by::pe ? static_cast<int>(number / n_blocks) : me;
    }
    [[nodiscard]] LANEWAY_FN int block_of(std::uint32_t number) const { return static_cast<int>(number % n_blocks); }
    /// Its number where it is served.
    [[nodiscard]] LANEWAY_FN std::uint32_t number_of(int pe, int block) const {
        return (by == service_by::pe ? static_cast<std::uint32_t>(pe) * n_blocks : 0) +
               static_cast<std::uint32_t>(block);
    }

    /// The queue of a block, as lanes of the PE that posts or of the one that serves reach it.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN service_ring ring(const Ctx& ctx, int pe, int block) const {
        if (by == service_by::host) return host_ring(block);
        const auto mine = static_cast<std::uint64_t>(block);
        service_ring made = empty_ring();
        const int server = server_of(pe);
        made.within_pe = server == pe;
        const std::uint64_t first = std::uint64_t{number_of(pe, block)} * n_slots;
        made.requests.slots = address(ctx, slots[first * (slot_bytes / 16)], server)->bytes;
        made.requests.flags = address(ctx, flags[first], server);
        made.requests.words = address(ctx, words[first * chunk_words], server);
        made.answers = address(ctx, answers[mine * n_slots * columns * answer_words], pe);
        made.done = address(ctx, done[mine * service_line], pe);
        return made;
    }
    /// The same of this PE, where host threads serve it.
    [[nodiscard]] LANEWAY_FN service_ring host_ring(int block) const {
        const auto mine = static_cast<std::uint64_t>(block);
        service_ring made = empty_ring();
        made.requests.slots = of_host.slots + mine * n_slots * slot_bytes;
        made.requests.flags = of_host.flags + mine * n_slots;
        made.answers = of_host.answers + mine * n_slots * columns * answer_words;
        made.done = of_host.done + mine * service_line;
        return made;
    }
    /// Stores the answer to a request of a slot. Its words lie beside those of other requests, so lanes of a warp share
    /// what they store and load.
    template <class Ctx, class Answer>
    LANEWAY_FN void store_answer(Ctx& ctx, const service_ring& ring, std::uint64_t ticket, std::uint32_t column,
                                 const Answer& answer) const {
        const auto parts = __builtin_bit_cast(value_words<Answer>, padded_value<Answer>{answer});
        std::uint64_t* const to = first_answer(ring, ticket) + column;
        for (std::uint32_t i = 0; i < tagged_words<Answer>; ++i) {
            store_tagged(ctx, to + i * columns, static_cast<std::uint32_t>(ticket + 1), parts.words[i],
                         Ctx::tagged_order);
        }
    }
    /// Whether it is there, and what it is. `o`: as load_tagged has it.
    template <class Ctx, class Answer>
    [[nodiscard]] LANEWAY_FN bool load_answer(Ctx& ctx, const service_ring& ring, std::uint64_t ticket,
                                              std::uint32_t column, Answer& answer, order o) const {
        constexpr std::uint32_t n = tagged_words<Answer>;
        const std::uint64_t* const from = first_answer(ring, ticket) + column;
        value_words<Answer> parts{};
        bool here = true;
        for (std::uint32_t i = 0; i < n; ++i) {
            here = load_tagged(ctx, from + i * columns, static_cast<std::uint32_t>(ticket + 1), parts.words[i],
                               i + 1 < n ? order::relaxed : o) &&
                   here;
        }
        if (here) answer = __builtin_bit_cast(padded_value<Answer>, parts).value;
        return here;
    }
    /// Renews the words of a slot's answers, if that is due, as chunk_receiver::renew_words those of its requests. The
    /// lanes that have drawn the ticket, before its requests can be seen.
    template <class Ctx>
    LANEWAY_FN void renew_answers(Ctx& ctx, lane_mask mask, const service_ring& ring, std::uint64_t ticket) const {
        if (!ring.requests.renews_words(ticket)) return;
        const auto last = static_cast<std::uint32_t>(ticket + 1 - n_slots);  // of the slot, before this one
        const auto stride = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        for (auto i = static_cast<std::uint32_t>(rank_in(ctx, mask)); i < columns * answer_words; i += stride) {
            // Partner: the load in load_answer, of a lap that must not take what stood there for its own.
            ctx.store(first_answer(ring, ticket) + i, std::uint64_t{last} << 32, order::relaxed, scope::system);
        }
        ctx.fence(scope::system);  // before those who answer the ticket store there
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t* posted_by(const Ctx& ctx, int block) const {
        return address(ctx, posted[static_cast<std::uint64_t>(block)]);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN service_counts& counts_of(const Ctx& ctx) const {
        return *address(ctx, counts[0]);
    }

private:
    [[nodiscard]] LANEWAY_FN std::uint64_t* first_answer(const service_ring& ring, std::uint64_t ticket) const {
        return ring.answers + std::uint64_t{ring.requests.slot_of(ticket)} * answer_words * columns;
    }
    [[nodiscard]] LANEWAY_FN service_ring empty_ring() const {
        service_ring made;
        made.requests.n_slots = n_slots;
        made.requests.slot_bytes = slot_bytes;
        return made;
    }
};

}  // namespace laneway
