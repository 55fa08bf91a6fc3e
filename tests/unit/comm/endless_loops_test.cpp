// Functors that loop over calls which find nothing to wait for: their runs end at the deadline all the same.
#include "unit/comm/failing_runs.hpp"

namespace laneway::test {
namespace {

/// Calls one member again and again until it fails; there is never anything to wait for.
enum class idle_call {
    quiet,
    flush,
    drain,
    fence,
    barrier,
    flush_old,
    flush_ready,
    advance,
    help,
    get,
    put,
    add,
    get_many,
    put_many,
    post
};
struct call_for_ever {
    idle_call what;
    symmetric_ref<std::uint64_t> word;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        while (call(ctx, box) == status::ok) {
        }
    }

    template <class Ctx, class Box>
    LANEWAY_FN status call(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        std::uint64_t values[2] = {};
        switch (what) {
            case idle_call::quiet: return box.quiet(ctx);
            case idle_call::flush: return box.flush(ctx);
            case idle_call::drain: return box.drain(ctx);
            case idle_call::fence: return remote.fence();
            case idle_call::barrier: return box.barrier(ctx);
            case idle_call::flush_old: return box.flush_old(ctx);
            case idle_call::flush_ready: return box.flush_ready(ctx);
            case idle_call::advance: return box.advance(ctx);
            case idle_call::help: return box.help(ctx, ctx.converged());
            case idle_call::get: return remote.get(word[0], next).code;
            case idle_call::put: return remote.put(word[0], next, 1);
            case idle_call::get_many: return remote.get(width::warp, values, word[0], next, 1);
            case idle_call::put_many: return remote.put(width::lane, word[0], next, values, 0);
            case idle_call::add: return remote.add(word[0], next, 1);
            default: return box.post(ctx, next, std::uint32_t{1});
        }
    }
};

/// Does not look at what a call says.
struct heed_nothing {
    idle_call what;
    symmetric_ref<std::uint64_t> word;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (;;) (void)call_for_ever{what, word}.call(ctx, box);
    }
};

TEST(heedless_loops_test, TheirStepsEndOnCheckedDevices) {
    for (const bool alone : {true, false}) {
        options o;
        o.devices = alone ? "checked:1" : "checked:2";
        o.timeout_seconds = 0.01;
        runtime rt(o);
        const auto word = rt.allocate<std::uint64_t>(1);
        const auto mailbox = rt.one_sided<std::uint32_t>(swallow{});
        const auto last = static_cast<int>(idle_call::post);
        for (int what = alone ? last : 0; what <= last; ++what) {
            try {
                rt.run(heed_nothing{static_cast<idle_call>(what), word.ref()}, mailbox);
                ADD_FAILURE() << "call " << what << " of the run ended as if nothing had happened";
            } catch (const timeout_error& e) {
                contains(e.what(), "the deadline is 0.01 s of virtual time, " +
                                       std::to_string(checked::scheduler::step_ns) + " ns for each step of a lane");
                contains(e.what(), "checked mode: the lanes did not end within ");
            }
        }
        EXPECT_NO_THROW(rt.run(post_to{0, 1}, mailbox));
    }
}

class idle_calls_test : public testing::TestWithParam<std::string> {};

TEST_P(idle_calls_test, LoopsThatFindNothingToWaitForEndAtTheDeadline) {
    options o;
    o.devices = GetParam();
    o.timeout_seconds = is_checked(GetParam()) ? 0.01 : 0.1;
    o.cpu_threads = 2;
    runtime rt(o);
    const auto word = rt.allocate<std::uint64_t>(1);
    const auto mailbox = rt.one_sided<std::uint32_t>(swallow{});
    for (int what = 0; what <= static_cast<int>(idle_call::post); ++what) {
        try {
            run_past_set_up([&] { rt.run(call_for_ever{static_cast<idle_call>(what), word.ref()}, mailbox); });
            ADD_FAILURE() << "the run ended as if nothing had happened";
        } catch (const timeout_error& e) {
            contains(e.what(), "deadline passed while waiting");
            EXPECT_EQ(std::string(e.what()).find("did not end within"), std::string::npos) << e.what();
        } catch (const usage_error& e) {
            FAIL() << "call " << what - 1 << " left the machine unusable: " << e.what();
        }
    }
    EXPECT_NO_THROW(run_past_set_up([&] { rt.run(post_to{0, 1}, mailbox); }));
}

/// Posts to the host now and then, so that its queue is never full.
struct post_to_host_for_ever {
    host_calls_ref<std::uint32_t, no_reply> calls;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        while (calls.post(ctx, 1) == status::ok) {
            for (const std::uint64_t start = ctx.now_ns(); ctx.now_ns() < start + 20'000;) ctx.pause();
        }
    }
};

TEST(host_posts_test, PostsToTheHostThatNeverWaitEndSoonAfterTheDeadline) {
    options o;
    o.devices = "cpu:2";
    o.timeout_seconds = 0.1;
    runtime rt(o);
    const auto calls = rt.host_calls<std::uint32_t>("look", [](std::uint32_t) {});
    const auto mailbox = rt.mailbox<std::uint32_t>(swallow{});
    try {
        run_past_set_up([&] { rt.run(post_to_host_for_ever{calls.ref()}, mailbox); });
        ADD_FAILURE() << "the run ended as if nothing had happened";
    } catch (const timeout_error& e) {
        contains(e.what(), "queue to the host: ticket ");
    }
    EXPECT_NO_THROW(run_past_set_up([&] { rt.run(post_to{1, 1}, mailbox); })) << "the machine was left behind";
}

/// Each call goes on for a second behind its deadline, and its threads are busy meanwhile: of these there are four PEs,
/// as one has what checked ones show of it, and one and two are left to long runs.
std::vector<std::string> lists_of_loops() {
    std::vector<std::string> lists{"cpu:4", "checked:1", "checked:2"};
    if (is_long_run()) lists.insert(lists.end(), {"cpu:1", "cpu:2"});
    return lists;
}
INSTANTIATE_TEST_SUITE_P(devices, idle_calls_test, testing::ValuesIn(lists_of_loops()), name_of);

}  // namespace
}  // namespace laneway::test
