// The sub-allocator under the contract of allocators: alone, over several regions, and asked by several threads.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <numeric>
#include <thread>

#include "laneway/memory/sub_allocator.hpp"
#include "sealed_pieces.hpp"

namespace laneway::test {

class sub_allocator_under_test : public allocator_under_test {
public:
    sub_allocator_under_test(std::size_t regions, std::size_t threads) : threads_(threads) {
        while (memory_.size() < regions) {
            memory_.emplace_back(static_cast<std::byte*>(::operator new(region_bytes, alignment)), free_region);
            allocator_.add_region(memory_.back().get(), region_bytes);
        }
    }

    void allocate(std::vector<given_piece>& pieces) override {
        in_threads(pieces.size(), [&](std::size_t i) {
            pieces[i].address = static_cast<std::byte*>(allocator_.try_allocate(pieces[i].bytes));
        });
    }
    void deallocate(const std::vector<given_piece>& pieces) override {
        in_threads(pieces.size(), [&](std::size_t i) { allocator_.deallocate(pieces[i].address); });
    }
    void fill(const std::vector<given_piece>& pieces) override { fill_on_host(pieces); }
    std::size_t broken(const std::vector<given_piece>& pieces) override { return broken_on_host(pieces); }

    [[nodiscard]] std::size_t capacity_bytes() const override { return allocator_.statistics().capacity_bytes; }
    [[nodiscard]] std::size_t max_bytes() const override { return 8192; }
    [[nodiscard]] std::size_t taken_bytes(std::size_t bytes) const override { return (bytes + 15) / 16 * 16; }
    [[nodiscard]] std::size_t alignment_of(std::size_t) const override { return 16; }
    [[nodiscard]] double usable_part() const override { return 0.8; }
    [[nodiscard]] bool is_whole() const override {
        const auto now = allocator_.statistics();
        return now.used_bytes == 0 && now.free_pieces == memory_.size() && now.largest_free_bytes == region_bytes &&
               now.live_allocations == 0;
    }
    void expect_reported(const std::vector<given_piece>& pieces) const override {
        std::map<void*, std::size_t> expected;
        for (const auto& one : pieces) expected[one.address] = one.bytes;
        std::map<void*, std::size_t> reported;
        for (const auto& one : allocator_.live()) reported[one.address] = one.bytes;
        EXPECT_EQ(reported, expected);
        const auto now = allocator_.statistics();
        EXPECT_EQ(now.live_allocations, pieces.size());
        EXPECT_EQ(now.used_bytes, std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                                                  [&](auto sum, const auto& p) { return sum + taken_bytes(p.bytes); }));
    }

private:
    static constexpr std::size_t region_bytes = std::size_t{1} << 18;
    static constexpr std::align_val_t alignment{4096};
    static void free_region(std::byte* region) { ::operator delete(region, alignment); }

    template <class Body>
    void in_threads(std::size_t count, Body&& body) {
        std::vector<std::jthread> others;
        const auto every = [&](std::size_t first) {
            for (std::size_t i = first; i < count; i += threads_) body(i);
        };
        for (std::size_t thread = 1; thread < threads_; ++thread) others.emplace_back(every, thread);
        every(0);
    }

    std::vector<std::unique_ptr<std::byte, void (*)(std::byte*)>> memory_;
    std::size_t threads_;
    sub_allocator allocator_;
};

inline std::vector<allocator_family> sub_allocators() {
    return {{"sub_allocator",
             [](const std::string&, std::uint64_t) -> std::unique_ptr<allocator_under_test> {
                 return std::make_unique<sub_allocator_under_test>(1, 1);
             },
             20},
            {"sub_allocator_of_three_regions",
             [](const std::string&, std::uint64_t) -> std::unique_ptr<allocator_under_test> {
                 return std::make_unique<sub_allocator_under_test>(3, 1);
             },
             20},
            {"sub_allocator_in_threads",
             [](const std::string&, std::uint64_t) -> std::unique_ptr<allocator_under_test> {
                 return std::make_unique<sub_allocator_under_test>(2, 3);
             },
             5}};
}

}  // namespace laneway::test
