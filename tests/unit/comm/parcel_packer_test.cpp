// Parcels of several warps of one block, as real threads, and where a server finds them in a chunk.
#include "laneway/comm/parcel_packer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "laneway/comm/grid.hpp"
#include "laneway/comm/outbox.hpp"
#include "laneway/comm/parcel_server.hpp"
#include "laneway/comm/post_office.hpp"
#include "laneway/comm/server.hpp"
#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

struct stamp {
    std::uint64_t value;
};

struct parcel_sums {
    std::uint64_t parcels = 0, sum = 0, damaged = 0;
};

/// Message v has v mod (longest + 1) elements, all of them v.
struct add_up_parcels {
    using element = std::uint16_t;
    parcel_sums* sums;
    std::uint32_t longest;

    template <class Ctx>
    void operator()(Ctx&, const stamp& m, elements<const element> body) const {
        ++sums->parcels;
        sums->sum += m.value;
        bool right = body.size == m.value % (longest + 1);
        for (const element e : body) right = right && e == static_cast<element>(m.value);
        if (!right) ++sums->damaged;
    }
};

using parcel_routes = routes<route<stamp, add_up_parcels>>;

template <class Ctx, class Idle>
struct open_outbox : outbox<Ctx, parcel_routes, Idle> {
    using outbox<Ctx, parcel_routes, Idle>::outbox;
    using outbox<Ctx, parcel_routes, Idle>::post_parcel;
};

struct post_parcel_share {
    const links_ref& links;
    std::uint32_t chunk_bytes;
    std::uint64_t messages;  ///< a warp
    std::uint64_t* completed;

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        const auto idle = [] {};
        const delivery<parcel_routes> none{};
        open_outbox<Ctx, decltype(idle)> out(ctx, links, chunk_bytes, none, idle, ctx.shared(), completed);
        out.open(ctx);
        ctx.sync_block();
        const auto warps = static_cast<std::uint64_t>(ctx.n_warps());
        const std::uint32_t longest = out.template longest<stamp>();
        std::vector<std::uint16_t> body(longest);
        for (std::uint64_t i = 0; i < messages; ++i) {
            const std::uint64_t value = i * warps + static_cast<std::uint64_t>(ctx.warp());
            std::fill(body.begin(), body.end(), static_cast<std::uint16_t>(value));
            const elements<const std::uint16_t> part{body.data(), value % (longest + 1)};
            if (out.post_parcel(ctx, 1, stamp{value}, part) != status::ok) return;
            if (value % 5 == 0) out.complete(ctx, 1);
            if (value % 97 == 0) (void)out.run_dry(ctx);
            if (value % 1001 == 0) (void)out.quiet(ctx);
        }
        (void)out.quiet(ctx);
        ctx.sync_block();
        (void)out.run_dry(ctx);
    }
};

/// PE 0 with three warps of one block sends, PE 1 with one thread serves.
parcel_sums gather_parcels(std::uint32_t chunk_bytes, std::uint64_t messages, std::uint64_t& completed) {
    options o;
    o.ring_slots = 2;
    o.age_ns = 1000;
    machine machine("cpu:2");
    post_office office(machine, o, plan_office(o, std::vector<pe_outline>(2), {chunk_bytes}, [](std::uint32_t bytes) {
                           return office_draft{needs_of<parcel_routes>(bytes), std::vector<pe_grid>(2)};
                       }));
    office.reset();
    const links_ref links[] = {office.links(0), office.links(1)};
    const lone_environment sender(0, 2, 30), receiver(1, 2, 30);
    const std::uint32_t chunk_units = chunk_shape<parcel_unit<stamp>>::fitting(chunk_bytes).messages();
    parcel_sums sums;
    std::atomic<bool> sent{false};
    std::jthread serving([&] {
        run_warp_threads(receiver.get(), {}, [&](warp_context& ctx) {
            const std::uint32_t longest = parcel_shape<stamp, std::uint16_t>::longest(chunk_units);
            const delivery<parcel_routes> handlers{{{{&sums, longest}}}, {}};
            server in(ctx, links[1], 0, [&](int source, const arrived_chunk& chunk) {
                serve_parcels<stamp, std::uint16_t>(ctx, handlers, source, chunk, chunk_units);
            });
            while (in.turn(ctx) || !sent) ctx.pause();
        });
    });
    const launch_shape block{1, 3, outbox_bytes<parcel_routes>(chunk_bytes, 2)};
    run_warp_threads(sender.get(), block, post_parcel_share{links[0], chunk_bytes, messages, &completed});
    sent = true;
    serving.join();
    EXPECT_FALSE(sender.failed() || receiver.failed());
    return sums;
}

TEST(parcel_packer_test, WarpsOfOneBlockShareBins) {
    constexpr std::uint64_t messages = 3000;
    for (const std::uint32_t chunk_bytes : {32u, 64u, 512u}) {
        SCOPED_TRACE("chunks of " + std::to_string(chunk_bytes) + " bytes");
        std::uint64_t completed = 0;
        const parcel_sums sums = gather_parcels(chunk_bytes, messages, completed);
        EXPECT_EQ(sums.parcels, 3 * messages);
        EXPECT_EQ(sums.sum, 3 * messages * (3 * messages - 1) / 2);
        EXPECT_EQ(sums.damaged, 0u);
        EXPECT_EQ(completed, 3 * messages / 5);
    }
}

TEST(parcel_shape_test, CountsUnits) {
    using shape = parcel_shape<std::uint64_t, std::uint32_t>;
    EXPECT_EQ(shape::header_units, 1u);
    EXPECT_EQ(shape::units(0), 1u);
    EXPECT_EQ(shape::units(4), 2u);
    EXPECT_EQ(shape::units(5), 3u);
    EXPECT_EQ(shape::longest(4), 12u);
    EXPECT_EQ(shape::units(shape::longest(512)), 512u);
    EXPECT_EQ(shape::least_chunk_bytes(false), 32u);
    using wide = parcel_shape<stamp[3], stamp[3]>;  // 32 bytes of head, elements of 24
    EXPECT_EQ(wide::header_units, 2u);
    EXPECT_EQ(wide::units(1), 4u);
    EXPECT_EQ(wide::longest(8), 4u);
    EXPECT_EQ(wide::units(wide::longest(8)), 8u);
    EXPECT_EQ(wide::least_chunk_bytes(false), 64u);
}

}  // namespace
}  // namespace laneway::test
