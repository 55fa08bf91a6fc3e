// What cases of two-sided messages on one lane of each PE share.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_cases : public testing::TestWithParam<std::string> {};

constexpr std::uint64_t room = 2048;  // words of each buffer

/// What a case on one lane of each PE works with.
struct case_view {
    symmetric_ref<std::uint64_t> from, to, wrong;
    match_rules rules{};
    std::uint64_t part = 0;

    /// What a receive asks for: any, or this where the program promises that.
    [[nodiscard]] LANEWAY_FN std::int64_t any_but(std::int64_t source) const {
        return rules.no_any_source ? source : std::int64_t{any_source};
    }
    [[nodiscard]] LANEWAY_FN std::int64_t any_tag_but(std::int64_t tag) const {
        return rules.no_any_tag ? tag : std::int64_t{any_tag};
    }
    /// A word that no other message has.
    static LANEWAY_FN std::uint64_t word(std::uint64_t source, std::uint64_t number, std::uint64_t at) {
        return source << 48 | number << 32 | at << 8 | 5;
    }
    template <class Ctx>
    LANEWAY_FN void expect(Ctx& ctx, bool right) const {
        if (!right) atomic_add(ctx, wrong[part], 1);
    }
    template <class Ctx>
    LANEWAY_FN void write(Ctx& ctx, std::uint64_t at, std::uint64_t count, std::uint64_t number) const {
        for (std::uint64_t i = 0; i < count; ++i) {
            from.local(ctx)[at + i] = word(static_cast<std::uint64_t>(ctx.pe()), number, i);
        }
    }
    template <class Ctx>
    LANEWAY_FN void expect_words(Ctx& ctx, std::uint64_t at, std::uint64_t count, std::uint64_t source,
                                 std::uint64_t number) const {
        bool right = true;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t found = to.local(ctx)[at + i];
            right = right && found == word(source, number, i);
        }
        expect(ctx, right);
    }
};

/// Runs `Case` on the first lane of each PE.
template <class Case>
struct on_first {
    case_view view;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() == 0) Case{view}(ctx, world);
    }
};

/// `how` differs from the options of the round where it says something.
template <class Case>
void run_case(const std::string& devices, const communicator_options& how = {}) {
    every_fourth_round(devices, [&](const options& o) {
        runtime rt(o);
        const auto from = rt.allocate<std::uint64_t>(8 * room), to = rt.allocate<std::uint64_t>(8 * room);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options small = small_options(o);
        small.unexpected = std::max(small.unexpected, 8u);  // a case may leave so many before it receives
        const communicator_options unsaid;
        if (how.unexpected != unsaid.unexpected) small.unexpected = how.unexpected;
        if (how.requests != unsaid.requests) small.requests = how.requests;
        small.rules = rules_of(o);
        small.engines = engines_of(small.rules);
        auto world = rt.communicator(small);
        rt.run(on_first<Case>{{from.ref(), to.ref(), wrong.ref(), small.rules}}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) ASSERT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
        EXPECT_TRUE(world.pending().empty()) << world.account();
    });
}

#define LANEWAY_OK(call) \
    if ((call) != status::ok) return

#define LANEWAY_CASE(name, what) \
    TEST_P(communicator_cases, name) { run_case<what>(GetParam()); }

}  // namespace
}  // namespace laneway::test
