// What suites of two-sided messages that cannot be share.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

/// What goes wrong goes wrong on one lane of each PE.
template <class Wrong>
struct first_lane {
    Wrong wrong;
    symmetric_ref<std::uint64_t> room;

    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other& other) const {
        if (ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
        wrong(ctx, world, other, room);
    }
};
struct nothing_at_all {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx&, World&, Other&) const {}
};

class communicator_misuse : public testing::TestWithParam<std::string> {
protected:
    /// `seconds`: few where the run is to end at its deadline.
    [[nodiscard]] options job(double seconds = 20) const {
        options o = options_of(GetParam(), 1);
        o.timeout_seconds = is_checked(GetParam()) ? 0.04 : seconds;
        return o;
    }
    /// What the run throws in which the first lane of each PE does this. The runtime is of use afterwards.
    template <class Error, class Wrong>
    std::string failure(const Wrong& wrong, communicator_options how = {}) const {
        runtime rt(job(std::is_same_v<Error, timeout_error> ? 1 : 20));
        how.requests = 32;
        const auto room = rt.allocate<std::uint64_t>(1024);
        auto world = rt.communicator(how), other = rt.communicator();
        const std::string what = thrown<Error>([&] { rt.run(first_lane<Wrong>{wrong, room.ref()}, world, other); });
        EXPECT_EQ(what.find('\n'), std::string::npos) << what;
        EXPECT_NO_THROW(rt.run(nothing_at_all{}, world, other)) << "after " << what;
        EXPECT_TRUE(world.pending().empty());
        return what;
    }
    template <class Error, class Wrong>
    void expect(const Wrong& wrong, const std::string& part, const communicator_options& how = {}) const {
        const std::string what = failure<Error>(wrong, how);
        EXPECT_NE(what.find(part), std::string::npos) << "\"" << what << "\" does not say \"" << part << "\"";
        EXPECT_EQ(what.rfind("PE ", 0), 0u) << what;
    }
};

}  // namespace
}  // namespace laneway::test
