// The contract of every transport: what one PE stores, another reads, in order, while kernels run.
#pragma once

#include <set>

#include "laneway/simt/wait.hpp"
#include "laneway/transport/transport.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// The writer stores numbered payloads and announces each; the reader checks it and answers through a second region.
struct ping_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint64_t laps = 20;
    static constexpr std::uint64_t payload_words = 30;

    std::uint64_t* forth = nullptr;  ///< placed from writer to reader: the payload, then its number
    std::uint64_t* back = nullptr;   ///< placed from reader to writer: the number last read
    int writer = 0;
    int reader = 0;
    std::uint32_t* wrong = nullptr;  ///< reader memory

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.warp() != 0 || ctx.lane() != 0) return;
        if (ctx.pe() == writer && ctx.block() == 0) write(ctx);
        if (ctx.pe() == reader && ctx.block() == 1) read(ctx);
    }

private:
    template <class Ctx>
    LANEWAY_FN static bool await(Ctx& ctx, const std::uint64_t* word, std::uint64_t lap) {
        return wait_until(ctx, {operation::user_code, -1, lap},
                          [&] { return ctx.load(word, order::acquire, scope::system) == lap; }) == status::ok;
    }
    template <class Ctx>
    LANEWAY_FN void write(Ctx& ctx) const {
        for (std::uint64_t lap = 1; lap <= laps; ++lap) {
            for (std::uint64_t i = 0; i < payload_words; ++i) forth[i] = lap * 1000 + i;
            ctx.store(forth + payload_words, lap, order::release, scope::system);
            if (!await(ctx, back, lap)) return;
        }
    }
    template <class Ctx>
    LANEWAY_FN void read(Ctx& ctx) const {
        for (std::uint64_t lap = 1; lap <= laps; ++lap) {
            if (!await(ctx, forth + payload_words, lap)) return;
            for (std::uint64_t i = 0; i < payload_words; ++i) {
                if (forth[i] != lap * 1000 + i) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
            }
            ctx.store(back, lap, order::release, scope::system);
        }
    }
};

class transport_test : public testing::TestWithParam<std::string> {};

TEST_P(transport_test, ExactlyOneConnectsEachPairOfDevices) {
    const machine machine(GetParam());
    for (int writer = 0; writer < machine.n_pes(); ++writer) {
        for (int reader = 0; reader < machine.n_pes(); ++reader) {
            const device& from = *machine.device(writer);
            const device& to = *machine.device(reader);
            int connected = 0;
            for (const auto& t : all_transports()) connected += t->connects(from, to) ? 1 : 0;
            EXPECT_EQ(connected, 1);
            const std::string expected = from.is_gpu() != to.is_gpu() ? "pinned" : from.is_gpu() ? "peer" : "shared";
            EXPECT_EQ(find_transport(from, to).name(), expected);
        }
    }
}

TEST_P(transport_test, CarriesBothWaysBetweenAllPairs) {
    every_round(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto writer = static_cast<int>(o.seed % static_cast<std::uint64_t>(machine.n_pes()));
        const auto reader = static_cast<int>(o.seed / 7 % static_cast<std::uint64_t>(machine.n_pes()));
        const auto& from = machine.device(writer);
        const auto& to = machine.device(reader);
        const auto forth = find_transport(*from, *to).allocate(from, to, (ping_program::payload_words + 1) * 8);
        const auto back = find_transport(*to, *from).allocate(to, from, 8);
        const buffer<std::uint32_t> wrong(to, 1);
        run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
            return ping_program{reinterpret_cast<std::uint64_t*>(forth.get()),
                                reinterpret_cast<std::uint64_t*>(back.get()), writer, reader, wrong.data()};
        });
        EXPECT_EQ(wrong.copy_out()[0], 0u);
    });
}

TEST_P(transport_test, PlacesZeroedAlignedMemoryThatDoesNotOverlap) {
    const machine machine(GetParam());
    const auto& from = machine.device(0);
    const auto& to = machine.device(machine.n_pes() - 1);
    std::vector<std::shared_ptr<std::byte>> regions;
    std::set<std::byte*> bases;
    for (int i = 0; i < 20; ++i) {
        regions.push_back(find_transport(*from, *to).allocate(from, to, 1000));
        bases.insert(regions.back().get());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(regions.back().get()) % 128, 0u);
        std::vector<std::byte> content(1000, std::byte{1});
        to->copy_out(content.data(), regions.back().get(), content.size());
        EXPECT_EQ(content, std::vector<std::byte>(1000));
        to->fill(regions.back().get(), 0xee, 1000);
    }
    EXPECT_EQ(bases.size(), 20u);
    EXPECT_NO_THROW(static_cast<void>(find_transport(*from, *to).allocate(from, to, 0)));
}

LANEWAY_ON_DEVICES(transport_test, device_lists());

TEST(transport_names_test, AreDistinct) {
    std::set<std::string> names;
    for (const auto& t : all_transports()) names.insert(t->name());
    EXPECT_EQ(names.size(), all_transports().size());
}

}  // namespace laneway::test
