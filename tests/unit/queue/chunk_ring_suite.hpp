// The chunk ring: every chunk arrives once and whole, over laps, with few slots, under all interleavings.
#pragma once

#include "ring_program.hpp"

namespace laneway::test {

class chunk_ring_test : public testing::TestWithParam<std::string> {};

TEST_P(chunk_ring_test, EveryChunkArrivesOnceAndWhole) {
    every_round(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto& source = machine.device(0);
        const auto& destination = machine.device(machine.n_pes() - 1);
        const std::uint32_t slots = 1u << o.seed % 4;
        const std::uint32_t chunks = is_checked(GetParam()) ? 23 : 500;
        const ring_memory ring(source, destination, slots);
        const buffer<std::uint32_t> next(source, 1);
        const buffer<std::uint32_t> arrived(destination, chunks);
        const buffer<std::uint32_t> wrong(destination, 1);
        run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
            return ring_program{chunk_sender(ring.layout),
                                chunk_receiver(ring.layout),
                                next.data(),
                                arrived.data(),
                                wrong.data(),
                                chunks};
        });
        EXPECT_EQ(wrong.copy_out()[0], 0u);
        EXPECT_EQ(arrived.copy_out(), std::vector<std::uint32_t>(chunks, 1));
    });
}

TEST_P(chunk_ring_test, TicketsComeRound) {
    // Tags bear 32 bits of a ticket, flags 43.
    for (const int bits : {32, 43}) {
        every_fourth_round(GetParam(), [&](const options& o) {
            machine machine(o.devices, o.seed);
            const auto& source = machine.device(0);
            const auto& destination = machine.device(machine.n_pes() - 1);
            const std::uint32_t slots = 1u << o.seed % 4;
            const std::uint32_t chunks = 5 * slots;
            const std::uint64_t first = (std::uint64_t{1} << bits) - 2 * slots;
            const ring_memory ring(source, destination, slots, first);
            const buffer<std::uint32_t> next(source, 1);
            const buffer<std::uint32_t> arrived(destination, chunks);
            const buffer<std::uint32_t> wrong(destination, 1);
            run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
                return ring_program{chunk_sender(ring.layout),
                                    chunk_receiver(ring.layout),
                                    next.data(),
                                    arrived.data(),
                                    wrong.data(),
                                    chunks,
                                    first};
            });
            EXPECT_EQ(wrong.copy_out()[0], 0u);
            EXPECT_EQ(arrived.copy_out(), std::vector<std::uint32_t>(chunks, 1));
        });
    }
}

LANEWAY_ON_DEVICES(chunk_ring_test, device_lists());

/// Reads a chunk whose flag has come and whose words have not.
struct read_ahead {
    static constexpr int cuda_warps = 2;
    chunk_ring_layout ring;
    bool at_once;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const chunk_receiver from(ring);
        std::uint64_t message = 0, messages[2];
        (void)(at_once ? from.load_words(ctx, 3, 2, messages) : from.load_words(ctx, 3, 0, message));
    }
};

TEST_P(chunk_ring_test, WordsThatNeverComeAreNamedAtTheDeadline) {
    for (const bool at_once : {false, true}) {
        machine machine(lone_device().at(is_checked(GetParam()) ? 1 : 0));
        const ring_memory ring(machine.device(0), machine.device(0), 4);
        const std::string told = told_at_deadline(machine, read_ahead{ring.layout, at_once});
        EXPECT_NE(told.find("deadline passed while waiting for the words of a chunk: ticket 3"), std::string::npos)
            << told;
    }
}

TEST_P(chunk_ring_test, AFullRingMakesTheSenderWaitUntilItsDeadline) {
    machine machine(lone_device().at(is_checked(GetParam()) ? 1 : 0));
    const ring_memory ring(machine.device(0), machine.device(0), 4);
    const buffer<std::uint32_t> reserved(machine.device(0), 1);
    try {
        run_programs(machine, small_grid(machine), 0.05, [&](int) {
            return overfull_program{chunk_sender(ring.layout), reserved.data()};
        });
        FAIL() << "a fifth chunk fitted into four slots";
    } catch (const timeout_error& e) {
        EXPECT_NE(std::string(e.what()).find("waiting for a free ring slot to PE 3: ticket 4"), std::string::npos)
            << e.what();
    }
    EXPECT_EQ(reserved.copy_out()[0], 4u);
}

}  // namespace laneway::test
