// The contract of components, for those that lanes communicate with.
#pragma once

#include "laneway/run/communicator.hpp"
#include "laneway/run/transfers.hpp"
#include "unit/run/component_lanes_suite.hpp"

namespace laneway::test {
namespace {

/// What bodies count: [0] what has come, [1] lanes that took part, [2] what was wrong.
struct tally {
    explicit tally(runtime& rt) : rt_(rt), counts_(rt.allocate<std::uint64_t>(3)) {}
    [[nodiscard]] symmetric_ref<std::uint64_t> ref() const { return counts_.ref(); }
    [[nodiscard]] std::uint64_t come() const { return sum_of(rt_, counts_, 0); }
    [[nodiscard]] std::uint64_t lanes() const { return sum_of(rt_, counts_, 1); }
    [[nodiscard]] std::uint64_t wrong() const { return sum_of(rt_, counts_, 2); }

private:
    runtime& rt_;
    symmetric_array<std::uint64_t> counts_;
};

/// Whether this lane is the one that speaks for its PE.
template <class Ctx>
LANEWAY_FN bool speaks(const Ctx& ctx) {
    return ctx.local_rank() == 0;
}

struct letter {
    std::uint64_t value;
};
struct count_letter {
    symmetric_ref<std::uint64_t> counts;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const letter& l) const {
        atomic_add(ctx, counts[0], l.value);
    }
};
struct mailbox_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx, class Box>
        LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
            for (int i = 0; i < 3; ++i) (void)box.post(ctx, (ctx.pe() + i) % ctx.n_pes(), letter{1});
            atomic_add(ctx, counts[1], 1);
        }
    };
    explicit mailbox_case(runtime& rt) : sums_(rt), box_(rt.mailbox<letter>(count_letter{sums_.ref()})) {}
    [[nodiscard]] auto& part() { return box_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {sums_.ref()}; }
    void check(const run_report& report, std::uint64_t runs) const {
        EXPECT_EQ(sums_.come(), 3 * sums_.lanes());
        EXPECT_EQ(sums_.lanes() % runs, 0u);
        EXPECT_GE(report.posted, 3 * sums_.lanes() / runs);
    }

private:
    tally sums_;
    mailbox_handle<routes<route<letter, count_letter>>> box_;
};

struct one_sided_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx, class Box>
        LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
            one_sided ops(ctx, box);
            const int next = (ctx.pe() + 1) % ctx.n_pes();
            (void)ops.add(counts[0], next, 1, path::aggregated);
            if (!ops.fetch_add(counts[0], next, 1, path::aggregated)) atomic_add(ctx, counts[2], 1);
            atomic_add(ctx, counts[1], 1);
        }
    };
    explicit one_sided_case(runtime& rt) : sums_(rt), box_(rt.one_sided()) {}
    [[nodiscard]] auto& part() { return box_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {sums_.ref()}; }
    void check(const run_report&, std::uint64_t) const {
        EXPECT_EQ(sums_.come(), 2 * sums_.lanes());
        EXPECT_EQ(sums_.wrong(), 0u);
    }

private:
    tally sums_;
    decltype(std::declval<runtime&>().one_sided()) box_;
};

struct collectives_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx, class Sums>
        LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
            for (const group who : {group::grid, group::block, group::warp}) {
                const auto lanes = sums.all_reduce(ctx, std::uint64_t{1}, reduction::sum{}, who);
                const bool right = who == group::grid ? lanes.value == ctx.size() : lanes.value != 0;
                if (!lanes || !right) atomic_add(ctx, counts[2], 1);
            }
            atomic_add(ctx, counts[1], 1);
        }
    };
    explicit collectives_case(runtime& rt) : sums_(rt), collectives_(rt.collectives()) {}
    [[nodiscard]] auto& part() { return collectives_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {sums_.ref()}; }
    void check(const run_report&, std::uint64_t runs) const {
        EXPECT_EQ(sums_.wrong(), 0u);
        EXPECT_GT(sums_.lanes(), 0u);
        EXPECT_EQ(sums_.lanes() % runs, 0u);
    }

private:
    tally sums_;
    collectives_component collectives_;
};

struct triggers_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx, class Tags>
        LANEWAY_FN void operator()(Ctx& ctx, Tags& tags) const {
            (void)tags.trigger(ctx, 3);
            atomic_add(ctx, counts[1], 1);
        }
    };
    explicit triggers_case(runtime& rt) : sums_(rt), tags_(rt.triggers()) {
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const int next = (pe + 1) % rt.n_pes();
            tags_.prepare(pe, 3, 1, trigger_operation::nothing(next).signal(sums_.ref()[0]), firing::each_round);
        }
    }
    [[nodiscard]] auto& part() { return tags_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {sums_.ref()}; }
    void check(const run_report&, std::uint64_t) const {
        EXPECT_EQ(sums_.come(), sums_.lanes());
        EXPECT_TRUE(tags_.waiting().empty());
    }

private:
    tally sums_;
    triggers tags_;
};

struct communicator_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx, class World>
        LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
            if (!speaks(ctx)) return;
            const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
            std::uint64_t sent = 100 + static_cast<std::uint64_t>(ctx.pe()), got = 0;
            message_request receive, send;
            if (world.irecv(ctx, &got, 1, before, 5, receive) != status::ok) return;
            if (world.isend(ctx, &sent, 1, next, 5, send) != status::ok) return;
            if (world.wait(ctx, send) != status::ok || world.wait(ctx, receive) != status::ok) return;
            atomic_add(ctx, counts[got == 100 + static_cast<std::uint64_t>(before) ? 0 : 2], 1);
        }
    };
    explicit communicator_case(runtime& rt) : n_pes_(static_cast<unsigned>(rt.n_pes())), sums_(rt), world_(made(rt)) {}
    [[nodiscard]] auto& part() { return world_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {sums_.ref()}; }
    void check(const run_report&, std::uint64_t runs) const {
        EXPECT_EQ(sums_.come(), n_pes_ * runs);
        EXPECT_EQ(sums_.wrong(), 0u);
        EXPECT_TRUE(world_.pending().empty());
    }

private:
    static communicator made(runtime& rt) {
        communicator_options o;
        o.ring_slots = 2;
        return rt.communicator(o);
    }
    std::uint64_t n_pes_;
    tally sums_;
    communicator world_;
};

transfer_options few_transfers() {
    transfer_options o;
    o.slots = 64;
    o.server_share = 0.001;  // one block
    return o;
}

struct transfers_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> counts;
        symmetric_ref<std::uint64_t> from;
        symmetric_ref<std::uint64_t> to;
        template <class Ctx, class Transfers>
        LANEWAY_FN void operator()(Ctx& ctx, Transfers& transfers) const {
            if (!speaks(ctx)) return;
            const int next = (ctx.pe() + 1) % ctx.n_pes();
            (void)transfers.post(ctx, transfer::copy(from[0], ctx.pe(), to[0], next, length).notify(counts[0]));
        }
    };
    explicit transfers_case(runtime& rt)
        : rt_(rt), sums_(rt), from_(rt.allocate<std::uint64_t>(length)), to_(rt.allocate<std::uint64_t>(length)),
          transfers_(rt.machine(), few_transfers()) {
        for (int pe = 0; pe < rt.n_pes(); ++pe) from_.copy_in(pe, values_of(pe));
    }
    [[nodiscard]] auto& part() { return transfers_; }
    void prepare() { to_.clear(); }
    [[nodiscard]] body_type body() const { return {sums_.ref(), from_.ref(), to_.ref()}; }
    void check(const run_report&, std::uint64_t runs) const {
        const auto n = static_cast<std::uint64_t>(rt_.n_pes());
        EXPECT_EQ(sums_.come(), n * runs);
        EXPECT_EQ(transfers_.statistics().transfers, n);
        for (int pe = 0; pe < rt_.n_pes(); ++pe) EXPECT_EQ(to_.copy_out((pe + 1) % rt_.n_pes()), values_of(pe));
    }

private:
    static constexpr std::uint64_t length = 40;
    static std::vector<std::uint64_t> values_of(int pe) {
        return std::vector<std::uint64_t>(length, 7 + static_cast<std::uint64_t>(pe));
    }
    runtime& rt_;
    tally sums_;
    symmetric_array<std::uint64_t> from_, to_;
    transfers transfers_;
};

/// Each lane has a word copied.
template <transfer_service By>
struct lane_transfers_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> counts;
        symmetric_ref<std::uint64_t> words;
        template <class Ctx, class Transfers>
        LANEWAY_FN void operator()(Ctx& ctx, Transfers& transfers) const {
            const int next = (ctx.pe() + 1) % ctx.n_pes();
            const auto to = words[1 + ctx.rank() % places];
            const auto event = transfers.post(ctx, transfer::copy(words[0], ctx.pe(), to, next, 1).notify(counts[0]));
            if (!event || transfers.wait(ctx, event.value) != status::ok) atomic_add(ctx, counts[2], 1);
            atomic_add(ctx, counts[1], 1);
        }
    };
    explicit lane_transfers_case(runtime& rt)
        : sums_(rt), words_(rt.allocate<std::uint64_t>(1 + places)), transfers_(rt.machine(), served()) {}
    [[nodiscard]] auto& part() { return transfers_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {sums_.ref(), words_.ref()}; }
    void check(const run_report&, std::uint64_t runs) const {
        EXPECT_EQ(sums_.come(), sums_.lanes());
        EXPECT_EQ(sums_.wrong(), 0u);
        EXPECT_EQ(transfers_.statistics().transfers, sums_.lanes() / runs);
    }

private:
    static constexpr std::uint64_t places = 64;
    static transfer_options served() {
        transfer_options o = few_transfers();
        o.by = By;
        return o;
    }
    tally sums_;
    symmetric_array<std::uint64_t> words_;
    transfers transfers_;
};

using message_cases =
    testing::Types<mailbox_case, one_sided_case, collectives_case, triggers_case, communicator_case, transfers_case>;
INSTANTIATE_TYPED_TEST_SUITE_P(messages, component_test, message_cases);

using lane_cases = testing::Types<triggers_case, lane_transfers_case<transfer_service::static_blocks>,
                                  lane_transfers_case<transfer_service::supervised>>;
INSTANTIATE_TYPED_TEST_SUITE_P(messages, component_lanes_test, lane_cases);

}  // namespace
}  // namespace laneway::test
