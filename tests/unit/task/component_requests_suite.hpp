// The contract of components, for those by which lanes have something run elsewhere.
#pragma once

#include "laneway/channel_graph.hpp"
#include "laneway/task/task_pool.hpp"
#include "service_job.hpp"
#include "unit/run/component_lanes_suite.hpp"

namespace laneway::test {
namespace {

/// Each lane has a command run on the next PE.
struct remote_run_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> posted;
        template <class Ctx, class Remote>
        LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
            const status sent = remote.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), task<mark_lane>, 0);
            if (sent == status::ok) atomic_add(ctx, posted[0], 1);
        }
    };
    explicit remote_run_case(runtime& rt)
        : rt_(rt), marks_(rt.allocate<std::uint64_t>(1)), lanes_(rt.allocate<std::uint64_t>(2)),
          posted_(rt.allocate<std::uint64_t>(1)), remote_(rt.machine(), mark_lane{marks_.ref(), lanes_.ref()}) {}
    [[nodiscard]] auto& part() { return remote_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {posted_.ref()}; }
    void check(const run_report&, std::uint64_t runs) const {
        const std::uint64_t posted = sum_of(rt_, posted_);
        EXPECT_GT(posted, 0u);
        EXPECT_EQ(sum_of(rt_, marks_), posted);
        EXPECT_EQ(remote_.statistics().run, posted / runs);
    }

private:
    runtime& rt_;
    symmetric_array<std::uint64_t> marks_, lanes_, posted_;
    remote_queue<mark_lane> remote_;
};

/// Each lane has the square of a number made, and adds to a word of the next PE.
struct service_run_case {
    static constexpr bool belongs = true;
    struct body_type {
        symmetric_ref<std::uint64_t> counts;  ///< of requests, and of wrong answers
        template <class Ctx, class Service>
        LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
            (void)served.add(ctx, counts[0], (ctx.pe() + 1) % ctx.n_pes(), 1);
            const auto square = served.call(ctx, task<mark_and_square>, {0, 7});
            if (square.code != status::ok || square.value != 49) atomic_add(ctx, counts[1], 1);
        }
    };
    explicit service_run_case(runtime& rt)
        : rt_(rt), counts_(rt.allocate<std::uint64_t>(2)), marks_(rt.allocate<std::uint64_t>(1)),
          served_(rt.machine(), small(), mark_and_square{marks_.ref()}) {}
    [[nodiscard]] auto& part() { return served_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {counts_.ref()}; }
    void check(const run_report&, std::uint64_t runs) const {
        const std::uint64_t added = sum_of(rt_, counts_);
        EXPECT_GT(added, 0u);
        EXPECT_EQ(sum_of(rt_, marks_), added);
        EXPECT_EQ(sum_of(rt_, counts_, 1), 0u);
        EXPECT_EQ(served_.statistics().requests, 2 * added / runs);
    }

private:
    static service_options small() {
        service_options o;
        o.server_share = 0.001;  // one block
        return o;
    }
    runtime& rt_;
    symmetric_array<std::uint64_t> counts_, marks_;
    service<mark_and_square> served_;
};

/// Each lane leaves an element for a kernel, if there is room.
struct channel_case {
    static constexpr bool belongs = true;
    struct count_one {
        using element = std::uint64_t;
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx>
        LANEWAY_FN void operator()(Ctx& ctx, const std::uint64_t& n, channel_node&) const {
            atomic_add(ctx, counts[0], n);
        }
    };
    struct body_type {
        channel<std::uint64_t> to;
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx, class Channels>
        LANEWAY_FN void operator()(Ctx& ctx, Channels& channels) const {
            const auto made = channels.talloc(ctx, to);
            if (!made) return;
            made[0] = 3;
            channels.enq(ctx, made);
            atomic_add(ctx, counts[1], 3);
        }
    };
    explicit channel_case(runtime& rt)
        : rt_(rt), counts_(rt.allocate<std::uint64_t>(2)), graph_(std::make_unique<channel_graph>(rt)),
          to_(graph_->channel<std::uint64_t>(1 << 12)), kernel_(graph_->kernel(count_one{counts_.ref()})),
          part_((graph_->connect(to_, kernel_), graph_->component(kernel_))) {}
    [[nodiscard]] auto& part() { return part_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {to_, counts_.ref()}; }
    void check(const run_report&, std::uint64_t runs) const {
        const std::uint64_t left = sum_of(rt_, counts_, 1);
        EXPECT_GT(left, 0u);
        EXPECT_EQ(sum_of(rt_, counts_), left);
        EXPECT_EQ(graph_->statistics().produced, left / 3 / runs);
    }

private:
    runtime& rt_;
    symmetric_array<std::uint64_t> counts_;
    std::unique_ptr<channel_graph> graph_;
    channel<std::uint64_t> to_;
    kernel_node<count_one> kernel_;
    decltype(graph_->component(kernel_)) part_;
};

/// In a run tasks are submitted by triggered operations alone: each lane triggers one.
struct pool_run_case {
    static constexpr bool belongs = false;
    struct count_arrived {
        using arguments = std::uint64_t;
        using result = void;
        static constexpr bool from_lanes = true;
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx, class Worker>
        LANEWAY_FN void operator()(Ctx& ctx, const arguments& n, Worker& worker) const {
            if (worker.lane() == 0) atomic_add(ctx, counts[0], n);
        }
    };
    struct body_type {
        symmetric_ref<std::uint64_t> counts;
        template <class Ctx, class Pool, class Tags>
        LANEWAY_FN void operator()(Ctx& ctx, Pool&, Tags& tags) const {
            if (tags.trigger(ctx, 0) == status::ok) atomic_add(ctx, counts[1], 3);
        }
    };
    explicit pool_run_case(runtime& rt)
        : rt_(rt), counts_(rt.allocate<std::uint64_t>(2)), pool_(count_arrived{counts_.ref()}),
          tags_(rt.triggers({.tags = 1}).with(pool_)) {
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto submits = trigger_operation::nothing(pe).start(task_call<count_arrived>{3});
            tags_.prepare(pe, 0, 1, submits, firing::each_round);
        }
    }
    [[nodiscard]] auto& part() { return pool_; }
    [[nodiscard]] auto& beside() { return tags_; }
    void prepare() {}
    [[nodiscard]] body_type body() const { return {counts_.ref()}; }
    void check(const run_report&, std::uint64_t) const {
        const std::uint64_t triggered = sum_of(rt_, counts_, 1);
        EXPECT_GT(triggered, 0u);
        EXPECT_EQ(sum_of(rt_, counts_), triggered);
    }

private:
    runtime& rt_;
    symmetric_array<std::uint64_t> counts_;
    task_pool<count_arrived> pool_;
    decltype(std::declval<triggers>().with(pool_)) tags_;
};

using request_cases = testing::Types<remote_run_case, service_run_case, channel_case>;
INSTANTIATE_TYPED_TEST_SUITE_P(requests, component_lanes_test, request_cases);

using run_cases = testing::Types<remote_run_case, service_run_case, channel_case, pool_run_case>;
INSTANTIATE_TYPED_TEST_SUITE_P(requests, component_test, run_cases);

}  // namespace
}  // namespace laneway::test
