// Item worklists: every item is done once on the PE that its routes name, in every mode, and the account adds up; also
// where queues are too short by far.
#pragma once

#include <thread>

#include "laneway/runtime.hpp"
#include "unit/flow/item_trees.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

inline void expect_work(const item_work& found, const item_work& expected) {
    EXPECT_EQ(found.started, expected.started);
    EXPECT_EQ(found.done, expected.done);
    EXPECT_EQ(found.useful, expected.useful);
    EXPECT_EQ(found.kept, expected.kept);
    EXPECT_EQ(found.sent, expected.sent);
    EXPECT_EQ(found.suppressed, expected.suppressed);
    EXPECT_EQ(found.dropped, expected.dropped);
    EXPECT_EQ(found.arrived, expected.arrived);
    EXPECT_EQ(found.accepted, expected.accepted);
    EXPECT_EQ(found.refused, expected.refused);
    EXPECT_EQ(found.passed_on, expected.passed_on);
}

/// The same options with chunks of one to five items: the least that options_of chooses would not hold one.
inline options wider(options o) {
    o.chunk_bytes *= 2;
    return o;
}

/// A list of trees on a runtime.
class tree_job {
public:
    tree_job(runtime& rt, const tree_rules& rules, const item_worklist_options& options)
        : rt_(rt), rules_(rules), list_(rt.machine(), applications(), options) {}

    void start(int pe, std::uint64_t key) {
        starts_.emplace_back(pe, tree_item{key, rules_.depth});
        list_.start_with(pe, {starts_.back().second});
    }
    run_report run_and_compare() {
        for (auto& sums : sums_) sums.fill_bytes(0);
        return compare(run_items(rt_, list_));
    }
    /// The items of a session, some of which host threads give while it goes on, `of_host` each time after an epoch.
    template <class Start>
    run_report feed_and_compare(int epochs, std::uint64_t of_host, Start&& next) {
        for (auto& sums : sums_) sums.fill_bytes(0);
        auto session = rt_.start(list_);
        for (int epoch = 0; epoch < epochs; ++epoch) {
            std::vector<std::thread> threads;
            for (std::uint64_t i = 0; i < of_host; ++i) {
                const auto [pe, key] = next();
                starts_.emplace_back(pe, tree_item{key, rules_.depth});
                threads.emplace_back(
                    [&, start = starts_.back()] { session.post(list_.proposal(start.first, start.second)); });
            }
            for (auto& t : threads) t.join();
            if (epoch % 2 == 1) session.release();  // the next items bring the program back
        }
        return compare(session.stop());
    }

private:
    run_report compare(const run_report& report) {
        const expected_tree expected(rules_, starts_, rt_.n_pes());
        expect_work(list_.work(), expected.work);
        EXPECT_EQ(report.items, expected.work.done);
        for (std::size_t pe = 0; pe < sums_.size(); ++pe) {
            const tree_sums found = sums_[pe].copy_out()[0];
            EXPECT_EQ(found.keys, expected.sums[pe].keys) << "PE " << pe;
            EXPECT_EQ(found.parts, expected.sums[pe].parts) << "PE " << pe;
            EXPECT_EQ(found.damaged, 0u);
        }
        starts_.clear();
        return report;
    }

public:
    [[nodiscard]] item_worklist<tree_application>& list() { return list_; }

private:
    std::vector<tree_application> applications() {
        std::vector<tree_application> all;
        for (int pe = 0; pe < rt_.n_pes(); ++pe) {
            sums_.emplace_back(rt_.machine().device(pe), 1);
            all.push_back({rules_, sums_.back().data()});
        }
        return all;
    }

    runtime& rt_;
    tree_rules rules_;
    std::vector<buffer<tree_sums>> sums_;
    item_worklist<tree_application> list_;
    std::vector<std::pair<int, tree_item>> starts_;
};

class item_worklist_test : public testing::TestWithParam<std::string> {
protected:
    /// Modes change from round to round: priorities or none, one run or waves, room for all or for next to nothing.
    static item_worklist_options list_options(std::uint64_t round) {
        item_worklist_options o;
        o.priorities = round % 2 == 0;
        o.fused = round % 3 != 2;
        o.policy = {1 + round % 20, 1 + round % 7, round % 4};
        o.items = round % 4 < 2 ? 2048 : 3 + round % 5;
        o.reserve_items = round % 4 == 3 ? 2 : 8192;
        return o;
    }
};

TEST_P(item_worklist_test, EveryItemIsDoneOnceWhereItBelongs) {
    std::uint64_t spilled = 0, waves = 0, rises = 0;
    every_fourth_round(
        GetParam(),
        [&](const options& o) {
            runtime rt(wider(o));
            tree_job job(rt, is_checked(GetParam()) ? tree_rules{2, 3, 2} : tree_rules{3, 40, 5}, list_options(o.seed));
            for (int run = 0; run < (o.seed % 4 == 0 ? 2 : 1); ++run) {  // the second one finds nothing of the first
                for (std::uint64_t i = 0; i < 3; ++i)
                    job.start(static_cast<int>((o.seed + i) % static_cast<unsigned>(rt.n_pes())), o.seed * 7 + i);
                job.run_and_compare();
                spilled += job.list().work().spilled;
                rises += job.list().work().rises;
                if (!job.list().options().fused) waves += job.list().work().waves;
            }
        },
        4);
    if (GetParam() == "checked:1") return;  // too few rounds to meet all of it
    EXPECT_GT(spilled, 0u);
    EXPECT_GT(waves, 2u);
    EXPECT_GT(rises, 0u);
}

/// Where queues are short their positions go round several times.
TEST_P(item_worklist_test, RunsGoOnWhereTheOneBeforeHasEnded) {
    every_fourth_round(GetParam(), [&](const options& o) {
        runtime rt(wider(o));
        item_worklist_options list = list_options(o.seed);
        list.items = 16;  // room for what a run starts with
        tree_job job(rt, {2, 3, 2}, list);
        std::uint64_t before = 0;
        for (std::uint64_t run = 1; run <= 6; ++run) {
            const auto pes = static_cast<unsigned>(rt.n_pes());
            for (std::uint64_t i = 0; i < 1 + run % 5; ++i)
                job.start(static_cast<int>(i % pes), o.seed * 7 + 100 * run + i);
            job.run_and_compare();
            EXPECT_LE(job.list().work().spilled, job.list().work().done) << "of this run";
            if (run > 1) {
                EXPECT_EQ(fills(rt), before + pes) << "the job's own sums";
            }
            before = fills(rt);
        }
        // Those of PE 0 are in its queues when the last PE turns out to have no room.
        job.list().start_with(0, {{1, 1}});
        job.list().start_with(rt.n_pes() - 1, std::vector<tree_item>(1 << 20));
        EXPECT_THROW((void)run_items(rt, job.list()), usage_error);
        job.run_and_compare();
    });
}

TEST_P(item_worklist_test, OneItemOfManyPartsIsSharedOut) {
    for (std::uint64_t round = 0; round < (is_checked(GetParam()) ? 1u : 6u); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", round " + std::to_string(round));
        options o = wider(options_of(GetParam(), round));
        o.timeout_seconds = 60;
        runtime rt(o);
        item_worklist_options list = list_options(round);
        list.reserve_items = 1 << 18;
        tree_job job(rt, {1, is_checked(GetParam()) ? 701u : 20'011u, 1}, list);
        job.start(0, 11);
        job.run_and_compare();
        if (HasFailure()) return;
    }
}

TEST_P(item_worklist_test, NothingToDoEndsAtOnce) {
    runtime rt(wider(options_of(GetParam(), 1)));
    for (const bool fused : {true, false}) {
        item_worklist_options list = list_options(0);
        list.fused = fused;
        tree_job job(rt, {}, list);
        job.run_and_compare();
        EXPECT_EQ(job.list().work().waves, 1u);
    }
}

TEST_P(item_worklist_test, HostThreadsOfASessionGiveItems) {
    const bool checked = is_checked(GetParam());
    for (std::uint64_t round = 0; round < (checked ? 1u : 4u); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", round " + std::to_string(round));
        options o = wider(options_of(GetParam(), round));
        o.timeout_seconds = 60;
        o.lease_seconds = round % 2 == 0 ? 0 : 1e-6;
        runtime rt(o);
        item_worklist_options list = list_options(round);
        list.fused = true;
        tree_job job(rt, checked ? tree_rules{2, 3, 2} : tree_rules{3, 20, 3}, list);
        std::uint64_t given = 0;
        const auto next = [&] {
            ++given;
            return std::pair{static_cast<int>(given) % rt.n_pes(), 100 * round + given};
        };
        job.start(0, 7);
        job.feed_and_compare(3, 3, next);
        job.start(0, 8);
        job.run_and_compare();
        EXPECT_THROW((void)job.list().proposal(rt.n_pes(), {}), usage_error);
        if (HasFailure()) return;
    }
    runtime rt(options_of(GetParam(), 1));
    tree_job waves(rt, {}, list_options(2));
    EXPECT_THROW((void)rt.start(waves.list()), usage_error);
}

LANEWAY_ON_DEVICES(item_worklist_test, device_lists());

}  // namespace laneway::test
