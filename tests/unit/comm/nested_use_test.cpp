// A runtime is not used from its own run, neither by lanes nor by host functions.
#include <functional>
#include <memory>

#include "unit/comm/failing_runs.hpp"

namespace laneway::test {
namespace {

std::function<void()> use_runtime;
/// Lane 0 uses the runtime that it runs on.
struct use_in_functor {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() == 0) use_runtime();
    }
};
/// Lane 0 has a host function use it, and then writes.
struct call_host {
    host_calls_ref<std::uint32_t, std::uint32_t> calls;
    symmetric_ref<std::uint64_t> words{};
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() != 0) return;
        (void)calls.call(ctx, 1);
        for (std::uint64_t i = 0; i < words.size(); ++i) words.local(ctx)[i] = i;
    }
};

class nested_use_test : public testing::TestWithParam<std::string> {};

TEST_P(nested_use_test, ARuntimeIsNotUsedFromItsOwnRun) {
    options o;
    o.devices = GetParam();
    o.timeout_seconds = 5;
    runtime rt(o);
    auto words = rt.allocate<std::uint64_t>(8);
    const auto mailbox = rt.mailbox<std::uint32_t>(swallow{});
    const auto calls = rt.host_calls<std::uint32_t, std::uint32_t>("again", [](std::uint32_t x) {
        use_runtime();
        return x;
    });
    const std::vector<std::function<void()>> uses{
        [&] {
            rt.run(post_to{0, 1}, mailbox);
        },
        [&] { (void)rt.allocate<std::uint64_t>(1); },
        [&] { (void)rt.one_sided<std::uint32_t>(swallow{}); },
        [&] { (void)rt.host_calls<std::uint32_t>("new", [](std::uint32_t) {}); },
        [&] { words.clear(); },
        [&] { words.copy_in(0, std::vector<std::uint64_t>(8)); },
        [&] { (void)words.copy_out(0); },
    };
    for (const auto& use : uses) {
        use_runtime = use;
        try {
            rt.run(use_in_functor{}, mailbox);
            ADD_FAILURE() << "accepted from a functor";
        } catch (const lane_error& e) {
            contains(e.what(), " lane 0: exception in the functor: ");
            contains(e.what(), "a run goes on");
            EXPECT_THROW(std::rethrow_if_nested(e), usage_error);
        }
        try {
            rt.run(call_host{calls.ref()}, mailbox);
            ADD_FAILURE() << "accepted from a host function";
        } catch (const host_call_error& e) {
            contains(e.what(), "host calls 'again': ");
            contains(e.what(), "a run goes on");
        }
        EXPECT_NO_THROW(rt.run(post_to{0, 3}, mailbox));
        EXPECT_EQ(words.copy_out(0), std::vector<std::uint64_t>(8));
    }
    // What is freed meanwhile is freed behind the run: lanes may still use it.
    auto freed = std::make_unique<symmetric_array<std::uint64_t>>(rt.allocate<std::uint64_t>(8));
    use_runtime = [&] { freed.reset(); };
    EXPECT_NO_THROW(rt.run(call_host{calls.ref(), freed->ref()}, mailbox));
    EXPECT_EQ(freed, nullptr);
    use_runtime = [] {
        options other;
        other.devices = "cpu:1";
        runtime own(other);
        own.run(post_to{0, 1}, own.mailbox<std::uint32_t>(swallow{}));
    };
    EXPECT_NO_THROW(rt.run(call_host{calls.ref()}, mailbox)) << "other devices are free";
    use_runtime = {};
}

INSTANTIATE_TEST_SUITE_P(devices, nested_use_test, testing::Values("cpu:1", "cpu:2", "checked:2"), name_of);

}  // namespace
}  // namespace laneway::test
