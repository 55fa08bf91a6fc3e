// Calls of host functions: each request served once, each caller its own answer, under all interleavings.
#pragma once

#include <map>
#include <mutex>

#include "laneway/comm/host_calls.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {

struct host_question {
    std::uint64_t id;
    std::uint32_t kind;
};
struct reply {
    std::uint64_t id;
    std::uint32_t kind;
    std::uint32_t check;
};

/// What the host answers.
LANEWAY_FN reply reply_to(const host_question& q) {
    return {q.id * 3, q.kind + 1, static_cast<std::uint32_t>(q.id ^ q.kind << 8)};
}
LANEWAY_FN bool same(const reply& a, const reply& b) { return a.id == b.id && a.kind == b.kind && a.check == b.check; }

struct keep_quiet {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint32_t) const {}
};

using test_calls_ref = host_calls_ref<host_question, reply>;

/// Every lane asks `each` questions, in branches that part the lanes; some wait for the answer.
struct ask {
    test_calls_ref calls;
    std::uint32_t each;
    symmetric_ref<std::uint64_t> counts;  ///< [0] asked, [1] answered, [2] wrong

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint32_t i = 0; i < each; ++i) {
            const host_question q{ctx.rank() * each + i, i};
            if (q.id % 3 == 0) {
                if (calls.post(ctx, q) != status::ok) return;
            } else if (q.id % 3 == 1) {
                if (!check(ctx, q)) return;
            } else {
                if (box.post(ctx, static_cast<int>(q.id) % ctx.n_pes(), 1) != status::ok) return;
                if (!check(ctx, q)) return;
            }
            atomic_add(ctx, counts[0], 1);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN bool check(Ctx& ctx, const host_question& q) const {
        const auto answer = calls.call(ctx, q);
        if (!answer) return false;
        atomic_add(ctx, counts[same(answer.value, reply_to(q)) ? 1 : 2], 1);
        return true;
    }
};

inline std::uint64_t total(const symmetric_array<std::uint64_t>& array, int pes, std::size_t index) {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < pes; ++pe) sum += array.copy_out(pe)[index];
    return sum;
}

class host_calls_test : public testing::TestWithParam<std::string> {};

TEST_P(host_calls_test, EachRequestIsServedOnceAndEachCallerGetsItsAnswer) {
    every_round(GetParam(), [&](const options& round) {
        options o = round;
        o.host_threads = 1 + static_cast<int>(o.seed % 3);
        o.host_slots = 1 + static_cast<std::uint32_t>(o.seed / 3 % 2);
        runtime rt(o);
        std::mutex mutex;
        std::map<std::uint64_t, int> heard;
        const auto calls = rt.host_calls<host_question, reply>("echo", [&](const host_question& q) {
            const std::lock_guard lock(mutex);
            ++heard[q.id];
            return reply_to(q);
        });
        const auto counts = rt.allocate<std::uint64_t>(3);
        const std::uint32_t each = is_checked(GetParam()) ? 4 : 30;
        rt.run(ask{calls.ref(), each, counts.ref()}, rt.mailbox<std::uint32_t>(keep_quiet{}));
        const std::uint64_t asked = total(counts, rt.n_pes(), 0);
        EXPECT_GT(asked, 0u);
        EXPECT_EQ(asked % each, 0u);
        EXPECT_EQ(calls.served(), asked);
        EXPECT_EQ(heard.size(), asked);
        for (const auto& [id, times] : heard) EXPECT_EQ(times, 1) << "request " << id;
        EXPECT_EQ(total(counts, rt.n_pes(), 1), asked - (asked + 2) / 3);
        EXPECT_EQ(total(counts, rt.n_pes(), 2), 0u);
    });
}

/// Each lane asks one of two functions, and then the other; what they answer tells which one was asked.
struct ask_both {
    host_calls_ref<std::uint64_t, std::uint64_t> one, other;
    symmetric_ref<std::uint64_t> counts;  ///< [0] right, [1] wrong

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (unsigned i = 0; i < 2; ++i) {
            const bool asks_other = (ctx.rank() + i) % 2 != 0;
            const auto& calls = asks_other ? other : one;
            if (calls.post(ctx, ctx.rank()) != status::ok) return;
            const auto told = calls.call(ctx, ctx.rank());
            const bool right = told.code == status::ok && told.value == ctx.rank() * (asks_other ? 10 : 1);
            atomic_add(ctx, counts[right ? 0 : 1], 1);
        }
    }
};

TEST_P(host_calls_test, LanesOfAWarpCallTwoFunctionsAtOnce) {
    every_round(GetParam(), [&](const options& round) {
        options o = round;
        o.host_slots = 1 + static_cast<std::uint32_t>(o.seed % 2);
        runtime rt(o);
        const auto one =
            rt.host_calls<std::uint64_t, std::uint64_t>("one", [](const std::uint64_t& lane) { return lane; });
        const auto other =
            rt.host_calls<std::uint64_t, std::uint64_t>("other", [](const std::uint64_t& lane) { return 10 * lane; });
        const auto counts = rt.allocate<std::uint64_t>(2);
        rt.run(ask_both{one.ref(), other.ref(), counts.ref()});
        const std::uint64_t right = total(counts, rt.n_pes(), 0);
        EXPECT_GT(right, 0u);
        EXPECT_EQ(total(counts, rt.n_pes(), 1), 0u);
        EXPECT_EQ(one.served(), right);
        EXPECT_EQ(other.served(), right);
    });
}

LANEWAY_ON_DEVICES(host_calls_test, device_lists());

/// A handler calls the host and leaves the answer on its PE.
struct look_up {
    test_calls_ref calls;
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t id) const {
        const auto answer = calls.call(ctx, {id, 0});
        if (answer) atomic_add(ctx, sums[0], answer.value.id);
    }
};
struct post_ranks {
    host_calls_ref<std::uint32_t, no_reply> done;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const auto rank = static_cast<std::uint32_t>(ctx.rank());
        if (box.post(ctx, static_cast<int>(rank) % ctx.n_pes(), rank) != status::ok) return;
        (void)done.call(ctx, rank);  // ends the run where it fails
    }
};

TEST_P(host_calls_test, HandlersCallAndFunctionsMayReturnNothing) {
    options o = options_of(GetParam(), 0);
    runtime rt(o);
    for (int run = 0; run < 2; ++run) {
        std::uint64_t ranks = 0;
        const auto calls = rt.host_calls<host_question, reply>("look up", reply_to);
        const auto done = rt.host_calls<std::uint32_t>("count", [&](std::uint32_t) { ++ranks; });
        const auto sums = rt.allocate<std::uint64_t>(1);
        rt.run(post_ranks{done.ref()}, rt.mailbox<std::uint32_t>(look_up{calls.ref(), sums.ref()}));
        EXPECT_GT(ranks, 0u);
        EXPECT_EQ(calls.served(), ranks);
        EXPECT_EQ(total(sums, rt.n_pes(), 0), 3 * ranks * (ranks - 1) / 2);
    }
}

/// One lane asks, waiting or not.
struct ask_once {
    test_calls_ref calls;
    bool waits;
    std::uint32_t times = 1;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() != 0) return;
        for (std::uint32_t i = 1; i <= times; ++i) {
            if (waits ? !calls.call(ctx, {i, 0}) : calls.post(ctx, {i, 0}) != status::ok) return;
        }
    }
};

/// What the run throws, in place of whichever error it is.
template <class Error>
std::string failure_of(runtime& rt, const ask_once& functor) {
    try {
        rt.run(functor, rt.mailbox<std::uint32_t>(keep_quiet{}));
        ADD_FAILURE() << "the run ended as if nothing had happened";
    } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
        return e.what();
    }
    return {};
}

inline void says(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nshould say\n" << part;
}

TEST_P(host_calls_test, AHostFunctionsExceptionEndsTheRunAndNamesIt) {
    options o = options_of(GetParam(), 0);
    o.timeout_seconds = never_seconds;
    runtime rt(o);
    bool refuse = true;
    const auto calls = rt.host_calls<host_question, reply>("ledger", [&](const host_question& q) {
        if (refuse && q.id == 3) throw std::out_of_range("no\r\n\tpage " + std::to_string(q.id));
        return reply_to(q);
    });
    for (const bool waits : {false, true}) {
        refuse = true;
        EXPECT_EQ(failure_of<host_call_error>(rt, {calls.ref(), waits, 5}), "host calls 'ledger': no   page 3");
        refuse = false;
        EXPECT_NO_THROW(rt.run(ask_once{calls.ref(), waits, 5}, rt.mailbox<std::uint32_t>(keep_quiet{})));
        EXPECT_EQ(calls.served(), 5u);
    }
}

TEST_P(host_calls_test, TheOriginalExceptionIsNested) {
    const options o = options_of(GetParam(), 0);
    runtime rt(o);
    const auto calls = rt.host_calls<host_question, reply>("odd", [](const host_question&) -> reply { throw 7; });
    try {
        rt.run(ask_once{calls.ref(), true}, rt.mailbox<std::uint32_t>(keep_quiet{}));
        FAIL() << "the exception was lost";
    } catch (const host_call_error& e) {
        EXPECT_STREQ(e.what(), "host calls 'odd': unknown exception");
        EXPECT_THROW(std::rethrow_if_nested(e), int);
    }
}

TEST_P(host_calls_test, ADeafHostIsNamed) {
    options o = options_of(GetParam(), 0);
    o.timeout_seconds = is_checked(GetParam()) ? 0.02 : 2;
    o.fault = injected_fault::deaf_host;
    o.host_slots = 4;
    runtime rt(o);
    const auto calls = rt.host_calls<host_question, reply>("echo", reply_to);
    std::string what = failure_of<timeout_error>(rt, {calls.ref(), true});
    says(what, "PE 0 ");
    const std::string deadline = is_checked(GetParam()) ? "; the deadline is 0.02 s" : "; the deadline is 2 s";
    says(what, "deadline passed while waiting for a host function's answer: ticket 0" + deadline);
    says(what, "; host calls 'echo': 1 posted, 0 served");
    what = failure_of<timeout_error>(rt, {calls.ref(), false, 100});
    says(what, "deadline passed while waiting for a free slot of a queue to the host: ticket 4" + deadline);
    says(what, "; host calls 'echo': 4 posted");
    EXPECT_EQ(failure_of<device_fault>(rt, {calls.ref(), false, 3}),
              "audit mismatch; host calls 'echo': 3 posted, 0 served");
}

/// A lane that comes to a slot for the second time: the host has served it, and the answers have been read or not.
struct post_behind_answers {
    test_calls_ref calls;
    host_call_queue<host_question, reply> part;
    bool were_read;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() != 0) return;
        ctx.store(part.queue.tail, part.queue.all_slots(), order::relaxed, scope::device);
        if (were_read) ctx.store(part.released, std::uint64_t{1}, order::relaxed, scope::device);
        (void)calls.post(ctx, {7, 0});  // a failure ends the run
    }
};

TEST_P(host_calls_test, ASlotWhoseLastAnswersNobodyHasReadIsNamed) {
    options o = options_of(GetParam(), 0);
    o.timeout_seconds = is_checked(GetParam()) ? 0.02 : 2;
    runtime rt(o);
    host_call_part<host_question, reply> part(rt.machine().device(0), {.lines = 1, .slots = 2});
    symmetric_array<host_call_queue<host_question, reply>> queues(rt.machine(), 1);
    const test_calls_ref calls(queues.ref());
    for (const bool were_read : {false, true}) {
        part.reset();
        const auto queue = part.call_queue();
        *queue.queue.served = 1;  // as the host does behind its answers
        queues.copy_in(0, {queue});
        const auto run = [&] {
            rt.run(post_behind_answers{calls, queue, were_read}, rt.mailbox<std::uint32_t>(keep_quiet{}));
        };
        if (were_read) {
            EXPECT_NO_THROW(run());
        } else {
            says(thrown<timeout_error>(run),
                 "deadline passed while waiting for a free slot of a queue to the host: ticket 2");
        }
    }
}

}  // namespace laneway::test
