// The contract of components that lanes call one by one: the lanes of a warp use two of one type at once. Two
// mailboxes are of two types.
#pragma once

#include "unit/run/component_suite.hpp"

namespace laneway::test {
namespace {

/// Each lane does it with both components: odd lanes with one while even lanes do with the other, by the same code.
template <class Body>
struct with_both {
    Body of_one, of_other;
    template <class Ctx, class Agent>
    LANEWAY_FN void operator()(Ctx& ctx, Agent& one, Agent& other) const {
        for (unsigned i = 0; i < 2; ++i) {
            const bool takes_other = (ctx.rank() + i) % 2 != 0;
            (takes_other ? of_other : of_one)(ctx, takes_other ? other : one);
        }
    }
};

template <class Case>
class component_lanes_test : public component_test<Case> {};
TYPED_TEST_SUITE_P(component_lanes_test);

TYPED_TEST_P(component_lanes_test, LanesOfAWarpUseTwoAtOnce) {
    this->on_all_devices([&](runtime& rt, TypeParam& one) {
        TypeParam other(rt);
        for (std::uint64_t runs = 1; runs <= 2; ++runs) {
            one.prepare(), other.prepare();
            const with_both<decltype(one.body())> body{one.body(), other.body()};
            const run_report report = rt.run(body, one.part(), other.part());
            this->adds_up(report);
            one.check(report, runs);
            other.check(report, runs);
        }
    });
}

REGISTER_TYPED_TEST_SUITE_P(component_lanes_test, LanesOfAWarpUseTwoAtOnce);

}  // namespace
}  // namespace laneway::test
