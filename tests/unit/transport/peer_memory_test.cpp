// Memory that PEs write for each other: where it is mapped, one piece for all who reach a reader in the same way, a
// part for each; where a proxy carries, staging of the writers beside it.
#include "laneway/transport/peer_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "laneway/simt/host_memory.hpp"
#include "unit/test_devices.hpp"

namespace laneway {
namespace {

/// Different sizes, so that a part in the wrong place overlaps another.
std::size_t bytes_from(int writer) { return 256 * (static_cast<std::size_t>(writer) + 1); }

class peer_memory_test : public testing::TestWithParam<std::string> {
protected:
    void every_writer_has_a_part_of_one_piece(transport_model by) {
        machine machine(GetParam(), 1, {}, nullptr, by);
        peer_memory memory(machine, proxy::of(machine));
        for (int reader = 0; reader < machine.n_pes(); ++reader) {
            const auto parts = memory.add_words(reader, bytes_from);
            ASSERT_EQ(parts.size(), static_cast<std::size_t>(machine.n_pes()));
            std::byte* next = parts[reader == 0 ? 1 : 0].read;
            for (int writer = 0; writer < machine.n_pes(); ++writer) {
                const auto& part = parts[static_cast<std::size_t>(writer)];
                if (writer == reader) {
                    EXPECT_EQ(part.written, nullptr);
                    EXPECT_EQ(part.read, nullptr);
                    continue;
                }
                EXPECT_EQ(part.read, next) << "of PE " << writer;
                EXPECT_EQ(part.written == part.read, by == transport_model::mapped);
                for (std::byte* const side : {part.read, part.written}) {
                    EXPECT_TRUE(
                        std::all_of(side, side + bytes_from(writer), [](std::byte b) { return b == std::byte{0}; }));
                }
                std::fill_n(part.read, bytes_from(writer), std::byte{1});
                std::fill_n(part.written, bytes_from(writer), std::byte{1});
                next += bytes_from(writer);
            }
        }
    }
};

TEST_P(peer_memory_test, EveryWriterHasAPartOfOnePiece) {
    every_writer_has_a_part_of_one_piece(transport_model::mapped);
}
TEST_P(peer_memory_test, EveryWriterHasStagingOfItsOwn) {
    every_writer_has_a_part_of_one_piece(transport_model::proxied);
}

INSTANTIATE_TEST_SUITE_P(devices, peer_memory_test, testing::Values("cpu:2", "cpu:4", "checked:3"), test::name_of);

TEST(peer_memories_test, AReaderAloneHasNone) {
    machine machine("cpu:1");
    const std::size_t before = zeroed_bytes_held();
    peer_memory memory(machine, nullptr);
    EXPECT_EQ(memory.add_words(0, bytes_from)[0].read, nullptr);
    EXPECT_EQ(zeroed_bytes_held(), before);
}

TEST(peer_memories_test, PiecesOfSeveralReadersAreFreedWithTheirOwner) {
    for (const auto by : {transport_model::mapped, transport_model::proxied}) {
        machine machine("cpu:3", 1, {}, nullptr, by);
        const std::size_t before = zeroed_bytes_held();
        {
            peer_memory memory(machine, proxy::of(machine));
            for (int reader = 0; reader < 3; ++reader) (void)memory.add_words(reader, bytes_from);
            const std::size_t bytes = 2 * (bytes_from(0) + bytes_from(1) + bytes_from(2));
            const std::size_t staging = by == transport_model::mapped ? 0 : bytes;
            EXPECT_EQ(zeroed_bytes_held() - before, bytes + staging) << "each writer has two readers";
            for (int pe = 0; pe < 3; ++pe) EXPECT_EQ(memory.staging_bytes(pe), staging == 0 ? 0 : 2 * bytes_from(pe));
        }
        EXPECT_EQ(zeroed_bytes_held(), before);
    }
}

TEST(peer_memories_test, BothEndsOfAMappedRingAreOneMemory) {
    for (const auto by : {transport_model::mapped, transport_model::proxied}) {
        machine machine("cpu:2", 1, {}, nullptr, by);
        peer_memory memory(machine, proxy::of(machine));
        const auto rings = memory.add_rings({2, 4}, 32);
        ASSERT_EQ(rings.size(), 4u);
        EXPECT_EQ(rings[0].to.slots, nullptr) << "from a PE to itself";
        const peer_ring& ring = rings[1];
        EXPECT_EQ(ring.to.n_slots, 4u) << "as the destination has";
        EXPECT_EQ(ring.from.slot_bytes, 32u);
        const bool mapped = by == transport_model::mapped;
        EXPECT_EQ(ring.to.slots == ring.from.slots, mapped);
        EXPECT_EQ(ring.to.flags == ring.from.flags, mapped);
        EXPECT_EQ(ring.to.words == ring.from.words, mapped);
        EXPECT_EQ(ring.to.credits == ring.from.credits, mapped);
    }
}

}  // namespace
}  // namespace laneway
