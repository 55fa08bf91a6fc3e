// Sessions with a body: its lanes use two mailboxes, a worklist and collectives at once, and host threads feed what
// they leave behind.
#pragma once

#include <thread>

#include "unit/run/component_job.hpp"
#include "unit/run/path_graph.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

/// Where lanes count.
enum session_count : std::uint64_t { from_ups, from_downs, bodies, wrong, session_counts };

/// Tells how much has come up.
struct how_much {
    std::uint64_t added;
};
struct tell_how_much {
    using answer = std::uint64_t;
    symmetric_ref<std::uint64_t> counts;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const how_much& asked) const {
        return atomic_add(ctx, counts[from_ups], 0) + asked.added;
    }
};

/// What a lane proposes, which the host knows as well.
struct lane_proposals {
    std::uint64_t vertices;
    [[nodiscard]] LANEWAY_FN proposal<std::uint32_t> of(std::uint64_t rank) const {
        return {rank * 7 % vertices, 3 + static_cast<std::uint32_t>(rank % 5)};
    }
};

/// Each lane posts by both mailboxes, proposes a key, and adds up with all others who they are and what has come.
struct use_all {
    symmetric_ref<std::uint64_t> counts;
    lane_proposals proposals;
    template <class Ctx, class Ups, class Downs, class List, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Ups& ups, Downs& downs, List& list, Sums& sums) const {
        atomic_add(ctx, counts[bodies], 1);
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        (void)ups.post(ctx, next, up{ctx.rank() + 1});
        (void)downs.post(ctx, next, down{ctx.rank() + 1});
        list.propose(ctx, proposals.of(ctx.rank()));
        const auto ranks = sums.all_reduce(ctx, ctx.rank() + 1, reduction::sum{});
        if (!ranks || downs.barrier(ctx) != status::ok) return;
        const bool speaks = ctx.local_rank() == 0;
        const std::uint64_t here = speaks ? ctx.load(counts.local(ctx) + from_downs, order::relaxed, scope::device) : 0;
        const auto come = sums.all_reduce(ctx, here, reduction::sum{});
        if (!come) return;
        const bool right = ranks.value == ctx.size() * (ctx.size() + 1) / 2 && come.value == ranks.value;
        if (!right) atomic_add(ctx, counts[wrong], 1);
    }
};

class session_body_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static std::uint64_t seeds() { return is_checked(GetParam()) ? rounds_of(GetParam()) : 3; }
};

/// Such a session, and what must have come of it.
class mixed_session {
public:
    explicit mixed_session(runtime& rt)
        : rt_(rt), graph_(rt), list_(graph_.list(rt.machine())), sums_(rt.collectives()),
          counts_(rt.allocate<std::uint64_t>(session_counts)), keys_(graph_.vertices) {}

    void use() {
        const auto ref = counts_.ref();
        const auto ups = rt_.mailbox<up, how_much>(add_to{ref, from_ups}, tell_how_much{ref});
        const auto downs = rt_.mailbox<down>(add_to{ref, from_downs});
        const lane_proposals proposals{graph_.vertices};
        auto session = rt_.start(use_all{ref, proposals}, ups, downs, list_, sums_);
        EXPECT_EQ(thrown<usage_error>([&] { rt_.run(sums_); }),
                  "the collectives belong to a session that has not been stopped");
        feed(session, 1);
        const std::uint64_t lanes = count(bodies);
        EXPECT_GE(lanes, static_cast<std::uint64_t>(rt_.n_pes()));
        for (std::uint64_t rank = 0; rank < lanes; ++rank) {
            const auto made = proposals.of(rank);
            keys_.propose(made.head, made.key);
        }
        by_lanes_ = lanes * (lanes + 1) / 2;
        check(lanes);
        session.release();
        feed(session, 2);  // the program comes back, without the body
        check(lanes);
        const run_report report = session.stop();
        EXPECT_EQ(report.posted, report.direct + report.carried);
        EXPECT_EQ(report.carried, report.served);
        EXPECT_GE(report.posted, 2 * lanes + posts_ + calls_);
        rt_.run(list_, sums_);  // they are free again
    }

private:
    static constexpr std::uint64_t posts_a_thread = 6;

    /// Two threads post and propose, a third one calls.
    template <class Session>
    void feed(Session& session, std::uint64_t epoch) {
        const auto n = static_cast<std::uint64_t>(rt_.n_pes());
        std::vector<std::thread> threads;
        for (std::uint64_t t = 0; t < 2; ++t) {
            threads.emplace_back([&, t] {
                for (std::uint64_t i = 0; i < posts_a_thread; ++i) {
                    const int pe = static_cast<int>((t + i) % n);
                    session.post(pe, up{epoch + i});
                    session.post(pe, down{100 * epoch + t});
                    session.post(list_.proposal(vertex(t, i), key(epoch, t)));
                }
            });
            for (std::uint64_t i = 0; i < posts_a_thread; ++i) {
                ups_ += epoch + i;
                downs_ += 100 * epoch + t;
                keys_.propose(vertex(t, i), key(epoch, t));
                posts_ += 3;
            }
        }
        threads.emplace_back([&] {
            for (int pe = 0; pe < rt_.n_pes(); ++pe) EXPECT_GE(session.call(pe, how_much{9}), 9u);
        });
        for (auto& thread : threads) thread.join();
        calls_ += n;
        session.quiesce();
        std::uint64_t told =
            0;  // while the program stays: a copy would wait until nothing is left, whatever quiesce did
        for (int pe = 0; pe < rt_.n_pes(); ++pe) told += session.call(pe, how_much{0});
        calls_ += n;
        EXPECT_EQ(told, count(from_ups));
    }
    [[nodiscard]] std::uint64_t vertex(std::uint64_t t, std::uint64_t i) const {
        return (11 * i + 5 * t) % graph_.vertices;
    }
    [[nodiscard]] static std::uint32_t key(std::uint64_t epoch, std::uint64_t t) {
        return static_cast<std::uint32_t>(12 - 4 * epoch + t);
    }
    [[nodiscard]] std::uint64_t count(session_count which) const { return total(counts_, rt_.n_pes(), which); }
    void check(std::uint64_t lanes) const {
        EXPECT_EQ(count(bodies), lanes) << "a body has run again";
        EXPECT_EQ(count(wrong), 0u);
        EXPECT_EQ(count(from_ups), by_lanes_ + ups_);
        EXPECT_EQ(count(from_downs), by_lanes_ + downs_);
        keys_.expect(rt_, list_);
    }

    runtime& rt_;
    path_graph graph_;
    worklist<std::uint32_t, path_arcs> list_;
    collectives_component sums_;
    symmetric_array<std::uint64_t> counts_;
    path_keys keys_;
    std::uint64_t by_lanes_ = 0, ups_ = 0, downs_ = 0, posts_ = 0, calls_ = 0;
};

TEST_P(session_body_test, TwoMailboxesAWorklistCollectivesAndTheInboxAtOnce) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        options o = options_for(GetParam(), seed);
        o.lease_seconds = 0;
        o.gpu_blocks = 8;
        runtime rt(o);
        ASSERT_NO_THROW(mixed_session(rt).use());
        if (HasFailure()) return;
    }
}

/// Only the lane that speaks comes: the others of its PE have returned.
struct meet_alone {
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
        if (ctx.rank() < static_cast<std::uint64_t>(Ctx::warp_lanes)) (void)sums.barrier(ctx);
    }
};
struct meet_once {
    symmetric_ref<std::uint64_t> counts;
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
        if (sums.barrier(ctx) == status::ok) atomic_add(ctx, counts[0], 1);
    }
};

TEST_P(session_body_test, ABodyThatMeetsUnevenlyFailsTheSessionAndTheCollectivesWorkInTheNext) {
    options o = options_for(GetParam());
    o.lease_seconds = 0;
    o.cpu_threads = 2;
    o.gpu_blocks = 4;
    runtime rt(o);
    const auto met = rt.allocate<std::uint64_t>(1);
    auto sums = rt.collectives();
    {
        auto session = rt.start(meet_alone{}, sums);
        EXPECT_THROW(session.quiesce(), device_fault);
        EXPECT_THROW(session.stop(), device_fault);
    }
    auto session = rt.start(meet_once{met.ref()}, sums);
    session.quiesce();
    session.stop();
    EXPECT_GT(total(met, rt.n_pes(), 0), 0u);
}

TEST_P(session_body_test, CollectivesOfAnotherRuntimeAreRefused) {
    runtime rt(options_for(GetParam())), other(options_for(GetParam()));
    const auto met = rt.allocate<std::uint64_t>(1), here = other.allocate<std::uint64_t>(1);
    auto sums = rt.collectives();
    EXPECT_EQ(thrown<usage_error>([&] { (void)other.start(meet_once{here.ref()}, sums); }),
              "collectives belong to the runtime that has made them");
    rt.run(meet_once{met.ref()}, sums);
    EXPECT_GT(total(met, rt.n_pes(), 0), 0u);
}

/// Posts a message for each index that its warp takes, in two rounds.
struct post_indices {
    template <class Ctx, class Indices, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Indices& indices, Box& box) const {
        for (std::uint32_t round = 0; round < 2; ++round) {
            indices.for_each(
                ctx, [&](std::uint64_t i) { (void)box.post(ctx, static_cast<int>(i) % ctx.n_pes(), up{i + 1}); },
                round);
            if (box.barrier(ctx) != status::ok) return;
        }
    }
};

TEST_P(session_body_test, ABodyTakesIndicesAndASessionThatComesBackHandsOutNoMore) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        options o = options_for(GetParam(), seed);
        o.lease_seconds = 0;
        o.gpu_blocks = 8;
        runtime rt(o);
        const auto sum = rt.allocate<std::uint64_t>(1);
        const auto box = rt.mailbox<up>(add_to{sum.ref(), 0});
        constexpr std::uint64_t n = 100, all = n * (n + 1);  // of both rounds
        index_space indices(n);
        for (std::uint64_t sessions = 1; sessions <= 2; ++sessions) {
            auto session = rt.start(post_indices{}, indices, box);
            EXPECT_EQ(thrown<usage_error>([&] { rt.run(post_indices{}, indices, box); }),
                      "the index space belongs to a session that has not been stopped");
            session.post(0, up{1000});
            session.release();
            session.post(0, up{1000});  // the program comes back, without the body
            session.quiesce();
            EXPECT_EQ(total(sum, rt.n_pes(), 0), sessions * (all + 2000));
            session.stop();
        }
        rt.run(post_indices{}, indices, box);  // it is free again
        EXPECT_EQ(total(sum, rt.n_pes(), 0), 2 * (all + 2000) + all);
    }
}

/// Each lane posts what is answered, and returns: nobody waits for the answer.
struct ask_and_return {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), how_much{1});
    }
};

TEST_P(session_body_test, ABodyMayReturnWhileItsCallsAreOpen) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        options o = options_for(GetParam(), seed);
        o.lease_seconds = 0;
        o.gpu_blocks = 8;
        runtime rt(o);
        const auto counts = rt.allocate<std::uint64_t>(session_counts);
        const auto box = rt.mailbox<up, how_much>(add_to{counts.ref(), from_ups}, tell_how_much{counts.ref()});
        auto session = rt.start(ask_and_return{}, box);
        std::vector<std::thread> threads;  // their calls are open while bodies return
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            threads.emplace_back([&, pe] { EXPECT_EQ(session.call(pe, how_much{7}), 7u); });
        }
        for (auto& thread : threads) thread.join();
        const epoch_report epoch = session.quiesce();
        EXPECT_EQ(epoch.posted, static_cast<std::uint64_t>(rt.n_pes()));
        EXPECT_EQ(epoch.carried, epoch.served);
        const run_report report = session.stop();
        EXPECT_EQ(report.posted, report.direct + report.carried);
        EXPECT_EQ(report.carried, report.served);
    }
}

LANEWAY_ON_DEVICES(session_body_test, device_lists());

}  // namespace
}  // namespace laneway::test
