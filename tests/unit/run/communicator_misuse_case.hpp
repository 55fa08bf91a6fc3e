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
        if (ctx.local_rank() != 0) return;
        wrong(ctx, world, other, room);
    }
};
struct nothing_at_all {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx&, World&, Other&) const {}
};

class communicator_misuse : public testing::TestWithParam<std::string> {
protected:
    static constexpr double in_time = 20;

    [[nodiscard]] options job(double seconds = in_time) const {
        options o = options_of(GetParam(), 1);
        o.timeout_seconds = is_checked(GetParam()) ? 0.04 : seconds;
        return o;
    }
    /// What the run throws in which the first lane of each PE does this. The runtime is of use afterwards.
    template <class Error, class Wrong>
    std::string failure(const Wrong& wrong, communicator_options how = {}, double seconds = in_time) const {
        runtime rt(job(seconds));
        how.requests = 32;
        const auto room = rt.allocate<std::uint64_t>(1024);
        auto world = rt.communicator(how), other = rt.communicator();
        const std::string what = thrown<Error>([&] { rt.run(first_lane<Wrong>{wrong, room.ref()}, world, other); });
        EXPECT_EQ(what.find('\n'), std::string::npos) << what;
        rt.set_timeout(job().timeout_seconds);
        EXPECT_NO_THROW(rt.run(nothing_at_all{}, world, other)) << "after " << what;
        EXPECT_TRUE(world.pending().empty());
        return what;
    }
    /// The run ends with this error, which says all of these parts. What a run says that meets its deadline is complete
    /// where its lanes have come as far as they can, which a busy machine may not let them in a short time.
    template <class Error, class Wrong>
    void expect(const Wrong& wrong, const std::vector<std::string>& parts, const communicator_options& how = {}) const {
        constexpr bool meets_deadline = std::is_same_v<Error, timeout_error>;
        std::string what = failure<Error>(wrong, how, meets_deadline ? 0.5 : in_time);
        if (meets_deadline && !says(what, parts)) what = failure<Error>(wrong, how, in_time);
        for (const std::string& part : parts) {
            EXPECT_NE(what.find(part), std::string::npos) << "\"" << what << "\" does not say \"" << part << "\"";
        }
        EXPECT_EQ(what.rfind("PE ", 0), 0u) << what;
    }
    template <class Error, class Wrong>
    void expect(const Wrong& wrong, const std::string& part, const communicator_options& how = {}) const {
        expect<Error>(wrong, std::vector<std::string>{part}, how);
    }

private:
    static bool says(const std::string& what, const std::vector<std::string>& parts) {
        return std::ranges::all_of(parts,
                                   [&](const std::string& part) { return what.find(part) != std::string::npos; });
    }
};

}  // namespace
}  // namespace laneway::test
