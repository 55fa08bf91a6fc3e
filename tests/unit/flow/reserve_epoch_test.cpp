// What a PE tells the others of its reserve is work that termination detection knows of: else the run could end while
// such a message is on its way.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "laneway/flow/item_worklist.hpp"
#include "laneway/runtime.hpp"

namespace laneway::test {
namespace {

struct plain_application : item_defaults<std::uint32_t> {
    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx&, const std::uint32_t&) const {
        return item_route::keep();
    }
    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx&, const std::uint32_t&) const {
        return item_parts::of(1);
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx&, const std::uint32_t&, std::uint32_t, List&) const {}
};
using part = item_worklist_ref<plain_application>;

/// What happened, in the order of the calls.
struct reserve_record {
    std::uint64_t completed = 0;
    std::vector<std::uint64_t> epochs;  ///< told
    std::vector<std::uint64_t> open;    ///< work that was not yet done then
    std::uint64_t open_at_end = 0;
};

template <class Ctx>
std::uint64_t open_work(Ctx& ctx, const part& list, const reserve_record& record) {
    keyed_reply sum;
    list.add_created(ctx, sum);
    return sum.created - record.completed;
}

/// Takes messages and counts instead of a sender.
template <class Ctx>
struct recorder {
    const part& list;
    reserve_record& record;

    template <class Message>
    status post(Ctx& ctx, int, const Message& message) {
        if constexpr (std::is_same_v<Message, reserve_message>) {
            record.epochs.push_back(message.epoch);
            record.open.push_back(open_work(ctx, list, record));
        }
        return status::ok;
    }
    status flush(Ctx&) { return status::ok; }
    status flush_old(Ctx&) { return status::ok; }
    void complete(Ctx&, std::uint64_t items) { record.completed += items; }
    void count_items(Ctx&, std::uint64_t) {}
};

/// Fills the first PE's near queue and one place of its reserve, and does all that.
struct use_reserve {
    part list;
    reserve_record* record;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.pe() != 0 || ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        using entry = receive_item<plain_application>::entry;
        for (std::uint32_t i = 0; i <= list.queues().near_width; ++i) {
            (void)list.queues().put(ctx, ctx.converged(), true, entry::of(i));
        }
        recorder<Ctx> out{list, *record};
        item_shared shared{};
        roles role(ctx, 0);
        auto agent = list.agent(ctx, out, role, reinterpret_cast<std::byte*>(&shared));
        agent.open(ctx);
        for (std::uint32_t turn = 0; turn < 4 * list.queues().near_width; ++turn) {
            agent.refresh(ctx);
            (void)agent.poll(ctx);
        }
        record->open_at_end = open_work(ctx, list, *record);
    }
};

TEST(reserve_epoch_test, WhatIsToldOfAReserveIsOpenWork) {
    options o;
    o.devices = "cpu:2";
    o.cpu_threads = 1;
    runtime rt(o);
    item_worklist_options room;
    room.items = room.reserve_items = 4;
    room.priorities = false;
    item_queues_memory queues(rt.machine().device(0), sizeof(receive_item<plain_application>::entry), 1, 2, room);
    queues.clear();
    queues.begin(false, false, 0, {});
    item_counters counters;
    std::uint64_t epochs[2] = {};
    reserve_record record;
    rt.run(use_reserve{{{queues.ref(), {}, &counters, false, false}, epochs, false}, &record});

    ASSERT_EQ(record.epochs.size(), 2u) << "that something is in the reserve, and that nothing is";
    EXPECT_EQ(reserve_epoch::of(record.epochs[0]), reserve_epoch::told);
    EXPECT_EQ(reserve_epoch::of(record.epochs[1]), reserve_epoch::unused);
    EXPECT_LT(record.epochs[0], record.epochs[1]);
    for (const std::uint64_t open : record.open) EXPECT_GT(open, 0u);
    EXPECT_EQ(record.open_at_end, 0u);
}

}  // namespace
}  // namespace laneway::test
