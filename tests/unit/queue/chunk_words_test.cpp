// Words of a chunk ring prove their ticket also where its lower 32 bits come round.
#include <gtest/gtest.h>

#include "laneway/queue/chunk_ring.hpp"
#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

/// A ring in plain memory whose two sides are one lane.
struct plain_ring {
    static constexpr std::uint32_t n = 4;

    /// `first`: the next ticket. All words were written with `tag`.
    plain_ring(std::uint64_t first, std::uint32_t tag) : tail(first) {
        for (std::uint64_t t = first - n; t < first; ++t) {
            credits[t % n] = t + 1;
            flags[t % n] = chunk_label::of(1, 0).flag(t);
        }
        for (auto& word : words) word = std::uint64_t{tag} << 32 | 0xdead;
        const chunk_ring_layout layout{slots, flags, credits, &tail, n, 16, words};
        to = chunk_sender(layout);
        from = chunk_receiver(layout);
    }

    /// Words of the next ticket's slot that seem to belong to it before anything is sent.
    [[nodiscard]] std::uint32_t arrived_too_early() {
        std::uint32_t early = 0;
        for (std::uint32_t i = 0; i < chunk_words; ++i) {
            std::uint32_t value = 0;
            early += load_tagged(lane, words + to.slot_of(tail) * chunk_words + i, static_cast<std::uint32_t>(tail + 1),
                                 value, order::acquire)
                         ? 1
                         : 0;
        }
        return early;
    }

    void carry_in_slot() {
        const std::uint64_t ticket = to.draw(lane);
        ASSERT_TRUE(to.is_free(lane, ticket));
        to.publish(lane, 1, ticket, 1);
        ASSERT_FALSE(from.poll(lane, ticket).in_words());
        from.release(lane, 1, ticket);
    }

    void carry_in_words(std::uint32_t value) {
        const std::uint64_t ticket = to.draw(lane);
        ASSERT_TRUE(to.is_free(lane, ticket, order::acquire));
        to.publish_in_words(lane, 1, ticket, &value, 1, 0, 0);
        ASSERT_TRUE(from.poll(lane, ticket).in_words());
        std::uint32_t got = 0;
        ASSERT_TRUE(from.load_words(lane, ticket, 0, got));
        EXPECT_EQ(got, value);
        from.release(lane, 1, ticket);
    }

    test::lone_environment environment{0, 2, 10};
    cpu::context lane{environment.get(), 0, 1, nullptr};
    alignas(16) std::byte slots[n * 16] = {};
    std::uint64_t flags[n] = {}, credits[n] = {}, words[n * chunk_words] = {};
    std::uint64_t tail;
    chunk_sender to;
    chunk_receiver from;
};

constexpr std::uint64_t all_tickets = std::uint64_t{1} << 32;

TEST(chunk_words_test, NoWordIsOfATicketBeforeItsChunkIsSent) {
    // What may stand in words that no chunk has needed for long: nothing at all, or tags of 2^32 tickets ago.
    for (std::uint32_t tag = 0; tag <= 2 * plain_ring::n; ++tag) {
        plain_ring ring(all_tickets - 2 * plain_ring::n, tag);
        for (std::uint32_t i = 0; i < plain_ring::n; ++i) ring.carry_in_slot();
        for (std::uint32_t i = 0; i < 3 * plain_ring::n; ++i) {
            EXPECT_EQ(ring.arrived_too_early(), 0u) << "ticket " << ring.tail << ", words of tag " << tag;
            ring.carry_in_words(i);
        }
    }
}

TEST(chunk_words_test, EachSlotIsRenewedOnceInAPeriodAndBetweenTimesNothingIsStored) {
    const std::uint64_t first = all_tickets - words_period + 2 * plain_ring::n;
    plain_ring ring(first, 77);
    for (std::uint64_t t = first; t < all_tickets - 2 * plain_ring::n; ++t) ring.carry_in_slot();
    for (const std::uint64_t word : ring.words) ASSERT_EQ(word >> 32, 77u);
    for (std::uint32_t i = 0; i < plain_ring::n; ++i) ring.carry_in_slot();
    for (const std::uint64_t word : ring.words) ASSERT_GT(word >> 32, 77u);
}

TEST(chunk_words_test, RingsThatAreLongerThanAPeriodRenewWordsInEachLap) {
    chunk_ring_layout ring;
    ring.n_slots = 1u << 22;
    EXPECT_TRUE(ring.renews_words(0));
    EXPECT_TRUE(ring.renews_words(ring.n_slots - 1));
}

}  // namespace
}  // namespace laneway
