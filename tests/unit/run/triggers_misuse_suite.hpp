// Triggered operations that cannot be, or never end: errors name the tag.
#pragma once

#include <optional>

#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class triggers_misuse_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options job() const {
        options o = options_of(GetParam(), 1);
        o.timeout_seconds = is_checked(GetParam()) ? 0.02 : 0.5;
        return o;
    }
    /// For what meets no deadline, however busy the machine is.
    [[nodiscard]] static options unhurried_job() {
        options o = options_of(GetParam(), 1);
        o.timeout_seconds = 60;
        return o;
    }
};

TEST_P(triggers_misuse_test, TheHostRefusesWhatCannotBe) {
    runtime rt(job());
    const std::string pes = std::to_string(rt.n_pes());
    const auto array = rt.allocate<std::uint32_t>(16);
    auto tags = rt.triggers({.tags = 8, .chains = 2});
    const auto op = trigger_operation::nothing(0);
    const auto refused = [&](int pe, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& what) {
        return thrown<usage_error>([&] { tags.prepare(pe, tag, threshold, what); });
    };
    EXPECT_EQ(refused(0, 8, 1, op), "tag 8 of PE 0: no such tag, where there are 0 to 7");
    EXPECT_EQ(refused(0, 1, 0, op), "tag 1 of PE 0: a threshold of 1 to 1073741823, not 0");
    EXPECT_EQ(refused(7, 1, 1, op), "tag 1 of PE 7: no PE 7; the runtime has " + pes);
    EXPECT_EQ(refused(0, 1, 1, trigger_operation::nothing(-1)), "tag 1 of PE 0: no PE -1; the runtime has " + pes);
    EXPECT_EQ(refused(0, 1, 1, op.then(9, 1)), "tag 1 of PE 0: no PE 9; the runtime has " + pes);
    EXPECT_EQ(refused(0, 1, 1, op.then(0, 8)), "tag 1 of PE 0: it triggers tag 8, where there are 0 to 7");
    for (const auto& [first, count, at] : {std::array<std::uint64_t, 3>{0, 17, 0}, {9, 8, 0}, {0, 8, 9}, {17, 0, 0}}) {
        EXPECT_EQ(refused(0, 1, 1, trigger_operation::put(array.ref(), first, count, array.ref(), at, 0)),
                  "tag 1 of PE 0: elements that its arrays do not have, or more than two links");
    }
    tags.prepare(0, 1, 1, op);
    EXPECT_EQ(refused(0, 1, 1, op), "tag 1 of PE 0: it has an operation already");
    EXPECT_THROW((void)rt.triggers({.tags = 0}), usage_error);
    EXPECT_THROW((void)rt.triggers({.tags = 2'000'000}), usage_error);
    EXPECT_THROW((void)rt.triggers({.chains = 0}), usage_error);
    runtime other(job());
    EXPECT_EQ(thrown<usage_error>([&] { other.run(do_nothing{}, tags); }),
              "triggers belong to the runtime that has made them");
}

TEST_P(triggers_misuse_test, MoreChainsThanReservedAreRefused) {
    runtime rt(job());
    if (rt.n_pes() == 1) return;
    auto tags = rt.triggers({.tags = 8, .chains = 2});
    for (std::uint32_t tag = 0; tag < 3; ++tag) tags.prepare(0, tag, 1, trigger_operation::nothing(0).then(1, tag));
    EXPECT_EQ(thrown<usage_error>([&] { rt.run(do_nothing{}, tags); }),
              "tag 2 of PE 0: PE 1 has 2 chains already; see trigger_options::chains");
    tags.clear();
    EXPECT_NO_THROW(rt.run(do_nothing{}, tags));
}

TEST_P(triggers_misuse_test, TooManyTriggersEndTheRun) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    tags.prepare(0, 5, 3, trigger_operation::nothing(0));
    says(thrown<device_fault>([&] {
             rt.run(trigger_once{5, 4, 0}, tags);
         }),
         "triggered more often than its rounds allow while triggering an operation: tag 5, 4 of 3 triggers");
    // What the failed run has counted is gone, what the host has prepared is not.
    EXPECT_NO_THROW(rt.run(trigger_once{5, 3, 0}, tags));
    EXPECT_TRUE(tags.waiting().empty());
    says(thrown<device_fault>([&] { rt.run(trigger_once{5, 1, 0}, tags); }), "tag 5, 4 of 3 triggers");
    says(thrown<device_fault>([&] { rt.run(trigger_once{6, 1u << 31, 0}, tags); }), "tag 6, not prepared, triggered 0");
    says(thrown<device_fault>([&] {
             rt.run(trigger_once{8, 1, 0}, tags);
         }),
         "no such tag while triggering an operation: tag 8, where there are 0 to 7");
}

/// One lane prepares what cannot be.
struct prepare_badly {
    trigger_operation op;
    std::uint32_t tag = 2;
    std::uint32_t threshold = 1;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.rank() == 0) (void)triggers.prepare(ctx, tag, threshold, op);  // a failure ends the run
    }
};

/// One lane does what cannot be to a tag of another PE, disarms one, or has a block trigger one.
struct trigger_badly {
    enum : std::uint32_t { on_pe, disarm, by_block } what;
    int pe;
    std::uint32_t tag;
    std::uint32_t n = 1;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (what == by_block) {
            (void)triggers.trigger_block(ctx, tag, n);
        } else if (ctx.rank() == 0) {
            if (what == on_pe) (void)triggers.trigger_on(ctx, pe, tag, n);
            if (what == disarm) (void)triggers.disarm(ctx, tag);
        }
    }
};

TEST_P(triggers_misuse_test, TagsAndPesThatAreNotThereAreNamed) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    const auto fault = [&](const trigger_badly& body) { return thrown<device_fault>([&] { rt.run(body, tags); }); };
    says(fault({trigger_badly::on_pe, 12, 3}), "no such PE while triggering an operation to PE 12");
    says(fault({trigger_badly::on_pe, -1, 3}), "no such PE while triggering an operation to PE -1");
    says(fault({trigger_badly::disarm, 0, 8}), "no such tag while disarming a tag: tag 8, where there are 0 to 7");
    says(fault({trigger_badly::by_block, 0, 9}), "no such tag while triggering an operation: tag 9");
    const int last = rt.n_pes() - 1;
    says(fault({trigger_badly::on_pe, last, 8}), "no such tag while triggering an operation");
    says(fault({trigger_badly::on_pe, last, 3, 1u << 30}), "triggered more often than its rounds allow");
    EXPECT_THROW(tags.trigger(0, 3), usage_error);  // no session goes on
}

TEST_P(triggers_misuse_test, LanesThatPrepareWhatCannotBeEndTheRun) {
    runtime rt(job());
    const auto array = rt.allocate<std::uint32_t>(16);
    auto tags = rt.triggers({.tags = 8, .chains = 1});
    const auto fault = [&](const prepare_badly& body) { return thrown<device_fault>([&] { rt.run(body, tags); }); };
    const auto op = trigger_operation::nothing(0);
    says(fault({op, 9}), "no such tag while preparing a triggered operation: tag 9, where there are 0 to 7");
    says(fault({op, 2, 0}), "a threshold that cannot be while preparing a triggered operation: tag 2, threshold 0");
    says(fault({trigger_operation::nothing(12)}), "no such PE while preparing a triggered operation to PE 12");
    says(fault({op.then(12, 0)}), "no such PE while preparing a triggered operation to PE 12");
    says(fault({op.then(0, 11)}), "no such tag while preparing a triggered operation to PE 0: tag 11");
    says(fault({trigger_operation::put(array.ref(), 10, 10, array.ref(), 0, 0)}),
         "elements that do not exist, have been freed, or are out of reach while preparing a triggered operation to PE "
         "0: tag 2");
    tags.prepare(0, 2, 1, op);
    says(fault({op}), "the tag has an operation already while preparing a triggered operation: tag 2");
}

TEST_P(triggers_misuse_test, FreedMemoryIsNeverTouched) {
    enum : std::uint8_t { source, target, signal };
    for (const auto freed : {source, target, signal}) {
        runtime rt(unhurried_job());
        std::optional<symmetric_array<std::uint32_t>> from(rt.allocate<std::uint32_t>(16));
        std::optional<symmetric_array<std::uint32_t>> to(rt.allocate<std::uint32_t>(16));
        std::optional<symmetric_array<std::uint64_t>> arrived(rt.allocate<std::uint64_t>(1));
        auto tags = rt.triggers({.tags = 8});
        const int last = rt.n_pes() - 1;
        tags.prepare(0, 2, 1, trigger_operation::put(from->ref(), 0, 4, to->ref(), 8, last).signal(arrived->ref()[0]));
        if (freed == source) from.reset();
        if (freed == target) to.reset();
        if (freed == signal) arrived.reset();
        SCOPED_TRACE(freed);
        says(thrown<device_fault>([&] {
                 rt.run(trigger_once{2, 1, 0}, tags);
             }),
             "elements that do not exist, have been freed, or are out of reach while triggering an operation to PE " +
                 std::to_string(last) + ": tag 2");
        // Neither has what is still there changed.
        if (freed != target) {
            EXPECT_EQ(to->copy_out(last), std::vector<std::uint32_t>(16));
        }
        if (freed != signal) {
            EXPECT_EQ(arrived->copy_out(last)[0], 0u);
        }
    }
}

/// A message whose handler takes the operation from the tag that has posted it, whose round goes on, or gives it one.
struct meddle {
    std::uint32_t prepares;
};
struct meddle_with_tag {
    trigger_ref tags;
    symmetric_ref<std::uint64_t> refused;  ///< how often
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const meddle& m) const {
        trigger_rounds<Ctx> rounds(ctx, tags);
        trigger_preparation<Ctx> preparation(rounds);
        if (m.prepares != 0) {
            (void)preparation.prepare(ctx, 0, 1, trigger_operation::nothing(0), firing::once, [] {});
        } else if (!preparation.disarm(ctx, 0)) {
            atomic_add(ctx, refused[0], 1);
        }
    }
};

TEST_P(triggers_misuse_test, TagsKeepTheirOperationWhileARoundIsOpen) {
    for (const firing how : {firing::once, firing::each_round}) {
        runtime rt(unhurried_job());
        const auto refused = rt.allocate<std::uint64_t>(1);
        const auto plain = rt.triggers({.tags = 2});
        const auto box = rt.mailbox<meddle>(meddle_with_tag{plain.tags(), refused.ref()});
        auto tags = plain.with(followed(box));
        const auto op = trigger_operation::nothing(0);
        tags.prepare(0, 0, 1, op.start(meddle{0}).when_done(), how);
        rt.run(trigger_once{0, 1, 0}, tags, box);
        EXPECT_EQ(refused.copy_out(0)[0], 1u);
        EXPECT_TRUE(tags.disarm(0, 0));  // the round is over
        tags.prepare(0, 0, 1, op.start(meddle{1}).when_done(), how);
        says(thrown<device_fault>([&] {
                 rt.run(trigger_once{0, 1, 0}, tags, box);
             }),
             "the tag has an operation already while preparing a triggered operation: tag 0");
        EXPECT_NO_THROW(rt.run(do_nothing{}, tags, box));
        EXPECT_TRUE(tags.disarm(0, 0));
        EXPECT_EQ(refused.copy_out(0)[0], 1u);
    }
}

TEST_P(triggers_misuse_test, TriggersFromOutsideBelongToOneProcess) {
    runtime rt(job());
    auto tags = rt.triggers({.tags = 8});
    if (rt.machine().n_processes() == 1) {
        EXPECT_NO_THROW((void)tags.outside(0, 3));
    } else {
        EXPECT_EQ(thrown<usage_error>([&] { (void)tags.outside(0, 3); }),
                  "tag 3 of PE 0: triggers from outside belong to a job of one process");
        EXPECT_EQ(thrown<usage_error>([&] { (void)rt.start(tags); }), "a session belongs to a job of one process");
    }
}

TEST_P(triggers_misuse_test, DeadlinesNameTagCountAndThreshold) {
    options o = job();
    if (!is_checked(GetParam())) o.timeout_seconds = 3;  // other PEs say so a sixteenth later, and know less
    runtime rt(o);
    auto tags = rt.triggers({.tags = 8});
    tags.prepare(0, 2, 4, trigger_operation::nothing(0));
    rt.run(trigger_once{2, 3, 0}, tags);
    says(thrown<timeout_error>([&] {
             rt.run(wait_for_rounds{2, 1}, tags);
         }),
         "deadline passed while triggering an operation: tag 2, 3 of 4 triggers; the deadline is");
}

/// Changes the source of an operation that it has triggered, before or after it knows that it is done.
struct change_source {
    symmetric_ref<std::uint32_t> from;
    bool waits;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.rank() != 0) return;
        from.local(ctx)[0] = 1;
        if (triggers.trigger(ctx, 0) != status::ok) return;
        if (waits && triggers.wait_fired(ctx, 0, 1) != status::ok) return;
        from.local(ctx)[0] = 2;
    }
};

TEST_P(triggers_misuse_test, CheckedDevicesTellOfSourcesThatChangeTooEarly) {
    if (!is_checked(GetParam())) return;
    int told = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        options o = job();
        o.seed = seed;
        runtime rt(o);
        const auto from = rt.allocate<std::uint32_t>(8), to = rt.allocate<std::uint32_t>(8);
        auto tags = rt.triggers({.tags = 2, .alone_bytes = 0});
        tags.prepare(0, 0, 1, trigger_operation::put(from.ref(), 0, 8, to.ref(), 0, rt.n_pes() - 1));
        if (seed % 2 == 0) {
            EXPECT_NO_THROW(rt.run(change_source{from.ref(), true}, tags));
            continue;
        }
        // Where the lane's own warp carries the operation out, its change comes before.
        try {
            rt.run(change_source{from.ref(), false}, tags);
        } catch (const usage_error& e) {
            ++told;
            says(e.what(), "no order between two accesses to word ");
        }
    }
    EXPECT_GT(told, 0);
}

/// Whatever is triggered, no message leaves the queue of those that are forwarded.
TEST_P(triggers_misuse_test, MessagesThatFindNoRoomAreNamed) {
    options o = job();
    o.forward_slots = 2;
    o.fault = injected_fault::stuck_forward;
    runtime rt(o);
    const auto to = rt.allocate<std::uint32_t>(1);
    const auto counts = rt.allocate<std::uint64_t>(2);
    const auto box = rt.mailbox<word>(count_word{to.ref(), counts.ref()});
    auto tags = rt.triggers({.tags = 8}).with(box);
    const int pe = pe_with(o, injected_fault::stuck_forward);
    for (std::uint32_t tag = 0; tag < 3; ++tag) {
        tags.prepare(pe, tag, 1, trigger_operation::nothing(pe).start(word{0}));
    }
    tags.prepare(pe, 3, 1, trigger_operation::nothing(pe).then(pe, 0).then(pe, 1));
    const std::string what = thrown<timeout_error>([&] { rt.run(trigger_once{3, 1, pe}, tags, box); });
    // One message has gone into the queue. Who says so may be another PE, which sees that the run goes on.
    says(what, " of PE " + std::to_string(pe) + " finds no room for what it starts");
    if (rt.n_pes() == 1)
        says(what, "deadline passed while waiting for room to start what was triggered for PE 0: tag ");
}

TEST_P(triggers_misuse_test, MailboxesOfAnotherRuntimeAreRefused) {
    runtime rt(job()), other(job());
    const auto box = other.mailbox<go>(trigger_handler{});
    const auto plain = rt.triggers({.tags = 2});
    EXPECT_EQ(thrown<usage_error>([&] { (void)plain.with(box); }), "a mailbox belongs to the runtime that has made it");
    const auto own = rt.mailbox<go>(trigger_handler{plain.tags()});
    auto tags = plain.with(own);
    EXPECT_EQ(thrown<usage_error>([&] { tags.prepare(0, 7, 1, trigger_operation::nothing(0).start(go{})); }),
              "tag 7 of PE 0: no such tag, where there are 0 to 1");
    EXPECT_THROW((void)plain.with(own), usage_error);
    EXPECT_THROW(rt.run(trigger_once{0}, tags, box), usage_error);
    EXPECT_EQ(thrown<usage_error>([&] { rt.run(trigger_once{0}, plain, own); }),
              "triggers that start messages or tasks: the run or session gets what with() has returned");
}

/// Handlers are found by the type of a message, so the mailbox must be the one that answers to it.
TEST_P(triggers_misuse_test, MailboxesThatOthersStandForAreRefused) {
    runtime rt(job());
    const auto to = rt.allocate<std::uint32_t>(1);
    const auto counts = rt.allocate<std::uint64_t>(2), elsewhere = rt.allocate<std::uint64_t>(2);
    const auto box = rt.mailbox<word>(count_word{to.ref(), counts.ref()});
    const auto other = rt.mailbox<word>(count_word{to.ref(), elsewhere.ref()});
    auto tags = rt.triggers({.tags = 2}).with(followed(box));
    auto plain = rt.triggers({.tags = 2}).with(box);
    const std::string absent = "triggers post messages of a mailbox that is not part of the same run or session";
    EXPECT_EQ(thrown<usage_error>([&] { rt.run(trigger_once{0}, tags, other); }), absent);
    EXPECT_EQ(thrown<usage_error>([&] { rt.run(trigger_once{0}, plain, other); }), absent);
    EXPECT_EQ(thrown<usage_error>([&] { (void)rt.start(tags, other); }), absent);
    const auto behind = [&](auto& triggers) {
        return thrown<usage_error>([&] { rt.run(trigger_once{0}, triggers, other, box); });
    };
    for (const std::string& what : {behind(tags), behind(plain)}) {
        EXPECT_EQ(what,
                  "triggers post messages of a mailbox that stands behind another component with the same types of "
                  "message: let it come first");
    }
    const auto copy = box;
    EXPECT_EQ(thrown<usage_error>([&] { rt.run(do_nothing{}, box, copy); }),
              "a component may be given to a run once only");
    tags.prepare(0, 0, 1, trigger_operation::nothing(0).start(word{0}).when_done());
    plain.prepare(0, 0, 1, trigger_operation::nothing(0).start(word{0}));
    rt.run(trigger_once{0, 1, 0}, tags, copy, other);
    rt.run(trigger_once{0, 1, 0}, plain, box, other);
    EXPECT_EQ(counts.copy_out(0)[0], 2u);
    EXPECT_EQ(elsewhere.copy_out(0)[0], 0u);
}

#if !defined(__CUDACC__)
struct throw_at_word {
    template <class Ctx>
    void operator()(Ctx&, const word&) const {
        throw std::runtime_error("no word");
    }
};
TEST_P(triggers_misuse_test, FollowedHandlersAreNamedAsOthersAre) {
    runtime rt(unhurried_job());
    const auto first = rt.mailbox<go>(trigger_handler{});
    const auto box = rt.mailbox<word>(throw_at_word{});
    auto tags = rt.triggers({.tags = 2}).with(followed(box));
    const auto op = trigger_operation::nothing(0).start(word{0});
    tags.prepare(0, 0, 1, op.when_done());
    tags.prepare(0, 1, 1, op);
    for (std::uint32_t tag = 0; tag < 2; ++tag) {
        says(thrown<lane_error>([&] {
                 rt.run(trigger_once{tag, 1, 0}, tags, first, box);
             }),
             "exception in the handler of message type 2 while serving PE 0: no word");
        if (tag == 0) {
            EXPECT_FALSE(tags.disarm(0, tag));  // what its round has started has no end
        }
    }
}
#endif

INSTANTIATE_TEST_SUITE_P(devices, triggers_misuse_test, testing::ValuesIn(trigger_devices()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(triggers_misuse_test);

}  // namespace
}  // namespace laneway::test
