// Two hops over many PEs: every message arrives, and a PE fills few buffers.
#include "aggregation/schemes.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

namespace {

TEST(pe_square_test, EveryPairIsTwoHopsApartAtMost) {
    for (int n = 1; n <= 70; ++n) {
        const auto square = study::pe_square::of(n);
        for (int from = 0; from < n; ++from) {
            for (int to = 0; to < n; ++to) {
                const int first = square.first_hop(from, to);
                ASSERT_TRUE(first >= 0 && first < n) << n << " PEs, from " << from << " to " << to;
                EXPECT_EQ(square.first_hop(first, to), to) << n << " PEs, from " << from << " to " << to;
            }
        }
    }
}

TEST(pe_square_test, APeHasTwoRootsOfNeighbours) {
    for (int n = 1; n <= 70; ++n) {
        const auto square = study::pe_square::of(n);
        const int rows = (n + square.columns - 1) / square.columns;
        for (int from = 0; from < n; ++from) {
            std::vector<bool> is_neighbour(static_cast<std::size_t>(n), false);
            for (int to = 0; to < n; ++to) is_neighbour[static_cast<std::size_t>(square.first_hop(from, to))] = true;
            const auto neighbours = std::count(is_neighbour.begin(), is_neighbour.end(), true);
            EXPECT_LE(neighbours, square.columns + rows - 1) << n << " PEs, PE " << from;
        }
    }
}

struct add {
    symmetric_ref<std::uint64_t> sums;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t value) const {
        atomic_add(ctx, sums[0], value);
        atomic_add(ctx, sums[1], 1);
    }
};

/// One message in turn to every PE, several times.
struct post_round {
    std::uint64_t messages;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < messages; ++i) {
            const auto pe = static_cast<int>((ctx.rank() + i * 7) % static_cast<std::uint64_t>(ctx.n_pes()));
            if (box.post(ctx, pe, ctx.rank() * messages + i) != status::ok) return;
        }
    }
};

study::study_result run_on(const std::string& devices, const std::string& scheme) {
    study::study_options o;
    o.job.devices = devices;
    o.job.chunk_bytes = 512;
    o.job.ring_slots = 2;
    o.job.age_ns = 1'000'000;
    o.job.forward_slots = 1024;
    runtime rt(o.job);
    const auto sums = rt.allocate<std::uint64_t>(2);
    const post_round functor{4 * static_cast<std::uint64_t>(rt.n_pes())};
    auto result = study::run_scheme<std::uint64_t>(scheme, rt, o, add{sums.ref()}, functor);
    const auto& taken = result.report.buffer_bytes;
    EXPECT_EQ(taken.size(), static_cast<std::size_t>(rt.n_pes()));
    EXPECT_LE(*std::max_element(taken.begin(), taken.end()), o.job.buffer_bytes);
    const auto lanes = static_cast<std::uint64_t>(rt.n_pes());
    std::vector<std::uint64_t> expected(lanes);
    for (std::uint64_t rank = 0; rank < lanes; ++rank) {
        for (std::uint64_t i = 0; i < functor.messages; ++i) {
            expected[(rank + i * 7) % lanes] += rank * functor.messages + i;
        }
    }
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        EXPECT_EQ(sums.copy_out(pe)[0], expected[static_cast<std::size_t>(pe)]) << "PE " << pe;
        EXPECT_EQ(sums.copy_out(pe)[1], functor.messages) << "PE " << pe;
    }
    return result;
}

class hierarchy_test : public testing::TestWithParam<int> {};

TEST_P(hierarchy_test, TwoHopsFillFewBuffersWithMoreMessagesEach) {
    const int pes = GetParam();
    const std::string devices = "cpu:" + std::to_string(pes);
    const auto flat = run_on(devices, "library");
    const auto two_hops = run_on(devices, "hierarchy");
    const auto square = study::pe_square::of(pes);
    EXPECT_EQ(study::buffers_used(flat.report), pes - 1);
    EXPECT_LE(study::buffers_used(two_hops.report), 2 * (square.columns - 1));
    EXPECT_GT(two_hops.messages_per_chunk(), flat.messages_per_chunk());
    EXPECT_GT(two_hops.report.carried, flat.report.carried);
    std::printf("%d PEs: flat %d buffers, %.2f messages a chunk; two hops %d buffers, %.2f messages a chunk\n", pes,
                study::buffers_used(flat.report), flat.messages_per_chunk(), study::buffers_used(two_hops.report),
                two_hops.messages_per_chunk());
}

INSTANTIATE_TEST_SUITE_P(pes, hierarchy_test, testing::Values(64, 144));

}  // namespace

}  // namespace laneway::test
