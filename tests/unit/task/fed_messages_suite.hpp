// The contract of components that host threads feed, for those that carry messages, proposals and operations.
#pragma once

#include "fed_component_suite.hpp"
#include "laneway/run/communicator.hpp"
#include "laneway/run/transfers.hpp"
#include "unit/flow/item_trees.hpp"
#include "unit/run/path_graph.hpp"

namespace laneway::test {
namespace {

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

/// Each time keys that are lower than all before, the last one for the first vertex.
struct fed_worklist_case {
    static constexpr bool belongs = true, alone = true;
    explicit fed_worklist_case(runtime& rt) : pes_(rt.n_pes()), graph_(rt), list_(graph_.list(rt.machine())) {}
    [[nodiscard]] auto& part() { return list_; }
    template <class Session>
    void feed(Session& session, std::uint64_t n) {
        fed_ += n;
        lowest_ -= 2 * distance;
        for (std::uint64_t i = 0; i < n; ++i) {
            const auto key = static_cast<std::uint32_t>(lowest_ + distance + i);
            for (std::uint64_t pe = 0; pe < static_cast<unsigned>(pes_); ++pe) {
                session.post(list_.proposal(pe * path_of_a_pe + (7 * i + pe) % path_of_a_pe, key));
            }
        }
        session.post(list_.proposal(0, lowest_));
    }
    void check(std::uint64_t n) const {
        EXPECT_EQ(fed_, n);
        if (n == 0) return;
        for (int pe = 0; pe < pes_; ++pe) {
            const std::vector<std::uint32_t> keys = list_.keys(pe);
            const std::uint64_t first = static_cast<unsigned>(pe) * path_of_a_pe;
            for (std::uint64_t i = 0; i < path_of_a_pe; ++i) ASSERT_EQ(keys[i], lowest_ + first + i);
        }
    }

private:
    static constexpr std::uint32_t distance = 1000;  // more than the path is long
    int pes_;
    path_graph graph_;
    worklist<std::uint32_t, path_arcs> list_;
    std::uint64_t fed_ = 0;
    std::uint32_t lowest_ = 100 * distance;
};

struct fed_item_case {
    static constexpr bool belongs = true, alone = true;
    explicit fed_item_case(runtime& rt) : pes_(rt.n_pes()), list_(rt.machine(), applications(rt), small()) {}
    [[nodiscard]] auto& part() { return list_; }
    template <class Session>
    void feed(Session& session, std::uint64_t n) {
        for (int pe = 0; pe < pes_; ++pe) {
            for (std::uint64_t i = 0; i < n; ++i) {
                starts_.emplace_back(pe, tree_item{starts_.size() + 11, rules.depth});
                session.post(list_.proposal(pe, starts_.back().second));
            }
        }
    }
    void check(std::uint64_t n) const {
        EXPECT_EQ(starts_.size(), n * static_cast<unsigned>(pes_));
        const expected_tree expected(rules, starts_, pes_);
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
    std::vector<tree_application> applications(runtime& rt) {
        std::vector<tree_application> all;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            sums_.emplace_back(rt.machine().device(pe), 1);
            sums_.back().fill_bytes(0);
            all.push_back({rules, sums_.back().data()});
        }
        return all;
    }
    int pes_;
    std::vector<buffer<tree_sums>> sums_;
    item_worklist<tree_application> list_;
    std::vector<std::pair<int, tree_item>> starts_;
};

/// Each trigger fires an operation, which tells the next PE.
struct fed_triggers_case {
    static constexpr bool belongs = true, alone = false;
    explicit fed_triggers_case(runtime& rt) : count_(rt), tags_(rt.triggers({.tags = 2})) {
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto told = trigger_operation::nothing((pe + 1) % rt.n_pes()).signal(count_.ref()[0]);
            tags_.prepare(pe, 1, 1, told, firing::each_round);
        }
    }
    [[nodiscard]] auto& part() { return tags_; }
    template <class Session>
    void feed(Session&, std::uint64_t n) {
        for (int pe = 0; pe < count_.pes(); ++pe) {
            for (std::uint64_t i = 0; i < n; ++i) tags_.trigger(pe, 1);
        }
    }
    void check(std::uint64_t n) const { count_.expect_each(n); }
    void feed_without() { tags_.trigger(0, 1); }

private:
    worker_count count_;
    triggers tags_;
};

/// Ranks pass messages on to the next one.
struct fed_communicator_case {
    static constexpr bool belongs = true, alone = false;
    explicit fed_communicator_case(runtime& rt)
        : got_(static_cast<std::size_t>(rt.n_pes())), world_(rt.communicator()) {}
    [[nodiscard]] auto& part() { return world_; }
    template <class Session>
    void feed(Session&, std::uint64_t n) {
        const int pes = static_cast<int>(got_.size());
        for (int pe = 0; pe < pes; ++pe) {
            const int next = (pe + 1) % pes;
            for (std::uint64_t i = 0; i < n; ++i) {
                const std::uint64_t sent = 100 * i + static_cast<unsigned>(pe);
                std::uint64_t got = 0;
                auto way = world_.isend(pe, &sent, 1, next, 3);
                EXPECT_EQ(world_.recv(next, &got, 1, pe, 3).bytes, sizeof got);
                (void)way.wait();
                EXPECT_EQ(got, sent);
                ++got_[static_cast<std::size_t>(next)];
            }
        }
    }
    void check(std::uint64_t n) const { EXPECT_EQ(got_, std::vector<std::uint64_t>(got_.size(), n)); }
    void feed_without() {
        const std::uint64_t word = 1;
        world_.send(0, &word, 1, 0, 3);
    }

private:
    std::vector<std::uint64_t> got_;  ///< messages, by rank
    communicator world_;
};

/// Each copies a word to a place of its own on the next PE, and tells that.
struct fed_transfers_case {
    static constexpr bool belongs = true, alone = false;
    explicit fed_transfers_case(runtime& rt)
        : count_(rt), words_(rt.allocate<std::uint64_t>(1 + places)), moves_(rt.machine()) {
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            std::vector<std::uint64_t> words(1 + places);
            words[0] = word_of(pe);
            words_.copy_in(pe, words);
        }
    }
    [[nodiscard]] auto& part() { return moves_; }
    template <class Session>
    void feed(Session&, std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
            ++sent_;
            for (int pe = 0; pe < count_.pes(); ++pe) {
                const host_transfer posted = moves_.post(pe, to_place(pe, sent_).notify(count_.ref()[0]));
                if (i % 3 == 0) posted.wait();
            }
        }
    }
    void check(std::uint64_t n) const {
        count_.expect_each(n);
        const int pes = count_.pes();
        for (int pe = 0; pe < pes; ++pe) {
            const std::vector<std::uint64_t> words = words_.copy_out(pe);
            for (std::uint64_t i = 1; i <= n; ++i) EXPECT_EQ(words[i], word_of((pe + pes - 1) % pes));
        }
    }
    void feed_without() { moves_.post(0, to_place(0, 1)).wait(); }

private:
    static constexpr std::uint64_t places = 64;  // more than any test has done on a PE
    [[nodiscard]] static std::uint64_t word_of(int pe) { return static_cast<unsigned>(pe) + 5u; }
    [[nodiscard]] transfer to_place(int pe, std::uint64_t place) const {
        return transfer::copy(words_.ref()[0], pe, words_.ref()[place], (pe + 1) % count_.pes(), 1);
    }
    worker_count count_;
    symmetric_array<std::uint64_t> words_;
    transfers moves_;
    std::uint64_t sent_ = 0;  ///< by each PE
};

using fed_messages = testing::Types<inbox_case, fed_worklist_case, fed_item_case, fed_triggers_case,
                                    fed_communicator_case, fed_transfers_case>;
INSTANTIATE_TYPED_TEST_SUITE_P(messages, fed_component_test, fed_messages);

}  // namespace
}  // namespace laneway::test
