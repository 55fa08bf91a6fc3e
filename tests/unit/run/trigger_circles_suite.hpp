// Operations that set each other off without end: the deadline's error names them, and no others.
#pragma once

#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class trigger_circles_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options job() const {
        options o = options_of(GetParam(), 1);
        // On GPUs a PE without a part in the circle says a sixteenth later that not all work has been done.
        o.timeout_seconds = is_checked(GetParam()) ? 0.02 : GetParam().starts_with("cuda") ? 3 : 1;
        return o;
    }
};

TEST_P(trigger_circles_test, CirclesWithoutEndAreNamed) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    const int last = rt.n_pes() - 1;
    tags.prepare(0, 2, 1, trigger_operation::nothing(0).then(last, 3), firing::each_round);
    tags.prepare(last, 3, 1, trigger_operation::nothing(0).then(0, 2), firing::each_round);
    const std::string what = thrown<timeout_error>([&] { rt.run(trigger_once{2, 1, 0}, tags); });
    says(what, "deadline passed while ");  // triggering an operation, or on a busy machine another PE says it
    const std::string other = "tag 3 of PE " + std::to_string(last);
    says(what, "; operations in a circle without end: ");
    EXPECT_TRUE(what.find("tag 2 of PE 0 -> " + other + " -> tag 2 of PE 0") != std::string::npos ||
                what.find(other + " -> tag 2 of PE 0 -> " + other) != std::string::npos)
        << what;
    EXPECT_NO_THROW(rt.run(do_nothing{}, tags));
}

/// One lane, each once.
struct trigger_three {
    std::uint32_t tags[3];

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.rank() != 0) return;
        for (const std::uint32_t tag : tags) (void)triggers.trigger(ctx, tag);
    }
};

/// Two that go on and on, in the last bit of the first word of tags and in the last word, and one in the first bit.
TEST_P(trigger_circles_test, CirclesLeaveOthersTheirTurn) {
    options o = job();
    o.cpu_threads = 1;
    if (!is_checked(GetParam())) o.timeout_seconds = 1;
    runtime rt(o);
    const auto words = rt.allocate<std::uint32_t>(4);
    const auto fired = rt.allocate<std::uint64_t>(1);
    auto tags = rt.triggers({.tags = 256, .alone_bytes = 0});
    const auto copy_to = [&](std::uint64_t at) {
        return trigger_operation::put(words.ref(), 0, 1, words.ref(), at, 0);
    };
    tags.prepare(0, 31, 1, copy_to(1).then(0, 31), firing::each_round);
    tags.prepare(0, 224, 1, copy_to(2).then(0, 224), firing::each_round);
    tags.prepare(0, 0, 1, copy_to(3).signal(fired.ref()[0]));
    says(thrown<timeout_error>([&] {
             rt.run(trigger_three{{31, 224, 0}}, tags);
         }),
         "operations in a circle without end");
    EXPECT_EQ(fired.copy_out(0)[0], 1u);
}

/// A long circle, of which a handful of tags is told, and chains that end beside it.
TEST_P(trigger_circles_test, ALongCircleIsToldInShort) {
    runtime rt(job());
    constexpr std::uint32_t length = 20;
    auto tags = rt.triggers({.tags = length + 2});
    for (std::uint32_t tag = 0; tag < length; ++tag) {
        const auto op = trigger_operation::nothing(0).then(0, length + tag % 2);
        tags.prepare(0, tag, 1, op.then(0, (tag + 1) % length), firing::each_round);
    }
    tags.prepare(0, length, 1, trigger_operation::nothing(0), firing::each_round);
    tags.prepare(0, length + 1, 2, trigger_operation::nothing(0).then(0, 0), firing::each_round);  // needs two
    const std::string what = thrown<timeout_error>([&] { rt.run(trigger_once{7, 1, 0}, tags); });
    says(what, "; operations in a circle without end: tag ");
    says(what, "tag 3 of PE 0 -> tag 4 of PE 0 -> ");
    says(what, " -> 4 more -> tag ");
}

/// Two operations that together reach what neither does alone: the threshold of the one that triggers both.
TEST_P(trigger_circles_test, CirclesThatMeetAreNamed) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    const int last = rt.n_pes() - 1;
    const auto op = trigger_operation::nothing(0);
    tags.prepare(0, 2, 2, op.then(0, 3).then(last, 4), firing::each_round);
    tags.prepare(0, 3, 1, op.then(0, 2), firing::each_round);
    tags.prepare(last, 4, 1, op.then(0, 2).then(0, 5), firing::each_round);
    tags.prepare(0, 5, 1, op, firing::each_round);  // goes on as they do, and leads nowhere
    const std::string what = thrown<timeout_error>([&] { rt.run(trigger_once{2, 2, 0}, tags); });
    const std::string of_last = " of PE " + std::to_string(last);
    says(what, "; operations in circles without end: tag 2 of PE 0, tag 3 of PE 0, tag 4" + of_last);
    EXPECT_EQ(what.find("tag 5", what.find("; operations in circles")), std::string::npos) << what;
    EXPECT_NO_THROW(rt.run(do_nothing{}, tags));
}

/// Three rounds of one operation for each of the other.
TEST_P(trigger_circles_test, CirclesOfSeveralRoundsAreNamed) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    const int last = rt.n_pes() - 1;
    tags.prepare(0, 2, 1, trigger_operation::nothing(0).then(last, 3), firing::each_round);
    tags.prepare(last, 3, 3, trigger_operation::nothing(0).then(0, 2, 3), firing::each_round);
    const std::string of_last = " of PE " + std::to_string(last);
    // The second one reaches the first one's threshold by itself, the first one does not reach the second one's.
    says(thrown<timeout_error>([&] {
             rt.run(trigger_once{2, 3, 0}, tags);
         }),
         "; operations in circles without end: tag 2 of PE 0, tag 3" + of_last);
}

/// Sets off a tag, and waits for a round of another one that never comes.
struct trigger_and_wait {
    std::uint32_t tag, n, waits_for;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.rank() != 0 || triggers.trigger(ctx, tag, n) != status::ok) return;
        (void)triggers.wait_fired(ctx, waits_for, 1);  // a failure ends the run
    }
};

/// Of 64 triggers 32 come back, of these 16, and so on to the last: another wait has met the deadline.
TEST_P(trigger_circles_test, CirclesThatComeToRestAreNotNamed) {
    options o = job();
    if (!is_checked(GetParam())) o.timeout_seconds = 0.5;
    runtime rt(o);
    auto tags = rt.triggers({.tags = 8});
    const int last = rt.n_pes() - 1;
    tags.prepare(0, 2, 2, trigger_operation::nothing(0).then(last, 3), firing::each_round);
    tags.prepare(last, 3, 1, trigger_operation::nothing(0).then(0, 2), firing::each_round);
    tags.prepare(0, 7, 1, trigger_operation::nothing(0));
    const std::string what = thrown<timeout_error>([&] { rt.run(trigger_and_wait{2, 64, 7}, tags); });
    says(what, "deadline passed while ");
    EXPECT_EQ(what.find("without end"), std::string::npos) << what;
}

/// What a run is told that waits in vain for tag 7 of PE 0, and sets off this one of PE 0.
std::string told_at_deadline(runtime& rt, triggers& tags, std::uint32_t sets_off) {
    return thrown<timeout_error>([&] { rt.run(trigger_and_wait{sets_off, 2, 7}, tags); });
}
/// Nobody sets these circles off, until somebody does.
void expect_named_when_set_off(runtime& rt, triggers& tags, const std::string& circles) {
    constexpr std::uint32_t no_operation = 6;
    tags.prepare(0, 7, 1, trigger_operation::nothing(0));
    const std::string what = told_at_deadline(rt, tags, no_operation);
    says(what, "deadline passed while ");
    EXPECT_EQ(what.find("without end"), std::string::npos) << what;
    says(told_at_deadline(rt, tags, 2), circles);
}

/// Tags that have fired with other operations, of which none is left.
TEST_P(trigger_circles_test, OperationsThatAreNewHaveNotGoneRound) {
    const auto op = trigger_operation::nothing(0);
    for (const firing before : {firing::each_round, firing::once}) {
        runtime rt(job());
        auto tags = rt.triggers({.tags = 8});
        const int last = rt.n_pes() - 1;
        tags.prepare(0, 2, 1, op, before);
        tags.prepare(last, 3, 1, op, before);
        rt.run(trigger_once{2, 1, 0}, tags);
        rt.run(trigger_once{3, 1, last}, tags);
        if (before == firing::each_round) {
            EXPECT_TRUE(tags.disarm(0, 2));
            EXPECT_TRUE(tags.disarm(last, 3));
        }
        tags.prepare(0, 2, 1, op.then(last, 3), firing::each_round);
        tags.prepare(last, 3, 1, op.then(0, 2), firing::each_round);
        expect_named_when_set_off(rt, tags, "; operations in a circle without end: ");
    }
}

/// One of two has fired with the operation that it has.
TEST_P(trigger_circles_test, AnOperationThatClosesACircleHasNotGoneRound) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    const int last = rt.n_pes() - 1;
    const auto op = trigger_operation::nothing(0);
    tags.prepare(0, 2, 1, op, firing::each_round);
    tags.prepare(last, 3, 1, op.then(0, 2), firing::each_round);
    rt.run(trigger_once{3, 1, last}, tags);
    EXPECT_TRUE(tags.disarm(0, 2));
    tags.prepare(0, 2, 1, op.then(last, 3), firing::each_round);
    expect_named_when_set_off(rt, tags, "; operations in a circle without end: ");
}

TEST_P(trigger_circles_test, NewOperationsOfCirclesThatMeetHaveNotGoneRound) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    const int last = rt.n_pes() - 1;
    const auto op = trigger_operation::nothing(0);
    tags.prepare(0, 2, 2, op.then(0, 3).then(last, 4), firing::each_round);
    tags.prepare(0, 3, 1, op, firing::each_round);
    tags.prepare(last, 4, 1, op, firing::each_round);
    rt.run(trigger_once{2, 2, 0}, tags);
    EXPECT_TRUE(tags.disarm(0, 3));
    EXPECT_TRUE(tags.disarm(last, 4));
    tags.prepare(0, 3, 1, op.then(0, 2), firing::each_round);
    tags.prepare(last, 4, 1, op.then(0, 2), firing::each_round);
    expect_named_when_set_off(rt, tags, "; operations in circles without end: tag 2 of PE 0, tag 3 of PE 0, tag 4");
}

/// A lane has two tags fire, gives them operations that would go round, and waits for another one.
struct close_circle_and_wait {
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.rank() != 0) return;
        const auto op = trigger_operation::nothing(0);
        for (std::uint32_t tag = 2; tag < 4; ++tag) {
            if (triggers.trigger(ctx, tag) != status::ok || triggers.wait_fired(ctx, tag, 1) != status::ok) return;
            while (!triggers.disarm(ctx, tag)) {
                if (stopped(ctx)) return;
            }
            if (triggers.prepare(ctx, tag, 1, op.then(0, 5 - tag), firing::each_round) != status::ok) return;
        }
        (void)triggers.wait_fired(ctx, 7, 1);  // a failure ends the run
    }
};

TEST_P(trigger_circles_test, OperationsThatLanesPrepareAnewHaveNotGoneRound) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    for (const std::uint32_t tag : {2, 3}) {
        tags.prepare(0, tag, 1, trigger_operation::nothing(0), firing::each_round);
    }
    tags.prepare(0, 7, 1, trigger_operation::nothing(0));
    const std::string what = thrown<timeout_error>([&] { rt.run(close_circle_and_wait{}, tags); });
    says(what, "deadline passed while ");
    EXPECT_EQ(what.find("without end"), std::string::npos) << what;
}

INSTANTIATE_TEST_SUITE_P(devices, trigger_circles_test, testing::ValuesIn(trigger_devices()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(trigger_circles_test);

}  // namespace
}  // namespace laneway::test
