// Messages of variable length: whatever length lanes post, from wherever, arrives whole, once, on the right PE.
#pragma once

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

class variable_messages_test : public testing::TestWithParam<std::string> {};

LANEWAY_FN std::uint64_t scramble(std::uint64_t x) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/// Small chunks, as many of them as the round says.
inline options variable_options(options o, std::uint64_t round) {
    o.chunk_bytes = std::size_t{64} << round % 4;
    if (round % 4 == 3) o.ring_slots = 8;
    return o;
}

/// Heads of several sizes, and elements that are bytes, words and more than a unit.
struct byte_head {
    std::uint32_t rank, number, most;  ///< most: the greatest length, as the poster knew it
};
struct word_head {
    std::uint32_t rank, number, most;
    std::uint64_t check;
};
struct wide_head {
    std::uint32_t rank, number, most;
    std::uint32_t ballast[5];
};
struct alignas(8) triple {
    std::uint64_t first;
    std::uint32_t second;
};
struct fixed_message {
    std::uint32_t rank, number;
};

/// Element `i` of a message, so that the same value elsewhere is unlikely.
template <class Element>
LANEWAY_FN Element element_of(std::uint64_t rank, std::uint64_t number, std::uint64_t i) {
    const std::uint64_t bits = scramble(rank * 1000003 + number * 8191 + i * 31 + 1);
    if constexpr (std::is_same_v<Element, triple>) {
        return {bits, static_cast<std::uint32_t>(bits >> 40)};
    } else {
        return static_cast<Element>(bits);
    }
}
template <class Element>
LANEWAY_FN bool same(const Element& a, const Element& b) {
    if constexpr (std::is_same_v<Element, triple>) {
        return a.first == b.first && a.second == b.second;
    } else {
        return a == b;
    }
}

/// What message `number` of a lane is: the same for poster, handler and host.
struct variable_plan {
    std::uint32_t messages;  ///< a lane
    bool hot = false;        ///< all to the last PE
    bool extreme = false;    ///< no elements, or as many as there can be

    [[nodiscard]] LANEWAY_FN int pe(std::uint64_t rank, std::uint64_t number, int n_pes) const {
        const std::uint64_t draw = scramble(rank * 77 + number) >> 20;
        return hot ? n_pes - 1 : static_cast<int>(draw % static_cast<std::uint64_t>(n_pes));
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t type(std::uint64_t rank, std::uint64_t number) const {
        return static_cast<std::uint32_t>((rank + 3 * number) % 4);
    }
    /// `most`: elements that a message of its type may carry, at most.
    [[nodiscard]] LANEWAY_FN std::uint32_t length(std::uint64_t rank, std::uint64_t number, std::uint32_t most) const {
        const std::uint64_t draw = scramble(rank * 1013 + number * 7 + 5) >> 16;
        if (extreme || draw % 5 == 0) return draw / 5 % 2 == 0 ? most : 0;
        return static_cast<std::uint32_t>(draw / 5 % (most + 1));
    }
};

/// Ticks off each message and counts those that are torn, or at the wrong PE.
struct check_messages {
    variable_plan plan;
    symmetric_ref<std::uint32_t> seen;   ///< one for each message of the job
    symmetric_ref<std::uint64_t> wrong;  ///< torn messages, then those at the wrong PE

    template <class Ctx, class Message>
    LANEWAY_FN void tick(Ctx& ctx, const Message& m) const {
        const std::uint64_t index = std::uint64_t{m.rank} * plan.messages + m.number;
        if (index < seen.size()) atomic_add(ctx, seen[index], 1);
        if (plan.pe(m.rank, m.number, ctx.n_pes()) != ctx.pe()) atomic_add(ctx, wrong[1], 1);
    }
    template <class Ctx, class Message, class Element>
    LANEWAY_FN void check(Ctx& ctx, const Message& m, payload<const Element> body) const {
        bool right = body.size == plan.length(m.rank, m.number, m.most);
        std::uint64_t i = 0;
        for (const Element& e : body) right = same(e, element_of<Element>(m.rank, m.number, i++)) && right;
        if (!right) atomic_add(ctx, wrong[0], 1);
    }
};

struct check_bytes : check_messages {
    using element = std::uint8_t;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const byte_head& m, payload<const element> body) const {
        check(ctx, m, body);
        tick(ctx, m);
    }
};
struct check_words : check_messages {
    using element = std::uint32_t;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const word_head& m, payload<const element> body) const {
        check(ctx, m, body);
        tick(ctx, m);
        if (m.check != scramble(m.rank)) atomic_add(ctx, wrong[0], 1);
    }
};
/// Forwards a message without a payload to the same PE, which ticks the variable-length message off.
struct check_triples : check_messages {
    using element = triple;
    static constexpr bool forwards = true;

    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const wide_head& m, payload<const element> body, Forward& forward) const {
        for (const std::uint32_t word : m.ballast) {
            if (word != m.rank + m.number) atomic_add(ctx, wrong[0], 1);
        }
        check(ctx, m, body);
        (void)forward.post(ctx, ctx.pe(), fixed_message{m.rank, m.number});  // a failure ends the run
    }
};
struct check_fixed : check_messages {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const fixed_message& m) const {
        tick(ctx, m);
    }
};

/// Posts the plan: four types in four branches, each from an array that is overwritten as soon as post has returned.
struct post_messages {
    variable_plan plan;
    symmetric_ref<std::uint64_t> lanes;  ///< of the job

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const auto rank = static_cast<std::uint32_t>(ctx.rank());
        if (rank == 0) lanes.local(ctx)[0] = ctx.size();
        for (std::uint32_t number = 0; number < plan.messages; ++number) {
            const int pe = plan.pe(rank, number, ctx.n_pes());
            const std::uint32_t type = plan.type(rank, number);
            if (type == 0) {
                post(ctx, box, pe, byte_head{rank, number, box.template longest<byte_head>()});
            } else if (type == 1) {
                post(ctx, box, pe, word_head{rank, number, box.template longest<word_head>(), scramble(rank)});
            } else if (type == 2) {
                const std::uint32_t word = rank + number;
                post(ctx, box, pe,
                     wide_head{rank, number, box.template longest<wide_head>(), {word, word, word, word, word}});
            } else {
                (void)box.post(ctx, pe, fixed_message{rank, number});
            }
        }
    }

private:
    template <class Ctx, class Box, class Message>
    LANEWAY_FN void post(Ctx& ctx, Box& box, int pe, const Message& header) const {
        using element = typename Box::template element<Message>;
        element body[512 / sizeof(element)];
        const std::uint32_t length = plan.length(header.rank, header.number, header.most);
        for (std::uint32_t i = 0; i < length; ++i) body[i] = element_of<element>(header.rank, header.number, i);
        (void)box.post(ctx, pe, header, body, length);
        for (std::uint32_t i = 0; i < length; ++i) body[i] = element{};
    }
};

inline void every_message_arrives(const options& o, variable_plan plan) {
    runtime rt(o);
    const std::uint64_t most = max_lanes(rt.machine(), o) * static_cast<unsigned>(rt.n_pes());
    const auto seen = rt.allocate<std::uint32_t>(most * plan.messages);
    const auto wrong = rt.allocate<std::uint64_t>(2);
    const auto sizes = rt.allocate<std::uint64_t>(1);
    const check_messages all{plan, seen.ref(), wrong.ref()};
    const auto report = rt.run(post_messages{plan, sizes.ref()},
                               rt.mailbox<byte_head, word_head, wide_head, fixed_message>(
                                   check_bytes{all}, check_words{all}, check_triples{all}, check_fixed{all}));
    const std::uint64_t lanes = sizes.copy_out(0)[0];
    std::vector<std::uint32_t> times(lanes * plan.messages);
    std::uint64_t forwarded = 0, carried = 0;
    std::uint32_t strays = 0;  ///< of lanes that do not exist
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto here = seen.copy_out(pe);
        for (std::size_t i = 0; i < here.size(); ++i) (i < times.size() ? times[i] : strays) += here[i];
        EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "torn messages on PE " << pe;
        EXPECT_EQ(wrong.copy_out(pe)[1], 0u) << "messages for others on PE " << pe;
    }
    for (std::uint64_t rank = 0; rank < lanes; ++rank) {
        for (std::uint32_t number = 0; number < plan.messages; ++number) {
            ASSERT_EQ(times[rank * plan.messages + number], 1u) << "message " << number << " of lane " << rank;
            forwarded += plan.type(rank, number) == 2 ? 1 : 0;
        }
    }
    for (const auto& link : report.traffic_matrix) carried += link.messages;
    EXPECT_EQ(strays, 0u);
    EXPECT_EQ(report.posted, times.size() + forwarded);
    EXPECT_EQ(report.carried, carried);
    EXPECT_EQ(report.served, carried);
}

inline std::uint32_t messages_a_lane(const std::string& devices) { return devices.starts_with("cpu") ? 60 : 4; }

TEST_P(variable_messages_test, EveryLengthArrivesWhole) {
    every_round(GetParam(), [&](const options& o) {
        every_message_arrives(variable_options(o, o.seed), {messages_a_lane(GetParam())});
    });
}

TEST_P(variable_messages_test, OneHotDestination) {
    every_round(GetParam(), [&](const options& o) {
        every_message_arrives(variable_options(o, o.seed), {messages_a_lane(GetParam()), true});
    });
}

/// Messages that fill a chunk among those that take one unit: the long ones get through, and the short ones too.
TEST_P(variable_messages_test, TheLongestBetweenTheShortest) {
    every_round(GetParam(), [&](const options& o) {
        every_message_arrives(variable_options(o, o.seed), {messages_a_lane(GetParam()), o.seed % 2 == 0, true});
    });
}

TEST_P(variable_messages_test, LongChunksHoldManyOfAnyLength) {
    options o = options_of(GetParam(), 4);
    o.chunk_bytes = 512;
    o.ring_slots = 8;
    every_message_arrives(o, {is_checked(GetParam()) ? 30u : 400u});
}

/// quiet covers variable-length messages: what was posted before has been served.
struct post_words_and_wait {
    symmetric_ref<std::uint64_t> sums;
    symmetric_ref<std::uint64_t> early;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const int pe = (ctx.pe() + 1) % ctx.n_pes();
        const auto rank = static_cast<std::uint32_t>(ctx.rank());
        const std::uint32_t words[3] = {1, 10, 100};
        for (std::uint32_t round = 1; round <= 3; ++round) {
            (void)box.post(ctx, pe, word_head{rank, round, 0, 0}, words, round);
            if (box.quiet(ctx) != status::ok) return;
            const std::uint64_t* word = sums.at(ctx, pe);
            const std::uint64_t wanted = round == 1 ? 1 : round == 2 ? 12 : 123;
            if (word != nullptr && ctx.load(word + rank, order::relaxed, scope::system) != wanted) {
                atomic_add(ctx, early[0], 1);
            }
        }
    }
};
struct add_words {
    using element = std::uint32_t;
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const word_head& m, payload<const element> body) const {
        for (const std::uint32_t word : body) atomic_add(ctx, sums[m.rank], word);
    }
};

TEST_P(variable_messages_test, QuietWaitsForThem) {
    every_round(GetParam(), [&](options o) {
        o = variable_options(o, o.seed);
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(1 << 17);
        const auto early = rt.allocate<std::uint64_t>(1);
        rt.run(post_words_and_wait{sums.ref(), early.ref()}, rt.mailbox<word_head>(add_words{sums.ref()}));
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(early.copy_out(pe)[0], 0u) << "quiet came early on " << pe;
    });
}

/// One lane posts one message, of the greatest length and `more` elements.
struct post_one {
    int pe;
    std::uint64_t more;
    symmetric_ref<std::uint64_t> codes;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() != 0) return;
        const std::uint32_t words[1024] = {};
        const status first = box.post(ctx, pe, word_head{}, words, box.template longest<word_head>() + more);
        const status second = box.post(ctx, pe, word_head{}, words, 0);
        codes.local(ctx)[0] = static_cast<std::uint64_t>(first);
        codes.local(ctx)[1] = static_cast<std::uint64_t>(second);
    }
};

TEST_P(variable_messages_test, OneElementTooManyIsNamed) {
    options o = options_of(GetParam(), 0);
    o.chunk_bytes = 64;
    runtime rt(o);
    const auto sums = rt.allocate<std::uint64_t>(1);
    const auto codes = rt.allocate<std::uint64_t>(2);
    const auto mailbox = rt.mailbox<word_head>(add_words{sums.ref()});
    for (int pe = 0; pe < rt.n_pes(); ++pe) {  // the own PE as well: a program must not depend on how many there are
        EXPECT_NO_THROW(rt.run(post_one{pe, 0, codes.ref()}, mailbox));
        EXPECT_EQ(codes.copy_out(0)[0], static_cast<std::uint64_t>(status::ok));
        // The bytes of the last ones are more than 64 bits count, and what would be left of them fits.
        constexpr std::uint64_t fits = 8, most = ~std::uint64_t{0}, beyond = most / 4 + 1;
        for (const std::uint64_t more : {std::uint64_t{1}, std::uint64_t{500}, beyond - fits, beyond - fits + 2}) {
            std::string what;
            try {
                rt.run(post_one{pe, more, codes.ref()}, mailbox);
            } catch (const device_fault& e) {
                what = e.what();
            }
            const std::string wanted = "more payload bytes than a message can carry while posting a message to PE " +
                                       std::to_string(pe) + ": " +
                                       std::to_string(fits + more < beyond ? 4 * (fits + more) : most) +
                                       " bytes, and a chunk has room for 32";
            EXPECT_NE(what.find(wanted), std::string::npos) << what;
            EXPECT_EQ(what.rfind("PE 0 ", 0), 0u) << what;
            for (int i = 0; i < 2; ++i) {  // and the lane hears of it from this post and the next
                EXPECT_EQ(codes.copy_out(0)[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(status::too_long));
            }
        }
    }
    EXPECT_EQ(sums.copy_out(0)[0], 0u);
}

TEST_P(variable_messages_test, AChunkHoldsOneElementAtLeast) {
    options o = options_of(GetParam(), 0);
    const auto word_box = [](runtime& rt) { return rt.mailbox<word_head>(add_words{}); };
    o.chunk_bytes = 63;  // the header takes two units, one word of 4 bytes the third, and chunks are powers of two
    runtime small(o);
    EXPECT_THROW(small.run(post_one{}, word_box(small)), usage_error);
}

LANEWAY_ON_DEVICES(variable_messages_test, to_four(device_lists()));

}  // namespace laneway::test
