#include "id_ring_suite.hpp"  // on CPU devices

#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

// The head lies in shared memory and its claims are relaxed: what an id brings along must come through its place.
TEST(id_ring_threads_test, WarpsOfOneBlockConsumeTogether) {
    constexpr std::uint32_t laps = 20;
    for (const std::uint32_t ids : {1u, 8u, 256u}) {
        SCOPED_TRACE(std::to_string(ids) + " ids");
        std::vector<std::uint32_t> places(ids), laps_of(ids), totals(2);
        std::uint64_t tail = 0;
        const lone_environment alone(0, 1, 30);
        run_warp_threads(alone.get(), {2, 3, 64},
                         laps_program{places.data(), &tail, laps_of.data(), totals.data(), &totals[1], ids, laps});
        EXPECT_FALSE(alone.failed());
        EXPECT_EQ(totals, (std::vector<std::uint32_t>{ids * laps, 0}));
        EXPECT_EQ(laps_of, std::vector<std::uint32_t>(ids, laps + 1));
        EXPECT_EQ(places, std::vector<std::uint32_t>(ids, 0)) << "a place was left full";
    }
}

}  // namespace
}  // namespace laneway::test
