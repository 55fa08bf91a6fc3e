// The contract of components, for each of them: it can be used in a run, and again in the next, or in none; a run takes
// it once; a run of another runtime refuses it; what it counts is told and adds up; and it works beside a mailbox.
//
// A case has, for a runtime `rt`,
//   explicit the_case(runtime& rt);
//   auto& part();                        the component
//   auto& beside();                      a component without which a run has no use for it; left out if there is none
//   void prepare();                      before each run
//   Body body() const;                   what lanes do with its agent, or no_body
//   void check(const run_report&, std::uint64_t runs);   whether all of it was done, after so many runs that ended well
//   static constexpr bool belongs;       whether it is for runs of one runtime
//   static constexpr bool alone = true;  where two of it in a run do not compile
#pragma once

#include <gtest/gtest.h>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

template <class T>
std::uint64_t sum_of(const runtime& rt, const symmetric_array<T>& all, std::size_t index = 0) {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) sum += all.copy_out(pe)[index];
    return sum;
}

/// Messages of the mailbox beside.
struct parcel {
    std::uint64_t weight;
};
struct weigh {
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const parcel& p) const {
        atomic_add(ctx, sum[0], p.weight);
    }
};

/// Does what the body does, and posts before and after it.
template <class Body>
struct also_post {
    Body body;
    template <class Ctx, class Box, class... Agents>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Agents&... agents) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        if (box.post(ctx, next, parcel{1}) != status::ok) return;
        if constexpr (!std::is_same_v<Body, no_body>) body(ctx, agents...);
        (void)box.post(ctx, next, parcel{2});
    }
};

struct take_two {
    template <class Ctx, class First, class Second>
    LANEWAY_FN void operator()(Ctx&, First&, Second&) const {}
};

template <class Case>
class component_test : public testing::Test {
protected:
    /// Calls `use(rt, its)` for some rounds on each list of devices.
    template <class Use>
    static void on_all_devices(Use&& use) {
        for (const auto& devices : device_lists()) {
            if (devices == "cuda:0,cpu:1") continue;  // not all of them work across it
            const std::uint64_t rounds = is_checked(devices) ? (is_long_run() ? chosen_seeds() : 2) : 3;
            repeat_rounds(devices, rounds, [&](options o) {
                o.chunk_bytes = 512;
                runtime rt(o);
                Case its(rt);
                use(rt, its);
            });
        }
    }
    static run_report run(runtime& rt, Case& its) {
        its.prepare();
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(its.body())>, no_body>) {
            return rt.run(its.part());
        } else {
            return run_body(rt, its.body(), its);
        }
    }
    /// `before`: components whose agents the body gets before those of the case.
    template <class Body, class... Before>
    static run_report run_body(runtime& rt, const Body& body, Case& its, const Before&... before) {
        if constexpr (requires { its.beside(); }) {
            return rt.run(body, before..., its.part(), its.beside());
        } else {
            return rt.run(body, before..., its.part());
        }
    }
    static void adds_up(const run_report& report) {
        EXPECT_EQ(report.posted, report.direct + report.carried);
        EXPECT_EQ(report.carried, report.served);
    }
};
TYPED_TEST_SUITE_P(component_test);

TYPED_TEST_P(component_test, IsUsedInOneRunAndInTheNext) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        for (std::uint64_t runs = 1; runs <= 3; ++runs) {
            const run_report report = this->run(rt, its);
            this->adds_up(report);
            its.check(report, runs);
        }
    });
}

TYPED_TEST_P(component_test, OfAnotherRuntimeIsRefusedAndStillWorksInItsOwn) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        options o;
        o.devices = rt.n_pes() == 1 ? "cpu:1" : "cpu:2";
        if constexpr (TypeParam::belongs) {
            runtime other(o);
            EXPECT_THROW((void)this->run(other, its), usage_error);
            its.check(this->run(rt, its), 1);
        } else {
            its.check(this->run(rt, its), 1);
        }
    });
}

TYPED_TEST_P(component_test, OneThatNoRunTakesIsInNobodysWay) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        {
            TypeParam unused(rt);
            its.check(this->run(rt, its), 1);
        }
        its.check(this->run(rt, its), 2);
    });
}

TYPED_TEST_P(component_test, ARunTakesItOnce) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        if constexpr (!requires { TypeParam::alone; }) {
            try {
                (void)rt.run(take_two{}, its.part(), its.part());
                ADD_FAILURE() << "taken twice";
            } catch (const usage_error& e) {
                EXPECT_STREQ(e.what(), "a component may be given to a run once only");
            }
        }
        its.check(this->run(rt, its), 1);
    });
}

TYPED_TEST_P(component_test, WorksBesideAMailbox) {
    this->on_all_devices([&](runtime& rt, TypeParam& its) {
        const auto weighed = rt.allocate<std::uint64_t>(1);
        const auto box = rt.mailbox<parcel>(weigh{weighed.ref()});
        for (std::uint64_t runs = 1; runs <= 2; ++runs) {
            its.prepare();
            const auto body = its.body();
            const run_report report =
                this->run_body(rt, also_post<std::remove_cvref_t<decltype(body)>>{body}, its, box);
            this->adds_up(report);
            its.check(report, runs);
            const std::uint64_t weight = sum_of(rt, weighed);
            EXPECT_GT(weight, 0u);
            EXPECT_EQ(weight % (3 * runs), 0u) << "each lane posts 1 and 2";
            EXPECT_GE(report.posted, 2 * weight / (3 * runs));
        }
    });
}

REGISTER_TYPED_TEST_SUITE_P(component_test, IsUsedInOneRunAndInTheNext, OfAnotherRuntimeIsRefusedAndStillWorksInItsOwn,
                            OneThatNoRunTakesIsInNobodysWay, ARunTakesItOnce, WorksBesideAMailbox);

}  // namespace
}  // namespace laneway::test
