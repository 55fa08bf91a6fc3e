#include "channel_block_suite.hpp"

#include "laneway/task/channel_component.hpp"

namespace laneway::test {
namespace {

/// The channels of a graph on a PE of several blocks, as its runs lay them out.
template <class... Kernels>
channel_set_ref laid_out(std::vector<channel_plan> plans) {
    machine machine("cpu:1");
    pe_grid grid;
    grid.kind = device_kind::checked;
    grid.shape = {16, 4, 64};
    (void)add_inner_channels<Kernels...>(plans, 1, 0);
    const warp_plan warps = plan_warps<deepest_or_fullest_first, Kernels...>(plans, 0);
    return channel_memory(machine.device(0), plans, warps, grid).ref();
}

TEST(channel_block_plans_test, OneElementIsADispatchOfABlock) {
    const channel_options wide{.width = 512, .levels = 2};
    const auto of_both = laid_out<add_numbers, count_numbers>({{wide, 32}, {.options = wide, .consumer = 1}});
    EXPECT_EQ(of_both.channels[0].rule.at_least, 1u);
    EXPECT_EQ(of_both.channels[1].rule.at_least, 4u) << "a warp's lanes";
    channel_options chosen = wide;
    chosen.at_least = 8;
    EXPECT_EQ((laid_out<add_numbers>({{chosen, 32}}).channels[0].rule.at_least), 8u);
}

TEST(channel_block_plans_test, WhereBlocksDoAllTheWorkEachHasAShard) {
    const channel_options wide{.width = 512, .levels = 2};
    EXPECT_EQ((laid_out<add_numbers, count_numbers>({{wide, 32}, {.options = wide, .consumer = 1}}).n_shards), 2u)
        << "of 256 elements, as warps take some";
    // Continuations are for warps, and of blocks.
    const auto of_blocks = laid_out<add_numbers, count_numbers>(
        {{wide, 32}, {.options = wide, .element_bytes = 32, .is_after = true, .consumer = 1}});
    EXPECT_EQ(of_blocks.n_shards, 16u) << "one for each block, of 32 elements";
    EXPECT_EQ(of_blocks.by_blocks, 1u);
}

/// As many warps as Warps at most.
template <int Warps>
struct of_warps : pass_words {
    static constexpr int block_warps = Warps;
};
template <class... Kernels>
using program_of = program<no_body, channel_graph_ref<deepest_or_fullest_first, Kernels...>>;

TEST(channel_block_plans_test, SmallBlocksAreSeveralOnAMultiprocessor) {
    EXPECT_EQ(program_of<of_warps<2>>::cuda_blocks, 8);
    EXPECT_EQ((program_of<of_warps<8>, of_warps<4>>::cuda_blocks), 4);
    EXPECT_EQ(program_of<of_warps<32>>::cuda_blocks, 1);
    EXPECT_EQ(program_of<count_numbers>::cuda_blocks, 1) << "no block works together";
}

}  // namespace
}  // namespace laneway::test
