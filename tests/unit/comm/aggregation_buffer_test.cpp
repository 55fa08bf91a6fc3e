#include "laneway/comm/aggregation_buffer.hpp"

#include <gtest/gtest.h>

#include <array>

namespace laneway {
namespace {

template <std::size_t Bytes>
struct message_of {
    std::array<char, Bytes> bytes;
};

TEST(chunk_shape_test, FitsTheLargestPowerOfTwoOfMessages) {
    EXPECT_EQ(chunk_shape<std::uint64_t>::fitting(4096).messages(), 512u);
    EXPECT_EQ(chunk_shape<std::uint64_t>::fitting(4095).messages(), 256u);
    EXPECT_EQ(chunk_shape<std::uint64_t>::fitting(16).messages(), 2u);
    EXPECT_EQ(chunk_shape<std::uint64_t>::fitting(15).messages(), 1u);
    EXPECT_EQ(chunk_shape<message_of<12>>::fitting(4096).messages(), 256u);  // 341 fit
}

TEST(chunk_shape_test, HoldsAtLeastOneMessageAndAtMostWhatAFlagCanCount) {
    EXPECT_EQ(chunk_shape<message_of<4096>>::fitting(0).messages(), 1u);
    EXPECT_EQ(chunk_shape<char>::fitting(std::size_t{1} << 40).messages(), 1u << 15);
    EXPECT_LT(chunk_shape<char>::fitting(~std::size_t{0} / 4).messages(), 0xffffu);
}

TEST(chunk_shape_test, BuffersAreWholeLines) {
    EXPECT_EQ(chunk_shape<message_of<3>>::fitting(3).bytes(), 16u);
    EXPECT_EQ(chunk_shape<message_of<12>>::fitting(100).bytes(), 96u);
    EXPECT_EQ(chunk_shape<std::uint64_t>::fitting(4096).bytes(), 4096u);
}

TEST(chunk_shape_test, SharedMemoryHoldsTwoBuffersADestination) {
    const auto shape = chunk_shape<std::uint64_t>::fitting(64);
    for (int pes = 1; pes < 20; ++pes) {
        EXPECT_EQ(shape.aggregation_bytes(pes) % 16, 0u);
        EXPECT_GE(shape.aggregation_bytes(pes), static_cast<std::size_t>(pes) * sizeof(aggregation_buffer));
        EXPECT_EQ(shape.shared_bytes(pes) - shape.aggregation_bytes(pes), static_cast<std::size_t>(pes) * 128);
    }
}

TEST(chunk_shape_test, ChunkNumbersWrapWithTheirPositions) {
    for (const std::size_t bytes : {8u, 64u, 4096u, 1u << 20}) {
        const auto shape = chunk_shape<std::uint64_t>::fitting(bytes);
        const std::uint32_t last = ~std::uint32_t{0} >> shape.log2_messages;
        EXPECT_EQ(shape.chunk_after(last, 1), 0u);
        EXPECT_EQ(shape.chunk_after(last - 1, 3), 1u);
        EXPECT_EQ(shape.chunk_after(0, ~std::uint32_t{0}), last);
        // Position p + messages lies in the chunk after p's, also where 32 bits wrap.
        const std::uint32_t position = ~std::uint32_t{0} - 5;
        EXPECT_EQ((position + shape.messages()) >> shape.log2_messages,
                  shape.chunk_after(position >> shape.log2_messages, 1));
    }
}

}  // namespace
}  // namespace laneway
