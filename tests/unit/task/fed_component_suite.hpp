// The contract of components that host threads feed in a session, for each of them: it can be used in a session, and
// again in the next, beside a mailbox as well; outside of a session, and in one of another runtime, it is refused and
// works on; and a session takes it once.
//
// A case has, for a runtime `rt`,
//   explicit the_case(runtime& rt);
//   auto& part();                             the component
//   void feed(session, std::uint64_t n);      has n pieces of work done on each PE; waits for some
//   void check(std::uint64_t n) const;        whether so many have been done on each PE
//   void feed_without();                      what a host thread does with it where there is no session; left out where
//                                             only a session can be fed
//   static constexpr bool belongs;            whether it is for sessions of one runtime
//   static constexpr bool alone;              whether two of it in a session do not compile
#pragma once

#include "service_job.hpp"

namespace laneway::test {
namespace {

struct worker_count {
    explicit worker_count(runtime& rt) : rt_(rt), words_(rt.allocate<std::uint64_t>(1)) {}
    [[nodiscard]] symmetric_ref<std::uint64_t> ref() const { return words_.ref(); }
    void expect_each(std::uint64_t n) const {
        for (int pe = 0; pe < rt_.n_pes(); ++pe) EXPECT_EQ(words_.copy_out(pe)[0], n) << "PE " << pe;
    }
    void expect_all(std::uint64_t n) const {
        std::uint64_t sum = 0;
        for (int pe = 0; pe < rt_.n_pes(); ++pe) sum += words_.copy_out(pe)[0];
        EXPECT_EQ(sum, n);
    }
    [[nodiscard]] int pes() const { return rt_.n_pes(); }

private:
    runtime& rt_;
    symmetric_array<std::uint64_t> words_;
};

/// Messages of the mailbox beside.
struct fed_parcel {
    std::uint64_t weight;
};
struct weigh_fed {
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const fed_parcel& p) const {
        atomic_add(ctx, sum[0], p.weight);
    }
};

template <class Case>
class fed_component_test : public testing::Test {
protected:
    static options of_session(options o) {
        o.lease_seconds = o.seed % 2 == 0 ? 1e-6 : 0;
        return session_of(o, 60);
    }
    static void refuses_without([[maybe_unused]] Case& its) {
        if constexpr (requires { its.feed_without(); }) {
            EXPECT_THROW(its.feed_without(), usage_error);
        }
    }
    /// Calls `use(rt, its)` for some rounds on each list of devices.
    template <class Use>
    static void on_all_devices(Use&& use) {
        for (const auto& devices : remote_devices()) {
            const std::uint64_t rounds = is_checked(devices) ? (chosen_seeds() + 9) / 10 : 3;
            repeat_rounds(devices, rounds, [&](const options& o) {
                runtime rt(of_session(o));
                Case its(rt);
                use(rt, its);
            });
        }
    }
};
TYPED_TEST_SUITE_P(fed_component_test);

TYPED_TEST_P(fed_component_test, IsFedInOneSessionAndInTheNext) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        for (std::uint64_t sessions = 1; sessions <= 2; ++sessions) {
            auto session = rt.start(its.part());
            for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
                its.feed(session, 4);
                session.quiesce();
                its.check(4 * (2 * sessions + epoch - 2));
            }
            const run_report report = session.stop();
            EXPECT_EQ(report.posted, report.direct + report.carried);
            EXPECT_EQ(report.carried, report.served);
        }
    });
}

TYPED_TEST_P(fed_component_test, WithoutASessionItIsRefusedAndTheNextTakesIt) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        this->refuses_without(its);
        {
            auto session = rt.start(its.part());
            its.feed(session, 1);
            session.stop();
        }
        this->refuses_without(its);
        auto session = rt.start(its.part());
        its.feed(session, 2);
        session.stop();
        its.check(3);
    });
}

TYPED_TEST_P(fed_component_test, OneThatNoSessionTakesIsInNobodysWay) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        {
            TypeParam unused(rt);
            auto session = rt.start(its.part());
            its.feed(session, 2);
            session.stop();
            its.check(2);
            unused.check(0);
        }
        auto session = rt.start(its.part());
        its.feed(session, 1);
        session.stop();
        its.check(3);
    });
}

TYPED_TEST_P(fed_component_test, OfAnotherRuntimeItIsRefusedAndStillWorksInItsOwn) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        if constexpr (TypeParam::belongs) {
            options o;
            o.devices = rt.n_pes() == 1 ? "cpu:1" : "cpu:2";
            runtime other(session_of(o, 60));
            const std::string why = thrown<usage_error>([&] { (void)other.start(its.part()); });
            says(why, "runtime");
        }
        auto session = rt.start(its.part());
        its.feed(session, 2);
        session.stop();
        its.check(2);
    });
}

TYPED_TEST_P(fed_component_test, ASessionTakesItOnce) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        if constexpr (!TypeParam::alone) {
            const auto same = its.part();
            EXPECT_EQ(thrown<usage_error>([&] { (void)rt.start(its.part(), same); }),
                      "a component may be given to a run once only");
        }
        auto session = rt.start(its.part());
        EXPECT_THROW((void)rt.start(its.part()), usage_error) << "a second session";
        its.feed(session, 2);
        session.stop();
        its.check(2);
    });
}

TYPED_TEST_P(fed_component_test, WorksBesideAMailbox) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        const worker_count weighed(rt);
        const auto box = rt.mailbox<fed_parcel>(weigh_fed{weighed.ref()});
        auto session = rt.start(its.part(), box);
        for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
            for (int pe = 0; pe < rt.n_pes(); ++pe) session.post(pe, fed_parcel{5});
            its.feed(session, 3);
            for (int pe = 0; pe < rt.n_pes(); ++pe) session.post(pe, fed_parcel{2});
            session.quiesce();
            its.check(3 * epoch);
            weighed.expect_each(7 * epoch);
        }
        session.stop();
    });
}

REGISTER_TYPED_TEST_SUITE_P(fed_component_test, IsFedInOneSessionAndInTheNext,
                            WithoutASessionItIsRefusedAndTheNextTakesIt, OneThatNoSessionTakesIsInNobodysWay,
                            OfAnotherRuntimeItIsRefusedAndStillWorksInItsOwn, ASessionTakesItOnce, WorksBesideAMailbox);

}  // namespace
}  // namespace laneway::test
