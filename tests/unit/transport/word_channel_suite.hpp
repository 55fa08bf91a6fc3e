// The contract of word channels, for each model: a value that is taken is whole and the one that was asked for, and
// what its source has fenced is seen behind it.
#pragma once

#include "laneway/simt/wait.hpp"
#include "laneway/transport/peer_memory.hpp"
#include "laneway/transport/transport.hpp"
#include "laneway/transport/word_channel.hpp"
#include "unit/test_devices.hpp"
#include "unit/warp_threads.hpp"

namespace laneway::test {

/// Lanes of a warp of the source put numbered values, each at its own place, and wait for their echoes: the next value
/// takes the words of the last.
struct word_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t laps = 12, max_lanes = 32;

    struct value {
        std::uint64_t number;
        std::uint64_t square;
        std::uint32_t lane;
    };
    static constexpr std::uint32_t words = tagged_words<value> + 1;  ///< and one that is put alone

    word_sender forth, back;              ///< as who puts has them
    word_receiver forth_come, back_come;  ///< as who takes
    std::uint64_t* payload = nullptr;     ///< a word a lane, plain, of memory from source to destination
    int source = 0, destination = 0;
    std::uint32_t lanes = 1;  ///< that both sides have
    std::uint32_t first_tag = 1;
    std::uint32_t* wrong = nullptr;  ///< destination memory
    std::uint32_t* taken = nullptr;  ///< the same

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.warp() != 0 || static_cast<std::uint32_t>(ctx.lane()) >= lanes) return;
        if (ctx.pe() == source && ctx.block() == 0) put(ctx, static_cast<std::uint32_t>(ctx.lane()));
        if (ctx.pe() == destination && ctx.block() == 1) take(ctx, static_cast<std::uint32_t>(ctx.lane()));
    }

private:
    template <class Ctx, class Look>
    LANEWAY_FN static bool await(Ctx& ctx, std::uint32_t lap, Look&& look) {
        return wait_until(ctx, {operation::user_code, -1, lap}, look) == status::ok;
    }
    template <class Ctx>
    LANEWAY_FN void put(Ctx& ctx, std::uint32_t lane) const {
        for (std::uint32_t lap = 0; lap < laps; ++lap) {
            const std::uint32_t tag = first_tag + lap;
            const std::uint64_t number = lap * 1000 + lane;
            payload[lane] = number + 7;
            ctx.fence(order::release, scope::system);
            forth.put(ctx, lane * words, tag, value{number, number * number, lane});
            forth.put_word(ctx, lane * words + tagged_words<value>, std::uint64_t{tag} << 32 | lap);
            std::uint64_t echo = 0;
            if (!await(ctx, lap, [&] { return back_come.take(ctx, lane * words, tag, echo, order::acquire); })) return;
        }
    }
    template <class Ctx>
    LANEWAY_FN void take(Ctx& ctx, std::uint32_t lane) const {
        for (std::uint32_t lap = 0; lap < laps; ++lap) {
            const std::uint32_t tag = first_tag + lap;
            value come{};
            if (!await(ctx, lap, [&] { return forth_come.take(ctx, lane * words, tag, come, order::acquire); })) return;
            const std::uint64_t number = lap * 1000 + lane;
            bool right = come.number == number && come.square == number * number && come.lane == lane;
            right = right && payload[lane] == number + 7;
            std::uint64_t alone = 0;
            if (!await(ctx, lap, [&] {
                    alone = forth_come.look(ctx, lane * words + tagged_words<value>, order::relaxed);
                    return alone >> 32 == tag;
                }))
                return;
            right = right && static_cast<std::uint32_t>(alone) == lap;
            if (!right) ctx.fetch_add(wrong, 1u, order::relaxed, scope::device);
            ctx.fetch_add(taken, 1u, order::relaxed, scope::device);
            back.put(ctx, lane * words, tag, come.number);
        }
    }
};

/// Words that one PE of a machine writes for another, as its transport model has them.
struct word_channel_model {
    peer_memory memory;
    peer_memory::part words;

    word_channel_model(machine& machine, int source, int destination, std::size_t n_words)
        : memory(machine, proxy::of(machine)) {
        const auto from = [&](int writer) { return writer == source ? n_words * sizeof(std::uint64_t) : 0; };
        words = memory.add_words(destination, from)[static_cast<std::size_t>(source)];
    }
    [[nodiscard]] word_sender sender() const { return word_sender(words.written); }
    [[nodiscard]] word_receiver receiver() const { return word_receiver(words.read); }
};

class word_channel_test : public testing::TestWithParam<std::string> {
protected:
    /// From the first PE to the last and back. Tags come round: from 2^32 - 5 to 0 and on.
    void carries_values_whole(transport_model by) {
        every_round(GetParam(), [&](const options& o) {
            machine machine(o.devices, o.seed, o.checked_accesses, nullptr, by);
            const int last = machine.n_pes() - 1;
            const auto &from = machine.device(0), &to = machine.device(last);
            const std::size_t n_words = word_program::max_lanes * word_program::words;
            const word_channel_model forth(machine, 0, last, n_words), back(machine, last, 0, n_words);
            const auto payload = find_transport(*from, *to).allocate(from, to, word_program::max_lanes * 8);
            const buffer<std::uint32_t> wrong(to, 1), taken(to, 1);
            const bool gpus = from->is_gpu() && to->is_gpu();
            const std::uint32_t lanes = gpus ? 32 : is_checked(GetParam()) ? checked::warp_lanes : 1;
            run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
                return word_program{forth.sender(),
                                    back.sender(),
                                    forth.receiver(),
                                    back.receiver(),
                                    reinterpret_cast<std::uint64_t*>(payload.get()),
                                    0,
                                    last,
                                    lanes,
                                    o.seed % 2 == 0 ? 1 : ~std::uint32_t{0} - 4,
                                    wrong.data(),
                                    taken.data()};
            });
            EXPECT_EQ(wrong.copy_out()[0], 0u);
            EXPECT_EQ(taken.copy_out()[0], lanes * word_program::laps);
        });
    }
};

TEST_P(word_channel_test, MappedCarriesValuesWhole) { carries_values_whole(transport_model::mapped); }
TEST_P(word_channel_test, ProxiedCarriesValuesWhole) { carries_values_whole(transport_model::proxied); }

LANEWAY_ON_DEVICES(word_channel_test, device_lists(2));

TEST(word_channel_views_test, ViewsAreAsLargeAsPointersAndSayNotWhereTheyLead) {
    static_assert(sizeof(word_sender) == sizeof(void*) && std::is_trivially_copyable_v<word_sender>);
    static_assert(sizeof(word_receiver) == sizeof(void*) && std::is_trivially_copyable_v<word_receiver>);
    static_assert(!std::is_convertible_v<word_sender, std::uint64_t*> &&
                  std::is_same_v<decltype(word_sender{}.place(0)), const void*>);
}

/// A short value leaves words of a long one where they are, and their tags come round.
TEST(word_channel_views_test, AWordThatWasRenewedIsNotTakenForALaterValue) {
    const lone_environment environment(0, 2, 10);
    cpu::context lane(environment.get(), 0, 1, nullptr);
    std::uint64_t words[2] = {};
    const word_sender to(words);
    const word_receiver from(words);
    to.put(lane, 0, 7, std::uint64_t{0xdead'0000'beef});
    to.put(lane, 0, 6, std::uint32_t{1});  // 2^32 - 1 values later
    std::uint64_t value = 0;
    to.put(lane, 0, 7, std::uint32_t{1});
    EXPECT_TRUE(from.take(lane, 0, 7, value, order::acquire)) << "the second word is an old one";
    to.put(lane, 0, 6, std::uint32_t{1});
    from.renew(lane, 1, 6);
    to.put(lane, 0, 7, std::uint32_t{1});
    EXPECT_FALSE(from.take(lane, 0, 7, value, order::acquire));
}

}  // namespace laneway::test
