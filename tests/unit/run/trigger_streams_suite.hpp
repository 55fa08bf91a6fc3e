// Streams and kernels outside a program set off triggered operations, and wait for what these bring.
#pragma once

#include <atomic>
#include <chrono>
#include <set>
#include <string>

#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class trigger_streams_test : public testing::TestWithParam<std::string> {};

constexpr std::uint64_t stream_words = 3000;

/// As an ordinary kernel: fills an array with numbers from `first` on.
struct fill_numbers {
    std::uint32_t* to;
    std::uint32_t first;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < stream_words; i += ctx.size()) {
            to[i] = first + static_cast<std::uint32_t>(i);
        }
    }
};
/// Another one: counts the elements that are not what fill_numbers has stored.
struct count_others {
    const std::uint32_t* in;
    std::uint32_t first;
    std::uint64_t* wrong;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < stream_words; i += ctx.size()) {
            if (in[i] != first + static_cast<std::uint32_t>(i)) ctx.fetch_add(wrong, 1, order::relaxed, scope::system);
        }
    }
};
/// Another one: each lane adds to the word of a trigger from outside, behind what it has stored.
struct store_and_add {
    std::uint32_t* to;
    std::uint64_t* word;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        to[ctx.rank()] = 100 + static_cast<std::uint32_t>(ctx.rank());
        ctx.fetch_add(word, 1, order::release, scope::system);
    }
};

void expect_done(const event& mark) {
    EXPECT_TRUE(mark.wait_for(std::chrono::seconds(100)));
    if (const auto why = mark.failure()) std::rethrow_exception(why);
}

/// Streams of PE 0 and the last one that pass data to each other by triggered operations: all is given to them before a
/// program runs.
struct stream_passes {
    explicit stream_passes(const options& o)
        : rt(o), last(rt.n_pes() - 1), data(rt.allocate<std::uint32_t>(2 * stream_words)),
          arrived(rt.allocate<std::uint64_t>(1)), wrong(rt.allocate<std::uint64_t>(1)),
          tags(rt.triggers({.tags = 4, .outside = 2})), there(tags.outside(0, 1)), back(tags.outside(last, 2)),
          near(rt.stream(0, "near")), far(rt.stream(last, "far")) {
        prepare(0, 1, last, 0);
        prepare(last, 2, 0, 1);
        rt.run(do_nothing{}, tags);  // takes its memory: that can wait for streams of a GPU
    }
    /// From the lower half to the upper one, and back.
    void prepare(int pe, std::uint32_t tag, int to, std::uint64_t half) {
        const std::uint64_t from = half * stream_words, at = (1 - half) * stream_words;
        const auto op = trigger_operation::put(data.ref(), from, stream_words, data.ref(), at, to);
        tags.prepare(pe, tag, 1, op.signal(arrived.ref()[0]), firing::each_round);
    }
    void give(std::uint64_t rounds) {
        const bool lone = last == 0;  // both signals come to the same word
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t round = ++given;
            const auto first = static_cast<std::uint32_t>(1000 * round);
            near.run(fill_numbers{data.data(0), first}, 2);
            there.trigger(near);
            far.wait_value(arrived.data(last), lone ? 2 * round - 1 : round);
            far.run(count_others{data.data(last) + stream_words, first, wrong.data(last)}, 2);
            back.trigger(far);
            near.wait_value(arrived.data(0), lone ? 2 * round : round);
            near.run(count_others{data.data(0), first, wrong.data(0)}, 2);
        }
    }
    void expect_right() {
        expect_done(near.record());
        expect_done(far.record());
        EXPECT_EQ(wrong.copy_out(0)[0] + wrong.copy_out(last)[0], 0u);
        EXPECT_EQ(arrived.copy_out(last)[0], last == 0 ? 2 * given : given);
    }

    runtime rt;
    int last;
    symmetric_array<std::uint32_t> data;
    symmetric_array<std::uint64_t> arrived;
    symmetric_array<std::uint64_t> wrong;
    triggers tags;
    outside_trigger there;
    outside_trigger back;
    device_stream near;
    device_stream far;
    std::uint64_t given = 0;
};

TEST_P(trigger_streams_test, StreamsTriggerAndWaitBesideARun) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        stream_passes all(o);
        for (std::uint64_t rounds = 1; rounds <= 3; ++rounds) {
            all.give(rounds);
            all.rt.run(do_nothing{}, all.tags);  // ends when all that streams owe has come and is done
            EXPECT_EQ(all.arrived.copy_out(all.last)[0], all.last == 0 ? 2 * all.given : all.given);
        }
        all.expect_right();
        EXPECT_TRUE(all.tags.waiting().empty());
    });
}

TEST_P(trigger_streams_test, AnEpochEndsWhenWhatStreamsOweHasComeAndIsDone) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        stream_passes all(o);
        auto session = all.rt.start(all.tags);
        for (int epoch = 0; epoch < 3; ++epoch) {
            std::atomic<bool> came{false};
            all.near.call([&](void*) { came = true; });
            all.give(2);
            session.quiesce();
            EXPECT_TRUE(came);
        }
        session.stop();
        all.expect_right();
    });
}

TEST_P(trigger_streams_test, KernelsAddToTheWord) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        runtime rt(o);
        auto stream = rt.stream(0);
        const std::uint64_t lanes =
            stream.warps(2) * static_cast<std::uint64_t>(warp_lanes_of(*rt.machine().device(0)));
        const auto from = rt.allocate<std::uint32_t>(lanes), to = rt.allocate<std::uint32_t>(lanes);
        auto tags = rt.triggers({.tags = 4, .outside = 1});
        const int last = rt.n_pes() - 1;
        tags.prepare(0, 3, static_cast<std::uint32_t>(lanes) * 2,
                     trigger_operation::put(from.ref(), 0, lanes, to.ref(), 0, last), firing::each_round);
        const auto go = tags.outside(0, 3, 2);  // each add counts twice
        for (int round = 0; round < 3; ++round) {
            go.owe(lanes);
            stream.run(store_and_add{from.data(0), go.word()}, 2);
            rt.run(do_nothing{}, tags);
            EXPECT_EQ(to.copy_out(last), numbered(lanes, 100));
            EXPECT_TRUE(tags.waiting().empty());
        }
    });
}

/// Of no other test: a GPU has not run it, nor one with stacks of this size.
struct use_large_stack {
    symmetric_ref<std::uint32_t> to;
    template <class Ctx, class Agent>
    LANEWAY_FN void operator()(Ctx& ctx, Agent&) const {
        constexpr std::uint32_t words = 1500;
        volatile std::uint32_t kept[words];
        for (std::uint32_t i = 0; i < words; ++i) kept[i] = i + static_cast<std::uint32_t>(ctx.n_pes());
        const auto chosen = static_cast<std::uint32_t>(ctx.rank() * 7 % words);
        if (ctx.rank() == 0) to.local(ctx)[0] = kept[chosen];
    }
};

// A GPU's driver may launch a kernel for the first time only when streams have come to their end, and lets nobody end
// their waits meanwhile: so a run waits before it, for as long as the streams may.
TEST_P(trigger_streams_test, AFirstRunComesBehindStreamsThatWait) {
    options o = options_of(GetParam(), 1);
    o.timeout_seconds = 1;
    runtime rt(o);
    const auto word = rt.allocate<std::uint64_t>(1);
    const auto written = rt.allocate<std::uint32_t>(1);
    auto tags = rt.triggers({.tags = 4});
    rt.run(do_nothing{}, tags);  // takes its memory
    auto stream = rt.stream(0, "patient");
    stream.wait_value(word.data(0), 1);
    const event end = stream.record();
    while (rt.machine().has_gpus() && stream.waiting() > 0) std::this_thread::yield();  // the GPU has it
    static std::set<std::string> known;                                                 // GPUs that have run it
    bool is_first = false;
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const device& one = *rt.machine().device(pe);
        if (one.is_gpu() && known.insert(one.name()).second) is_first = true;
    }
    const auto start = std::chrono::steady_clock::now();
    rt.run(use_large_stack{written.ref()}, tags);
    if (is_first) {
        EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(900));
    }
    EXPECT_EQ(written.copy_out(0)[0], static_cast<std::uint32_t>(rt.n_pes()));
    ASSERT_TRUE(end.wait_for(std::chrono::seconds(100)));
    EXPECT_THROW(std::rethrow_exception(end.failure()), timeout_error);
}

TEST_P(trigger_streams_test, TriggersThatNobodyHasDeclaredCountWhenTheyAreSeen) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        runtime rt(o);
        auto stream = rt.stream(0);
        auto tags = rt.triggers({.tags = 4});
        const auto go = tags.outside(0, 3);
        tags.prepare(0, 3, 3, trigger_operation::nothing(0), firing::each_round);
        stream.write_value(go.word(), 3);
        expect_done(stream.record());
        rt.run(wait_for_rounds{3, 1}, tags);
        stream.write_value(go.word(), 5);
        stream.write_value(go.word(), 6);
        rt.run(wait_for_rounds{3, 2}, tags);
        expect_done(stream.record());
        EXPECT_TRUE(tags.waiting().empty());
    });
}

TEST_P(trigger_streams_test, TheDeadlineNamesTheTagThatIsOwed) {
    options o = options_of(GetParam(), 1);
    o.timeout_seconds = is_checked(GetParam()) ? 0.5 : 5;  // in which lanes must have looked, on a busy machine too
    runtime rt(o);
    auto stream = rt.stream(0);
    auto tags = rt.triggers({.tags = 4});
    tags.prepare(0, 3, 1, trigger_operation::nothing(0), firing::each_round);
    const auto go = tags.outside(0, 3);
    go.owe(2);
    stream.write_value(go.word(), 1);
    expect_done(stream.record());
    const std::string what = thrown<timeout_error>([&] { rt.run(do_nothing{}, tags); });
    says(what, "; tag 3 of PE 0 is owed 1 of 2 triggers from outside");
    // That has been forgotten; what the word says from now on counts.
    EXPECT_NO_THROW(rt.run(do_nothing{}, tags));
    go.owe(1);
    stream.write_value(go.word(), 2);
    expect_done(stream.record());
    EXPECT_NO_THROW(rt.run(wait_for_rounds{3, 1}, tags));
}

TEST_P(trigger_streams_test, ASessionThatIsOwedATriggerSaysSoInTime) {
    options o = options_of(GetParam(), 1);
    o.timeout_seconds = 1.5;  // of host threads: real, also on checked devices
    runtime rt(o);
    auto tags = rt.triggers({.tags = 4});
    const int last = rt.n_pes() - 1;
    auto stream = rt.stream(last);
    const auto go = tags.outside(last, 2);
    go.owe(1);
    auto session = rt.start(tags);
    stream.write_value(go.word(), 1);
    session.quiesce();
    go.owe(4);
    says(thrown<timeout_error>([&] { session.quiesce(); }),
         "tag 2 of PE " + std::to_string(last) + " is owed 4 of 5 triggers from outside");
}

TEST_P(trigger_streams_test, WhatCannotBeIsRefused) {
    runtime rt(options_of(GetParam(), 1));
    auto tags = rt.triggers({.tags = 4, .outside = 1});
    EXPECT_EQ(thrown<usage_error>([&] { (void)tags.outside(0, 4); }),
              "tag 4 of PE 0: no such tag, where there are 0 to 3");
    EXPECT_THROW((void)tags.outside(-1, 0), usage_error);
    EXPECT_THROW((void)tags.outside(0, 0, 0), usage_error);
    EXPECT_THROW((void)rt.triggers({.outside = 1025}), usage_error);
    EXPECT_THROW((void)rt.stream(rt.n_pes()), usage_error);
    const auto go = tags.outside(0, 2);
    EXPECT_EQ(thrown<usage_error>([&] { (void)tags.outside(0, 1); }),
              "tag 1 of PE 0: the PE has 1 triggers from outside already; see trigger_options::outside");
    auto one = rt.stream(0, "one"), two = rt.stream(0, "two");
    go.trigger(one);
    says(thrown<usage_error>([&] { go.trigger(two); }), "tag 2 of PE 0: another stream than \"two\" triggers it");
    auto more = rt.triggers({.outside = 2});
    auto session = rt.start(more);
    EXPECT_THROW((void)more.outside(0, 0), usage_error);
}

#if defined(__CUDACC__)
/// A kernel that knows nothing of the library.
__global__ void fill_and_add(std::uint32_t* to, std::uint64_t* word) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = 5 + i;
    __threadfence_system();
    atomicAdd(reinterpret_cast<unsigned long long*>(word), 1ull);
}

TEST_P(trigger_streams_test, KernelsAndGraphsOfCudaTakePart) {
    if (!GetParam().starts_with("cuda")) return;
    runtime rt(options_of(GetParam(), 1));
    auto stream = rt.stream(0);
    const int last = rt.n_pes() - 1;
    const auto from = rt.allocate<std::uint32_t>(256), to = rt.allocate<std::uint32_t>(256);
    const auto fired = rt.allocate<std::uint64_t>(1);
    auto tags = rt.triggers({.tags = 1});
    const auto put = trigger_operation::put(from.ref(), 0, 256, to.ref(), 0, last).signal(fired.ref()[0]);
    tags.prepare(0, 0, 256, put, firing::each_round);
    const auto go = tags.outside(0, 0);

    cudaStream_t capture{};
    cudaGraph_t graph{};
    cudaGraphExec_t node{};
    ASSERT_EQ(cudaStreamCreateWithFlags(&capture, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(capture, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    fill_and_add<<<4, 64, 0, capture>>>(from.data(0), go.word());
    ASSERT_EQ(cudaStreamEndCapture(capture, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&node, graph, 0), cudaSuccess);

    for (std::uint64_t round = 1; round <= 4; ++round) {
        go.owe(256);
        stream.call([&, round](void* native) {
            const auto there = static_cast<cudaStream_t>(native);
            if (round % 2 == 0) {
                ASSERT_EQ(cudaGraphLaunch(node, there), cudaSuccess);
            } else {
                fill_and_add<<<4, 64, 0, there>>>(from.data(0), go.word());
            }
        });
        rt.run(do_nothing{}, tags);
        EXPECT_EQ(to.copy_out(last), numbered(256, 5));
        EXPECT_EQ(fired.copy_out(last)[0], round);
    }
    expect_done(stream.record());
    cudaGraphExecDestroy(node);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(capture);
}
#endif

INSTANTIATE_TEST_SUITE_P(devices, trigger_streams_test, testing::ValuesIn(trigger_devices()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(trigger_streams_test);

}  // namespace
}  // namespace laneway::test
