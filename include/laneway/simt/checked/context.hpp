// The context of the checked mode: several lanes a warp, as fibers under the seeded scheduler.
#pragma once

#include <bit>
#include <cstring>
#include <source_location>
#include <string>

#include "laneway/simt/checked/warp.hpp"
#include "laneway/simt/context.hpp"
#include "laneway/simt/cpu/atomics.hpp"
#include "laneway/simt/cpu/catching.hpp"

namespace laneway::checked {

class context : public cpu::atomics<context>, public cpu::catching<context> {
public:
    static constexpr int warp_lanes = 4;
    static constexpr order proven = order::relaxed;  ///< of stores that prove themselves, see queue/proven_words.hpp
    static constexpr int count_lanes(lane_mask mask) { return std::popcount(mask); }
    static constexpr int first_lane(lane_mask mask) { return std::countr_zero(mask); }

    context(scheduler& sched, block_state& shared_block, const pe_environment& env, const launch_shape& shape,
            int block, int warp, int lane)
        : sched_(sched), shared_block_(shared_block), env_(env), shape_(shape), block_(block), warp_(warp), lane_(lane),
          deadline_ns_(sched.now_ns() + env.timeout_ns) {}

    [[nodiscard]] int pe() const { return env_.pe; }
    [[nodiscard]] int n_pes() const { return env_.n_pes; }
    [[nodiscard]] int block() const { return block_; }
    [[nodiscard]] int n_blocks() const { return shape_.blocks; }
    [[nodiscard]] int warp() const { return warp_; }
    [[nodiscard]] int n_warps() const { return shape_.warps_per_block; }
    [[nodiscard]] int lane() const { return lane_; }
    /// Place among the lanes that run the application's functor, over all PEs of the job; set by the runtime.
    [[nodiscard]] std::uint64_t rank() const { return rank_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    void set_rank(std::uint64_t rank, std::uint64_t size) {
        rank_ = rank;
        size_ = size;
    }
    [[nodiscard]] std::byte* shared() const { return shared_block_.shared.data()->bytes; }
    [[nodiscard]] const pe_environment& environment() const { return env_; }

    lane_mask converged(std::source_location where = std::source_location::current()) {
        // Two calls on one line are two places.
        const auto place = static_cast<int>(where.line() << 10 | where.column() % 1024);
        return my_warp().converge(sched_, where.function_name(), place, lane_);
    }
    void sync(lane_mask mask, std::source_location caller = std::source_location::current()) {
        meet(mask, 0, {"sync", caller});
    }
    void sync_block(std::source_location caller = std::source_location::current()) {
        std::uint64_t limit_ns = 0;
        shared_block_.sync([&](int present) {
            sched_.yield();
            if (!over(limit_ns)) return;
            throw lost_lane{block_name() + ": " + std::to_string(present) + " lanes wait for the other " +
                            std::to_string(shared_block_.lanes - present) + " in " +
                            meeting_place{"sync_block", caller}.text()};
        });
    }
    lane_mask ballot(lane_mask mask, bool predicate, std::source_location caller = std::source_location::current()) {
        return match_value(mask, meet(mask, predicate ? 1 : 0, {"ballot", caller}), 1);
    }
    template <class Key>
    lane_mask match(lane_mask mask, Key key, std::source_location caller = std::source_location::current()) {
        return match_value(mask, meet(mask, to_bits(key), {"match", caller}), to_bits(key));
    }
    template <class T>
    T shuffle(lane_mask mask, T value, int source, std::source_location caller = std::source_location::current()) {
        return from_bits<T>(meet(mask, to_bits(value), {"shuffle", caller})[static_cast<std::size_t>(source)]);
    }

    [[nodiscard]] std::uint64_t now_ns() const { return sched_.now_ns(); }
    [[nodiscard]] std::uint64_t deadline_ns() const { return deadline_ns_; }
    void pause(unsigned = 0) { sched_.yield(); }
    void step() { sched_.step(); }

private:
    static constexpr std::uint64_t grace_ns = 100'000 * scheduler::step_ns;  ///< for mates to hear of the end

    template <class T>
    static std::uint64_t to_bits(T value) {
        static_assert(trivially_copyable<T> && sizeof(T) <= sizeof(std::uint64_t));
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return bits;
    }
    template <class T>
    static T from_bits(std::uint64_t bits) {
        T value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    static lane_mask match_value(lane_mask mask, const rendezvous::values& values, std::uint64_t key) {
        lane_mask same = 0;
        for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
            const int lane = first_lane(rest);
            if (values[static_cast<std::size_t>(lane)] == key) same |= lane_mask{1} << lane;
        }
        return same;
    }
    const rendezvous::values& meet(lane_mask mask, std::uint64_t value, const meeting_place& place) {
        std::uint64_t limit_ns = 0;
        return my_warp().meeting(mask).meet(
            sched_, count_lanes(mask), lane_, value, place,
            [&](const meeting_place& mates, const meeting_place& own) {
                std::string told = warp_name() + ": lanes of one mask are in different collectives: " + mates.text() +
                                   " and " + own.text();
                // Of a run that ends, lanes hear one after the other: then it is nobody's mistake.
                if (stopping()) throw lost_lane(std::string{});
                throw misuse(told);
            },
            [&](lane_mask present) {
                sched_.yield();
                if (!over(limit_ns)) return;
                throw lost_lane{warp_name() + ": " + names(present) + " wait for " + names(mask & ~present) + " in " +
                                place.text()};
            });
    }
    [[nodiscard]] bool stopping() const { return env_.control->stop != 0; }
    /// Whether mates that have not come never will: the run has been ending for a while, or should have.
    [[nodiscard]] bool over(std::uint64_t& limit_ns) const {
        const std::uint64_t now = sched_.now_ns();
        // Later than other waits and the control warp, which say more.
        if (limit_ns == 0 && (stopping() || now > deadline_ns_ + env_.timeout_ns / 8)) limit_ns = now + grace_ns;
        return limit_ns != 0 && now > limit_ns;
    }
    [[nodiscard]] std::string block_name() const {
        return "PE " + std::to_string(pe()) + " block " + std::to_string(block_);
    }
    [[nodiscard]] std::string warp_name() const { return block_name() + " warp " + std::to_string(warp_); }
    static std::string names(lane_mask lanes) {
        std::string text = count_lanes(lanes) == 1 ? "lane " : "lanes ";
        for (lane_mask rest = lanes; rest != 0; rest &= rest - 1) {
            text += (rest == lanes ? "" : ", ") + std::to_string(first_lane(rest));
        }
        return text;
    }
    warp_state& my_warp() { return shared_block_.warps[static_cast<std::size_t>(warp_)]; }

    scheduler& sched_;
    block_state& shared_block_;
    const pe_environment& env_;
    const launch_shape& shape_;
    int block_;
    int warp_;
    int lane_;
    std::uint64_t rank_ = 0;
    std::uint64_t size_ = 1;
    std::uint64_t deadline_ns_;
};

static_assert(laneway::context<context>);

}  // namespace laneway::checked
