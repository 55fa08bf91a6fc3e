// The contract of components, for those that share work out.
#pragma once

#include "unit/flow/item_trees.hpp"
#include "unit/run/component_suite.hpp"
#include "unit/run/path_graph.hpp"

namespace laneway::test {
namespace {

struct index_case {
    static constexpr bool belongs = false;
    static constexpr std::uint64_t n = 301;
    struct count_one {
        symmetric_ref<std::uint64_t> seen;
        template <class Ctx>
        LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i) const {
            atomic_add(ctx, seen[i], 1);
        }
    };
    explicit index_case(runtime& rt) : rt_(rt), seen_(rt.allocate<std::uint64_t>(n)) {}
    [[nodiscard]] auto& part() { return indices_; }
    void prepare() {}
    [[nodiscard]] each_index<count_one> body() const { return {{seen_.ref()}}; }
    void check(const run_report&, std::uint64_t runs) const {
        for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(sum_of(rt_, seen_, i), runs) << "index " << i;
    }

private:
    runtime& rt_;
    symmetric_array<std::uint64_t> seen_;
    index_space indices_{n};
};

struct worklist_case {
    static constexpr bool belongs = true, alone = true;
    explicit worklist_case(runtime& rt) : rt_(rt), graph_(rt), list_(graph_.list(rt.machine())) {}
    [[nodiscard]] auto& part() { return list_; }
    void prepare() {
        if (!std::exchange(prepared_, true)) list_.start_with({0});
    }
    [[nodiscard]] no_body body() const { return {}; }
    void check(const run_report& report, std::uint64_t) {
        prepared_ = false;
        EXPECT_EQ(report.items, graph_.vertices);
        for (int pe = 0; pe < rt_.n_pes(); ++pe) {
            const std::vector<std::uint32_t> keys = list_.keys(pe);
            for (std::uint64_t i = 0; i < keys.size(); ++i) {
                ASSERT_EQ(keys[i], static_cast<std::uint64_t>(pe) * path_of_a_pe + i);
            }
        }
    }

private:
    runtime& rt_;
    path_graph graph_;
    worklist<std::uint32_t, path_arcs> list_;
    bool prepared_ = false;
};

struct item_case {
    static constexpr bool belongs = true, alone = true;
    explicit item_case(runtime& rt) : list_(rt.machine(), applications(rt), small()), n_pes_(rt.n_pes()) {}
    [[nodiscard]] auto& part() { return list_; }
    void prepare() {
        for (auto& sums : sums_) sums.fill_bytes(0);
        if (std::exchange(prepared_, true)) return;
        for (const auto& [pe, item] : starts()) list_.start_with(pe, {item});
    }
    [[nodiscard]] no_body body() const { return {}; }
    void check(const run_report& report, std::uint64_t) {
        prepared_ = false;
        const expected_tree expected(rules, starts(), n_pes_);
        EXPECT_EQ(report.items, expected.work.done);
        EXPECT_EQ(list_.work().done, expected.work.done);
        EXPECT_EQ(list_.work().arrived, expected.work.arrived);
        for (std::size_t pe = 0; pe < sums_.size(); ++pe) {
            EXPECT_EQ(sums_[pe].copy_out()[0].keys, expected.sums[pe].keys) << "PE " << pe;
        }
    }

private:
    static constexpr tree_rules rules{2, 3, 2};
    static item_worklist_options small() {
        item_worklist_options o;
        o.items = 2048;
        o.reserve_items = 8192;
        return o;
    }
    [[nodiscard]] std::vector<std::pair<int, tree_item>> starts() const {
        std::vector<std::pair<int, tree_item>> all;
        for (std::uint64_t i = 0; i < 3; ++i) {
            all.emplace_back(static_cast<int>(i) % n_pes_, tree_item{i + 11, rules.depth});
        }
        return all;
    }
    std::vector<tree_application> applications(runtime& rt) {
        std::vector<tree_application> all;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            sums_.emplace_back(rt.machine().device(pe), 1);
            all.push_back({rules, sums_.back().data()});
        }
        return all;
    }
    std::vector<buffer<tree_sums>> sums_;
    item_worklist<tree_application> list_;
    int n_pes_;
    bool prepared_ = false;
};

using work_cases = testing::Types<index_case, worklist_case, item_case>;
INSTANTIATE_TYPED_TEST_SUITE_P(work, component_test, work_cases);

}  // namespace
}  // namespace laneway::test
