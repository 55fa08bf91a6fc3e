// The contract of channels, for each model: every chunk arrives once and whole, in slots that are free again behind it.
#pragma once

#include "laneway/transport/channel.hpp"
#include "laneway/transport/peer_memory.hpp"
#include "unit/queue/ring_program.hpp"

namespace laneway::test {

static_assert(channel_sender<chunk_sender, cpu::context> && channel_receiver<chunk_receiver, cpu::context>);
static_assert(channel_sender<chunk_sender, checked::context> && channel_receiver<chunk_receiver, checked::context>);

/// The ring from one PE of a machine to another, as its transport model has it.
struct channel_model {
    std::shared_ptr<proxy> carrier;
    peer_memory memory;
    buffer<std::uint64_t> tail;
    peer_ring ring;

    channel_model(machine& machine, int source, int destination, std::uint32_t slots)
        : carrier(proxy::of(machine)), memory(machine, carrier), tail(machine.device(source), 1) {
        const auto n = static_cast<std::size_t>(machine.n_pes());
        const auto all = memory.add_rings(std::vector<std::uint32_t>(n, slots), 16);
        ring = all[static_cast<std::size_t>(source) * n + static_cast<std::size_t>(destination)];
        ring.to.tail = tail.data();
    }
    [[nodiscard]] chunk_sender to() const { return chunk_sender(ring.to); }
    [[nodiscard]] chunk_receiver from() const { return chunk_receiver(ring.from); }
};

inline std::unique_ptr<machine> machine_with(const options& o, transport_model model) {
    return std::make_unique<machine>(o.devices, o.seed, o.checked_accesses, nullptr, model);
}

class channel_test : public testing::TestWithParam<std::string> {
protected:
    /// From the first PE to the last.
    void carries_every_chunk_once(transport_model by) {
        every_round(GetParam(), [&](const options& o) {
            const auto opened = machine_with(o, by);
            machine& machine = *opened;
            const int last = machine.n_pes() - 1;
            const std::uint32_t chunks = is_checked(GetParam()) ? 23 : 500;
            const channel_model model(machine, 0, last, 1u << o.seed % 4);
            const buffer<std::uint32_t> next(machine.device(0), 1);
            const buffer<std::uint32_t> arrived(machine.device(last), chunks);
            const buffer<std::uint32_t> wrong(machine.device(last), 1);
            run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
                return ring_program{model.to(), model.from(), next.data(), arrived.data(), wrong.data(), chunks};
            });
            EXPECT_EQ(wrong.copy_out()[0], 0u);
            EXPECT_EQ(arrived.copy_out(), std::vector<std::uint32_t>(chunks, 1));
        });
    }

    /// Of four slots, where nobody drains them.
    void makes_the_sender_wait_when_full(transport_model by) {
        const auto opened = machine_with(options_of(GetParam(), 0), by);
        machine& machine = *opened;
        const channel_model model(machine, 0, machine.n_pes() - 1, 4);
        const buffer<std::uint32_t> reserved(machine.device(0), 1);
        try {
            run_programs(machine, small_grid(machine), 0.05, [&](int pe) {
                return overfull_program{model.to(), reserved.data(), pe != 0};
            });
            FAIL() << "a fifth chunk fitted into four slots";
        } catch (const timeout_error& e) {
            EXPECT_NE(std::string(e.what()).find("waiting for a free ring slot to PE 3: ticket 4"), std::string::npos)
                << e.what();
        }
        EXPECT_EQ(reserved.copy_out()[0], 4u);
    }
};

TEST_P(channel_test, MappedCarriesEveryChunkOnce) { carries_every_chunk_once(transport_model::mapped); }
TEST_P(channel_test, MappedMakesTheSenderWaitWhenFull) { makes_the_sender_wait_when_full(transport_model::mapped); }
TEST_P(channel_test, ProxiedCarriesEveryChunkOnce) { carries_every_chunk_once(transport_model::proxied); }
TEST_P(channel_test, ProxiedMakesTheSenderWaitWhenFull) { makes_the_sender_wait_when_full(transport_model::proxied); }

TEST_P(channel_test, AProxiedChannelServesRunAfterRunOnceItIsEmptied) {
    const auto opened = machine_with(options_of(GetParam(), 0), transport_model::proxied);
    machine& machine = *opened;
    const int last = machine.n_pes() - 1;
    channel_model model(machine, 0, last, 2);
    for (std::uint32_t chunks = 1; chunks < 40; chunks += 13) {
        const buffer<std::uint32_t> next(machine.device(0), 1);
        const buffer<std::uint32_t> arrived(machine.device(last), chunks);
        const buffer<std::uint32_t> wrong(machine.device(last), 1);
        model.memory.clear();
        model.tail.fill_bytes(0);
        run_programs(machine, small_grid(machine), is_checked(GetParam()) ? 1 : 20, [&](int) {
            return ring_program{model.to(), model.from(), next.data(), arrived.data(), wrong.data(), chunks};
        });
        EXPECT_EQ(wrong.copy_out()[0], 0u);
        EXPECT_EQ(arrived.copy_out(), std::vector<std::uint32_t>(chunks, 1));
        EXPECT_TRUE(model.carrier->account().starts_with("; proxy: " + std::to_string(chunks) + " chunks and "))
            << model.carrier->account();
    }
}

LANEWAY_ON_DEVICES(channel_test, device_lists(2));

}  // namespace laneway::test
