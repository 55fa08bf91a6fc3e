// What a PE tells the termination detector that it has created and completed.
#include "laneway/run/pe_counters.hpp"

#include <gtest/gtest.h>

#include "laneway/comm/mailbox.hpp"
#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

/// A lane's context, where the last functor posts a message and returns just before this lane sees that it has.
class overtaken_context : public cpu::context {
public:
    overtaken_context(const cpu::context& lane, work_counters& work, link_counters& sent)
        : cpu::context(lane), work_(work), sent_(sent) {}

    std::uint64_t load(const std::uint64_t* at, order o, scope s) {
        if (at == &work_.completed) {
            sent_.messages = 1;
            work_.completed = 1;
        }
        return cpu::context::load(at, o, s);
    }

private:
    work_counters& work_;
    link_counters& sent_;
};

struct ignore_word {
    template <class Ctx>
    void operator()(Ctx&, const std::uint64_t&) const {}
};

TEST(pe_counters_test, WhatAPeHasCreatedIsReadAfterItsFunctorsAreSeenToHaveReturned) {
    const test::lone_environment environment(0, 1, 10);
    work_counters work;
    link_counters sent;
    links_ref links;
    links.work = &work;
    links.sent = &sent;
    overtaken_context lane(cpu::context(environment.get(), 0, 1, nullptr), work, sent);
    using list = route_list<routes<route<std::uint64_t, ignore_word>>>;
    const auto counters = counters_of<overtaken_context, list>(links, 1, view_list<>{});
    static_assert(decltype(counters)::non_generating);
    const termination_reply seen = counters.look(lane);
    EXPECT_EQ(seen.active, 0u);
    EXPECT_EQ(seen.completed, 1u);
    EXPECT_EQ(seen.created, 2u) << "the functor and its message";
}

/// A component with three units of work, two of them done.
struct counting_component {
    using routes_type = routes<>;
    static constexpr bool counts_work = true;
    template <class Ctx>
    void add_completed(Ctx&, keyed_reply& sum) const {
        sum.completed += 2;
        sum.active += 1;
        sum.least = sum.least < 70 ? sum.least : 70;
    }
    template <class Ctx>
    void add_created(Ctx&, keyed_reply& sum) const {
        sum.created += 3;
    }
};

TEST(pe_counters_test, SumsMessagesBodiesAndTheWorkOfAComponent) {
    const test::lone_environment environment(0, 1, 10);
    work_counters work;
    work.completed = 1;  // a body
    work.served = 5;
    work.deferred = 4;
    work.forwarded = 3;
    link_counters sent;
    sent.messages = 7;
    links_ref links;
    links.work = &work;
    links.sent = &sent;
    cpu::context lane(environment.get(), 0, 1, nullptr);
    using list = route_list<routes<route<std::uint64_t, ignore_word>>>;
    const view_list<mailbox_ref<routes<route<std::uint64_t, ignore_word>>>, counting_component> views{};
    const keyed_reply seen = counters_of<cpu::context, list>(links, 2, views).look(lane);
    EXPECT_EQ(seen.created, 2u + 7 + 4 + 3);
    EXPECT_EQ(seen.completed, 1u + 5 + 3 + 2);
    EXPECT_EQ(seen.served, 5u);
    EXPECT_EQ(seen.active, 1u);
    EXPECT_EQ(seen.least, 70u);
}

/// An inbox of which six messages were taken and five have been served.
struct fed_component : counting_component {
    static constexpr bool takes_from_host = true;
    template <class Ctx>
    void add_epoch(Ctx&, fed_reply& sum) const {
        sum.taken += 6;
        sum.host_served += 5;
    }
};

TEST(pe_counters_test, TellsOfMessagesOfTheHostAndOfThoseThatLeft) {
    const test::lone_environment environment(0, 1, 10);
    work_counters work;
    work.served = 5;
    work.replies_served = 2;
    work.deferred = 4;
    work.replied = 3;
    link_counters sent;
    sent.messages = 7;
    links_ref links;
    links.work = &work;
    links.sent = &sent;
    cpu::context lane(environment.get(), 0, 1, nullptr);
    using list = route_list<routes<route<std::uint64_t, ignore_word>>>;
    const view_list<fed_component> views{};
    const fed_reply seen = counters_of<cpu::context, list>(links, 0, views).look(lane);
    EXPECT_EQ(seen.created, 7u + 4 + 3 + 3);
    EXPECT_EQ(seen.carried, 7u + 3) << "messages and replies";
    EXPECT_EQ(seen.served, 5u + 2);
    EXPECT_EQ(seen.taken, 6u);
    EXPECT_EQ(seen.host_served, 5u);
}

}  // namespace
}  // namespace laneway
