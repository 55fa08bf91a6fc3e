// Memory that others write for one reader: one piece for all who reach it in the same way, a part for each.
#include "laneway/comm/reader_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "laneway/simt/host_memory.hpp"
#include "unit/test_devices.hpp"

namespace laneway {
namespace {

/// Different sizes, so that a part in the wrong place overlaps another.
std::size_t bytes_from(int writer) { return 256 * (static_cast<std::size_t>(writer) + 1); }

class reader_memory_test : public testing::TestWithParam<std::string> {};

TEST_P(reader_memory_test, EveryWriterHasAPartOfOnePiece) {
    machine machine(GetParam());
    for (int reader = 0; reader < machine.n_pes(); ++reader) {
        std::vector<reader_memory> pieces;
        const auto parts = allocate_for_reader(machine, reader, bytes_from, pieces);
        ASSERT_EQ(parts.size(), static_cast<std::size_t>(machine.n_pes()));
        ASSERT_EQ(pieces.size(), 1u) << "CPU devices reach each other in one way";
        EXPECT_EQ(pieces[0].reader, reader);
        std::byte* next = pieces[0].memory.get();
        for (int writer = 0; writer < machine.n_pes(); ++writer) {
            std::byte* const part = parts[static_cast<std::size_t>(writer)];
            if (writer == reader) {
                EXPECT_EQ(part, nullptr);
                continue;
            }
            EXPECT_EQ(part, next) << "of PE " << writer;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part) % 256, 0u);
            EXPECT_TRUE(std::all_of(part, part + bytes_from(writer), [](std::byte b) { return b == std::byte{0}; }));
            std::fill_n(part, bytes_from(writer), std::byte{1});
            next += bytes_from(writer);
        }
        EXPECT_EQ(static_cast<std::size_t>(next - pieces[0].memory.get()), pieces[0].bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(devices, reader_memory_test, testing::Values("cpu:2", "cpu:4", "checked:3"), test::name_of);

TEST(reader_memory_test, AReaderAloneHasNone) {
    machine machine("cpu:1");
    std::vector<reader_memory> pieces;
    EXPECT_EQ(allocate_for_reader(machine, 0, bytes_from, pieces), std::vector<std::byte*>{nullptr});
    EXPECT_TRUE(pieces.empty());
}

TEST(reader_memory_test, PiecesOfSeveralReadersAreAddedAndFreedWithTheirOwner) {
    machine machine("cpu:3");
    const std::size_t before = zeroed_bytes_held();
    {
        std::vector<reader_memory> pieces;
        for (int reader = 0; reader < 3; ++reader) (void)allocate_for_reader(machine, reader, bytes_from, pieces);
        ASSERT_EQ(pieces.size(), 3u);
        std::size_t bytes = 0;
        for (const auto& piece : pieces) bytes += piece.bytes;
        EXPECT_EQ(bytes, 2 * (bytes_from(0) + bytes_from(1) + bytes_from(2))) << "each writer has two readers";
        EXPECT_EQ(zeroed_bytes_held() - before, bytes);
    }
    EXPECT_EQ(zeroed_bytes_held(), before);
}

}  // namespace
}  // namespace laneway
