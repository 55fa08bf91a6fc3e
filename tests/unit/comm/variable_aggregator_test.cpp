// Variable-length messages of several warps of one block, as real threads, and where a server finds them in a chunk.
#include "laneway/comm/variable_aggregator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "laneway/comm/comm_resources.hpp"
#include "laneway/comm/grid.hpp"
#include "laneway/comm/sender.hpp"
#include "laneway/comm/server.hpp"
#include "laneway/comm/variable_server.hpp"
#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

struct stamp {
    std::uint64_t value;
};

struct message_sums {
    std::uint64_t messages = 0, sum = 0, damaged = 0;
};

/// Message v has v mod (longest + 1) elements, all of them v.
struct add_up_messages {
    using element = std::uint16_t;
    message_sums* sums;
    std::uint32_t longest;

    template <class Ctx>
    void operator()(Ctx&, const stamp& m, payload<const element> body) const {
        ++sums->messages;
        sums->sum += m.value;
        bool right = body.size == m.value % (longest + 1);
        for (const element e : body) right = right && e == static_cast<element>(m.value);
        if (!right) ++sums->damaged;
    }
};

using variable_routes = routes<route<stamp, add_up_messages>>;

template <class Ctx, class Idle>
struct open_sender : sender<Ctx, variable_routes, Idle> {
    using sender<Ctx, variable_routes, Idle>::sender;
    using sender<Ctx, variable_routes, Idle>::post_variable;
};

struct post_share_of_messages {
    const links_ref& links;
    std::uint32_t chunk_bytes;
    std::uint64_t messages;  ///< a warp
    std::uint64_t* completed;

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        const auto idle = [] {};
        const delivery<variable_routes> none{};
        open_sender<Ctx, decltype(idle)> out(ctx, links, chunk_bytes, none, idle, ctx.shared(), completed);
        out.open(ctx);
        ctx.sync_block();
        const auto warps = static_cast<std::uint64_t>(ctx.n_warps());
        const std::uint32_t longest = out.template longest<stamp>();
        std::vector<std::uint16_t> body(longest);
        for (std::uint64_t i = 0; i < messages; ++i) {
            const std::uint64_t value = i * warps + static_cast<std::uint64_t>(ctx.warp());
            std::fill(body.begin(), body.end(), static_cast<std::uint16_t>(value));
            const payload<const std::uint16_t> part{body.data(), value % (longest + 1)};
            if (out.post_variable(ctx, 1, stamp{value}, part) != status::ok) return;
            if (value % 5 == 0) out.complete(ctx, 1);
            if (value % 97 == 0) (void)out.flush_ready(ctx);
            if (value % 1001 == 0) (void)out.quiet(ctx);
        }
        (void)out.quiet(ctx);
        ctx.sync_block();
        (void)out.flush_ready(ctx);
    }
};

/// PE 0 with three warps of one block sends, PE 1 with one thread serves.
message_sums aggregate_messages(std::uint32_t chunk_bytes, std::uint64_t messages, std::uint64_t& completed) {
    options o;
    o.ring_slots = 2;
    o.age_ns = 1000;
    machine machine("cpu:2");
    comm_resources resources(machine, o,
                             plan_comm(o, std::vector<pe_outline>(2), {chunk_bytes}, [](std::uint32_t bytes) {
                                 return comm_draft{needs_of<variable_routes>(bytes), std::vector<pe_grid>(2)};
                             }));
    const links_ref links[] = {resources.links(0), resources.links(1)};
    const lone_environment sender(0, 2, 30), receiver(1, 2, 30);
    const std::uint32_t chunk_granules = chunk_shape<granule<stamp>>::fitting(chunk_bytes).messages();
    message_sums sums;
    std::atomic<bool> sent{false};
    std::jthread serving([&] {
        run_warp_threads(receiver.get(), {}, [&](warp_context& ctx) {
            const std::uint32_t longest = variable_shape<stamp, std::uint16_t>::longest(chunk_granules);
            const delivery<variable_routes> handlers{{{{&sums, longest}}}, {}};
            roles mine(ctx, {});
            mine.serves = true;
            mine.server_index = 0;
            server in(ctx, links[1], mine, [&](int source, const arrived_chunk& chunk) {
                serve_variable<stamp, std::uint16_t>(ctx, handlers, source, chunk, chunk_granules);
            });
            while (in.turn(ctx) || !sent) ctx.pause();
        });
    });
    const launch_shape block{1, 3, sender_bytes<variable_routes>(chunk_bytes, 2)};
    run_warp_threads(sender.get(), block, post_share_of_messages{links[0], chunk_bytes, messages, &completed});
    sent = true;
    serving.join();
    EXPECT_FALSE(sender.failed() || receiver.failed());
    return sums;
}

TEST(variable_aggregator_test, WarpsOfOneBlockShareAggregationBuffers) {
    constexpr std::uint64_t messages = 3000;
    for (const std::uint32_t chunk_bytes : {32u, 64u, 512u}) {
        SCOPED_TRACE("chunks of " + std::to_string(chunk_bytes) + " bytes");
        std::uint64_t completed = 0;
        const message_sums sums = aggregate_messages(chunk_bytes, messages, completed);
        EXPECT_EQ(sums.messages, 3 * messages);
        EXPECT_EQ(sums.sum, 3 * messages * (3 * messages - 1) / 2);
        EXPECT_EQ(sums.damaged, 0u);
        EXPECT_EQ(completed, 3 * messages / 5);
    }
}

/// As put_beside_nobody of sender_test.cpp: a warp has claimed a granule and gone away.
struct put_messages_beside_nobody {
    const links_ref& links;
    std::uint32_t chunk_bytes;

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        const auto idle = [] {};
        variable_aggregator<Ctx, stamp> out(ctx, links, chunk_shape<granule<stamp>>::fitting(chunk_bytes), 0,
                                            ctx.shared());
        out.open(ctx);
        (void)out.reserve(ctx, 1, 1);
        while (out.put_variable(ctx, 1, true, 1, {{0, stamp{7}}, nullptr, 0}, idle) == status::ok) {
        }
    }
};

TEST(variable_aggregator_test, AChunkThatNobodyCompletesIsNamedAtTheDeadline) {
    constexpr std::uint32_t chunk_bytes = 64;
    options o;
    o.ring_slots = 2;  // of which the chunks that can leave take one
    machine machine("cpu:2");
    comm_resources resources(machine, o,
                             plan_comm(o, std::vector<pe_outline>(2), {chunk_bytes}, [](std::uint32_t bytes) {
                                 return comm_draft{needs_of<variable_routes>(bytes), std::vector<pe_grid>(2)};
                             }));
    const links_ref links = resources.links(0);
    const lone_environment sender(0, 2, 0.1);
    run_warp_threads(sender.get(), {1, 1, sender_bytes<variable_routes>(chunk_bytes, 2)},
                     put_messages_beside_nobody{links, chunk_bytes});
    ASSERT_TRUE(sender.failed());
    EXPECT_EQ(sender.fault().code, status::timeout);
    EXPECT_EQ(sender.fault().what, operation::aggregate);
    EXPECT_EQ(sender.fault().peer, 1);
}

TEST(variable_shape_test, CountsGranules) {
    using shape = variable_shape<std::uint64_t, std::uint32_t>;
    EXPECT_EQ(shape::envelope_granules, 1u);
    EXPECT_EQ(shape::granules(0), 1u);
    EXPECT_EQ(shape::granules(4), 2u);
    EXPECT_EQ(shape::granules(5), 3u);
    EXPECT_EQ(shape::longest(4), 12u);
    EXPECT_EQ(shape::granules(shape::longest(512)), 512u);
    EXPECT_EQ(shape::min_chunk_bytes(false), 32u);
    using wide = variable_shape<stamp[3], stamp[3]>;  // 32 bytes of header, elements of 24
    EXPECT_EQ(wide::envelope_granules, 2u);
    EXPECT_EQ(wide::granules(1), 4u);
    EXPECT_EQ(wide::longest(8), 4u);
    EXPECT_EQ(wide::granules(wide::longest(8)), 8u);
    EXPECT_EQ(wide::min_chunk_bytes(false), 64u);
}

}  // namespace
}  // namespace laneway::test
