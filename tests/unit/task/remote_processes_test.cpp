// Remote queues whose PEs belong to two processes.
#include <atomic>

#include "remote_job.hpp"
#include "unit/suites_in_processes.hpp"

namespace laneway::test {
namespace {

/// Runs in one process, and in each of several.
class remote_job_test : public testing::TestWithParam<std::string> {};

struct launch_everywhere {
    std::uint64_t each;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (!is_first_lane(ctx)) return;
        for (std::uint64_t i = 0; i < each; ++i) {
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                if (remote.launch(ctx, pe, 0, bytes_of_arguments(pe)) != status::ok) return;
            }
        }
    }
};

TEST_P(remote_job_test, KernelsRunInTheProcessOfTheirPe) {
    runtime rt(options_of(GetParam(), 1));
    std::atomic<std::uint64_t> calls = 0, wrong = 0;
    remote_queue remote(rt.machine());
    (void)remote.kernel("counted", [&](const launch_request& request) {
        ++calls;
        if (request.as<int>() != request.pe || !rt.machine().is_own(request.pe)) ++wrong;
    });
    constexpr std::uint64_t each = 20;
    rt.run(launch_everywhere{each}, remote);
    std::uint64_t own = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) own += rt.machine().is_own(pe) ? 1 : 0;
    EXPECT_EQ(calls, own * each * static_cast<unsigned>(rt.n_pes()));
    EXPECT_EQ(wrong, 0u);
}

TEST_P(remote_job_test, ProcessesRegisterTheSame) {
    runtime rt(options_of(GetParam(), 1));
    const auto words = rt.allocate<std::uint64_t>(4);
    remote_queue remote(rt.machine());
    (void)remote.signal(words, 0);
    EXPECT_NO_THROW(rt.run(do_nothing{}, remote));
    (void)remote.signal(words, static_cast<std::uint64_t>(rt.machine().process()));
    if (rt.machine().n_processes() == 1) {
        EXPECT_NO_THROW(rt.run(do_nothing{}, remote));
    } else {
        says(thrown<usage_error>([&] { rt.run(do_nothing{}, remote); }),
             " has registered other functions, kernels, buffers or signals than this one");
    }
}

INSTANTIATE_TEST_SUITE_P(devices, remote_job_test, testing::Values("cpu:1", "cpu:2"), name_of);

TEST(remote_processes_test, KeepTheContract) {
    std::string filter;
    for (const char* suite : {"remote_queue_test", "remote_job_test"}) {
        for (const char* devices : {"cpu_1", "cpu_2"}) {
            filter += std::string(filter.empty() ? "" : ":") + "devices/" + suite + ".*/" + devices;
        }
    }
    pass_in_processes(2, filter);
}

}  // namespace
}  // namespace laneway::test
