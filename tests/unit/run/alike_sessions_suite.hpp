// Two mailboxes of the same types in one session: host threads say which one they mean.
#pragma once

#include <thread>
#include <vector>

#include "unit/run/component_job.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

/// Where handlers add up: those of the first mailbox, and of the second one.
enum alike_sum : std::uint64_t { one_hops, other_hops, one_elements, other_elements, alike_sums };

struct wander {
    std::uint64_t by;
    std::uint64_t hops;
};
template <std::uint64_t Factor>
struct add_wander {
    static constexpr bool forwards = true;
    symmetric_ref<std::uint64_t> sums;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const wander& m, Forward& forward) const {
        atomic_add(ctx, sums[Factor == 1 ? one_hops : other_hops], Factor * m.by);
        if (m.hops != 0) (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), wander{m.by, m.hops - 1});
    }
};
/// An answer that is a message of the mailbox, which nobody posts.
struct asked_for {
    std::uint64_t value;
};
template <std::uint64_t Factor>
struct nobody_posts_it {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const asked_for&) const {}
};
struct asks {
    std::uint64_t value;
};
template <std::uint64_t Factor>
struct tell_asked {
    using answer = asked_for;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const asks& q) const {
        return {Factor * q.value + static_cast<std::uint64_t>(ctx.pe())};
    }
};
struct numbered {
    std::uint64_t by;
};
template <std::uint64_t Factor>
struct add_elements {
    using element = std::uint32_t;
    symmetric_ref<std::uint64_t> sums;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const numbered& m, payload<const element> all) const {
        std::uint64_t sum = m.by;
        for (const std::uint32_t x : all) sum += x;
        atomic_add(ctx, sums[Factor == 1 ? one_elements : other_elements], Factor * sum);
    }
};
template <std::uint64_t Factor>
auto alike_mailbox(runtime& rt, symmetric_ref<std::uint64_t> sums) {
    return rt.mailbox<wander, asks, asked_for, numbered>(add_wander<Factor>{sums}, tell_asked<Factor>{},
                                                         nobody_posts_it<Factor>{}, add_elements<Factor>{sums});
}
/// Two of one type in C++ as well.
struct plain {
    std::uint64_t value;
};
struct add_plain {
    symmetric_ref<std::uint64_t> sums;
    std::uint64_t index;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const plain& m) const {
        atomic_add(ctx, sums[index], m.value);
    }
};

class alike_sessions_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static options settings(std::uint64_t seed = 1) {
        options o = options_for(GetParam(), seed);
        o.lease_seconds = 0;
        o.chunk_bytes = 128;
        o.gpu_blocks = 8;
        return o;
    }
    [[nodiscard]] static std::uint64_t seeds() { return is_checked(GetParam()) ? rounds_of(GetParam()) : 3; }
};

template <class Session, class Box>
void feed_alike(Session& session, const Box& box, int pes, std::uint64_t factor) {
    const std::vector<std::uint32_t> elements{3, 4, 5};
    for (std::uint64_t i = 0; i < 10; ++i) {
        const int pe = static_cast<int>(i) % pes;
        session.post(box, pe, wander{1, 2});
        session.post(box, pe, numbered{i}, elements.data(), i % 4);
        EXPECT_EQ(session.call(box, pe, asks{i}).value, factor * i + static_cast<std::uint64_t>(pe));
    }
}

TEST_P(alike_sessions_test, TwoMailboxesOfTheSameTypesAreToldApartByName) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        runtime rt(settings(seed));
        const auto sums = rt.allocate<std::uint64_t>(alike_sums);
        const auto one = alike_mailbox<1>(rt, sums.ref()), same = one;
        const auto other = alike_mailbox<10>(rt, sums.ref());
        auto session = rt.start(one, other);
        for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
            std::thread first([&] { feed_alike(session, same, rt.n_pes(), 1); });
            std::thread second([&] { feed_alike(session, other, rt.n_pes(), 10); });
            first.join();
            second.join();
            session.quiesce();
            const std::uint64_t elements = 45 + 3 * 3 + 2 * 7 + 2 * 12;
            EXPECT_EQ(total(sums, rt.n_pes(), one_hops), 30 * epoch);
            EXPECT_EQ(total(sums, rt.n_pes(), other_hops), 300 * epoch);
            EXPECT_EQ(total(sums, rt.n_pes(), one_elements), epoch * elements);
            EXPECT_EQ(total(sums, rt.n_pes(), other_elements), 10 * epoch * elements);
        }
        const run_report report = session.stop();
        EXPECT_EQ(report.posted, report.direct + report.carried);
    }
}

TEST_P(alike_sessions_test, MailboxesOfOneTypeAreDifferentObjects) {
    runtime rt(settings());
    const auto sums = rt.allocate<std::uint64_t>(alike_sums);
    const auto one = rt.mailbox<plain>(add_plain{sums.ref(), 0}), other = rt.mailbox<plain>(add_plain{sums.ref(), 1});
    const auto absent = rt.mailbox<plain>(add_plain{sums.ref(), 2});
    auto session = rt.start(one, other);
    session.post(one, 0, plain{3});
    session.post(other, rt.n_pes() - 1, plain{40});
    EXPECT_EQ(thrown<usage_error>([&] { session.post(absent, 0, plain{1}); }), "the session has no such mailbox");
    session.quiesce();
    EXPECT_EQ(total(sums, rt.n_pes(), 0), 3u);
    EXPECT_EQ(total(sums, rt.n_pes(), 1), 40u);
    EXPECT_EQ(total(sums, rt.n_pes(), 2), 0u);
}

INSTANTIATE_TEST_SUITE_P(devices, alike_sessions_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace
}  // namespace laneway::test
