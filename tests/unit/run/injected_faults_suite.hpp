// Each part of a program that another one waits for is damaged once: the wait ends at its deadline and names what it
// waited for, and a program without the damage works.
#pragma once

#include <gtest/gtest.h>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

struct note {
    std::uint64_t hops;
};
struct pass_note {
    static constexpr bool forwards = true;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const note& n, Forward& forward) const {
        if (n.hops != 0) (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), note{n.hops - 1});
    }
};
struct read_note {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const note&) const {}
};
struct enquiry {
    std::uint64_t value;
};
struct reply_to {
    using answer = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const enquiry& e) const {
        return e.value + 1;
    }
};

// One lane: what all lanes of a GPU send would fill the ring, and one that waits for a slot would be named.
struct post_next {
    std::uint64_t hops = 0;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() != 0) return;
        (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), note{hops});
    }
};
struct call_next {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() != 0) return;
        (void)box.call(ctx, (ctx.pe() + 1) % ctx.n_pes(), enquiry{1});
    }
};
struct meet {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        (void)box.barrier(ctx);
    }
};
template <group Kind>
struct add_up {
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
        const std::uint64_t value = ctx.rank();
        (void)sums.all_reduce(ctx, value, reduction::sum{}, Kind);
    }
};

class injected_faults_test : public testing::TestWithParam<std::string> {
protected:
    /// Whose deadline passes: that of host threads is real, also on checked devices.
    enum class late { lanes, host_threads };

    [[nodiscard]] static options with(injected_fault fault, int pe, late who) {
        options o;
        o.devices = GetParam();
        o.timeout_seconds = is_checked(GetParam()) && who == late::lanes ? 0.02 : 1;
        o.fault = fault;
        o.fault_pe = pe;
        return o;
    }

    /// `use(runtime)` does not end in time where the PE has the fault, and the error says each of the `parts`; it ends
    /// well without.
    template <class Use>
    static void ends(injected_fault fault, int pe, const std::vector<std::string>& parts, Use&& use,
                     late who = late::lanes) {
        {
            runtime rt(with(fault, pe, who));
            try {
                use(rt);
                ADD_FAILURE() << "it ended as if nothing had happened";
            } catch (const timeout_error& e) {
                const std::string what = e.what();
                for (const auto& part : parts) EXPECT_NE(what.find(part), std::string::npos) << part << ": " << what;
            }
        }
        options o = with(injected_fault::none, 0, who);
        o.timeout_seconds = 60;
        runtime rt(o);
        EXPECT_NO_THROW(use(rt));
    }
};

TEST_P(injected_faults_test, BarriersNameThemselves) {
    for (const int pe : {0, 1}) {
        ends(injected_fault::mute_barrier, pe, {"waiting at a barrier: barrier 1"},
             [](runtime& rt) { rt.run(meet{}, rt.mailbox<note>(read_note{})); });
    }
}

TEST_P(injected_faults_test, CollectivesNameTheMemberThatIsMissing) {
    const auto run = [](const auto& body) {
        return [body](runtime& rt) {
            auto sums = rt.collectives();
            rt.run(body, sums);
        };
    };
    ends(injected_fault::mute_collectives, 1, {"in a collective with PE 1: the group's collective 1"},
         run(add_up<group::warp>{}));
    // Warps that do not speak for their block, and blocks that do not for their PE, wait for the one that does, and on
    // GPUs may be late first.
    const std::string whom = GetParam().starts_with("cuda") ? "" : " with PE 0: the group's collective 1";
    ends(injected_fault::mute_collectives, 0, {"in a collective" + whom}, run(add_up<group::block>{}));
    ends(injected_fault::mute_collectives, 1, {"in a collective"}, run(add_up<group::grid>{}));
}

TEST_P(injected_faults_test, TheEndOfAllWorkIsNamed) {
    for (const int pe : {0, 1}) {
        ends(injected_fault::mute_termination, pe, {"waiting for all work to be done"},
             [](runtime& rt) { rt.run(post_next{}, rt.mailbox<note>(read_note{})); });
    }
}

TEST_P(injected_faults_test, AForwardQueueThatNobodyEmptiesIsNamed) {
    ends(injected_fault::stuck_forward, 1, {"waiting for all work to be done", "forward queue of PE 1: "},
         [](runtime& rt) { rt.run(post_next{1}, rt.mailbox<note>(pass_note{})); });
}

TEST_P(injected_faults_test, CallsNameThePe) {
    ends(injected_fault::deaf_server, 1, {"calling PE 1: the lane's call 1"},
         [](runtime& rt) { rt.run(call_next{}, rt.mailbox<enquiry>(reply_to{})); });
}

TEST_P(injected_faults_test, AnInboxThatNobodyEmptiesIsNamed) {
    const auto post = [](runtime& rt) {
        auto session = rt.start(rt.mailbox<note>(read_note{}));
        for (int i = 0; i < 3; ++i) session.post(1, note{0});
        session.quiesce();
    };
    ends(injected_fault::shut_inbox, 1, {"did not do in time", "inbox of PE 1: 3 of 1024 slots in use"}, post,
         late::host_threads);
    const auto call = [](runtime& rt) {
        auto session = rt.start(rt.mailbox<enquiry>(reply_to{}));
        EXPECT_EQ(session.call(0, enquiry{4}), 5u);
    };
    ends(injected_fault::shut_inbox, 0, {"did not do in time", "inbox of PE 0: 1 of 1024 slots in use"}, call,
         late::host_threads);
    const auto fill = [](runtime& rt) {
        auto session = rt.start(rt.mailbox<note>(read_note{}));
        for (int i = 0; i < 1100; ++i) session.post(1, note{0});
    };
    ends(injected_fault::shut_inbox, 1, {"did not do in time", "inbox of PE 1: 1024 of 1024 slots in use"}, fill,
         late::host_threads);
}

TEST_P(injected_faults_test, AMessageThatIsLostIsFoundWhenItsEpochIsDone) {
    runtime rt(with(injected_fault::losing_inbox, 1, late::host_threads));
    const auto box = rt.mailbox<note>(read_note{});
    {
        auto session = rt.start(box);
        session.post(0, note{0});
        EXPECT_NO_THROW(session.quiesce());
        session.post(0, note{0});
        session.post(1, note{0});
        const std::string lost = thrown<device_fault>([&] { session.quiesce(); });
        EXPECT_EQ(lost,
                  "audit mismatch in epoch 2: 3 messages of host threads left, 3 taken, 2 served; 0 messages "
                  "carried between PEs, 0 served");
        EXPECT_EQ(thrown<device_fault>([&] { session.quiesce(); }), lost);
        EXPECT_EQ(thrown<device_fault>([&] { session.post(0, note{0}); }), lost);
        (void)rt.allocate<int>(1);  // the program has left the devices
        EXPECT_EQ(thrown<device_fault>([&] { session.stop(); }), lost);
    }
    auto session = rt.start(box);
    session.post(0, note{0});
    EXPECT_NO_THROW(session.quiesce());
    EXPECT_EQ(session.stop().posted, 1u);
}

TEST_P(injected_faults_test, AnEpochThatAPeDoesNotTellOfMeetsItsDeadline) {
    const auto use = [](runtime& rt) {
        auto session = rt.start(rt.mailbox<note>(read_note{}));
        session.post(1, note{0});
        session.quiesce();
    };
    for (const int pe : {0, 1}) {
        ends(injected_fault::mute_termination, pe, {"did not do in time", "1 epochs are open"}, use,
             late::host_threads);
    }
}

LANEWAY_ON_DEVICES(injected_faults_test, device_lists(2));

}  // namespace
}  // namespace laneway::test
