// Queues of channels: every element is consumed exactly once, in whatever order its producers are ready, over many laps
// of queues down to a width of one; space comes back; what is freed twice is found.
#pragma once

#include "laneway/queue/channel_queue.hpp"
#include "laneway/simt/wait.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Memory of one queue.
struct channel_queue_memory {
    channel_queue_memory(const std::shared_ptr<device>& owner, std::uint32_t n)
        : width(n), words(owner, 1), data(owner, n), control(owner, n), done(owner, channel_queue_ref::done_words(n)) {}

    [[nodiscard]] channel_queue_ref ref() const {
        return {words.data(), reinterpret_cast<std::byte*>(data.data()), control.data(), done.data(), width, 8, 7, 3};
    }

    std::uint32_t width;
    buffer<channel_words> words;
    buffer<std::uint64_t> data;
    buffer<std::uint32_t> control;
    buffer<std::uint32_t> done;
};

/// Lanes of even blocks produce `each` elements, one to `at_once` at a time; the warps of odd ones consume them. An
/// element is an odd number that only it has, plus 2^32 once a consumer has put it back.
struct exchange_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint64_t put_back = std::uint64_t{1} << 32;

    channel_queue_ref queue;
    std::uint32_t* consumed;  ///< one an element
    std::uint32_t* total;
    std::uint32_t* wrong;
    std::uint32_t each;
    std::uint32_t at_once;
    std::uint32_t elements;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() % 2 == 0) {
            produce(ctx);
        } else {
            consume(ctx);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void produce(Ctx& ctx) const {
        const int lane = (ctx.block() / 2 * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane();
        std::uint32_t next = static_cast<std::uint32_t>(lane) * each;
        const std::uint32_t end = next + each;
        bounded_spin spin;
        while (next < end) {
            std::uint32_t n = 1 + next % at_once;
            if (n > end - next) n = end - next;
            std::uint64_t first = 0;
            if (!queue.reserve(ctx, ctx.converged(), n, first)) {
                if (spin.next(ctx, {operation::user_code, -1, next}) != status::ok) return;
                continue;
            }
            for (std::uint32_t i = 0; i < n; ++i) element(queue.place_of(first + i)) = 2 * (next + i) + 1;
            queue.publish(ctx, ctx.converged(), first, n);
            next += n;
        }
    }

    template <class Ctx>
    LANEWAY_FN void consume(Ctx& ctx) const {
        bounded_spin spin;
        for (;;) {
            std::uint32_t place = 0;
            const int count = queue.claim(ctx, Ctx::warp_lanes, place);
            if (ctx.lane() < count) take(ctx, place);
            ctx.sync(full_warp<Ctx>);
            const bool ended = ctx.load(total, order::relaxed, scope::device) >= elements;
            if (ctx.ballot(full_warp<Ctx>, ended) != 0) return;
            const status going = count > 0 ? status::ok : spin.next(ctx, {operation::user_code, -1, 0});
            if (ctx.ballot(full_warp<Ctx>, going != status::ok) != 0) return;
        }
    }
    template <class Ctx>
    LANEWAY_FN void take(Ctx& ctx, std::uint32_t place) const {
        std::uint64_t& value = element(place);
        const std::uint64_t number = (value % put_back - 1) / 2;
        if (value % 2 == 0 || number >= elements) {
            ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
        } else if (number % 5 == 0 && value < put_back) {
            value += put_back;
            queue.publish(ctx, ctx.converged(), queue.position_of(place), 1);
            return;
        } else {
            ctx.fetch_add(consumed + number, 1, order::relaxed, scope::device);
        }
        value = 0;
        (void)queue.release(ctx, ctx.converged(), place);
        ctx.fetch_add(total, 1, order::relaxed, scope::device);
    }
    LANEWAY_FN std::uint64_t& element(std::uint32_t place) const {
        return *reinterpret_cast<std::uint64_t*>(queue.element(place));
    }
};

class channel_queue_test : public testing::TestWithParam<std::string> {};

TEST_P(channel_queue_test, EveryElementIsConsumedOnceAndItsSpaceComesBack) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto& device = machine.device(0);
        const launch_shape shape = small_grid(machine);
        const std::uint32_t width = std::uint32_t{1} << o.seed % 8;
        const channel_queue_memory memory(device, width);
        const std::uint32_t each = is_checked(GetParam()) ? 11 : 300;
        const auto lanes =
            static_cast<std::uint32_t>(shape.blocks / 2 * shape.warps_per_block) * (is_checked(GetParam()) ? 4
                                                                                    : machine.has_gpus()   ? 32
                                                                                                           : 1);
        const std::uint32_t elements = each * lanes;
        const buffer<std::uint32_t> consumed(device, elements), totals(device, 2);
        run_programs(machine, shape, o.timeout_seconds, [&](int) {
            return exchange_program{memory.ref(), consumed.data(),     totals.data(), totals.data() + 1,
                                    each,         std::min(3u, width), elements};
        });
        EXPECT_EQ(totals.copy_out(), (std::vector<std::uint32_t>{elements, 0})) << "width " << width;
        EXPECT_EQ(consumed.copy_out(), std::vector<std::uint32_t>(elements, 1)) << "width " << width;
        const channel_words words = memory.words.copy_out()[0];
        EXPECT_EQ(words.reserved, elements);
        EXPECT_EQ(words.ready, elements + (elements + 4) / 5);
        EXPECT_EQ(words.dispatched, words.ready);
        EXPECT_LE(words.reserved - words.released, width);
    });
}

/// One warp by itself: space, order, and what is found.
struct lone_warp_program {
    static constexpr int cuda_warps = 2;
    channel_queue_ref queue;
    std::uint32_t* wrong;
    bool frees_twice;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0) return;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        constexpr lane_mask all = full_warp<Ctx>;
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        std::uint64_t first = 77;
        std::uint32_t place = 0;
        expect(ctx, queue.claim(ctx, lanes, place) == 0);
        // Each lane wants one more than the one before it: those that fit come first, the others get nothing.
        const bool got = queue.reserve(ctx, all, lane + 1, first);
        const std::uint32_t sum = (lane + 1) * (lane + 2) / 2;
        expect(ctx, got == (sum <= queue.width()));
        if (got) expect(ctx, first == sum - lane - 1);
        const lane_mask holders = ctx.ballot(all, got);
        const std::uint32_t n = static_cast<std::uint32_t>(Ctx::count_lanes(holders));
        // The upper half are ready before the lower one.
        const lane_mask upper = ctx.ballot(all, got && lane >= n / 2), lower = ctx.ballot(all, got && lane < n / 2);
        if ((upper >> lane & 1) != 0) queue.publish(ctx, upper, first, lane + 1);
        ctx.sync(all);
        if ((lower >> lane & 1) != 0) queue.publish(ctx, lower, first, lane + 1);
        ctx.sync(all);
        expect(ctx, queue.fill(ctx) == n * (n + 1) / 2);
        drain(ctx, n);
        expect(ctx, queue.fill(ctx) == 0);
        const bool wants = lane == 0 && queue.reserve(ctx, 1, queue.width(), first);
        expect(ctx, wants == (lane == 0));
        if (lane == 0 && frees_twice) {
            (void)queue.release(ctx, 1, queue.place_of(first));
            (void)queue.release(ctx, 1, queue.place_of(first));
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void drain(Ctx& ctx, std::uint32_t n) const {
        const std::uint32_t low = n / 2 * (n / 2 + 1) / 2;
        const std::uint32_t all = n * (n + 1) / 2;
        std::uint32_t taken = 0, place = 0;
        while (taken < all) {
            const int count = queue.claim(ctx, 3, place);
            expect(ctx, count >= 1 && count <= 3);
            if (count == 0) return;
            const std::uint32_t number = taken + static_cast<std::uint32_t>(ctx.lane());
            const std::uint32_t expected = number < all - low ? low + number : number - (all - low);
            const bool mine = ctx.lane() < count;
            if (mine) expect(ctx, place == expected);
            const lane_mask some = ctx.ballot(full_warp<Ctx>, mine);
            if (mine) expect(ctx, queue.release(ctx, some, place) == status::ok);
            ctx.sync(full_warp<Ctx>);
            taken += static_cast<std::uint32_t>(count);
        }
    }
    template <class Ctx>
    LANEWAY_FN void expect(Ctx& ctx, bool right) const {
        if (!right) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
    }
};

TEST_P(channel_queue_test, LowerLanesComeFirstAndWhoIsReadyFirstIsConsumedFirst) {
    for (const std::uint32_t width : {1u, 4u, 16u, 64u, 1024u}) {
        machine machine(GetParam());
        const channel_queue_memory memory(machine.device(0), width);
        const buffer<std::uint32_t> wrong(machine.device(0), 1);
        run_programs(machine, small_grid(machine), 10, [&](int) {
            return lone_warp_program{memory.ref(), wrong.data(), false};
        });
        EXPECT_EQ(wrong.copy_out()[0], 0u) << "width " << width;
    }
}

TEST_P(channel_queue_test, AnElementThatIsFreedTwiceIsFound) {
    for (const std::uint32_t width : {1u, 16u, 64u}) {
        machine machine(GetParam());
        const channel_queue_memory memory(machine.device(0), width);
        const buffer<std::uint32_t> wrong(machine.device(0), 1);
        try {
            run_programs(machine, small_grid(machine), 10, [&](int) {
                return lone_warp_program{memory.ref(), wrong.data(), true};
            });
            FAIL() << "width " << width;
        } catch (const device_fault& e) {
            EXPECT_NE(
                std::string(e.what()).find("freed twice while freeing an element of a channel: channel 7, level 3"),
                std::string::npos)
                << e.what();
        }
    }
}

LANEWAY_ON_DEVICES(channel_queue_test, lone_device());

}  // namespace laneway::test
