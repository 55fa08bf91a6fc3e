#include "work_group_queue_suite.hpp"  // on CPU devices

#include <thread>

#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

TEST(work_group_layout_test, AColumnHoldsAMessageAndRowsAreContiguous) {
    const auto device = open_device({device_kind::cpu, 0});
    work_group_queue<long_message> queue(device, {2, 4, 3});
    const auto sender = queue.sender();
    EXPECT_EQ(queue.layout().slot_bytes, 128u);  // 4 words × 3 columns × 8 bytes, padded
    lone_environment environment(0, 1, 1);
    cpu::context lane(environment.get(), 0, 1, nullptr);
    host_context host;
    for (std::uint64_t ticket = 0; ticket < 20; ++ticket) {
        column_position place;
        ASSERT_EQ(sender.reserve(lane, place), status::ok);
        EXPECT_EQ(place.ticket, ticket);
        EXPECT_EQ(place.line, ticket % 2);
        EXPECT_EQ(place.turn, ticket / 2);
        EXPECT_EQ(place.slot, ticket % 2 * 4 + ticket / 2 % 4);
        for (std::uint32_t c = 0; c < 3; ++c) sender.write(place.slot, c, long_message::numbered(100 * ticket + c));
        auto receiver = queue.receiver(static_cast<int>(place.line));
        for (std::uint64_t turn = 0; turn < place.turn; ++turn) receiver.release(host);
        EXPECT_TRUE(receiver.peek(host).empty());
        EXPECT_FALSE(sender.is_served(lane, place));
        sender.publish(lane, 1, place, 3);
        const auto batch = receiver.peek(host);
        ASSERT_EQ(batch.size(), 3u);
        EXPECT_EQ(batch.slot(), place.slot);
        const auto* words = reinterpret_cast<const std::uint64_t*>(queue.layout().slots + place.slot * 128);
        for (std::uint32_t f = 0; f < 4; ++f) {
            EXPECT_EQ(batch.row(f), words + 3 * f);
            for (std::uint32_t c = 0; c < 3; ++c) {
                EXPECT_EQ(batch.row(f)[c], long_message::numbered(100 * ticket + c).words[f]);
            }
        }
        receiver.release(host);
        EXPECT_TRUE(sender.is_served(lane, place));
        EXPECT_TRUE(receiver.peek(host).empty());
    }
}

TEST(work_group_layout_test, ResetEmptiesTheQueue) {
    const auto device = open_device({device_kind::cpu, 0});
    work_group_queue<short_message> queue(device, {1, 2, 1});
    lone_environment environment(0, 1, 1);
    cpu::context lane(environment.get(), 0, 1, nullptr);
    host_context host;
    for (int round = 0; round < 3; ++round) {
        queue.reset();
        auto receiver = queue.receiver(0);
        EXPECT_TRUE(receiver.peek(host).empty());
        for (std::uint64_t id = 0; id < 2; ++id) {
            ASSERT_EQ(queue.sender().push(lane, short_message::numbered(id)), status::ok);
            EXPECT_EQ(receiver.peek(host)[0].id(), id);
            receiver.release(host);
        }
        EXPECT_EQ(queue.tickets(), 2u);
    }
}

TEST(work_group_layout_test, SizesThatCannotBeAreRefused) {
    const auto device = open_device({device_kind::cpu, 0});
    using shape = work_group_queue_shape;
    for (const shape& wrong : {shape{0, 1, 1}, shape{2000, 1, 1}, shape{1, 0, 1}, shape{1, 1u << 21, 1}, shape{1, 1, 0},
                               shape{1, 1, 70'000}}) {
        EXPECT_THROW(work_group_queue<long_message>(device, wrong), usage_error);
    }
    EXPECT_EQ(work_group_queue<long_message>(device, {1, 5, 1}).layout().log2_slots, 3u);
}

/// Warps of one block are threads here, so that a sanitizer sees what orders their columns before the flag.
TEST(work_group_threads_test, WarpsOfABlockShareASlot) {
    const auto device = open_device({device_kind::cpu, 0});
    for (const auto way : {pushing::lanes, pushing::block}) {
        work_group_queue<long_message> queue(device, {1, 2, 64});
        const buffer<std::uint64_t> pushed(device, 1);
        lone_environment environment(0, 1, 20);
        std::uint64_t arrived = 0;
        std::atomic<bool> over{false};
        std::thread host([&] {
            host_context ctx;
            auto receiver = queue.receiver(0);
            for (bool last = false; !last;) {
                last = over;
                for (auto batch = receiver.peek(ctx); !batch.empty(); batch = receiver.peek(ctx)) {
                    for (std::uint32_t c = 0; c < batch.size(); ++c) {
                        const long_message expected = long_message::numbered(batch[c].id());
                        const long_message found = batch[c];
                        arrived += std::memcmp(&found, &expected, sizeof found) == 0 ? 1 : 0;
                    }
                    receiver.release(ctx);
                }
                std::this_thread::yield();
            }
        });
        run_warp_threads(environment.get(), launch_shape{2, 3, 1024},
                         push_program<long_message>{queue.sender(), way, 200, 1, pushed.data()});
        over = true;
        host.join();
        EXPECT_FALSE(environment.failed());
        EXPECT_EQ(arrived, pushed.copy_out()[0]);
    }
}

}  // namespace
}  // namespace laneway::test
