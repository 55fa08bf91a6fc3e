// Item worklists whose queues and reserve have room for next to nothing: what items make waits with the host, and every
// run that has an end comes to it.
#pragma once

#include "laneway/flow/item_worklist.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// An item of so many generations, the last of which makes nothing.
struct generation_item {
    std::uint32_t depth = 0;
};

/// Each makes parts times made_by_part others, which stay or, where they travel, all go to the next PE.
struct branching_application : item_defaults<generation_item> {
    std::uint32_t n_parts = 1;
    std::uint32_t made_by_part = 1;
    bool travels = false;
    std::uint64_t* last_ones = nullptr;  ///< done on the PE

    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx& ctx, const generation_item&) const {
        return travels ? item_route::pass((ctx.pe() + 1) % ctx.n_pes()) : item_route::keep();
    }
    /// Those of later generations wait for a higher threshold, so that far queues are full as well.
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx&, const generation_item& one) const {
        return 100'000 - one.depth;
    }
    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx& ctx, const generation_item& one) const {
        if (one.depth != 0) return item_parts::of(n_parts);
        ctx.fetch_add(last_ones, std::uint64_t{1}, order::relaxed, scope::device);
        return item_parts::none();
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const generation_item& one, std::uint32_t, List& list) const {
        for (std::uint32_t i = 0; i < made_by_part; ++i) (void)list.push(ctx, generation_item{one.depth - 1});
    }
};

/// What items of a test make.
struct branching {
    std::uint32_t n_parts;
    std::uint32_t made_by_part;
    std::uint32_t depth;

    [[nodiscard]] std::uint64_t in_generation(std::uint32_t number) const {
        std::uint64_t n = 1;
        for (std::uint32_t i = 0; i < number; ++i) n *= std::uint64_t{n_parts} * made_by_part;
        return n;
    }
    [[nodiscard]] std::uint64_t items() const {
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i <= depth; ++i) sum += in_generation(i);
        return sum;
    }
};

class item_overflow_test : public testing::TestWithParam<std::string> {
protected:
    /// The least room that there can be.
    static item_worklist_options no_room(bool fused, bool priorities) {
        item_worklist_options o;
        o.items = o.reserve_items = 1;
        o.fused = fused;
        o.priorities = priorities;
        o.policy = {99'998, 1, 0};
        return o;
    }

    struct job {
        job(runtime& on, const branching& made, bool travels, const item_worklist_options& o)
            : rt(on), shape(made), list(on.machine(), applications(travels), o) {}

        std::vector<branching_application> applications(bool travels) {
            std::vector<branching_application> all;
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                last_ones.emplace_back(rt.machine().device(pe), 1);
                branching_application made;
                made.n_parts = shape.n_parts;
                made.made_by_part = shape.made_by_part;
                made.travels = travels;
                made.last_ones = last_ones.back().data();
                all.push_back(made);
            }
            return all;
        }
        /// Every PE starts with an item.
        void run() {
            const auto pes = static_cast<std::uint64_t>(rt.n_pes());
            for (auto& counter : last_ones) counter.fill_bytes(0);
            for (int pe = 0; pe < rt.n_pes(); ++pe) list.start_with(pe, {{shape.depth}});
            const run_report report = run_items(rt, list);
            EXPECT_EQ(list.work().done, pes * shape.items());
            EXPECT_EQ(report.items, pes * shape.items());
            for (const auto& counter : last_ones) {
                EXPECT_EQ(counter.copy_out()[0], shape.in_generation(shape.depth));
            }
        }

        runtime& rt;
        branching shape;
        std::vector<buffer<std::uint64_t>> last_ones;
        item_worklist<branching_application> list;
    };

    /// Calls `body(runtime, seed)` for some rounds, with a runtime for each.
    template <class Body>
    static void with_runtimes(Body&& body) {
        every_fourth_round(
            GetParam(),
            [&](const options& chosen) {
                options o = chosen;
                if (!is_checked(GetParam())) o.timeout_seconds = 60;
                runtime rt(o);
                body(rt, o.seed);
            },
            4);
    }

    /// Returns how much the host has kept in all.
    std::uint64_t run_all(const std::vector<branching>& shapes) {
        std::uint64_t overflowed = 0;
        with_runtimes([&](runtime& rt, std::uint64_t seed) {
            const bool fused = seed % 2 == 0, priorities = seed % 4 < 2;
            for (const branching& shape : shapes) {
                for (const bool travels : {false, true}) {
                    SCOPED_TRACE(std::to_string(shape.n_parts) + " parts, " + std::to_string(shape.made_by_part) +
                                 " by each" + (travels ? ", travelling" : "") + (fused ? "" : ", in waves") +
                                 (priorities ? ", priorities" : ""));
                    job one(rt, shape, travels, no_room(fused, priorities));
                    for (int run = 0; run < 2; ++run) one.run();
                    overflowed += one.list.work().overflowed;
                    EXPECT_LE(one.list.work().overflowed, one.list.work().spilled);
                }
            }
        });
        return overflowed;
    }
};

TEST_P(item_overflow_test, ItemsThatMakeManyComeToTheirEnd) {
    const bool checked = is_checked(GetParam()), cuda = GetParam().starts_with("cuda");
    const std::uint32_t many = checked ? 60 : cuda ? 20'000 : 1'500;
    EXPECT_GT(run_all({{many, 1, 1}, {1, many, 1}}), 0u);
}

TEST_P(item_overflow_test, SoDoTrees) {
    const auto overflowed = run_all({is_checked(GetParam()) ? branching{3, 1, 3} : branching{6, 1, 4}, {2, 3, 2}});
    if (!GetParam().starts_with("cuda")) {  // whose blocks may be fast enough to find room for all
        EXPECT_GT(overflowed, 0u);
    }
}

TEST_P(item_overflow_test, SoDoLongChains) { (void)run_all({{1, 1, 60}}); }

// A run that does nothing, one that leaves much with the host, and one that fails, again and again.
TEST_P(item_overflow_test, ShortRunsFollowEachOther) {
    with_runtimes([&](runtime& rt, std::uint64_t seed) {
        const bool fused = seed % 2 == 0;
        item_worklist_options little = no_room(fused, false);
        little.overflow_items = 4;
        for (int round = 0; round < (is_checked(GetParam()) ? 2 : 20); ++round) {
            SCOPED_TRACE(fused ? "one run" : "waves");
            job one(rt, {1, 40, 1}, round % 2 != 0, no_room(fused, false));
            (void)run_items(rt, one.list);
            EXPECT_EQ(one.list.work().done, 0u);
            one.run();
            job failing(rt, {1, 300, 2}, false, little);
            failing.list.start_with(0, {{2}});
            bool failed = false;
            try {
                (void)run_items(rt, failing.list);
            } catch (const full_worklist&) {
                failed = true;
            }
            // A GPU's blocks may be fast enough to find room for all.
            EXPECT_TRUE(failed || GetParam().starts_with("cuda"));
            failing.list.start_with(0, {{0}});
            (void)run_items(rt, failing.list);
            EXPECT_EQ(failing.list.work().done, 1u);
        }
    });
}

LANEWAY_ON_DEVICES(item_overflow_test, device_lists());

}  // namespace laneway::test
