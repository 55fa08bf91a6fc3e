#include "device_heap_suite.hpp"  // on CPU devices

#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

// Warps of one block, each an OS thread: ThreadSanitizer sees whether a piece's holders come one after the other.
TEST(device_heap_threads_test, PiecesThatChangeHandsAreWhole) {
    machine machine("cpu:1");
    const device_heap_options size{.bytes = std::size_t{64} << 10, .page_bytes = std::size_t{1} << 10};
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const device_heap heap(machine.device(0), size);
        std::vector<std::uint64_t> swapped(swapping_program::slots);
        std::uint64_t wrong = 0;
        const lone_environment alone(0, 1, 100);
        run_warp_threads(alone.get(), {2, 3, 64},
                         swapping_program{heap.ref(), swapped.data(), &wrong, seed, 1000, seed % 2 == 0 ? 5u : 11u});
        EXPECT_FALSE(alone.failed());
        EXPECT_EQ(wrong, 0u);
        EXPECT_EQ(heap.statistics().refused_frees, 0u);
        free_all(machine, heap, heap.live());
        expect_whole(heap, size);
    }
}

}  // namespace
}  // namespace laneway::test
