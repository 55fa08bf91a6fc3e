// Item worklists at their limits: queues that fill, PEs that flood each other, work without end, wrong use.
#pragma once

#include "laneway/flow/item_worklist.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {

/// An item says what becomes of it: `parts` more of `kind`.
struct order_item {
    enum class kind : std::uint32_t {
        leaf,     ///< makes nothing
        slow,     ///< the same, in many parts
        to_last,  ///< makes slow leaves for the last PE
        here,     ///< makes leaves for the own PE
        again,    ///< makes itself again, for ever
        outside,  ///< makes an item for a PE that does not exist
        flood,    ///< makes leaves for the own PE, in one part, until it is told that the run is ending
    };
    kind what = kind::leaf;
    std::uint32_t parts = 0;
};

struct order_application : item_defaults<order_item> {
    using kind = order_item::kind;
    std::uint64_t* leaves = nullptr;  ///< done on the PE

    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx& ctx, const order_item& made) const {
        if (made.what == kind::outside) return item_route::pass(ctx.n_pes() + 4);
        const bool is_far = made.what == kind::slow || (made.what == kind::leaf && made.parts == 1);
        return is_far ? item_route::pass(ctx.n_pes() - 1) : item_route::keep();
    }
    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx& ctx, const order_item& one) const {
        if (one.what != kind::leaf && one.what != kind::slow) return item_parts::of(one.parts);
        ctx.fetch_add(leaves, std::uint64_t{1}, order::relaxed, scope::device);
        return one.what == kind::slow ? item_parts::of(one.parts) : item_parts::none();
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const order_item& one, std::uint32_t, List& list) const {
        if (one.what == kind::slow) {
            for (int i = 0; i < 20; ++i) ctx.fetch_add(leaves + 1, std::uint64_t{1}, order::relaxed, scope::device);
            return;
        }
        if (one.what == kind::flood) {
            for (int i = 0; i < 3000; ++i) {
                if (list.push(ctx, order_item{}) == status::ok) continue;
                ctx.fetch_add(leaves + 1, std::uint64_t{1}, order::relaxed, scope::device);
                return;
            }
            return;
        }
        order_item made;
        if (one.what == kind::again) made = one;
        if (one.what == kind::outside) made.what = kind::outside;
        if (one.what == kind::to_last) made = order_item{kind::slow, 16};
        (void)list.push(ctx, made);  // a failure ends the run
    }
};

/// Every lane of a body pushes leaves for the last PE.
struct push_leaves {
    template <class Ctx, class List>
    LANEWAY_FN void operator()(Ctx& ctx, List& list) const {
        for (int i = 0; i < 5; ++i) (void)list.push(ctx, order_item{order_item::kind::leaf, 1});
    }
};

/// Two items, the second one of the greatest priority there is.
struct last_application : item_defaults<std::uint64_t> {
    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx&, std::uint64_t) const {
        return item_route::keep();
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx&, std::uint64_t one) const {
        return one;
    }
    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx&, std::uint64_t one) const {
        return item_parts::of(one == 0 ? 1 : 0);
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, std::uint64_t, std::uint32_t, List& list) const {
        (void)list.push(ctx, ~std::uint64_t{0});
    }
};

class item_limits_test : public testing::TestWithParam<std::string> {
protected:
    using kind = order_item::kind;

    struct job {
        job(const options& o, const item_worklist_options& list_options)
            : rt(o), list(rt.machine(), applications(), list_options) {}

        std::vector<order_application> applications() {
            std::vector<order_application> all;
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                leaves.emplace_back(rt.machine().device(pe), 2);
                order_application made;
                made.leaves = leaves.back().data();
                all.push_back(made);
            }
            return all;
        }
        std::uint64_t leaves_of(int pe) const { return leaves[static_cast<std::size_t>(pe)].copy_out()[0]; }

        runtime rt;
        std::vector<buffer<std::uint64_t>> leaves;
        item_worklist<order_application> list;
    };

    [[nodiscard]] options job_options(std::uint64_t round = 2) const {
        options o = options_of(GetParam(), round);
        o.chunk_bytes = 64;
        if (!is_checked(GetParam())) o.timeout_seconds = 60;
        return o;
    }
    /// `overflow_items`: 0 for the default.
    static item_worklist_options room(std::uint64_t items, std::uint64_t reserve_items,
                                      std::uint64_t overflow_items = 0) {
        item_worklist_options o;
        o.items = items;
        o.reserve_items = reserve_items;
        o.overflow_items = overflow_items;
        o.priorities = false;
        return o;
    }
};

TEST_P(item_limits_test, WhereTheHostMayKeepNoMoreTheErrorNamesIt) {
    bool tells_of_items = false;  // other lanes may have done them all before they heard that the run had failed
    for (std::uint64_t round = 0; round < 20 && (round < 2 || !tells_of_items); ++round) {
        job one(job_options(round), room(4, 8, 4));
        const std::uint32_t many = GetParam() == "checked:1" ? 1500 : 500;  // where others do them nearly as fast
        for (int run = 0; run < 2; ++run) {  // a run that has failed leaves nothing behind
            one.list.start_with(0, {{kind::here, many}});
            const std::string what = thrown<full_worklist>([&] { run_items(one.rt, one.list); });
            EXPECT_EQ(what.rfind("PE 0 (", 0), 0u) << what;
            EXPECT_NE(what.find("no room left while putting an item into the worklist: of "), std::string::npos)
                << what;
            EXPECT_NE(what.find("none is free, see item_worklist_options.items and .overflow_items"), std::string::npos)
                << what;
            tells_of_items = tells_of_items || what.find("items waiting on PE 0: ") != std::string::npos;
        }
        one.leaves[0].fill_bytes(0);
        one.list.start_with(0, {{kind::here, 3}});
        run_items(one.rt, one.list);
        EXPECT_EQ(one.leaves_of(0), 3u);
        EXPECT_EQ(one.list.work().done, 4u);
    }
    EXPECT_TRUE(tells_of_items);
}

// A lane that pushes in a loop could not end it otherwise, and would go on behind the deadline.
TEST_P(item_limits_test, PushTellsThatTheHostMayKeepNoMore) {
    options o = job_options();
    o.cpu_threads = 1;  // which works off nothing meanwhile
    job one(o, room(4, 8, 4));
    one.list.start_with(0, {{kind::flood, 1}});
    bool is_full = false;
    try {
        run_items(one.rt, one.list);
    } catch (const full_worklist&) {
        is_full = true;
    }
    EXPECT_TRUE(is_full || is_checked(GetParam()) || GetParam().starts_with("cuda")) << "others may be as fast";
    EXPECT_EQ(one.leaves[0].copy_out()[1], is_full ? 1u : 0u);
}

// Lanes of the first PE make many times more than the last one has room for, and faster than that does it. The reserve
// holds what is made until the first PE hears of it; without push-back the host would have to. Two blocks of a GPU may
// have 2,048 working lanes, which end their turns then, of 512 parts each.
TEST_P(item_limits_test, SendersWaitForAPeThatUsesItsReserve) {
    const bool checked = is_checked(GetParam()), cuda = GetParam().starts_with("cuda");
    options o = job_options();
    o.cpu_threads = 1;
    o.gpu_blocks = 2;
    o.chunk_bytes = 1024;
    o.ring_slots = 4;
    // Three threads on few cores: while one waits for the idle one, nobody tells the first that it should stop.
    const bool may_lag = GetParam() == "cpu:3";
    job one(o, room(checked ? 16 : 2048, checked ? 4096 : cuda ? 1 << 21 : may_lag ? 1 << 17 : 8192));
    const bool to_one_lane = GetParam() == "cuda:0,cpu:1";
    const std::uint32_t parts = checked ? 6'000 : to_one_lane ? 4'000'000 : cuda ? 20'000'000 : 60'000;
    one.list.start_with(0, {{kind::to_last, parts}});
    run_items(one.rt, one.list);
    EXPECT_EQ(one.leaves_of(one.rt.n_pes() - 1), parts);
    EXPECT_EQ(one.list.work().done, parts + 1u);
    if (one.rt.n_pes() == 1) return;  // which makes more than it has room for, and cannot wait for itself
    EXPECT_EQ(one.list.work().sent, parts);
    EXPECT_EQ(one.list.work().overflowed, 0u);
    // Threads on few cores may take so long to make items that none is too many.
    EXPECT_TRUE(!checked || one.list.work().spilled > 0);
}

TEST_P(item_limits_test, WorkWithoutEndMeetsTheDeadline) {
    for (const bool fused : {true, false}) {
        options o = job_options();
        o.timeout_seconds = is_checked(GetParam()) ? 0.02 : 0.3;
        item_worklist_options list = room(64, 64);
        list.fused = fused;
        job one(o, list);
        one.list.start_with(0, {{kind::again, 1}});
        try {
            run_items(one.rt, one.list);
            ADD_FAILURE() << "work without end has ended";
        } catch (const timeout_error& e) {
            EXPECT_NE(std::string(e.what()).find("deadline passed"), std::string::npos) << e.what();
            const bool between = std::string(e.what()).find("between two waves") != std::string::npos;
            EXPECT_EQ(between, std::string(e.what()).find(" waves; items waiting") != std::string::npos) << e.what();
        }
    }
}

TEST_P(item_limits_test, TheGreatestPriorityIsDoneToo) {
    for (const bool fused : {true, false}) {
        runtime rt(job_options());
        item_worklist_options options = room(64, 64);
        options.priorities = true;
        options.fused = fused;
        item_worklist<last_application> list(
            rt.machine(), std::vector<last_application>(static_cast<std::size_t>(rt.n_pes())), options);
        list.start_with(0, {0});
        run_items(rt, list);
        EXPECT_EQ(list.work().done, 2u);
    }
}

// Where near queues and the reserve are full, far queues take what runs at once: also when the threshold rises no more.
TEST_P(item_limits_test, FarQueuesAreLookedThroughAtTheLastThreshold) {
    for (const threshold_policy policy : {threshold_policy{~std::uint64_t{0}, 1, 0}, threshold_policy{1, 1, 0}}) {
        item_worklist_options options = room(8, 8);
        options.priorities = true;
        options.policy = policy;
        job one(job_options(), options);
        one.list.start_with(0, {{kind::here, 24}});
        run_items(one.rt, one.list);
        EXPECT_EQ(one.list.work().done, 25u);
    }
}

TEST_P(item_limits_test, ARouteToNoPeEndsTheRun) {
    job one(job_options(), room(64, 64));
    one.list.start_with(0, {{kind::outside, 1}});
    try {
        run_items(one.rt, one.list);
        ADD_FAILURE() << "the item was lost";
    } catch (const device_fault& e) {
        EXPECT_NE(std::string(e.what()).find("no such PE"), std::string::npos) << e.what();
    }
}

TEST_P(item_limits_test, BodiesPushTheFirstItems) {
    job one(job_options(), room(1024, 4096));
    const auto report = one.rt.run(push_leaves{}, one.list);
    const std::uint64_t done = one.list.work().done;
    EXPECT_GT(done, 0u);
    EXPECT_EQ(done % 5, 0u);
    EXPECT_EQ(report.items, done);
    EXPECT_EQ(one.leaves_of(one.rt.n_pes() - 1), done);
    // A PE whose reserve begins to be used, and is empty again, tells the others by messages.
    if (one.list.work().spilled == 0) {
        EXPECT_EQ(one.list.work().sent, report.carried);
    }
    EXPECT_LE(one.list.work().sent, report.carried);
}

TEST_P(item_limits_test, RefusesWrongUse) {
    runtime rt(job_options()), other(job_options());
    const auto machines = [](runtime& one) {
        return std::vector<order_application>(static_cast<std::size_t>(one.n_pes()));
    };
    using list_type = item_worklist<order_application>;
    EXPECT_THROW(list_type(rt.machine(), {}), usage_error);
    item_worklist_options no_step;
    no_step.policy.step = 0;
    EXPECT_THROW(list_type(rt.machine(), machines(rt), no_step), usage_error);
    for (const auto& wrong : {room(0, 8), room(8, 0), room(std::uint64_t{1} << 40, 8)}) {
        list_type list(rt.machine(), machines(rt), wrong);
        EXPECT_THROW(rt.run(list), usage_error);
    }
    list_type list(rt.machine(), machines(rt), room(4, 4));
    EXPECT_THROW(list.start_with(-1, {{}}), usage_error);
    EXPECT_THROW(list.start_with(rt.n_pes(), {{}}), usage_error);
    EXPECT_THROW(other.run(list), usage_error);
    list.start_with(0, std::vector<order_item>(1000));
    EXPECT_THROW(rt.run(list), usage_error);
    EXPECT_NO_THROW(rt.run(list)) << "a run of its own";
}

LANEWAY_ON_DEVICES(item_limits_test, device_lists());

}  // namespace laneway::test
