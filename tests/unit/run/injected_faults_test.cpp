#include "injected_faults_suite.hpp"  // on CPU devices

namespace laneway::test {
namespace {

struct count_and_pass : pass_note {
    symmetric_ref<std::uint64_t> seen;
    explicit count_and_pass(symmetric_ref<std::uint64_t> counter) : seen(counter) {}
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const note& n, Forward& forward) const {
        atomic_add(ctx, seen[0], 1);
        pass_note::operator()(ctx, n, forward);
    }
};

// PE 1 passes on what PE 0 asks, to PEs 33 to 35, and answers for them.
struct wide_job_test : testing::Test {
    static options job(injected_fault fault) {
        options o;
        o.devices = "cpu:36";
        o.timeout_seconds = fault == injected_fault::none ? 60 : 3;
        o.fault = fault;
        o.fault_pe = 1;
        return o;
    }
    /// Epochs in which a message goes round all PEs twice, and is counted where it comes by.
    static void use(runtime& rt) {
        const auto seen = rt.allocate<std::uint64_t>(1);
        auto session = rt.start(rt.mailbox<note>(count_and_pass{seen.ref()}));
        for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
            session.post(35, note{72});
            session.quiesce();
            std::uint64_t all = 0;
            for (int pe = 0; pe < rt.n_pes(); ++pe) all += seen.copy_out(pe)[0];
            EXPECT_EQ(all, 73 * epoch) << "an epoch ended before a PE below another one had served";
        }
        session.stop();
    }
};

TEST_F(wide_job_test, APeInBetweenThatIsMuteIsTold) {
    runtime rt(job(injected_fault::mute_termination));
    try {
        rt.run(post_next{}, rt.mailbox<note>(read_note{}));
        ADD_FAILURE() << "it ended without what is below PE 1";
    } catch (const timeout_error& late) {
        EXPECT_NE(std::string(late.what()).find("waiting for all work to be done"), std::string::npos) << late.what();
    }
}

TEST_F(wide_job_test, EpochsEndWhenPesBelowOthersHaveServed) {
    runtime rt(job(injected_fault::none));
    use(rt);
    rt.run(post_next{}, rt.mailbox<note>(read_note{}));
    use(rt);
}

}  // namespace
}  // namespace laneway::test
