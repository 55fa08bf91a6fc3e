// Idle PEs take items of busy ones: results are those of one thread, whoever has done what, and nothing is missed.
#pragma once

#include <functional>

#include "laneway/runtime.hpp"
#include "unit/flow/item_trees.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// A node of a tree, which any PE may expand, or a number that is added up where it belongs.
struct counted_item {
    std::uint64_t key = 0;
    std::uint32_t depth = 0;
    std::uint32_t is_result = 0;
};

struct counted_tree : item_defaults<counted_item> {
    static constexpr bool items_move = true;
    static constexpr std::uint64_t slots = 64;

    std::uint32_t at_root = 3;
    std::uint32_t depth = 3;             ///< of the host's items
    std::uint64_t* table = nullptr;      ///< of results that belong to the PE
    std::uint64_t* looked_at = nullptr;  ///< items, on the PE

    static LANEWAY_FN std::uint64_t child_of(std::uint64_t key, std::uint32_t part) {
        return hash_of(key * 1000003 + part);
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t parts_of(std::uint32_t at_depth, std::uint64_t key) const {
        return at_depth == depth ? at_root : static_cast<std::uint32_t>(key % 4);
    }
    /// Results go home and change what is there; all else stays where it is made, so that one PE has it all.
    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx& ctx, const counted_item& made) const {
        if (made.is_result == 0) return item_route::keep();
        const int home = static_cast<int>(made.key % static_cast<unsigned>(ctx.n_pes()));
        return home == ctx.pe() ? on_receive(ctx, made) : item_route::pass(home);
    }
    template <class Ctx>
    LANEWAY_FN item_route on_receive(Ctx& ctx, const counted_item& come) const {
        ctx.fetch_add(table + come.key % slots, come.key >> 8, order::relaxed, scope::device);
        return item_route::drop();
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx&, const counted_item& one) const {
        return one.key % 8;
    }
    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx& ctx, const counted_item& one) const {
        ctx.fetch_add(looked_at, std::uint64_t{1}, order::relaxed, scope::device);
        return item_parts::of(one.depth == 0 ? 1 : parts_of(one.depth, one.key));
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const counted_item& one, std::uint32_t part, List& list) const {
        counted_item made{one.key, 0, 1};
        if (one.depth > 0) made = {child_of(one.key, part), one.depth - 1, 0};
        (void)list.push(ctx, made);  // a failure ends the run
    }
};

/// What one thread adds up, and how many items there are.
struct expected_counts {
    std::vector<std::uint64_t> table;
    std::uint64_t items = 0;

    expected_counts(const counted_tree& rules, const std::vector<std::uint64_t>& keys, int n_pes)
        : table(counted_tree::slots * static_cast<std::size_t>(n_pes)) {
        std::vector<counted_item> open;
        for (const std::uint64_t key : keys) open.push_back({key, rules.depth, 0});
        while (!open.empty()) {
            const counted_item one = open.back();
            open.pop_back();
            ++items;
            if (one.depth == 0) {
                const std::uint64_t home = one.key % static_cast<unsigned>(n_pes);
                table[home * counted_tree::slots + one.key % counted_tree::slots] += one.key >> 8;
                continue;
            }
            for (std::uint32_t part = 0; part < rules.parts_of(one.depth, one.key); ++part) {
                open.push_back({counted_tree::child_of(one.key, part), one.depth - 1, 0});
            }
        }
    }
};

/// A list whose items are all given to PE 0.
class stealing_job {
public:
    stealing_job(const options& o, const counted_tree& rules, const item_worklist_options& list)
        : rt_(o), rules_(rules), list_(rt_.machine(), applications(), list) {}

    [[nodiscard]] int n_pes() const { return rt_.n_pes(); }
    void run_and_compare(const std::vector<std::uint64_t>& keys) {
        for (auto& words : words_) words.fill_bytes(0);
        std::vector<counted_item> first;
        for (const std::uint64_t key : keys) first.push_back({key, rules_.depth, 0});
        list_.start_with(0, first);
        const run_report report = run_items(rt_, list_);
        const expected_counts expected(rules_, keys, n_pes());
        EXPECT_EQ(list_.work().done, expected.items);
        EXPECT_EQ(report.items, expected.items);
        EXPECT_LE(list_.work().returned, list_.work().sent);
        for (std::size_t pe = 0; pe < words_.size(); ++pe) {
            const auto found = words_[pe].copy_out();
            for (std::size_t i = 0; i < counted_tree::slots; ++i) {
                ASSERT_EQ(found[i], expected.table[pe * counted_tree::slots + i]) << "PE " << pe << ", slot " << i;
            }
        }
    }
    [[nodiscard]] const item_work& work() const { return list_.work(); }
    [[nodiscard]] std::uint64_t looked_at(int pe) const {
        return words_[static_cast<std::size_t>(pe)].copy_out()[counted_tree::slots];
    }

private:
    std::vector<counted_tree> applications() {
        std::vector<counted_tree> all(static_cast<std::size_t>(rt_.n_pes()), rules_);
        for (int pe = 0; pe < rt_.n_pes(); ++pe) {
            words_.emplace_back(rt_.machine().device(pe), counted_tree::slots + 1);
            auto& one = all[static_cast<std::size_t>(pe)];
            one.table = words_.back().data();
            one.looked_at = one.table + counted_tree::slots;
        }
        return all;
    }

    runtime rt_;
    counted_tree rules_;
    std::vector<buffer<std::uint64_t>> words_;
    item_worklist<counted_tree> list_;
};

class item_stealing_test : public testing::TestWithParam<std::string> {
protected:
    static options roomy(options o) {
        o.chunk_bytes = std::size_t{64} << o.seed % 3;  // one loan at least
        return o;
    }
    static item_worklist_options list_options(std::uint64_t round, bool stealing) {
        item_worklist_options o;
        o.priorities = round % 2 == 0;
        o.policy = {1 + round % 8, 1 + round % 3, round % 2};
        o.items = round % 4 < 2 ? 2048 : 16;
        o.reserve_items = round % 4 == 2 ? 2 : 8192;
        o.stealing = stealing;
        return o;
    }
    static std::vector<std::uint64_t> keys(std::uint64_t seed, std::size_t count) {
        std::vector<std::uint64_t> all;
        for (std::size_t i = 0; i < count; ++i) all.push_back(hash_of(seed * 100 + i));
        return all;
    }
};

TEST_P(item_stealing_test, IdlePesTakeWhatABusyOneHas) {
    std::uint64_t returned = 0;
    int n_pes = 1;
    every_fourth_round(GetParam(), [&](const options& o) {
        item_worklist_options list = list_options(o.seed, true);
        list.priorities = false;
        list.items = 2048;
        stealing_job job(roomy(o), {{}, 2, is_checked(GetParam()) ? 1u : 5u}, list);
        job.run_and_compare(keys(o.seed, 40));
        for (int pe = 1; pe < job.n_pes(); ++pe) EXPECT_GT(job.looked_at(pe), 0u) << "PE " << pe;
        EXPECT_EQ(job.work().stolen > 0, job.n_pes() > 1) << "40 items wait before anybody has done one";
        returned += job.work().returned;
        n_pes = job.n_pes();
    });
    if (n_pes > 1 && is_checked(GetParam())) {  // elsewhere the last items, which make none, may be all that is taken
        EXPECT_GT(returned, 0u);
    }
}

TEST_P(item_stealing_test, NothingIsMissedWhateverIsShortOrPutOff) {
    every_fourth_round(GetParam(), [&](const options& o) {
        stealing_job job(roomy(o), {{}, 3, is_checked(GetParam()) ? 1u : 5u}, list_options(o.seed, true));
        for (int run = 0; run < 2; ++run) {  // the second one begins anew
            job.run_and_compare(keys(o.seed + static_cast<std::uint64_t>(run), o.seed % 3 == 0 ? 1 : 12));
        }
    });
}

TEST_P(item_stealing_test, PiecesOfOneItemAreTakenToo) {
    for (std::uint64_t round = 0; round < (is_checked(GetParam()) ? 2u : 6u); ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", round " + std::to_string(round));
        item_worklist_options list = list_options(round, true);
        list.items = list.reserve_items = 1 << 16;
        options o = roomy(options_of(GetParam(), round));
        o.timeout_seconds = 60;
        stealing_job job(o, {{}, is_checked(GetParam()) ? 2000u : 20'000u, 1}, list);
        job.run_and_compare({round + 5});
        EXPECT_EQ(job.work().stolen > 0, job.n_pes() > 1);
        if (HasFailure()) return;
    }
}

TEST_P(item_stealing_test, WithoutTheOptionEveryItemStays) {
    stealing_job job(roomy(options_of(GetParam(), 1)), {{}, 3, 3}, list_options(1, false));
    job.run_and_compare(keys(3, 20));
    EXPECT_EQ(job.work().stolen, 0u);
    EXPECT_EQ(job.work().returned, 0u);
    for (int pe = 1; pe < job.n_pes(); ++pe) EXPECT_EQ(job.looked_at(pe), 0u);
}

TEST_P(item_stealing_test, AnErrorEndsARunWithLoansUnderWay) {
    item_worklist_options list = list_options(1, true);
    list.items = 16;
    list.reserve_items = 16;
    list.overflow_items = 1;
    options o = roomy(options_of(GetParam(), 1));
    runtime rt(o);
    std::vector<buffer<std::uint64_t>> words;
    std::vector<counted_tree> all(static_cast<std::size_t>(rt.n_pes()), counted_tree{{}, 4000, 1});
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        words.emplace_back(rt.machine().device(pe), counted_tree::slots + 1);
        all[static_cast<std::size_t>(pe)].table = words.back().data();
        all[static_cast<std::size_t>(pe)].looked_at = words.back().data() + counted_tree::slots;
    }
    item_worklist<counted_tree> few(rt.machine(), all, list);
    few.start_with(0, {{7, 1, 0}});
    EXPECT_THROW(run_items(rt, few), device_fault) << "512 children in a turn, for which there is no room";
    few.start_with(0, {{8, 0, 0}});
    EXPECT_NO_THROW(run_items(rt, few)) << "a run of its own";
}

TEST_P(item_stealing_test, RefusesItemsThatDoNotMoveAndWaves) {
    runtime rt(options_of(GetParam(), 1));
    const auto n = static_cast<std::size_t>(rt.n_pes());
    item_worklist_options list;
    list.stealing = true;
    EXPECT_THROW((item_worklist<tree_application>(rt.machine(), std::vector<tree_application>(n), list)), usage_error);
    list.fused = false;
    EXPECT_THROW((item_worklist<counted_tree>(rt.machine(), std::vector<counted_tree>(n), list)), usage_error);
}

LANEWAY_ON_DEVICES(item_stealing_test, device_lists());

}  // namespace laneway::test
