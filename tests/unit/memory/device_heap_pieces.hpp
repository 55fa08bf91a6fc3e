// The device heap under the contract of allocators: all lanes of a device ask for a batch together.
#pragma once

#include <bit>
#include <map>

#include "laneway/memory/device_heap.hpp"
#include "sealed_pieces.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Lanes share out the pieces of a batch and do one thing with each.
struct batch_program {
    static constexpr int cuda_warps = 2;
    enum action { allocate, deallocate, fill, check };

    device_heap_ref heap;
    action what = allocate;
    given_piece* pieces = nullptr;
    std::uint64_t count = 0;
    std::uint64_t* wrong = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto lanes = static_cast<std::uint64_t>(ctx.n_blocks() * ctx.n_warps() * Ctx::warp_lanes);
        auto i = static_cast<std::uint64_t>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        for (; i < count; i += lanes) {
            if (!done(ctx, pieces[i])) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN bool done(Ctx& ctx, given_piece& one) const {
        switch (what) {
            case allocate: one.address = static_cast<std::byte*>(heap.insist(ctx, one.bytes).address); return true;
            case deallocate: return heap.deallocate(ctx, one.address);
            case fill:
                for (std::size_t b = 0; b < one.bytes; ++b) one.address[b] = std::byte{sealed_byte(one.seal, b)};
                return true;
            case check: break;
        }
        for (std::size_t b = 0; b < one.bytes; ++b) {
            if (one.address[b] != std::byte{sealed_byte(one.seal, b)}) return false;
        }
        return true;
    }
};

/// Small pages where lanes are few: all sizes and the change of pages from one to another are met soon.
inline device_heap_options small_heap(const std::string& devices) {
    if (is_checked(devices)) return {.bytes = std::size_t{64} << 10, .page_bytes = std::size_t{1} << 10};
    return {.bytes = std::size_t{1} << 20, .page_bytes = std::size_t{1} << 12};
}

class device_heap_under_test : public allocator_under_test {
public:
    device_heap_under_test(const std::string& devices, std::uint64_t seed)
        : machine_(devices, seed), options_(small_heap(devices)), heap_(machine_.device(0), options_) {}

    void allocate(std::vector<given_piece>& pieces) override { act(batch_program::allocate, pieces); }
    void deallocate(const std::vector<given_piece>& pieces) override {
        auto copy = pieces;
        EXPECT_EQ(act(batch_program::deallocate, copy), 0u) << "a live piece was not freed";
    }
    void fill(const std::vector<given_piece>& pieces) override {
        auto copy = pieces;
        act(batch_program::fill, copy);
    }
    std::size_t broken(const std::vector<given_piece>& pieces) override {
        auto copy = pieces;
        return act(batch_program::check, copy);
    }

    [[nodiscard]] std::size_t capacity_bytes() const override { return heap_.statistics().capacity_bytes; }
    [[nodiscard]] std::size_t max_bytes() const override { return 4 * options_.page_bytes; }
    [[nodiscard]] std::size_t taken_bytes(std::size_t bytes) const override {
        const std::size_t page = options_.page_bytes;
        if (bytes > page / 2) return (bytes + page - 1) / page * page;
        return std::bit_ceil(std::max<std::size_t>(bytes, 16));
    }
    [[nodiscard]] std::size_t alignment_of(std::size_t bytes) const override {
        return std::min<std::size_t>(taken_bytes(bytes) & (0 - taken_bytes(bytes)), 256);
    }
    [[nodiscard]] double usable_part() const override { return 0.4; }
    [[nodiscard]] bool is_whole() const override {
        const auto now = heap_.statistics();
        return now.used_bytes == 0 && now.largest_free_span * options_.page_bytes == now.capacity_bytes &&
               now.live_allocations == 0;
    }
    void expect_reported(const std::vector<given_piece>& pieces) const override {
        std::map<void*, std::size_t> expected;
        for (const auto& one : pieces) expected[one.address] = taken_bytes(one.bytes);
        std::map<void*, std::size_t> reported;
        for (const auto& one : heap_.live()) reported[one.address] = one.bytes;
        EXPECT_EQ(reported, expected);
        EXPECT_EQ(heap_.statistics().live_allocations, pieces.size());
    }

private:
    std::uint64_t act(batch_program::action what, std::vector<given_piece>& pieces) {
        if (pieces.empty()) return 0;
        const auto& device = machine_.device(0);
        buffer<given_piece> batch(device, pieces.size());
        const buffer<std::uint64_t> wrong(device, 1);
        batch.copy_in(pieces);
        run_programs(machine_, small_grid(machine_), 100, [&](int) {
            return batch_program{heap_.ref(), what, batch.data(), pieces.size(), wrong.data()};
        });
        pieces = batch.copy_out();
        return wrong.copy_out()[0];
    }

    machine machine_;
    device_heap_options options_;
    device_heap heap_;
};

/// Lanes insist on so many pieces of one size; nobody frees. A lane that has a page in hand may be away for long, and
/// allocate() would not wait for it.
struct filling_program {
    static constexpr int cuda_warps = 2;
    device_heap_ref heap;
    std::size_t bytes = 0;
    std::uint64_t most = 0;
    std::uint64_t* drawn = nullptr;  ///< requests
    std::uint64_t* refused = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        while (ctx.fetch_add(drawn, 1, order::relaxed, scope::device) < most) {
            if (heap.insist(ctx, bytes).address == nullptr) ctx.fetch_add(refused, 1, order::relaxed, scope::device);
        }
    }
};

/// How many pieces of a size lanes get that ask for `most` together.
inline std::uint64_t fill(machine& machine, const device_heap& heap, std::uint32_t quota, std::size_t bytes,
                          std::uint64_t most) {
    const buffer<std::uint64_t> counters(machine.device(0), 2);
    run_programs(machine, small_grid(machine), 100, [&](int) {
        return filling_program{heap.ref(quota), bytes, most, counters.data(), counters.data() + 1};
    });
    return most - counters.copy_out()[1];
}

inline std::vector<allocator_family> device_heaps() {
    std::vector<allocator_family> families;
    for (const std::string& devices : lone_device()) {
        families.push_back({devices,
                            [](const std::string& name, std::uint64_t seed) -> std::unique_ptr<allocator_under_test> {
                                return std::make_unique<device_heap_under_test>(name, seed);
                            },
                            (rounds_within(devices) + 4) / 5});
    }
    return families;
}

}  // namespace laneway::test
