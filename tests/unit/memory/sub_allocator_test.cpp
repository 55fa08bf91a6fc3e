// What the sub-allocator keeps beyond the contract of allocators (allocator_suite.hpp). Most regions here are addresses
// without memory behind them: whoever touched one would not live to tell.
#include "laneway/memory/sub_allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway::test {
namespace {

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
std::uintptr_t number(void* piece) { return reinterpret_cast<std::uintptr_t>(piece); }

constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 60;

template <class Body>
std::string told_by(Body&& body) {
    try {
        body();
    } catch (const error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST(sub_allocator_test, AlignsAsAsked) {
    sub_allocator pieces(at(nowhere + 16), std::size_t{1} << 24);
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 20; alignment *= 2) {
        for (const std::size_t bytes : {1u, 100u, 5000u}) {
            void* const piece = pieces.allocate(bytes, alignment);
            EXPECT_EQ(number(piece) % std::max<std::size_t>(alignment, 16), 0u) << alignment;
        }
    }
    for (const auto& one : pieces.live()) pieces.deallocate(one.address);
    EXPECT_EQ(pieces.statistics().free_pieces, 1u);
    EXPECT_EQ(pieces.statistics().fragmentation(), 0);
}

TEST(sub_allocator_test, RefusesAlignmentsThatAreNoPowerOfTwo) {
    sub_allocator pieces(at(nowhere), 4096);
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, ~std::size_t{0}}) {
        EXPECT_THROW((void)pieces.try_allocate(16, alignment), usage_error);
    }
    EXPECT_EQ(pieces.try_allocate(16, std::size_t{1} << 63), nullptr);
}

TEST(sub_allocator_test, GivesThePieceThatFitsExactly) {
    // TLSF alone would round these up and find nothing.
    for (const std::size_t bytes : {528u, 1040u, 4080u, 65552u, 1000016u}) {
        sub_allocator pieces(at(nowhere), bytes);
        EXPECT_EQ(pieces.try_allocate(bytes + 1), nullptr);
        EXPECT_EQ(pieces.try_allocate(bytes), at(nowhere)) << bytes;
        EXPECT_EQ(pieces.statistics().largest_free_bytes, 0u);
        EXPECT_EQ(pieces.statistics().fragmentation(), 0);
    }
    sub_allocator pieces(at(nowhere + 240), 4112);
    EXPECT_EQ(pieces.try_allocate(4096, 256), at(nowhere + 256));
}

TEST(sub_allocator_test, TakesSmallPiecesForSmallRequests) {
    sub_allocator pieces(at(nowhere), 1 << 20);
    void* const small = pieces.allocate(1000);
    (void)pieces.allocate(16);
    pieces.deallocate(small);
    EXPECT_EQ(pieces.allocate(900), small) << "a large free piece was cut although a small one was there";
}

TEST(sub_allocator_test, JoinsNeighboursInEveryOrder) {
    std::vector<int> order{0, 1, 2, 3};
    do {
        sub_allocator pieces(at(nowhere), 4 * 512);
        void* given[4];
        for (void*& one : given) one = pieces.allocate(512);
        for (const int i : order) pieces.deallocate(given[i]);
        EXPECT_EQ(pieces.statistics().free_pieces, 1u);
        EXPECT_EQ(pieces.statistics().largest_free_bytes, 4 * 512u);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(sub_allocator_test, DoesNotJoinRegions) {
    sub_allocator pieces(at(nowhere), 512);
    pieces.add_region(at(nowhere + 512), 512);
    EXPECT_EQ(pieces.try_allocate(1024), nullptr);
    void* const one = pieces.allocate(512);
    void* const other = pieces.allocate(512);
    pieces.deallocate(one);
    pieces.deallocate(other);
    EXPECT_EQ(pieces.statistics().free_pieces, 2u);
    EXPECT_EQ(pieces.try_allocate(1024), nullptr);
}

TEST(sub_allocator_test, RefusesRegionsThatCannotBe) {
    sub_allocator pieces;
    EXPECT_EQ(pieces.try_allocate(1), nullptr);
    EXPECT_THROW(pieces.add_region(nullptr, 4096), usage_error);
    EXPECT_THROW(pieces.add_region(at(nowhere), 0), usage_error);
    EXPECT_THROW(pieces.add_region(at(nowhere), 15), usage_error);
    EXPECT_THROW(pieces.add_region(at(nowhere + 1), 30), usage_error);
    EXPECT_THROW(pieces.add_region(at(nowhere), ~std::size_t{0}), usage_error);
    pieces.add_region(at(nowhere + 8), 4096);  // unaligned: 15 granules short of an end
    EXPECT_EQ(pieces.statistics().capacity_bytes, 4080u);
    EXPECT_EQ(told_by([&] { pieces.add_region(at(nowhere + 4000), 4096); }),
              "region of 4096 bytes at 0x1000000000000fa0: it overlaps the region from 0x1000000000000010 to "
              "0x1000000000001000");
    pieces.add_region(at(nowhere + 4096), 16);
    EXPECT_EQ(pieces.statistics().free_pieces, 2u);
}

TEST(sub_allocator_test, TellsWhatThereWasWhereNothingFits) {
    sub_allocator pieces(at(nowhere), 4096);
    void* const first = pieces.allocate(1024);
    (void)pieces.allocate(1024);
    pieces.deallocate(first);
    EXPECT_EQ(told_by([&] { (void)pieces.allocate(3000, 64); }),
              "no piece of 3000 bytes aligned to 64: 3072 of 4096 bytes are free, 2048 in the largest piece");
    EXPECT_THROW((void)pieces.allocate(3000), system_error);
}

TEST(sub_allocator_test, RefusesToFreeWhatIsNotLive) {
    sub_allocator pieces(at(nowhere), 4096);
    void* const piece = pieces.allocate(100);
    void* const neighbour = pieces.allocate(100);
    const auto before = pieces.live();
    pieces.deallocate(nullptr);
    EXPECT_EQ(told_by([&] { pieces.deallocate(at(0x2000)); }),
              "cannot free 0x2000: it lies in no region of this allocator");
    for (const std::uintptr_t inside : {nowhere + 16, nowhere + 1, nowhere + 224}) {
        EXPECT_THROW(pieces.deallocate(at(inside)), usage_error);
    }
    EXPECT_EQ(pieces.live(), before);
    pieces.deallocate(piece);
    EXPECT_EQ(told_by([&] { pieces.deallocate(piece); }),
              "cannot free 0x1000000000000000: no live piece begins there; it has been freed already, or was never "
              "handed out");
    pieces.deallocate(neighbour);
    EXPECT_THROW(pieces.deallocate(neighbour), usage_error) << "joined with the one before it";
    EXPECT_EQ(pieces.statistics().free_pieces, 1u);
}

TEST(sub_allocator_test, CountsAndReports) {
    sub_allocator pieces(at(nowhere), 4096);
    void* const a = pieces.allocate(1);
    void* const b = pieces.allocate(17);
    void* const c = pieces.allocate(0);
    EXPECT_NE(c, nullptr);
    pieces.deallocate(a);
    EXPECT_EQ(pieces.live(), (std::vector<live_piece>{{b, 17, 2}, {c, 0, 3}}));
    (void)pieces.try_allocate(100'000);
    const auto now = pieces.statistics();
    EXPECT_EQ(now.used_bytes, 48u);
    EXPECT_EQ(now.peak_bytes, 64u);
    EXPECT_EQ(now.live_allocations, 2u);
    EXPECT_EQ(now.total_allocations, 3u) << "refused ones do not count";
    EXPECT_EQ(now.free_pieces, 2u);
    EXPECT_EQ(now.largest_free_bytes, 4096u - 64);
    EXPECT_DOUBLE_EQ(now.fragmentation(), 1 - (4096.0 - 64) / (4096 - 48));
}

/// Free stretches of a region, by first address: what a list of all free bytes says.
class plain_model {
public:
    explicit plain_model(std::size_t bytes) { free_[nowhere] = bytes; }

    [[nodiscard]] bool fits(std::size_t bytes, std::size_t alignment) const {
        return std::any_of(free_.begin(), free_.end(), [&](const auto& stretch) {
            const std::size_t skipped = -stretch.first & (alignment - 1);
            return skipped <= stretch.second && bytes <= stretch.second - skipped;
        });
    }
    void take(std::uintptr_t begin, std::size_t bytes) {
        const auto stretch = std::prev(free_.upper_bound(begin));
        const auto [first, all] = *stretch;
        ASSERT_TRUE(first <= begin && begin + bytes <= first + all) << "handed out twice, or outside of the region";
        free_.erase(stretch);
        if (begin > first) free_[first] = begin - first;
        if (begin + bytes < first + all) free_[begin + bytes] = first + all - begin - bytes;
    }
    void give_back(std::uintptr_t begin, std::size_t bytes) {
        auto here = free_.emplace(begin, bytes).first;
        if (const auto next = std::next(here); next != free_.end() && begin + bytes == next->first) {
            here->second += next->second;
            free_.erase(next);
        }
        if (here == free_.begin()) return;
        if (const auto before = std::prev(here); before->first + before->second == begin) {
            before->second += here->second;
            free_.erase(here);
        }
    }
    [[nodiscard]] std::size_t pieces() const { return free_.size(); }
    [[nodiscard]] std::size_t largest() const {
        std::size_t most = 0;
        for (const auto& stretch : free_) most = std::max(most, stretch.second);
        return most;
    }

private:
    std::map<std::uintptr_t, std::size_t> free_;
};

// The model knows every free byte: null is returned exactly where no stretch holds the request, and whatever is freed
// joins whatever is free beside it.
TEST(sub_allocator_test, AgreesWithAListOfAllFreeBytes) {
    std::size_t ever_refused = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        constexpr std::size_t region = 1 << 15;
        sub_allocator pieces(at(nowhere), region);
        plain_model model(region);
        std::vector<std::pair<void*, std::size_t>> live;
        const std::size_t log2_most = 6 + seed % 9;
        std::size_t refused = 0;
        for (int step = 0; step < 4000; ++step) {
            if (random() % 100 < (step / 500 % 2 == 0 ? 80u : 40u) || live.empty()) {
                const std::size_t bytes = 16 * (1 + random() % ((std::size_t{1} << random() % log2_most) / 16 + 1));
                const std::size_t alignment = std::size_t{16} << (random() % 4 == 0 ? random() % 8 : 0);
                void* const piece = pieces.try_allocate(bytes, alignment);
                ASSERT_EQ(piece != nullptr, model.fits(bytes, alignment)) << bytes << " bytes, step " << step;
                refused += piece == nullptr ? 1 : 0;
                if (piece == nullptr) continue;
                ASSERT_EQ(number(piece) % alignment, 0u);
                ASSERT_NO_FATAL_FAILURE(model.take(number(piece), bytes));
                live.emplace_back(piece, bytes);
            } else {
                std::swap(live[random() % live.size()], live.back());
                pieces.deallocate(live.back().first);
                model.give_back(number(live.back().first), live.back().second);
                live.pop_back();
            }
            ASSERT_EQ(pieces.statistics().free_pieces, model.pieces()) << "step " << step;
            ASSERT_EQ(pieces.statistics().largest_free_bytes, model.largest());
            ASSERT_EQ(pieces.statistics().live_allocations, live.size());
        }
        ever_refused += refused;
    }
    EXPECT_GT(ever_refused, 0u) << "the region never ran full";
}

TEST(sub_allocator_test, ManyPiecesAreFoundAgain) {
    constexpr std::size_t count = 100'000;
    sub_allocator pieces(at(nowhere), std::size_t{1} << 40);
    std::mt19937_64 random(7);
    std::vector<void*> given;
    for (std::size_t i = 0; i < count; ++i) given.push_back(pieces.allocate(1 + random() % 10'000));
    EXPECT_EQ(pieces.live().size(), count);
    std::shuffle(given.begin(), given.end(), random);
    for (void* const piece : given) pieces.deallocate(piece);
    EXPECT_EQ(pieces.statistics().free_pieces, 1u);
    EXPECT_EQ(pieces.statistics().peak_bytes, pieces.statistics().peak_bytes / 16 * 16);
    EXPECT_TRUE(pieces.live().empty());
}

}  // namespace
}  // namespace laneway::test
