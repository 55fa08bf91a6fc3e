#include "channel_block_suite.hpp"

#include "laneway/fork_join.hpp"
#include "laneway/task/channel_component.hpp"

namespace laneway::test {
namespace {

/// The channels of a graph on a PE of several blocks, as its runs lay them out.
template <class... Kernels>
channel_set_ref laid_out(std::vector<channel_plan> plans, std::uint64_t stack_bytes = 0) {
    machine machine("cpu:1");
    pe_grid grid;
    grid.kind = device_kind::checked;
    grid.shape = {16, 4, 64};
    (void)add_inner_channels<Kernels...>(plans, 1, 0);
    const warp_plan warps = plan_warps<deepest_or_fullest_first, Kernels...>(plans, stack_bytes);
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

/// As add_numbers, but its elements are not for stacks.
struct adds_from_queues : add_numbers {
    static constexpr bool keeps = false;
};

struct large_element {
    std::uint64_t words[25];
};
/// As add_numbers, but its elements are too large for stacks.
struct adds_large_elements : add_numbers {
    using element = large_element;
};
/// A function of blocks with large arguments, which may say that its calls are not to be kept.
struct function_of_blocks {
    using arguments = large_element;
    using result = std::uint32_t;
    static constexpr task_width width = task_width::block;
};
struct long_function_of_blocks : function_of_blocks {
    static constexpr bool keeps = false;
};

TEST(channel_block_plans_test, BlocksTakeOneAtATimeOfThoseThatSaySo) {
    EXPECT_FALSE(fits_stacks<adds_large_elements> || takes_long<adds_large_elements>) << "large, but not long";
    EXPECT_TRUE(!fits_stacks<adds_from_queues> && takes_long<adds_from_queues>);
    EXPECT_FALSE(takes_long<add_numbers>);
    EXPECT_FALSE(fits_stacks<fork_kernel<function_of_blocks>> || takes_long<fork_kernel<function_of_blocks>>);
    EXPECT_TRUE(takes_long<fork_kernel<long_function_of_blocks>>);
}

TEST(channel_block_plans_test, ABlockHasOneStackWhereBlocksDoAllTheWork) {
    const channel_options wide{.width = 512, .levels = 2};
    const auto of_blocks = laid_out<add_numbers, halve_together>(
        {{wide, sizeof(heap_node)}, {.options = wide, .element_bytes = 4, .consumer = 1}}, 1 << 20);
    EXPECT_EQ(of_blocks.stacks.warps, 16u) << "one for each block of four warps";
    EXPECT_GE(of_blocks.stacks.slot_bytes, sizeof(heap_node));
    EXPECT_EQ(of_blocks.channels[0].is_kept + of_blocks.channels[1].is_kept, 2u);
    // Where lanes make calls as well, warps keep theirs.
    const auto of_both =
        laid_out<add_numbers, count_numbers>({{wide, sizeof(heap_node)}, {.options = wide, .consumer = 1}}, 1 << 20);
    EXPECT_EQ(of_both.stacks.warps, 64u);
    EXPECT_EQ(of_both.channels[0].is_kept, 0u);
    EXPECT_EQ(of_both.channels[1].is_kept, 1u);
    EXPECT_EQ((laid_out<adds_from_queues>({{wide, sizeof(heap_node)}}, 1 << 20).stacks.capacity), 0u);
    static_assert(channel_graph_ref<deepest_or_fullest_first, add_numbers>::stacks_a_block == 1);
    static_assert(channel_graph_ref<warp_scheduler<>, add_numbers>::stacks_a_block == 0);
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
