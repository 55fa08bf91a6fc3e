// The context of the checked mode: several lanes a warp, as fibers under the seeded scheduler.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <source_location>
#include <string>

#include "laneway/simt/checked/pointer.hpp"
#include "laneway/simt/checked/warp.hpp"
#include "laneway/simt/context.hpp"
#include "laneway/simt/cpu/atomics.hpp"
#include "laneway/simt/cpu/catching.hpp"

namespace laneway::checked {

class context : public cpu::atomics<context>, public cpu::catching<context> {
    using plain = cpu::atomics<context>;

public:
    using place = std::source_location;  ///< see simt/place.hpp
    static constexpr int warp_lanes = 4;
    static constexpr order proven = order::relaxed;  ///< of stores that prove themselves, see queue/proven_words.hpp
    static constexpr int count_lanes(lane_mask mask) { return std::popcount(mask); }
    static constexpr int first_lane(lane_mask mask) { return std::countr_zero(mask); }

    context(scheduler& sched, block_state& shared_block, const launch_shape& shape, lane_history& history)
        : sched_(sched), shared_block_(shared_block), env_(history.environment()), shape_(shape), history_(history),
          deadline_ns_(sched.now_ns() + env_.timeout_ns) {}

    [[nodiscard]] int pe() const { return env_.pe; }
    [[nodiscard]] int n_pes() const { return env_.n_pes; }
    [[nodiscard]] int block() const { return history_.place().block; }
    [[nodiscard]] int n_blocks() const { return shape_.blocks; }
    [[nodiscard]] int warp() const { return history_.place().warp; }
    [[nodiscard]] int n_warps() const { return shape_.warps_per_block; }
    [[nodiscard]] int lane() const { return history_.place().lane; }
    /// Place among the lanes that run the application's functor, over all PEs of the job; set by the runtime.
    [[nodiscard]] std::uint64_t rank() const { return rank_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    void set_rank(std::uint64_t rank, std::uint64_t size) {
        rank_ = rank;
        size_ = size;
    }
    [[nodiscard]] std::byte* shared() const { return shared_block_.shared.data()->bytes; }
    [[nodiscard]] const pe_environment& environment() const { return env_; }
    /// What orders this lane's accesses; see simt/message_order.hpp.
    [[nodiscard]] lane_history& history() const { return history_; }

    /// Pointer to an element of a PE's part of a symmetric array, of which `most` elements may be used.
    template <class T>
    [[nodiscard]] pointer<T> element(std::uint32_t segment, int pe, std::uint64_t most, std::uint64_t index,
                                     const place& where) const {
        symmetric_part part{.segment = segment, .pe = pe, .element_bytes = sizeof(T)};
        if (pe < 0 || pe >= n_pes()) {
            throw misuse(history_.place().text() + ": PE " + std::to_string(pe) + " named in " + text_of(where) +
                         ", and the job has " + std::to_string(n_pes()));
        }
        void* base = nullptr;
        if (segment < env_.n_segments) {
            base =
                env_.segments[std::size_t{segment} * static_cast<std::size_t>(n_pes()) + static_cast<std::size_t>(pe)];
            part.elements = std::min(most, env_.segment_bytes[segment] / sizeof(T));
        }
        part.exists = base != nullptr;
        return {history_, part, static_cast<T*>(base), index, where};
    }

    lane_mask converged(std::source_location where = std::source_location::current()) {
        // Two calls on one line are two places.
        const auto line = static_cast<int>(where.line() << 10 | where.column() % 1024);
        return my_warp().converge(sched_, where.function_name(), line, lane());
    }
    void sync(lane_mask mask, std::source_location caller = std::source_location::current()) {
        meet(mask, 0, {"sync", caller}, true);
    }
    void sync_block(std::source_location caller = std::source_location::current()) {
        std::uint64_t limit_ns = 0;
        const auto wait = [&](int present) {
            sched_.yield();
            if (!over(limit_ns)) return;
            throw lost_lane{block_name() + ": " + std::to_string(present) + " lanes wait for the other " +
                            std::to_string(shared_block_.lanes - present) + " in " +
                            meeting_place{"sync_block", caller}.text()};
        };
        history_.learn(shared_block_.sync(history_.tell(), wait));
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
        const meeting_place here{"shuffle", caller};
        check_mask(mask, here);
        if (source < 0 || source >= warp_lanes) {
            refuse(here, "source lane " + std::to_string(source) + ", where a warp has " + std::to_string(warp_lanes));
        }
        if ((mask >> source & 1) == 0) {
            refuse(here, "source lane " + std::to_string(source) + " is not in the mask, " + names(mask));
        }
        return from_bits<T>(meet(mask, to_bits(value), here)[static_cast<std::size_t>(source)]);
    }

    // Atomics, as of all CPU contexts; those on symmetric memory are watched. A checked pointer brings its own place.
    template <class T>
    T load(const T* word, order o, scope s, place where = place::current()) {
        const T value = plain::load(word, o, s);
        history_.atomic(word, sizeof(T), access_kind::atomic_load, o, where);
        return value;
    }
    template <class T>
    void store(T* word, std::type_identity_t<T> value, order o, scope s, place where = place::current()) {
        plain::store(word, value, o, s);
        history_.atomic(word, sizeof(T), access_kind::atomic_store, o, where);
    }
#define LANEWAY_UPDATE(name)                                                                           \
    template <class T>                                                                                 \
    T name(T* word, std::type_identity_t<T> value, order o, scope s, place where = place::current()) { \
        return updated(word, plain::name(word, value, o, s), o, where);                                \
    }                                                                                                  \
    template <class T>                                                                                 \
    T name(const pointer<T>& word, std::type_identity_t<T> value, order o, scope s) {                  \
        return name(word.element(), value, o, s, word.where());                                        \
    }
    LANEWAY_UPDATE(fetch_add)
    LANEWAY_UPDATE(fetch_or)
    LANEWAY_UPDATE(fetch_and)
    LANEWAY_UPDATE(fetch_xor)
    LANEWAY_UPDATE(fetch_min)
    LANEWAY_UPDATE(fetch_max)
    LANEWAY_UPDATE(exchange)
#undef LANEWAY_UPDATE
    /// A failure is a relaxed load.
    template <class T>
    bool compare_exchange(T* word, T& expected, std::type_identity_t<T> desired, order o, scope s,
                          place where = place::current()) {
        const bool done = plain::compare_exchange(word, expected, desired, o, s);
        history_.atomic(word, sizeof(T), done ? access_kind::atomic_update : access_kind::atomic_load,
                        done ? o : order::relaxed, where);
        return done;
    }
    template <class T>
    std::remove_const_t<T> load(const pointer<T>& word, order o, scope s) {
        return load<std::remove_const_t<T>>(word.element(), o, s, word.where());
    }
    template <class T>
    void store(const pointer<T>& word, std::type_identity_t<T> value, order o, scope s) {
        store(word.element(), value, o, s, word.where());
    }
    template <class T>
    bool compare_exchange(const pointer<T>& word, T& expected, std::type_identity_t<T> desired, order o, scope s) {
        return compare_exchange(word.element(), expected, desired, o, s, word.where());
    }
    void fence(scope s) {
        plain::fence(s);
        history_.fence();
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
    static lane_mask match_value(lane_mask mask, const rendezvous::lane_values& values, std::uint64_t key) {
        lane_mask same = 0;
        for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
            const int lane = first_lane(rest);
            if (values[static_cast<std::size_t>(lane)] == key) same |= lane_mask{1} << lane;
        }
        return same;
    }
    template <class T>
    T updated(T* word, T before, order o, const place& where) {
        history_.atomic(word, sizeof(T), access_kind::atomic_update, o, where);
        return before;
    }
    [[noreturn]] void refuse(const meeting_place& here, const std::string& why) const {
        throw misuse(history_.place().text() + ": " + here.text() + ": " + why);
    }
    void check_mask(lane_mask mask, const meeting_place& here) const {
        if ((mask & ~full_warp<context>) != 0) {
            refuse(here, "the mask has " + names(mask & ~full_warp<context>) + ", where a warp has " +
                             std::to_string(warp_lanes));
        }
        if ((mask >> lane() & 1) == 0) {
            refuse(here, mask == 0 ? "the mask is empty" : "the lane is not in its own mask, " + names(mask));
        }
    }
    /// `orders`: what the lanes did before comes before what their mates do next.
    const rendezvous::lane_values& meet(lane_mask mask, std::uint64_t value, const meeting_place& here,
                                        bool orders = false) {
        check_mask(mask, here);
        auto& meeting = my_warp().meeting(mask);
        std::uint64_t limit_ns = 0;
        const auto& arrived = meeting.meet(
            sched_, count_lanes(mask), lane(), value, here, orders ? history_.tell() : clock{},
            [&](const meeting_place& mates, const meeting_place& own) {
                std::string told = warp_name() + ": lanes of one mask are in different collectives: " + mates.text() +
                                   " and " + own.text();
                meeting.give_up();
                if (!stopping()) throw misuse(told);
                // Of a run that ends, lanes hear one after the other: then it is nobody's mistake.
                throw lost_lane(std::string{});
            },
            [&](lane_mask present) {
                sched_.yield();
                if (meeting.given_up()) throw lost_lane(std::string{});
                if (!over(limit_ns)) return;
                throw lost_lane{warp_name() + ": " + names(present) + " wait for " + names(mask & ~present) + " in " +
                                here.text()};
            });
        if (orders) history_.learn(arrived.before);
        return arrived.values;
    }
    [[nodiscard]] bool stopping() const { return env_.control->stop != 0; }
    /// Whether mates that have not come never will: the run has been ending for a while, or should have.
    [[nodiscard]] bool over(std::uint64_t& limit_ns) const {
        const std::uint64_t now = sched_.now_ns();
        // Later than other waits and the control warp, which say more.
        if (limit_ns == 0 && (stopping() || now > deadline_ns_ + env_.timeout_ns / 8)) limit_ns = now + grace_ns;
        return limit_ns != 0 && now > limit_ns;
    }
    [[nodiscard]] std::string block_name() const { return text_of_pe(pe()) + " block " + std::to_string(block()); }
    [[nodiscard]] std::string warp_name() const { return block_name() + " warp " + std::to_string(warp()); }
    static std::string names(lane_mask lanes) {
        std::string text = count_lanes(lanes) == 1 ? "lane " : "lanes ";
        for (lane_mask rest = lanes; rest != 0; rest &= rest - 1) {
            text += (rest == lanes ? "" : ", ") + std::to_string(first_lane(rest));
        }
        return text;
    }
    warp_state& my_warp() { return shared_block_.warps[static_cast<std::size_t>(warp())]; }

    scheduler& sched_;
    block_state& shared_block_;
    const pe_environment& env_;
    const launch_shape& shape_;
    lane_history& history_;
    std::uint64_t rank_ = 0;
    std::uint64_t size_ = 1;
    std::uint64_t deadline_ns_;
};

static_assert(laneway::context<context>);

}  // namespace laneway::checked
