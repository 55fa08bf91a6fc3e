// Aggregation buffers under several warps of one block, as real threads: the orders of `ready`, `written` and `limit`.
#include "laneway/comm/sender.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "laneway/comm/comm_resources.hpp"
#include "laneway/comm/grid.hpp"
#include "laneway/comm/server.hpp"
#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

struct checked_message {
    std::uint64_t value;
    std::uint64_t check;  ///< ~value
};

/// What one serving thread has seen.
struct served_sums {
    std::uint64_t messages = 0, sum = 0, damaged = 0;
};

struct add_up {
    served_sums* sums;

    template <class Ctx>
    void operator()(Ctx&, const checked_message& m) const {
        ++sums->messages;
        sums->sum += m.value;
        if (m.check != ~m.value) ++sums->damaged;
    }
};

using add_up_routes = routes<route<checked_message, add_up>>;

/// Every warp of PE 0 posts its share of 0, 1, 2, ... to PE 1, and flushes in all ways between.
struct post_share {
    const links_ref& links;
    std::uint32_t chunk_bytes;
    std::uint64_t messages;  ///< a warp
    std::uint64_t* completed;

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        const auto idle = [] {};
        const delivery<add_up_routes> none{};
        sender<Ctx, add_up_routes, decltype(idle)> out(ctx, links, chunk_bytes, none, idle, ctx.shared(), completed);
        out.open(ctx);
        ctx.sync_block();
        const auto warps = static_cast<std::uint64_t>(ctx.n_warps());
        for (std::uint64_t i = 0; i < messages; ++i) {
            const std::uint64_t value = i * warps + static_cast<std::uint64_t>(ctx.warp());
            if (out.post(ctx, 1, {value, ~value}) != status::ok) return;
            if (value % 5 == 0) out.complete(ctx, 1);
            if (value % 97 == 0) (void)out.flush_ready(ctx);
            if (value % 1001 == 0) (void)out.quiet(ctx);
        }
        (void)out.quiet(ctx);
        // Warps that complete nothing more make known what is left over.
        ctx.sync_block();
        (void)out.flush_ready(ctx);
    }
};

/// PE 0 with three warps of one block sends, PE 1 with one thread serves.
served_sums gather(std::uint32_t chunk_bytes, std::uint64_t messages, std::uint64_t& completed) {
    options o;
    o.ring_slots = 2;
    o.age_ns = 1000;
    machine machine("cpu:2");
    comm_resources resources(machine, o,
                             plan_comm(o, std::vector<pe_outline>(2), {chunk_bytes}, [](std::uint32_t bytes) {
                                 return comm_draft{needs_of<add_up_routes>(bytes), std::vector<pe_grid>(2)};
                             }));
    const links_ref links[] = {resources.links(0), resources.links(1)};
    const lone_environment sender(0, 2, 30), receiver(1, 2, 30);
    served_sums sums;
    std::atomic<bool> sent{false};
    std::jthread serving([&] {
        run_warp_threads(receiver.get(), {}, [&](warp_context& ctx) {
            const delivery<add_up_routes> handlers{{{{&sums}}}, {}};
            roles mine(ctx, {});
            mine.serves = true;
            mine.server_index = 0;
            server in(ctx, links[1], mine, [&](int source, const arrived_chunk& chunk) {
                serve_plain<warp_context, checked_message>(ctx, handlers, source, chunk);
            });
            while (in.turn(ctx) || !sent) ctx.pause();
        });
    });
    const launch_shape block{1, 3, sender_bytes<add_up_routes>(chunk_bytes, 2)};
    run_warp_threads(sender.get(), block, post_share{links[0], chunk_bytes, messages, &completed});
    sent = true;
    serving.join();
    EXPECT_FALSE(sender.failed() || receiver.failed());
    return sums;
}

TEST(sender_test, WarpsOfOneBlockShareAggregationBuffers) {
    constexpr std::uint64_t messages = 3000;
    for (const std::uint32_t chunk_bytes : {16u, 64u, 256u}) {
        SCOPED_TRACE("chunks of " + std::to_string(chunk_bytes) + " bytes");
        std::uint64_t completed = 0;
        const served_sums sums = gather(chunk_bytes, messages, completed);
        EXPECT_EQ(sums.messages, 3 * messages);
        EXPECT_EQ(sums.sum, 3 * messages * (3 * messages - 1) / 2);
        EXPECT_EQ(sums.damaged, 0u);
        EXPECT_EQ(completed, 3 * messages / 5);
    }
}

/// A warp has claimed a position and gone away; another puts messages into the same buffer, and waits for them to
/// leave.
struct put_beside_nobody {
    const links_ref& links;
    std::uint32_t chunk_bytes;
    std::uint64_t messages;

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        const auto idle = [] {};
        aggregator<Ctx, checked_message> out(ctx, links, chunk_shape<checked_message>::fitting(chunk_bytes), 0,
                                             ctx.shared());
        out.open(ctx);
        (void)out.reserve(ctx, 1, 1);
        for (std::uint64_t i = 0; i < messages; ++i) {
            if (out.put(ctx, 1, true, 1, {i, ~i}, idle) != status::ok) return;
        }
        (void)out.await_left(ctx, 1, idle);
    }
};

TEST(sender_test, AChunkThatNobodyCompletesIsNamedAtTheDeadline) {
    constexpr std::uint32_t chunk_bytes = 64;  // four messages
    const options o;
    machine machine("cpu:2");
    comm_resources resources(machine, o,
                             plan_comm(o, std::vector<pe_outline>(2), {chunk_bytes}, [](std::uint32_t bytes) {
                                 return comm_draft{needs_of<add_up_routes>(bytes), std::vector<pe_grid>(2)};
                             }));
    const links_ref links = resources.links(0);
    const launch_shape block{1, 1, sender_bytes<add_up_routes>(chunk_bytes, 2)};
    // With three messages that chunk is closed, the next one full with seven, and the eighth is for its buffer again.
    for (const auto& [messages, what] : {std::pair(std::uint64_t{3}, operation::flush), {8, operation::aggregate}}) {
        const lone_environment sender(0, 2, 0.1);
        run_warp_threads(sender.get(), block, put_beside_nobody{links, chunk_bytes, messages});
        ASSERT_TRUE(sender.failed());
        EXPECT_EQ(sender.fault().code, status::timeout);
        EXPECT_EQ(sender.fault().what, what);
        EXPECT_EQ(sender.fault().peer, 1);
    }
}

}  // namespace
}  // namespace laneway::test
