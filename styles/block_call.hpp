// Block-wide calls: the lanes of a block bring a message each, sort them by destination in shared memory, and then act
// together on the messages of one destination after another (coalesced APIs: Orr 2016, section 3.1.3).
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway::styles {

/// What the lanes of a block share. Lives in shared memory on GPUs; a block of a CPU device is one lane, which has it
/// to itself.
template <class Message>
struct block_memory {
    static constexpr int max_lanes = 1024;
    static constexpr int max_pes = 256;

    Message sorted[max_lanes];
    std::uint32_t counts[max_pes];
    std::uint32_t starts[max_pes];
    std::uint64_t claimed;
};

/// Lanes of a block that call together. All members that are not const: all of these lanes, with the same arguments
/// where nothing else is said.
template <class Ctx, class Message>
class block_call {
public:
    /// Of `warps` warps of the block this one is number `warp`. `own` is used where a block is one lane.
    LANEWAY_FN block_call(Ctx& ctx, block_memory<Message>& own, int warp, int warps)
        : ctx_(ctx), memory_(shared(own)), lane_(static_cast<std::uint32_t>(warp * Ctx::warp_lanes + ctx.lane())),
          lanes_(static_cast<std::uint32_t>(warps * Ctx::warp_lanes)) {}

    [[nodiscard]] LANEWAY_FN std::uint32_t lane() const { return lane_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t lanes() const { return lanes_; }

    /// The messages for a PE, after sort.
    [[nodiscard]] LANEWAY_FN std::uint32_t count(int pe) const { return memory_.counts[pe]; }
    [[nodiscard]] LANEWAY_FN const Message* messages(int pe) const { return memory_.sorted + memory_.starts[pe]; }

    /// Takes a message for a PE from each lane that has one, and sorts them by counting.
    LANEWAY_FN void sort(bool has, int pe, const Message& message) {
        sync();  // nobody reads the last call's messages any more
        for (std::uint32_t p = lane_; p < pes(); p += lanes_) memory_.counts[p] = 0;
        sync();
        std::uint32_t place = 0;
        if (has) place = ctx_.fetch_add(&memory_.counts[pe], 1, order::relaxed, scope::block);
        sync();
        for (std::uint32_t p = lane_, start = 0; p < pes(); p += lanes_, start = 0) {
            for (std::uint32_t before = 0; before < p; ++before) start += memory_.counts[before];
            memory_.starts[p] = start;
        }
        sync();
        if (has) memory_.sorted[memory_.starts[pe] + place] = message;
        sync();
    }

    /// What `produce` returns on the first of the lanes, for all of them.
    template <class Produce>
    LANEWAY_FN std::uint64_t once(Produce&& produce) {
        sync();
        if (lane_ == 0) memory_.claimed = produce();
        sync();
        return memory_.claimed;
    }

private:
    [[nodiscard]] LANEWAY_FN std::uint32_t pes() const { return static_cast<std::uint32_t>(ctx_.n_pes()); }

    /// A barrier of these lanes only: other warps of the block may serve or flush meanwhile.
    LANEWAY_FN void sync() {
#if defined(__CUDA_ARCH__)
        asm volatile("barrier.sync 1, %0;" ::"r"(lanes_) : "memory");
#endif
    }

    LANEWAY_FN static block_memory<Message>& shared([[maybe_unused]] block_memory<Message>& own) {
#if defined(__CUDA_ARCH__)
        __shared__ block_memory<Message> memory;
        return memory;
#else
        return own;
#endif
    }

    Ctx& ctx_;
    block_memory<Message>& memory_;
    std::uint32_t lane_;
    std::uint32_t lanes_;
};

}  // namespace laneway::styles
