// The warp-parallel queue: every value comes out once, whole, in PE memory and in shared memory, over many laps.
#pragma once

#include "laneway/queue/warp_queue.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Every warp puts in values, of all its lanes or of each by itself, and takes out what it finds, until
/// all values of its queue have come out. What a producer has written beforehand is read, unordered otherwise, by who
/// gets the value.
template <class T, scope Scope>
struct word_exchange {
    static constexpr int cuda_warps = 3;
    static constexpr std::uint32_t capacity = 32;

    warp_queue_words* words = nullptr;  ///< null: in shared memory, a queue a block
    std::uint64_t* entries = nullptr;
    std::uint32_t* written = nullptr;  ///< plain words, one a value, by blocks
    std::uint32_t* came = nullptr;     ///< how often, one a value
    std::uint32_t* popped = nullptr;   ///< one a queue
    std::uint32_t values = 0;          ///< of each lane
    std::uint32_t begin = 0;           ///< of positions, a multiple of the capacity

    /// A word of a place that is empty for the first lap.
    [[nodiscard]] LANEWAY_FN std::uint64_t empty() const { return std::uint64_t{begin} << 32; }

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        constexpr bool shared = Scope == scope::block;
        auto* const my_words = shared ? reinterpret_cast<warp_queue_words*>(ctx.shared()) : words;
        auto* const my_entries =
            shared ? reinterpret_cast<std::uint64_t*>(ctx.shared() + sizeof(warp_queue_words)) : entries;
        if (shared && ctx.warp() == 0 && ctx.lane() == 0) {
            *my_words = {begin, begin, 0, 0};
            for (std::uint32_t i = 0; i < capacity * tagged_words<T>; ++i) my_entries[i] = empty();
        }
        ctx.sync_block();
        const warp_queue_ref<T, Scope> queue(my_words, my_entries, capacity);
        const auto block_lanes = static_cast<std::uint32_t>(ctx.n_warps() * Ctx::warp_lanes);
        const std::uint32_t before = static_cast<std::uint32_t>(ctx.block()) * block_lanes;
        const std::uint32_t lane = before + static_cast<std::uint32_t>(ctx.warp() * Ctx::warp_lanes + ctx.lane());
        const std::uint32_t all = (shared ? 1 : static_cast<std::uint32_t>(ctx.n_blocks())) * block_lanes * values;
        std::uint32_t* const taken = popped + (shared ? ctx.block() : 0);
        bounded_spin spin;
        for (std::uint32_t sent = 0;;) {
            if (sent < values) {
                const bool together = (static_cast<std::uint32_t>(ctx.warp()) + sent) % 2 == 0;
                // Who waits for room takes values out meanwhile, or all might wait.
                const auto idle = [&] { (void)take(ctx, queue, ctx.converged(), taken); };
                status pushed = status::ok;
                const std::uint32_t id = lane * values + sent;
                written[id] = 1;
                const lane_mask mask = together ? full_warp<Ctx> : lane_mask{1} << ctx.lane();
                pushed = queue.push(ctx, mask, value(id), order::release, idle);
                ++sent;
                if (pushed != status::ok) return;
            }
            const bool got = take(ctx, queue, full_warp<Ctx>, taken);
            const bool ended = sent >= values && ctx.load(taken, order::relaxed, scope::device) >= all;
            if (ctx.ballot(full_warp<Ctx>, ended) == full_warp<Ctx>) break;
            const status going = got ? status::ok : spin.next(ctx, {operation::user_code, -1, 0});
            if (ctx.ballot(full_warp<Ctx>, going != status::ok) != 0) return;
        }
        if (queue.waiting(ctx) != 0) ctx.fetch_add(taken, 1u << 20, order::relaxed, scope::device);
    }

private:
    /// A value whose halves both tell its id.
    static LANEWAY_FN T value(std::uint32_t id) {
        if constexpr (sizeof(T) == 8) {
            return T{id} << 32 | ~id;
        } else {
            return id;
        }
    }
    template <class Ctx, class Queue>
    LANEWAY_FN bool take(Ctx& ctx, const Queue& queue, lane_mask mask, std::uint32_t* taken) const {
        T got{};
        const auto most = static_cast<std::uint32_t>(1 + ctx.warp() % Ctx::warp_lanes);
        if (!queue.pop(ctx, mask, most, got, order::acquire)) return false;
        const auto id = static_cast<std::uint32_t>(sizeof(T) == 8 ? static_cast<std::uint64_t>(got) >> 32 : got);
        if (got == value(id) && written[id] == 1) ctx.fetch_add(came + id, 1u, order::relaxed, scope::device);
        ctx.fetch_add(taken, 1u, order::relaxed, scope::device);
        return true;
    }
};

class warp_queue_test : public testing::TestWithParam<std::string> {};

template <class T, scope Scope>
void exchange_values(const options& o, std::uint32_t values) {
    using program = word_exchange<T, Scope>;
    // Every other round positions wrap round.
    const std::uint32_t begin = o.seed % 2 == 0 ? 0 : 0u - 2 * program::capacity;
    machine machine(o.devices, o.seed);
    const auto& device = machine.device(0);
    launch_shape shape = small_grid(machine);
    shape.shared_bytes = sizeof(warp_queue_words) + program::capacity * tagged_words<T> * sizeof(std::uint64_t);
    const auto lanes = static_cast<std::uint32_t>(shape.blocks * shape.warps_per_block * warp_lanes_of(*device));
    buffer<warp_queue_words> words(device, 1);
    buffer<std::uint64_t> entries(device, program::capacity * tagged_words<T>);
    words.copy_in({warp_queue_words{begin, begin, 0, 0}});
    entries.copy_in(std::vector(entries.size(), std::uint64_t{begin} << 32));
    const buffer<std::uint32_t> written(device, lanes * values), came(device, lanes * values);
    const buffer<std::uint32_t> popped(device, static_cast<std::size_t>(shape.blocks));
    run_programs(machine, shape, o.timeout_seconds, [&](int) {
        return program{words.data(), entries.data(), written.data(), came.data(), popped.data(), values, begin};
    });
    EXPECT_EQ(came.copy_out(), std::vector<std::uint32_t>(lanes * values, 1));
    const auto blocks = static_cast<std::uint32_t>(shape.blocks);
    std::vector<std::uint32_t> of_queues(blocks, Scope == scope::block ? lanes / blocks * values : 0);
    if (Scope == scope::device) of_queues[0] = lanes * values;
    EXPECT_EQ(popped.copy_out(), of_queues) << "values that came, more by 2^20 where some are said to wait";
}

TEST_P(warp_queue_test, EveryValueComesOutOnce) {
    const std::uint32_t values = is_checked(GetParam()) ? 8 : 200;
    repeat_rounds(GetParam(), (rounds_within(GetParam()) + 3) / 4, [&](const options& o) {
        exchange_values<std::uint32_t, scope::device>(o, values);
        exchange_values<std::uint64_t, scope::device>(o, values);
        exchange_values<std::uint32_t, scope::block>(o, values);
        exchange_values<std::uint64_t, scope::block>(o, values);
    });
}

/// One warp puts in what nobody takes out.
struct fill_program {
    static constexpr int cuda_warps = 2;
    warp_queue_words* words;
    std::uint64_t* entries;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0) return;
        const warp_queue_ref<std::uint32_t, scope::device> queue(words, entries, 64);
        while (queue.push(ctx, full_warp<Ctx>, 1, order::relaxed, [] {}) == status::ok) {
        }
    }
};

TEST_P(warp_queue_test, AFullQueueIsWaitedForNoLongerThanTheDeadline) {
    machine machine(GetParam());
    const buffer<warp_queue_words> words(machine.device(0), 1);
    const buffer<std::uint64_t> entries(machine.device(0), 64);
    try {
        run_programs(machine, small_grid(machine), is_checked(GetParam()) ? 0.01 : 0.1, [&](int) {
            return fill_program{words.data(), entries.data()};
        });
        ADD_FAILURE() << "nothing was thrown";
    } catch (const timeout_error& e) {
        EXPECT_NE(std::string(e.what()).find("deadline passed while waiting for room in a queue: for "),
                  std::string::npos)
            << e.what();
    }
    EXPECT_EQ(words.copy_out()[0].ready, 64u);
}

/// One warp puts a value in, or takes one out, that another has claimed the place of and never comes to.
struct meet_nobody {
    static constexpr int cuda_warps = 2;
    warp_queue_words* words;
    std::uint64_t* entries;
    bool takes;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0) return;
        const warp_queue_ref<std::uint32_t, scope::device> queue(words, entries, 64);
        std::uint32_t value = 0;
        if (takes) {
            (void)queue.pop(ctx, full_warp<Ctx>, 1, value, order::relaxed);
        } else {
            (void)queue.push(ctx, full_warp<Ctx>, 1, order::relaxed, [] {});
        }
    }
};

TEST_P(warp_queue_test, AValueThatIsNeverStoredOrTakenIsNamedAtTheDeadline) {
    for (const bool takes : {true, false}) {
        machine machine(GetParam());
        buffer<warp_queue_words> words(machine.device(0), 1);
        buffer<std::uint64_t> entries(machine.device(0), 64);
        if (takes) {
            words.copy_in({warp_queue_words{1, 0, 1, 1}});  // one is said to be there
        } else {
            entries.copy_in(std::vector(entries.size(), std::uint64_t{1} << 32));  // all are full, and given back
        }
        const std::string told = told_at_deadline(machine, meet_nobody{words.data(), entries.data(), takes});
        EXPECT_NE(told.find("deadline passed while waiting for a place of a queue: place "), std::string::npos) << told;
    }
}

LANEWAY_ON_DEVICES(warp_queue_test, lone_device());

}  // namespace laneway::test
