// What host threads do in memory that they cannot touch, as other servers do where they can: words that many change are
// changed by one request at a time, and copies are whole however long they are.
#pragma once

#include <thread>

#include "laneway/task/service_copies.hpp"
#include "service_job.hpp"

namespace laneway::test {
namespace {

class service_copies_test : public testing::TestWithParam<std::string> {
protected:
    template <class Body>
    void every_server_in_turn(Body&& body) {
        every_server(GetParam(), body);
    }
};

constexpr std::uint64_t changing_lanes = 12, changes = 3;

/// Some lanes of each PE change the same words of PE 0 by every operation.
struct change_words {
    symmetric_ref<std::uint64_t> words;  ///< added to, greatest, swapped into, combined, stored
    symmetric_ref<std::uint32_t> bits;
    symmetric_ref<double> least;
    symmetric_ref<std::uint64_t> drawn;  ///< by number: how often
    symmetric_ref<std::uint64_t> swapped;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        const std::uint64_t lane = ctx.local_rank();
        const std::uint64_t id = static_cast<unsigned>(ctx.pe()) * changing_lanes + lane;
        for (std::uint64_t i = 0; i < changes && lane < changing_lanes; ++i) {
            if (change(ctx, served, id) != status::ok) return;
        }
    }

private:
    template <class Ctx, class Service>
    LANEWAY_FN status change(Ctx& ctx, Service& served, std::uint64_t id) const {
        const auto number = served.fetch_add(ctx, words[0], 0, 1);
        if (number.code != status::ok) return number.code;
        atomic_add(ctx, drawn[number.value % drawn.size()], 1);
        (void)served.template update<memory_op::max>(ctx, words[1], 0, id);
        (void)served.template update<memory_op::min>(ctx, least[0], 0, -0.5 * static_cast<double>(id));
        (void)served.template update<memory_op::bit_or>(ctx, bits[1], 0, std::uint32_t{1} << id % 32);
        (void)served.put(ctx, words[3 + id], 0, id + 7);
        const auto before = served.get(ctx, words[2], 0);
        if (before.code != status::ok) return before.code;
        const auto found =
            served.template fetch<memory_op::compare_exchange>(ctx, words[2], 0, before.value + 1, before.value);
        if (found.code == status::ok && found.value == before.value) atomic_add(ctx, swapped[0], 1);
        return found.code;
    }
};

TEST_P(service_copies_test, WordsAreChangedByOneRequestAtATime) {
    every_server_in_turn([](const options& o, const service_options& s) {
        runtime rt(o);
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        const auto words = rt.allocate<std::uint64_t>(3 + changing_lanes * pes);
        const auto bits = rt.allocate<std::uint32_t>(3);
        const auto least = rt.allocate<double>(1);
        const auto drawn = rt.allocate<std::uint64_t>(changing_lanes * changes * pes);
        const auto swapped = rt.allocate<std::uint64_t>(1);
        service served(rt.machine(), s);
        rt.run(change_words{words.ref(), bits.ref(), least.ref(), drawn.ref(), swapped.ref()}, served);
        std::uint64_t numbers = 0, swaps = 0;
        std::vector<std::uint64_t> times(drawn.size());
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto found = drawn.copy_out(pe);
            for (std::size_t n = 0; n < found.size(); ++n) times[n] += found[n];
            swaps += swapped.copy_out(pe)[0];
        }
        const auto now = words.copy_out(0);
        std::uint64_t greatest = 0, all_bits = 0;
        for (std::uint64_t id = 0; id < changing_lanes * pes; ++id) {
            if (now[3 + id] == 0) continue;  // fewer lanes than that
            EXPECT_EQ(now[3 + id], id + 7);
            numbers += changes;
            greatest = id;
            all_bits |= std::uint64_t{1} << id % 32;
        }
        ASSERT_GT(numbers, 0u);
        EXPECT_EQ(now[0], numbers);
        for (std::size_t n = 0; n < times.size(); ++n) ASSERT_EQ(times[n], n < numbers ? 1u : 0u) << n;
        EXPECT_EQ(now[1], greatest);
        EXPECT_EQ(now[2], swaps);
        EXPECT_EQ(bits.copy_out(0), (std::vector<std::uint32_t>{0, static_cast<std::uint32_t>(all_bits), 0}));
        EXPECT_EQ(least.copy_out(0)[0], -0.5 * static_cast<double>(greatest));
    });
}

TEST_P(service_copies_test, ThreadsLoseNoAdditions) {
    runtime rt(options_of(GetParam(), 0));
    const auto words = rt.allocate<std::uint64_t>(2);
    const int last = rt.n_pes() - 1;
    const std::uint64_t times = GetParam().starts_with("cuda") ? 500 : 50'000;
    const auto changing = std::make_shared<std::timed_mutex>();
    const auto add = [&](service_copies& copies) {
        for (std::uint64_t i = 0; i < times; ++i) {
            copies.update({memory_op::add, words.ref()[1]}, last, 1);
            copies.wait_all();
        }
    };
    service_copies one(rt.machine(), changing), other(rt.machine(), changing);
    for (service_copies* const copies : {&one, &other}) {
        copies->prepare();
        copies->open(60);
    }
    std::thread beside([&] { add(other); });
    add(one);
    beside.join();
    EXPECT_EQ(words.copy_out(last), (std::vector<std::uint64_t>{0, 2 * times}));
}

TEST_P(service_copies_test, AThreadThatChangesAWordForLongIsNotWaitedForPastTheDeadline) {
    runtime rt(options_of(GetParam(), 0));
    const auto words = rt.allocate<std::uint64_t>(1);
    const auto changing = std::make_shared<std::timed_mutex>();
    service_copies copies(rt.machine(), changing);
    copies.prepare();
    copies.open(0.05);
    std::unique_lock other(*changing);  // this thread stands for it
    std::string late;
    std::thread([&] {
        late = thrown<timeout_error>([&] { copies.update({memory_op::add, words.ref()[0]}, 0, 1); });
    }).join();
    EXPECT_EQ(late, "copies of a host thread on " + rt.machine().device(0)->name() +
                        " have not ended: the deadline is 0.05 s");
    other.unlock();
    copies.open(60);
    copies.update({memory_op::add, words.ref()[0]}, 0, 1);
    copies.wait_all();
    EXPECT_EQ(words.copy_out(0)[0], 1u);
}

TEST_P(service_copies_test, NeighbouringWordsGoInOneCopy) {
    runtime rt(options_of(GetParam(), 0));
    const auto words = rt.allocate<std::uint64_t>(40);
    const auto others = rt.allocate<std::uint32_t>(3);
    const int last = rt.n_pes() - 1;
    service_copies copies(rt.machine(), std::make_shared<std::timed_mutex>());
    copies.prepare();
    copies.open(60);
    std::vector<std::uint64_t> expected(40);
    const auto put = [&](std::uint64_t at, std::uint64_t value) {
        copies.update({memory_op::put, words.ref()[at]}, last, value);
        expected[at] = value;
    };
    for (std::uint64_t i = 1; i <= 32; ++i) put(i, 100 + i);
    copies.wait_all();
    EXPECT_EQ(copies.copies(), 1u);
    // Neither what lies apart, nor what is written again; but what stands behind that.
    put(34, 1);
    put(36, 2);
    put(36, 3);
    put(37, 4);
    copies.update({memory_op::put, others.ref()[1]}, last, 5);
    copies.update({memory_op::put, others.ref()[2]}, last, 6);
    copies.wait_all();
    EXPECT_EQ(copies.copies(), 5u);
    // A word that is changed has what was put there, and what is put behind it follows.
    put(7, 50);
    copies.update({memory_op::add, words.ref()[7]}, last, 1);
    copies.update({memory_op::add, words.ref()[7]}, last, 1);
    expected[7] = 52;
    copies.wait_all();
    EXPECT_EQ(words.copy_out(last), expected);
    EXPECT_EQ(others.copy_out(last), (std::vector<std::uint32_t>{0, 5, 6}));
}

/// One lane of each PE copies a long row to the next PE, and to another place of its own.
struct copy_long_rows {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<std::uint32_t> next;
    symmetric_ref<std::uint32_t> own;
    symmetric_ref<std::uint64_t> signal;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        if (!is_first_lane(ctx)) return;
        const auto mine = static_cast<std::uint32_t>(ctx.pe()), pes = static_cast<std::uint32_t>(ctx.n_pes());
        for (std::uint64_t i = 0; i < from.size(); ++i) from.local(ctx)[i] = number(mine, i);
        const int to = static_cast<int>((mine + 1) % pes);
        if (served.copy(ctx, from[0], from.size(), next[1], to, signal[0]) != status::ok) return;
        if (served.copy(ctx, from[0], from.size(), own[3], ctx.pe(), signal[0]) != status::ok) return;
        if (served.wait_signal(ctx, signal[0], 2) != status::ok) return;
        for (std::uint64_t i = 0; i < from.size(); ++i) {
            const std::uint32_t came = next.local(ctx)[i + 1], stayed = own.local(ctx)[i + 3];
            const bool right = came == number((mine + pes - 1) % pes, i) && stayed == number(mine, i);
            if (right) continue;
            atomic_add(ctx, wrong[0], 1);
            return;
        }
        atomic_add(ctx, wrong[1], 1);
    }

private:
    static LANEWAY_FN std::uint32_t number(std::uint32_t pe, std::uint64_t i) {
        return 1'000'000 * (pe + 1) + static_cast<std::uint32_t>(i);
    }
};

TEST_P(service_copies_test, LongCopiesAreWhole) {
    if (is_checked(GetParam())) return;  // each of so many accesses is a step
    for (const bool by_copies : {false, true}) {
        runtime rt(options_of(GetParam(), 0));
        // Several pieces of the memory between, the last one not full.
        const auto from = rt.allocate<std::uint32_t>(30'001), next = rt.allocate<std::uint32_t>(30'003);
        const auto own = rt.allocate<std::uint32_t>(30'004);
        const auto signal = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(2);
        service served(rt.machine(), {.by = service_by::host, .threads = 2, .by_copies = by_copies});
        rt.run(copy_long_rows{from.ref(), next.ref(), own.ref(), signal.ref(), wrong.ref()}, served);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe), (std::vector<std::uint64_t>{0, 1}));
            EXPECT_EQ(next.copy_out(pe)[0], 0u);
            EXPECT_EQ(own.copy_out(pe)[2], 0u);
        }
    }
}

LANEWAY_ON_DEVICES(service_copies_test, remote_devices());

}  // namespace
}  // namespace laneway::test
