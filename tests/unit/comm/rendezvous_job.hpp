// What tests of rendezvous send, take and check: payloads whose every element says whose it is.
#pragma once

#include <cstring>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

struct alignas(8) pair_element {
    std::uint64_t first;
    std::uint32_t second;
};

/// What a PE sends: element i of its source.
template <class Element>
LANEWAY_FN Element source_element(std::uint64_t pe, std::uint64_t i) {
    std::uint64_t bits = (pe * 1000003 + i + 1) * 0x9e3779b97f4a7c15u;
    bits ^= bits >> 31;
    if constexpr (std::is_same_v<Element, pair_element>) {
        return {bits, static_cast<std::uint32_t>(bits >> 20)};
    } else {
        return static_cast<Element>(bits);
    }
}
template <class Element>
LANEWAY_FN bool is_element(const Element& e, std::uint64_t pe, std::uint64_t i) {
    const Element wanted = source_element<Element>(pe, i);
    if constexpr (std::is_same_v<Element, pair_element>) {
        return e.first == wanted.first && e.second == wanted.second;
    } else {
        return e == wanted;
    }
}

/// A stretch of the sender's source.
template <class Element>
struct stretch {
    std::uint32_t pe, number;  ///< of the sender and among all messages
    std::uint64_t first, count;
};

/// What becomes of a request for a place.
enum class reception : std::uint32_t { take, refuse_odd, no_segment, beyond, too_small };

/// Gives out a pool from its start and checks what comes.
template <class Element>
struct take_stretch {
    using element = Element;
    static constexpr bool allocates = true;
    symmetric_ref<Element> pool;
    symmetric_ref<std::uint64_t> taken;  ///< elements of the pool given out
    symmetric_ref<std::uint64_t> wrong;
    symmetric_ref<std::uint32_t> seen;  ///< one for each message
    reception how = reception::take;

    template <class Ctx>
    LANEWAY_FN symmetric_ptr<Element> allocate(Ctx& ctx, const stretch<Element>& s, std::uint64_t count) const {
        if (count != s.count) atomic_add(ctx, wrong[0], 1);
        switch (how) {
            case reception::refuse_odd: return s.number % 2 != 0 ? rejected<Element>() : draw(ctx, count);
            case reception::no_segment: return {1000, 0};
            case reception::beyond: return pool[~std::uint64_t{0} - 3];
            case reception::too_small: return pool[pool.size() - count + 1];
            default: return draw(ctx, count);
        }
    }

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const stretch<Element>& s, payload<const Element> body) const {
        bool right = body.size == s.count;
        for (std::uint64_t i = 0; i < body.size && right; ++i) right = is_element(body[i], s.pe, s.first + i);
        const Element* const start = pool.local(ctx);
        if (body.data >= start && body.data < start + pool.size()) {
            const auto* behind = reinterpret_cast<const std::byte*>(body.data + body.size);
            for (std::size_t i = 0; i < sizeof(Element); ++i) right = right && behind[i] == std::byte{0};
        }
        if (!right) atomic_add(ctx, wrong[0], 1);
        atomic_add(ctx, seen[s.number], 1);
    }

private:
    template <class Ctx>
    LANEWAY_FN symmetric_ptr<Element> draw(Ctx& ctx, std::uint64_t count) const {
        return pool[atomic_add(ctx, taken[0], count + 1)];  // one stays free behind each
    }
};

/// Every sender, a lane or a wider team, sends stretches of different length; or the first of each PE sends one.
struct send_plan {
    width lanes;
    std::uint32_t rounds = 1;
    std::uint64_t most = 0;    ///< elements
    bool hot = false;          ///< all to the last PE
    std::uint64_t every = 1;   ///< of so many lanes one sends, where lanes do so alone
    std::uint64_t single = 0;  ///< elements of the one stretch that each PE sends to the next; 0: see above
    symmetric_ref<std::uint8_t> bytes{};
    symmetric_ref<pair_element> pairs{};
    symmetric_ref<std::uint64_t> sent{};    ///< messages of this PE; codes that are not ok
    symmetric_ref<std::uint32_t> wanted{};  ///< one for each message: how often it was accepted

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        // Numbers of messages: every lane has its own; the wider teams use those of their first lane.
        const int mates = lanes == width::lane   ? 0
                          : lanes == width::warp ? ctx.lane()
                                                 : ctx.lane() + box.team().index * Ctx::warp_lanes;
        const std::uint64_t first_of_pe = ctx.rank() - ctx.local_rank();
        std::uint64_t sender = ctx.rank() - static_cast<std::uint64_t>(lanes == width::lane ? 0 : ctx.lane());
        if (lanes == width::block) sender = first_of_pe + static_cast<unsigned>(box.team().number * Ctx::warp_lanes);
        if (single != 0 && sender != first_of_pe) return;
        if (lanes == width::lane && sender % every != 0) return;
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        for (std::uint32_t i = 0; i < rounds; ++i) {
            const int pe = single != 0 ? (ctx.pe() + 1) % ctx.n_pes()
                           : hot       ? ctx.n_pes() - 1
                                       : static_cast<int>((sender + i) % pes);
            if (single == 0 && (sender + i) % 3 == 0) {
                send(ctx, box, bytes, pe, sender, i, mates);
            } else {
                send(ctx, box, pairs, pe, sender, i, mates);
            }
        }
    }

private:
    template <class Ctx, class Box, class Element>
    LANEWAY_FN void send(Ctx& ctx, Box& box, symmetric_ref<Element> source, int pe, std::uint64_t sender,
                         std::uint32_t i, int mates) const {
        const std::uint64_t longest = box.template longest<stretch<Element>>();
        const std::uint64_t draw = source_element<std::uint64_t>(sender, i) >> 8;
        // Around the limit between both ways, none or one, and anything.
        std::uint64_t count = draw % 4 == 0 ? longest + draw / 4 % 3 - 1 : draw / 4 % (most + 1);
        if (draw % 16 == 5) count = draw / 16 % 2;
        if (single != 0) count = single;
        const std::uint64_t first = single != 0 ? 1 : draw / 64 % (source.size() - count + 1);
        const auto me = static_cast<std::uint32_t>(ctx.pe());
        const auto number = single != 0 ? me : static_cast<std::uint32_t>(sender * rounds + i);
        const stretch<Element> header{me, number, first, count};
        const status done = box.post(ctx, lanes, pe, header, source.local(ctx) + first, count);
        if (mates == 0) {
            atomic_add(ctx, sent[0], 1);
            atomic_add(ctx, wanted[number], done == status::ok ? 1 : 0);
        }
        // Of a rendezvous all of a team hear the answer.
        const bool right = done == status::ok || (done == status::rejected && number % 2 != 0 && count > longest);
        if (!right) atomic_add(ctx, sent[1], 1);
    }
};

/// The arrays of a run, and their state at its end.
struct rendezvous_job {
    runtime rt;
    symmetric_array<std::uint8_t> bytes, byte_pool;
    symmetric_array<pair_element> pairs, pair_pool;
    symmetric_array<std::uint64_t> sent, taken_bytes, taken_pairs, wrong;
    symmetric_array<std::uint32_t> seen, wanted;

    rendezvous_job(const options& o, std::uint64_t source, std::uint64_t pool, std::uint64_t messages)
        : rt(o), bytes(rt.allocate<std::uint8_t>(source)), byte_pool(rt.allocate<std::uint8_t>(pool)),
          pairs(rt.allocate<pair_element>(source)), pair_pool(rt.allocate<pair_element>(pool)),
          sent(rt.allocate<std::uint64_t>(2)), taken_bytes(rt.allocate<std::uint64_t>(1)),
          taken_pairs(rt.allocate<std::uint64_t>(1)), wrong(rt.allocate<std::uint64_t>(1)),
          seen(rt.allocate<std::uint32_t>(messages)), wanted(rt.allocate<std::uint32_t>(messages)) {
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            fill(bytes, pe);
            fill(pairs, pe);
        }
    }

    template <class Element>
    static void fill(symmetric_array<Element>& source, int pe) {
        std::vector<Element> all(source.size());
        for (std::uint64_t i = 0; i < all.size(); ++i) {
            all[i] = source_element<Element>(static_cast<std::uint64_t>(pe), i);
        }
        source.copy_in(pe, all);
    }

    run_report run(send_plan plan, reception how = reception::take) {
        plan.bytes = bytes.ref();
        plan.pairs = pairs.ref();
        plan.sent = sent.ref();
        plan.wanted = wanted.ref();
        const take_stretch<std::uint8_t> take_bytes{byte_pool.ref(), taken_bytes.ref(), wrong.ref(), seen.ref(), how};
        const take_stretch<pair_element> take_pairs{pair_pool.ref(), taken_pairs.ref(), wrong.ref(), seen.ref(), how};
        return rt.run(plan, rt.mailbox<stretch<std::uint8_t>, stretch<pair_element>>(take_bytes, take_pairs));
    }

    /// Each message that was accepted has been served once, and nothing lies where nobody wanted it.
    void check() {
        std::vector<std::uint32_t> served(seen.size()), accepted(seen.size());
        std::uint64_t sent_in_all = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "on PE " << pe;
            EXPECT_EQ(sent.copy_out(pe)[1], 0u) << "wrong statuses on PE " << pe;
            sent_in_all += sent.copy_out(pe)[0];
            const auto seen_here = seen.copy_out(pe), accepted_here = wanted.copy_out(pe);
            for (std::size_t i = 0; i < served.size(); ++i) {
                served[i] += seen_here[i];
                accepted[i] += accepted_here[i];
            }
            untouched_from(byte_pool, pe, taken_bytes.copy_out(pe)[0]);
            untouched_from(pair_pool, pe, taken_pairs.copy_out(pe)[0]);
        }
        EXPECT_GT(sent_in_all, 0u);
        for (std::size_t i = 0; i < served.size(); ++i) ASSERT_EQ(served[i], accepted[i]) << "message " << i;
    }

    template <class Element>
    void untouched_from(const symmetric_array<Element>& pool, int pe, std::uint64_t taken) {
        ASSERT_LE(taken, pool.size()) << "the test's pool is too small";
        const auto all = pool.copy_out(pe);
        const std::byte nothing[sizeof(Element)] = {};
        for (std::uint64_t i = taken; i < all.size(); ++i) {
            ASSERT_EQ(std::memcmp(&all[i], nothing, sizeof nothing), 0) << "element " << i << " of PE " << pe;
        }
    }
};

/// Both ways to store a payload, by turns.
inline options rendezvous_options(options o) {
    o.chunk_bytes = std::size_t{256} << o.seed % 2;
    o.path = o.seed / 2 % 2 == 0 ? path::direct : path::aggregated;
    return o;
}

}  // namespace laneway::test
