// The context of the checked mode: several lanes a warp, as fibers under the seeded scheduler.
#pragma once

#include <bit>
#include <cstring>
#include <source_location>
#include <string>

#include "laneway/simt/checked/lanes.hpp"
#include "laneway/simt/checked/pointer.hpp"
#include "laneway/simt/checked/warp.hpp"
#include "laneway/simt/context.hpp"
#include "laneway/simt/cpu/atomics.hpp"
#include "laneway/simt/cpu/catching.hpp"

namespace laneway::checked {

class context : public cpu::atomics<context>, public cpu::catching<context> {
    using plain = cpu::atomics<context>;

public:
    using call_site = std::source_location;  ///< see simt/call_site.hpp
    static constexpr int warp_lanes = checked::warp_lanes;
    static constexpr order tagged_order = order::relaxed;  ///< of stores of tagged words, see queue/tagged_words.hpp
    static constexpr int count_lanes(lane_mask mask) { return std::popcount(mask); }
    static constexpr int first_lane(lane_mask mask) { return std::countr_zero(mask); }

    context(scheduler& sched, block_state& shared_block, const launch_shape& shape, lane_history& history)
        : sched_(sched), shared_block_(shared_block), env_(history.environment()), shape_(shape), history_(history),
          deadline_ns_(sched.now_ns() + env_.timeout_ns) {}

    [[nodiscard]] int pe() const { return env_.pe; }
    [[nodiscard]] int n_pes() const { return env_.n_pes; }
    [[nodiscard]] int block() const { return history_.position().block; }
    [[nodiscard]] int n_blocks() const { return shape_.blocks; }
    [[nodiscard]] int warp() const { return history_.position().warp; }
    [[nodiscard]] int n_warps() const { return shape_.warps_per_block; }
    [[nodiscard]] int lane() const { return history_.position().lane; }
    /// Place among the lanes that run the application's functor, over all PEs of the job and among those of its PE; set
    /// by the runtime.
    [[nodiscard]] std::uint64_t rank() const { return rank_.before + rank_.local; }
    [[nodiscard]] std::uint64_t size() const { return rank_.size; }
    [[nodiscard]] std::uint64_t local_rank() const { return rank_.local; }
    [[nodiscard]] std::uint64_t local_size() const { return rank_.local_size; }
    void set_rank(const lane_rank& rank) { rank_ = rank; }
    [[nodiscard]] std::byte* shared() const { return shared_block_.shared.data()->bytes; }
    [[nodiscard]] const pe_environment& environment() const { return env_; }
    /// What orders this lane's accesses; see simt/message_order.hpp.
    [[nodiscard]] lane_history& history() const { return history_; }

    /// Pointer to an element of a PE's part of a symmetric array, of which `most` elements may be used.
    template <class T>
    [[nodiscard]] pointer<T> element(std::uint32_t segment, int pe, std::uint64_t most, std::uint64_t index,
                                     const call_site& where) const {
        symmetric_part part{.segment = segment, .pe = pe, .element_bytes = sizeof(T)};
        void* const base = find(part, most, where);
        return {history_, part, static_cast<T*>(base), index, where};
    }

    lane_mask converged(std::source_location where = std::source_location::current());
    void sync(lane_mask mask, std::source_location caller = std::source_location::current());
    void sync_block(std::source_location caller = std::source_location::current());
    lane_mask ballot(lane_mask mask, bool predicate, std::source_location caller = std::source_location::current());
    template <class Key>
    lane_mask match(lane_mask mask, Key key, std::source_location caller = std::source_location::current()) {
        return match_bits(mask, to_bits(key), caller);
    }
    template <class T>
    T shuffle(lane_mask mask, T value, int source, std::source_location caller = std::source_location::current()) {
        return from_bits<T>(shuffle_bits(mask, to_bits(value), source, caller));
    }

    // Atomics, as of all CPU contexts; those on symmetric memory are watched. A checked pointer brings its own place.
    template <class T>
    T load(const T* word, order o, scope s, call_site where = call_site::current()) {
        const T value = plain::load(word, o, s);
        history_.atomic(word, sizeof(T), access_kind::atomic_load, o, where);
        return value;
    }
    template <class T>
    void store(T* word, std::type_identity_t<T> value, order o, scope s, call_site where = call_site::current()) {
        plain::store(word, value, o, s);
        history_.atomic(word, sizeof(T), access_kind::atomic_store, o, where);
    }
#define LANEWAY_UPDATE(name)                                                                                   \
    template <class T>                                                                                         \
    T name(T* word, std::type_identity_t<T> value, order o, scope s, call_site where = call_site::current()) { \
        return updated(word, plain::name(word, value, o, s), o, where);                                        \
    }                                                                                                          \
    template <class T>                                                                                         \
    T name(const pointer<T>& word, std::type_identity_t<T> value, order o, scope s) {                          \
        return name(word.element(), value, o, s, word.where());                                                \
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
                          call_site where = call_site::current()) {
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
    void fence(order o, scope s) {
        plain::fence(o, s);
        history_.fence(o);
    }

    [[nodiscard]] std::uint64_t now_ns() const { return sched_.now_ns(); }
    [[nodiscard]] bool is_late(std::uint64_t by_ns = 0) const { return now_ns() > deadline_ns_ + by_ns; }
    void pause(unsigned = 0, bool = false) { sched_.yield(); }
    void worked() {}
    void step() { sched_.step(); }

private:
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
    template <class T>
    T updated(T* word, T before, order o, const call_site& where) {
        history_.atomic(word, sizeof(T), access_kind::atomic_update, o, where);
        return before;
    }
    /// First address of the part that `part` names, null where there is none; fills in what is known of it. Throws
    /// misuse for a PE that does not exist.
    void* find(symmetric_part& part, std::uint64_t max, const call_site& where) const;
    lane_mask match_bits(lane_mask mask, std::uint64_t key, const std::source_location& caller);
    std::uint64_t shuffle_bits(lane_mask mask, std::uint64_t value, int source, const std::source_location& caller);
    [[noreturn]] void refuse(const meeting_site& here, const std::string& why) const;
    void check_mask(lane_mask mask, const meeting_site& here) const;
    /// `orders`: what the lanes did before comes before what their mates do next.
    const rendezvous::lane_values& meet(lane_mask mask, std::uint64_t value, const meeting_site& here,
                                        bool orders = false);
    [[nodiscard]] bool stopping() const { return env_.control->stop != 0; }
    /// Whether mates that have not come never will: the run has been ending for a while, or should have.
    [[nodiscard]] bool over(std::uint64_t& limit_ns) const;
    [[nodiscard]] std::string block_name() const;
    [[nodiscard]] std::string warp_name() const;
    warp_state& my_warp();

    scheduler& sched_;
    block_state& shared_block_;
    const pe_environment& env_;
    const launch_shape& shape_;
    lane_history& history_;
    lane_rank rank_;
    std::uint64_t deadline_ns_;
};

static_assert(laneway::context<context>);

}  // namespace laneway::checked
