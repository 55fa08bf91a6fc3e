// The inbox of a PE, as one warp of a GPU's block takes messages from it: what it looks at, and what it waits for.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "laneway/run/host_inbox_ref.hpp"
#include "unit/counting_context.hpp"

namespace laneway::test {
namespace {

/// Counts looks at PE memory, and orders that wait for the host's memory.
class inbox_lane : public counting_context {
public:
    using counting_context::counting_context;

    int looks = 0;          ///< at words of the PE
    int system_orders = 0;  ///< other than relaxed

    template <class T>
    T load(const T* word, order o, scope s) {
        looks += s == scope::device ? 1 : 0;
        return counting_context::load(word, o, s);
    }
    template <class T>
    void store(T* word, std::type_identity_t<T> value, order o, scope s) {
        system_orders += s == scope::system && o != order::relaxed ? 1 : 0;
        counting_context::store(word, value, o, s);
    }
};

template <std::size_t Bytes>
struct sized_post {
    std::array<std::uint8_t, Bytes> bytes;
};
struct ignore_all {
    template <class Ctx, class Message>
    LANEWAY_FN void operator()(Ctx&, const Message&) const {}
};
template <class... Messages>
using post_list = route_list<routes<route<Messages, ignore_all>...>>;

/// Memory of an inbox, and what the host does with it.
template <class List>
struct inbox_memory {
    static constexpr std::size_t slot_bytes = inbox_slot::bytes_of(inbox_message_bytes<List>);
    static constexpr std::uint64_t capacity = 4;
    struct alignas(64) line {
        std::byte bytes[64];
    };

    std::vector<line> slots{capacity * slot_bytes / sizeof(line)};
    std::uint64_t filled = 0, known = 0, taken = 0, is_open = 1, served = 0;
    inbox_ref ref;

    inbox_memory() {
        ref.slots = slots.data()->bytes;
        ref.filled = &filled;
        ref.known = &known;
        ref.taken = &taken;
        ref.is_open = &is_open;
        ref.served = &served;
        ref.capacity = capacity;
        ref.slot_bytes = slot_bytes;
        for (std::uint64_t i = 0; i < capacity; ++i) ref.slot(i).free_for = i;
    }
    template <class Message>
    void leave(const Message& message) {
        inbox_slot& slot = ref.slot(filled);
        ASSERT_EQ(slot.free_for, filled);
        slot.kind = List::template kind<Message>;
        slot.reply = 0;
        *slot.template message<Message>() = message;
        ++filled;
    }
};

/// Takes what agents post, and notes of the inbox how many slots were free then.
template <class List>
struct noted_posts {
    const inbox_memory<List>* memory = nullptr;
    std::vector<std::vector<std::uint8_t>> messages{};
    std::vector<bool> given_back{};
    std::uint64_t completed = 0;

    template <class Ctx, class Message>
    status post(Ctx&, int, const Message& message) {
        given_back.push_back(memory->ref.slot(messages.size()).free_for == messages.size() + memory->capacity);
        messages.emplace_back(message.bytes.begin(), message.bytes.end());
        return status::ok;
    }
    template <class Ctx>
    void complete(Ctx&, std::uint64_t items) {
        completed += items;
    }
};

/// Two warps of a block, of which the first is the control warp as well.
template <class List>
struct block_at_inbox {
    using agent = host_inbox_agent<inbox_lane, noted_posts<List>, List>;

    lone_environment alone{0, 1, 30};
    launch_shape shape{1, 2, 64};
    std::barrier<> barrier{1};
    inbox_memory<List> memory;
    noted_posts<List> out{&memory};
    inbox_shared shared{};
    inbox_lane lanes[2] = {{cpu::context(alone.get(), 0, 1, nullptr), shape, 0, barrier},
                           {cpu::context(alone.get(), 0, 1, nullptr), shape, 1, barrier}};
    agent first{memory.ref, out, &shared}, second{memory.ref, out, &shared};

    block_at_inbox() { first.open(lanes[0]); }
    void pass_on() {
        first.attend(lanes[0]);
        first.refresh(lanes[0]);
        for (inbox_lane& lane : lanes) lane.looks = lane.system_orders = lane.releases = 0;
    }
};

TEST(host_inbox_test, AMessageIsServedBehindOneFenceOfTheDeviceAndWaitsForNoneOfTheSystem) {
    using small = sized_post<24>;
    block_at_inbox<post_list<small>> block;
    for (std::uint8_t i = 0; i < 10; ++i) {
        block.memory.leave(small{{i}});
        block.pass_on();
        ASSERT_TRUE(block.second.poll(block.lanes[1]));
        EXPECT_EQ(block.out.messages.back()[0], i);
        EXPECT_TRUE(block.out.given_back.back()) << "a handler may take long, and the host have more";
        EXPECT_EQ(block.lanes[1].releases, 1);
        EXPECT_EQ(block.lanes[1].system_orders, 0);
    }
    EXPECT_EQ(block.out.completed, 10u);
    EXPECT_EQ(block.memory.served, 10u);
}

TEST(host_inbox_test, TheControlWarpsBlockHearsOfAMessageAtOnce) {
    using small = sized_post<8>;
    block_at_inbox<post_list<small>> block;
    block.first.attend(block.lanes[0]);
    EXPECT_EQ(block.lanes[0].acquires, 0) << "nothing has come";
    block.memory.leave(small{{7}});
    block.first.attend(block.lanes[0]);  // and no refresh
    EXPECT_EQ(block.lanes[0].acquires, 1);
    EXPECT_TRUE(block.second.poll(block.lanes[1]));
}

TEST(host_inbox_test, OneWarpOfABlockAsksForMessagesAtATime) {
    using small = sized_post<8>;
    block_at_inbox<post_list<small>> block;
    block.memory.leave(small{{7}});
    block.pass_on();
    block.shared.claiming = 1;  // as another warp does
    EXPECT_FALSE(block.second.poll(block.lanes[1]));
    EXPECT_EQ(block.lanes[1].looks, 0);
    block.shared.claiming = 0;
    EXPECT_TRUE(block.second.poll(block.lanes[1]));
    EXPECT_FALSE(block.first.poll(block.lanes[0]));
    EXPECT_EQ(block.lanes[0].looks, 0) << "the block knows that all have been claimed";
}

TEST(host_inbox_test, ABlockThatCameTooLateDoesNotAskAgain) {
    using small = sized_post<8>;
    block_at_inbox<post_list<small>> block;
    block.memory.leave(small{{7}});
    block.pass_on();
    block.memory.taken = 1;  // by a warp of another block
    EXPECT_FALSE(block.second.poll(block.lanes[1]));
    EXPECT_GT(block.lanes[1].looks, 0);
    EXPECT_FALSE(block.first.poll(block.lanes[0]));
    EXPECT_EQ(block.lanes[0].looks, 0);
    block.memory.leave(small{{8}});
    block.pass_on();
    EXPECT_TRUE(block.first.poll(block.lanes[0])) << "what comes later is new";
}

template <std::size_t Bytes>
void leave_and_take(
    block_at_inbox<post_list<sized_post<1>, sized_post<47>, sized_post<48>, sized_post<49>, sized_post<200>>>& block) {
    sized_post<Bytes> message;
    std::iota(message.bytes.begin(), message.bytes.end(), static_cast<std::uint8_t>(Bytes));
    block.memory.leave(message);
    block.pass_on();
    ASSERT_TRUE(block.first.poll(block.lanes[0]));
    EXPECT_EQ(block.out.messages.back(), std::vector<std::uint8_t>(message.bytes.begin(), message.bytes.end()));
}

TEST(host_inbox_test, MessagesOfAllSizesComeWhole) {
    block_at_inbox<post_list<sized_post<1>, sized_post<47>, sized_post<48>, sized_post<49>, sized_post<200>>> block;
    for (int lap = 0; lap < 3; ++lap) {
        leave_and_take<1>(block);
        leave_and_take<47>(block);
        leave_and_take<48>(block);
        leave_and_take<49>(block);
        leave_and_take<200>(block);
    }
}

}  // namespace
}  // namespace laneway::test
