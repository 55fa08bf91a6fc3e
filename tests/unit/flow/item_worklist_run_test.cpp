// Runs of an item worklist: what its application throws ends the run, whichever of its functions it is.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "laneway/flow/item_worklist.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

/// Item 1 fills the near queue and, with the last item, the reserve; item 2 makes as many more as fit the near queue.
struct refilling_application : item_defaults<std::uint32_t> {
    template <class Ctx>
    item_route on_send(Ctx&, const std::uint32_t&) const {
        return item_route::keep();
    }
    template <class Ctx>
    item_parts parts(Ctx&, const std::uint32_t&) const {
        return item_parts::of(1);
    }
    template <class Ctx, class List>
    void work(Ctx& ctx, const std::uint32_t& one, std::uint32_t, List& list) const {
        for (int i = 0; i < (one == 1 ? 100 : one == 2 ? 6 : 0); ++i) (void)list.push(ctx, 3);
        if (one == 1) (void)list.push(ctx, 2);
        if (one == 3) std::this_thread::sleep_for(std::chrono::microseconds(200));  // the other PE fills its own
    }
};

TEST(item_reserves_test, PesWhoseReservesHaveJustEmptiedDoNotStopEachOther) {
    options o = options_of("cpu:2", 0);
    o.cpu_threads = 1;
    runtime rt(o);
    item_worklist_options sizes;
    sizes.items = 8;
    sizes.reserve_items = 1024;
    sizes.priorities = false;
    item_worklist<refilling_application> list(rt.machine(), {{}, {}}, sizes);
    list.start_with(0, {1});
    list.start_with(1, {1});
    run_items(rt, list);
    EXPECT_EQ(list.work().done, 2 * 108u);
}

enum class function : std::uint32_t { parts, work, pack, unpack, on_send, on_receive, priority, last };
constexpr const char* names[] = {"parts", "work", "pack", "unpack", "on_send", "on_receive", "priority"};

/// A number that goes from PE to PE until it is 0; one function throws at 5.
struct throwing_application {
    using item = std::uint32_t;
    using packed = std::uint64_t;

    function throws = function::last;

    void look(function mine, std::uint64_t number) const {
        if (mine == throws && number == 5) throw std::out_of_range("number 5");
    }
    template <class Ctx>
    packed pack(Ctx&, const item& number) const {
        look(function::pack, number);
        return number;
    }
    template <class Ctx>
    item unpack(Ctx&, const packed& number) const {
        look(function::unpack, number);
        return static_cast<item>(number);
    }
    template <class Ctx>
    item_route on_send(Ctx& ctx, const item& number) const {
        look(function::on_send, number);
        return item_route::pass((ctx.pe() + 1) % ctx.n_pes());
    }
    template <class Ctx>
    item_route on_receive(Ctx&, const packed& number) const {
        look(function::on_receive, number);
        return item_route::keep();
    }
    template <class Ctx>
    std::uint64_t priority(Ctx&, const item& number) const {
        look(function::priority, number);
        return 100 - number;
    }
    template <class Ctx>
    item_parts parts(Ctx&, const item& number) const {
        look(function::parts, number);
        return item_parts::of(number == 0 ? 0 : 1);
    }
    template <class Ctx, class List>
    void work(Ctx& ctx, const item& number, std::uint32_t, List& list) const {
        look(function::work, number);
        (void)list.push(ctx, number - 1);
    }
};

class item_worklist_run_test : public testing::TestWithParam<std::string> {};

TEST_P(item_worklist_run_test, WhatAnyFunctionThrowsComesOutOfTheRun) {
    for (std::uint64_t seed = 1; seed <= (is_checked(GetParam()) ? rounds_of(GetParam()) : 3); ++seed) {
        options o;
        o.devices = GetParam();
        o.seed = seed;
        runtime rt(o);
        for (std::uint32_t which = 0; which <= static_cast<std::uint32_t>(function::last); ++which) {
            const auto throws = static_cast<function>(which);
            const bool travels =
                throws == function::pack || throws == function::unpack || throws == function::on_receive;
            const bool is_called = throws != function::last && (rt.n_pes() > 1 || !travels);
            const std::vector<throwing_application> all(static_cast<std::size_t>(rt.n_pes()), {throws});
            item_worklist_options list_options;
            list_options.items = list_options.reserve_items = 64;
            item_worklist<throwing_application> list(rt.machine(), all, list_options);
            list.start_with(0, {9});
            try {
                run_items(rt, list);
                EXPECT_FALSE(is_called) << "the exception of " << names[which] << " was lost";
                EXPECT_EQ(list.work().done, 10u);
            } catch (const lane_error& e) {
                const std::string what = e.what();
                ASSERT_TRUE(is_called) << what;
                EXPECT_EQ(what.rfind("PE ", 0), 0u) << what;
                EXPECT_NE(what.find(std::string(": exception in ") + names[which] + " of the item worklist: number 5"),
                          std::string::npos)
                    << what;
                EXPECT_THROW(std::rethrow_if_nested(e), std::out_of_range);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(devices, item_worklist_run_test, testing::Values("cpu:1", "cpu:2", "checked:1", "checked:2"),
                         name_of);

}  // namespace
}  // namespace laneway::test
