#include "laneway/comm/grid.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "laneway/comm/mailbox.hpp"
#include "laneway/flow/index_space_ref.hpp"
#include "laneway/run/program.hpp"

namespace laneway {
namespace {

template <bool Flushers>
struct nothing {
    static constexpr int cuda_warps = 4;
    static constexpr bool has_flushers = Flushers;
    static constexpr double server_share = 0.5;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&) const {}
};

template <bool Flushers = false>
std::vector<pe_grid> grids(const std::string& devices, const options& o) {
    const machine machine(devices);
    return size_grids(grid_traits::of<nothing<Flushers>>(), outline_of<nothing<Flushers>>(machine), o, 100);
}

TEST(grid_test, CpuDevicesGetTheirThreadsAndAllRoles) {
    options o;
    o.cpu_threads = 3;
    const auto list = grids("cpu:2", o);
    ASSERT_EQ(list.size(), 2u);
    for (const auto& g : list) {
        EXPECT_EQ(g.shape.blocks, 3);
        EXPECT_EQ(g.shape.warps_per_block, 1);
        EXPECT_EQ(g.shape.shared_bytes, 100u);
        EXPECT_EQ(g.server_warps(), 3);
        EXPECT_EQ(g.worker_warps(), 3);
        EXPECT_EQ(g.worker_blocks(), 3u);
    }
}

TEST(grid_test, CheckedDevicesServeOnlyWhereThereAreOthers) {
    const options o;
    const auto alone = grids("checked:1", o)[0];
    EXPECT_EQ(alone.server_warps(), 0);
    EXPECT_EQ(alone.worker_warps(), o.checked_blocks * o.checked_warps - 1);
    const auto pair = grids("checked:2", o)[1];
    EXPECT_EQ(pair.server_warps(), o.checked_warps - 1);
    EXPECT_EQ(pair.worker_warps(), (o.checked_blocks - 1) * o.checked_warps);
    EXPECT_EQ(pair.worker_lanes(), static_cast<std::uint64_t>(checked::warp_lanes * pair.worker_warps()));
}

TEST(grid_test, FlushersTakeOneWarpOfEachWorkingBlock) {
    options o;
    o.checked_warps = 3;
    EXPECT_EQ(grids<true>("checked:2", o)[0].worker_warps(), (o.checked_blocks - 1) * 2);
    EXPECT_EQ(grids<true>("checked:1", o)[0].worker_warps(), o.checked_blocks * 3 - 1)
        << "alone there is nothing to send";
    EXPECT_EQ(grids<true>("cpu:2", o)[0].worker_warps(), o.cpu_threads);
}

TEST(grid_test, RefusesGridsWithoutRoomForEveryRole) {
    options o;
    o.checked_warps = 1;
    EXPECT_THROW(grids("checked:2", o), usage_error);
    EXPECT_THROW(grids("checked:1", o), usage_error);
    o.checked_warps = 2;
    o.checked_blocks = 1;
    EXPECT_THROW(grids("checked:2", o), usage_error);
    EXPECT_NO_THROW(grids("checked:1", o));
}

/// Blocks that serve on GPUs of 100 blocks.
int server_blocks(double server_share) {
    const pe_outline gpu{device_kind::cuda, "cuda:0", [](const launch_shape&) { return 100; }};
    options o;
    o.server_share = server_share;
    return size_grids(grid_traits::of<nothing<false>>(), {gpu, gpu}, o, 100)[1].server_blocks;
}

TEST(grid_test, TheProgramSaysHowMuchOfAGpuServesUnlessTheOptionDoes) {
    EXPECT_EQ(server_blocks(0), 50);
    EXPECT_EQ(server_blocks(0.25), 25);
    EXPECT_EQ(server_blocks(0.001), 1) << "one block serves at least";
    for (const double share : {-0.1, 1.0, 7.0, std::nan("")}) EXPECT_THROW(server_blocks(share), usage_error) << share;
}

TEST(grid_test, ServersInEveryBlockLeaveEachBlockAWarpThatWorks) {
    options o;
    o.servers_in_every_block = true;
    o.checked_warps = 4;
    const auto checked = grids<true>("checked:2", o)[0];
    EXPECT_EQ(checked.server_blocks, 0);
    EXPECT_EQ(checked.server_warps(), o.checked_blocks) << "half would leave block 0 none beside control and flusher";
    EXPECT_EQ(checked.worker_warps(), o.checked_blocks * 2 - 1);
    EXPECT_EQ(checked.worker_blocks(), static_cast<std::uint32_t>(o.checked_blocks));
    EXPECT_EQ(grids<false>("checked:2", o)[0].server_warps(), 2 * o.checked_blocks);
    EXPECT_EQ(grids<true>("checked:1", o)[0].server_warps(), 0);
    EXPECT_EQ(grids<true>("cpu:2", o)[0].server_warps(), o.cpu_threads);
    o.server_share = 0.001;
    EXPECT_EQ(grids<false>("checked:2", o)[0].server_warps(), o.checked_blocks) << "one warp of each block at least";
    o.server_share = share_for_nothing;
    EXPECT_EQ(grids<false>("checked:2", o)[0].server_blocks, 1) << "all warps of the others work";
    o.server_share = 0.001;
    o.checked_warps = 3;
    EXPECT_THROW(grids<true>("checked:2", o), usage_error);
}

TEST(grid_test, ComponentsSayHowMuchOfAPeServesAlsoWhereItIsAlone) {
    const auto servers = [](double share, std::size_t pes, double option = 0, int blocks = 100) {
        const pe_outline gpu{device_kind::cuda, "cuda:0", [=](const launch_shape&) { return blocks; }, 0, share};
        options o;
        o.server_share = option;
        return size_grids(grid_traits::of<nothing<false>>(), std::vector(pes, gpu), o, 100)[0].server_blocks;
    };
    EXPECT_EQ(servers(0, 1), 0);
    EXPECT_EQ(servers(0.06, 1), 6) << "nothing else needs servers there";
    EXPECT_EQ(servers(0.001, 1), 1);
    EXPECT_EQ(servers(0.06, 2), 50) << "messages need more";
    EXPECT_EQ(servers(0.75, 2), 75);
    EXPECT_EQ(servers(0.06, 1, 0.25), 25);
    EXPECT_EQ(servers(share_for_flushers, 1), 1);
    EXPECT_EQ(servers(share_for_flushers, 1, 0, 1), 0) << "a lone block works";
    EXPECT_THROW(servers(share_for_nothing, 1, 0, 1), usage_error) << "what asks for a server gets one";
    pe_outline checked{device_kind::checked, "checked:1", {}};
    checked.server_share = 0.5;
    options o;
    o.checked_blocks = 1;
    EXPECT_THROW(size_grids(grid_traits::of<nothing<false>>(), {checked}, o, 100), usage_error);
}

struct posts_little {
    static constexpr double server_share = 0.125;
    static constexpr int cuda_warps = 16;
};
static_assert(server_share_of<posts_little> == 0.125);
static_assert(server_share_of<resident_body<posts_little>> == 0.125 &&
              server_share_of<each_index<posts_little>> == 0.125);
static_assert(cuda_warps_of<posts_little> == 16 && cuda_warps_of<int> == 32);
static_assert(cuda_warps_of<resident_body<posts_little>> == 16 && cuda_warps_of<each_index<posts_little>> == 16);
static_assert(server_share_of<nothing<false>> == 0.5 && server_share_of<int> == default_server_share);

TEST(grid_test, CpuDevicesHaveSomeThreadsAndNotMillions) {
    options o;
    for (const int threads : {0, -2, 1025, 1'000'000'000}) {
        o.cpu_threads = threads;
        EXPECT_THROW(grids("cpu:1", o), usage_error) << threads;
        EXPECT_THROW(grids("cpu:2", o), usage_error) << threads;
    }
    o.cpu_threads = 1024;
    EXPECT_NO_THROW(grids("cpu:2", o));
}

struct large_message {
    std::byte bytes[96];
};

struct serve_nothing {
    template <class Ctx, class Message>
    void operator()(Ctx&, const Message&) const {}
};
using large_routes = routes<route<large_message, serve_nothing>>;

TEST(grid_test, MessagesThatNoChunkHoldsAreRefusedWithTheSizes) {
    options o;
    o.chunk_bytes = 96;
    EXPECT_EQ(chunk_sizes(message_traits::of<large_routes>(), 3, false, o), std::vector<std::uint32_t>{96});
    o.chunk_bytes = 95;
    try {
        (void)chunk_sizes(message_traits::of<large_routes>(), 3, false, o);
        FAIL() << "accepted";
    } catch (const usage_error& e) {
        const std::string what = e.what();
        for (const char* part : {"96 bytes", "3 PEs", "95 bytes"}) EXPECT_NE(what.find(part), what.npos) << what;
        EXPECT_EQ(what.find('\n'), what.npos);
    }
}

TEST(grid_test, ChunksThatNobodySetMayBeSmallerButHoldAMessage) {
    using sizes = std::vector<std::uint32_t>;
    EXPECT_EQ(chunk_sizes(message_traits::of<large_routes>(), 3, false, {}),
              (sizes{16384, 8192, 4096, 2048, 1024, 512}));
    EXPECT_EQ(chunk_sizes(message_traits::of<large_routes>(), 64, true, {}), (sizes{1536, 768}))
        << "64 aggregation buffers share 192 KiB of a block";
    using page_routes = routes<route<std::array<std::byte, 4000>, serve_nothing>>;
    EXPECT_EQ(chunk_sizes(message_traits::of<page_routes>(), 2, false, {}), (sizes{16384, 8192, 4096}));
}

template <std::size_t I>
struct numbered_message {
    std::uint64_t words[1 + I % 4];
};
template <std::size_t... I>
routes<route<numbered_message<I>, serve_nothing>...> numbered_routes_of(std::index_sequence<I...>);
template <std::size_t N>
using numbered_messages = decltype(numbered_routes_of(std::make_index_sequence<N>()));

struct serve_seldom : serve_nothing {
    static constexpr bool shares_buffers = true;
};
struct serve_often : serve_nothing {
    static constexpr bool shares_buffers = false;
};

TEST(grid_test, ManyTypesShareAggregationBuffersAndChunksStayLarge) {
    EXPECT_EQ(message_traits::of<numbered_messages<16>>().aggregation_buffers, 16u);
    const auto many = message_traits::of<numbered_messages<64>>();
    EXPECT_EQ(many.aggregation_buffers, 1u);
    EXPECT_EQ(many.record_bytes, 64u) << "a header of 16 bytes, and 32 of the longest message";
    EXPECT_GE(chunk_sizes(many, 8, true, {}).front(), 8192u);
    using with_hot = decltype(numbered_messages<20>{} + routes<route<large_message, serve_often>>{});
    EXPECT_EQ(message_traits::of<with_hot>().aggregation_buffers, 2u);
}

TEST(grid_test, FewTypesShareAggregationBuffersWhereTheirHandlersSaySo) {
    using some = routes<route<numbered_message<1>, serve_seldom>, route<numbered_message<0>, serve_often>,
                        route<large_message, serve_seldom>>;
    static_assert(std::is_same_v<route_list<some>::carried,
                                 routes<route<numbered_message<0>, serve_often>,
                                        route<shared_message<sizeof(large_message)>, shared_handlers>>>);
    static_assert(route_list<some>::shares<large_message> && !route_list<some>::shares<numbered_message<0>>);
    EXPECT_EQ(message_traits::of<some>().aggregation_buffers, 2u);
}

}  // namespace
}  // namespace laneway
