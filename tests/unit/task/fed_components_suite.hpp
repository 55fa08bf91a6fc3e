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

#include "laneway/channel_graph.hpp"
#include "laneway/task/task_pool.hpp"
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

struct fed_letter {
    std::uint64_t value;
};
struct count_fed_letter {
    symmetric_ref<std::uint64_t> count;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const fed_letter& l) const {
        atomic_add(ctx, count[0], l.value);
    }
};
/// The inboxes of a session, by a mailbox.
struct inbox_case {
    static constexpr bool belongs = true, alone = true;
    explicit inbox_case(runtime& rt) : count_(rt), box_(rt.mailbox<fed_letter>(count_fed_letter{count_.ref()})) {}
    [[nodiscard]] auto& part() { return box_; }
    template <class Session>
    void feed(Session& session, std::uint64_t n) {
        for (int pe = 0; pe < count_.pes(); ++pe) {
            for (std::uint64_t i = 0; i < n; ++i) session.post(pe, fed_letter{1});
        }
    }
    void check(std::uint64_t n) const { count_.expect_each(n); }

private:
    worker_count count_;
    mailbox_handle<routes<route<fed_letter, count_fed_letter>>> box_;
};

struct count_task {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    symmetric_ref<std::uint64_t> count;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& i) const {
        if (ctx.lane() == 0) atomic_add(ctx, count[0], 1);
        return 3 * i;
    }
};
/// Its tasks go to whichever PE has room.
struct pool_case {
    static constexpr bool belongs = false, alone = false;
    explicit pool_case(runtime& rt) : count_(rt), pool_(count_task{count_.ref()}) {}
    [[nodiscard]] auto& part() { return pool_; }
    template <class Session>
    void feed(Session&, std::uint64_t n) {
        for (std::uint64_t i = 0; i < n * static_cast<unsigned>(count_.pes()); ++i) {
            auto made = pool_.submit<count_task>(i);
            if (i % 3 != 0) continue;
            EXPECT_EQ(made.get(), 3 * i);
        }
    }
    void check(std::uint64_t n) const { count_.expect_all(n * static_cast<unsigned>(count_.pes())); }
    void feed_without() { (void)pool_.submit<count_task>(1); }

private:
    worker_count count_;
    task_pool<count_task> pool_;
};

struct count_element {
    using element = std::uint64_t;
    symmetric_ref<std::uint64_t> count;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const std::uint64_t& n, channel_node&) const {
        atomic_add(ctx, count[0], n);
    }
};
struct channels_case {
    static constexpr bool belongs = true, alone = true;
    using service_type = channel_service<deepest_or_fullest_first, count_element>;
    explicit channels_case(runtime& rt)
        : count_(rt), graph_(rt), numbers_(graph_.channel<std::uint64_t>(8)), service_(made()) {}
    [[nodiscard]] auto& part() { return service_; }
    template <class Session>
    void feed(Session&, std::uint64_t n) {
        for (int pe = 0; pe < count_.pes(); ++pe) {
            for (std::uint64_t i = 0; i < n; ++i) service_.enqueue(numbers_, 1, pe);
        }
    }
    void check(std::uint64_t n) const { count_.expect_each(n); }
    void feed_without() { service_.enqueue(numbers_, 1, 0); }

private:
    service_type made() {
        const auto kernel = graph_.kernel(count_element{count_.ref()});
        graph_.connect(numbers_, kernel);
        return graph_.service(kernel);
    }
    worker_count count_;
    channel_graph graph_;
    channel<std::uint64_t> numbers_;
    service_type service_;
};

struct service_case {
    static constexpr bool belongs = true, alone = true;
    explicit service_case(runtime& rt) : count_(rt), served_(rt.machine(), small()) {}
    [[nodiscard]] auto& part() { return served_; }
    template <class Session>
    void feed(Session& session, std::uint64_t n) {
        service_client client(session, served_);
        all_ += n;
        for (int pe = 0; pe < count_.pes(); ++pe) {
            for (std::uint64_t i = 1; i < n; ++i) client.add(count_.ref()[0], pe, 1);
            EXPECT_LT(client.fetch_add(count_.ref()[0], pe, 1), all_);
        }
    }
    void check(std::uint64_t n) const { count_.expect_each(n); }

private:
    static service_options small() {
        service_options o;
        o.server_share = 0.001;  // one block
        return o;
    }
    worker_count count_;
    std::uint64_t all_ = 0;  ///< that each PE has been asked for
    service<> served_;
};

struct remote_case {
    static constexpr bool belongs = true, alone = false;
    explicit remote_case(runtime& rt)
        : count_(rt), lanes_(rt.allocate<std::uint64_t>(2)),
          remote_(rt.machine(), mark_warp{count_.ref(), lanes_.ref()}) {}
    [[nodiscard]] auto& part() { return remote_; }
    template <class Session>
    void feed(Session&, std::uint64_t n) {
        for (int pe = 0; pe < count_.pes(); ++pe) {
            for (std::uint64_t i = 1; i < n; ++i) remote_.template post<mark_warp>(pe, 0);
            remote_.template call<mark_warp>(pe, 0);
        }
    }
    void check(std::uint64_t n) const { count_.expect_each(n); }
    void feed_without() { remote_.template post<mark_warp>(0, 0); }

private:
    worker_count count_;
    symmetric_array<std::uint64_t> lanes_;
    remote_queue<mark_warp> remote_;
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

using fed_cases = testing::Types<inbox_case, pool_case, channels_case, service_case, remote_case>;
INSTANTIATE_TYPED_TEST_SUITE_P(fed, fed_component_test, fed_cases);

}  // namespace
}  // namespace laneway::test
