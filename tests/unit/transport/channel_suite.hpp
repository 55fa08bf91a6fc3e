// The contract of channels, for each model: every chunk arrives once and whole, in slots that are free again behind it.
#pragma once

#include "laneway/transport/channel.hpp"
#include "laneway/transport/proxied_channel.hpp"
#include "unit/queue/ring_program.hpp"

namespace laneway::test {

static_assert(channel_sender<chunk_sender, cpu::context> && channel_receiver<chunk_receiver, cpu::context>);
static_assert(channel_sender<chunk_sender, checked::context> && channel_receiver<chunk_receiver, checked::context>);

/// A mapped channel: the ring of chunk_ring_suite.hpp.
struct mapped_model {
    ring_memory ring;

    mapped_model(machine& machine, int source, int destination, std::uint32_t slots)
        : ring(machine.device(source), machine.device(destination), slots) {}
    [[nodiscard]] chunk_sender to() const { return chunk_sender(ring.layout); }
    [[nodiscard]] chunk_receiver from() const { return chunk_receiver(ring.layout); }
};

struct proxied_model {
    std::shared_ptr<proxied_channel> channel;

    proxied_model(machine& machine, int source, int destination, std::uint32_t slots)
        : channel(std::make_shared<proxied_channel>(machine.device(source), machine.device(destination), slots, 16)) {
        machine.attach(channel);
    }
    [[nodiscard]] chunk_sender to() const { return channel->sender(); }
    [[nodiscard]] chunk_receiver from() const { return channel->receiver(); }
};

class channel_test : public testing::TestWithParam<std::string> {
protected:
    /// From the first PE to the last.
    template <class Model>
    void carries_every_chunk_once() {
        every_round(GetParam(), [&](const options& o) {
            machine machine(o.devices, o.seed);
            const int last = machine.n_pes() - 1;
            const std::uint32_t chunks = is_checked(GetParam()) ? 23 : 500;
            const Model model(machine, 0, last, 1u << o.seed % 4);
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
    template <class Model>
    void makes_the_sender_wait_when_full() {
        machine machine(GetParam());
        const Model model(machine, 0, machine.n_pes() - 1, 4);
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

TEST_P(channel_test, MappedCarriesEveryChunkOnce) { carries_every_chunk_once<mapped_model>(); }
TEST_P(channel_test, MappedMakesTheSenderWaitWhenFull) { makes_the_sender_wait_when_full<mapped_model>(); }
TEST_P(channel_test, ProxiedCarriesEveryChunkOnce) { carries_every_chunk_once<proxied_model>(); }
TEST_P(channel_test, ProxiedMakesTheSenderWaitWhenFull) { makes_the_sender_wait_when_full<proxied_model>(); }

TEST_P(channel_test, AProxiedChannelServesRunAfterRun) {
    machine machine(GetParam());
    const int last = machine.n_pes() - 1;
    const proxied_model model(machine, 0, last, 2);
    for (std::uint32_t chunks = 1; chunks < 40; chunks += 13) {
        const buffer<std::uint32_t> next(machine.device(0), 1);
        const buffer<std::uint32_t> arrived(machine.device(last), chunks);
        const buffer<std::uint32_t> wrong(machine.device(last), 1);
        run_programs(machine, small_grid(machine), is_checked(GetParam()) ? 1 : 20, [&](int) {
            return ring_program{model.to(), model.from(), next.data(), arrived.data(), wrong.data(), chunks};
        });
        EXPECT_EQ(wrong.copy_out()[0], 0u);
        EXPECT_EQ(arrived.copy_out(), std::vector<std::uint32_t>(chunks, 1));
        EXPECT_EQ(model.channel->account(), "; proxied channel: " + std::to_string(chunks) + " chunks carried");
    }
}

LANEWAY_ON_DEVICES(channel_test, device_lists());

}  // namespace laneway::test
