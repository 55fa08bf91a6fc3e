// The contract of components that host threads feed, for those that run tasks.
#pragma once

#include "fed_component_suite.hpp"
#include "laneway/channel_graph.hpp"
#include "laneway/task/task_pool.hpp"

namespace laneway::test {
namespace {

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

using fed_tasks = testing::Types<pool_case, channels_case, service_case, remote_case>;
INSTANTIATE_TYPED_TEST_SUITE_P(tasks, fed_component_test, fed_tasks);

}  // namespace
}  // namespace laneway::test
