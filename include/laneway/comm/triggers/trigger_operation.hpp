// What a triggered operation does: moves or combines a range of symmetric memory, starts a message or a task behind it,
// raises a signal, and then triggers another tag. Built by the host or by a lane, and kept by value.
#pragma once

#include "laneway/comm/memory_operation.hpp"
#include "laneway/comm/one_sided.hpp"

namespace laneway {

/// How often a tag fires: once, or each time its threshold has been reached again. Rounds of a tag never overlap:
/// triggers that come while its operation is carried out count for the next round.
enum class firing : std::uint32_t { once, each_round };

/// A tag that is triggered when an operation is done, `n` times at once.
struct trigger_link {
    std::int32_t pe = -1;  ///< -1: none
    std::uint32_t tag = 0;
    std::uint32_t n = 1;

    [[nodiscard]] LANEWAY_FN bool same_as(const trigger_link& other) const {
        return pe == other.pe && tag == other.tag && n == other.n;
    }
};

template <class Item, bool WhenDone = false>
struct starting_operation;

/// An operation that a PE carries out when one of its tags fires. `pe` is where target and signal lie.
///
///   lw::trigger_operation::put(edge.ref(), 0, 64, ghost.ref(), 64, right).signal(arrived.ref()[0]).then(right, 3)
///
/// Sources, targets and signals are words of symmetric arrays. Host or any lane; checked when it is prepared.
class trigger_operation {
public:
    static constexpr int max_links = 2;

    trigger_operation() = default;

    /// Stores `count` elements of the own PE's `from`, from `first` on, into the PE's `to`, from `at` on.
    template <remote_word T>
    [[nodiscard]] static LANEWAY_FN trigger_operation put(symmetric_ref<T> from, std::uint64_t first,
                                                          std::uint64_t count, symmetric_ref<T> to, std::uint64_t at,
                                                          int pe) {
        return move<memory_op::put>(from, first, count, to, at, pe);
    }
    /// Combines instead: to[at + i] = Op(to[at + i], from[first + i]), not atomically. `Op`: add, min or max. Fastest
    /// where the PE is the own one.
    template <memory_op Op, remote_word T>
    requires(Op == memory_op::add || Op == memory_op::min || Op == memory_op::max)
        [[nodiscard]] static LANEWAY_FN trigger_operation
        combine(symmetric_ref<T> from, std::uint64_t first, std::uint64_t count, symmetric_ref<T> to, std::uint64_t at,
                int pe) {
        return move<Op>(from, first, count, to, at, pe);
    }
    /// Moves nothing: for a signal, or a step of a schedule.
    [[nodiscard]] static LANEWAY_FN trigger_operation nothing(int pe) {
        trigger_operation made;
        made.pe_ = pe;
        return made;
    }

    /// When the data is there, adds `value` to a word of the same PE, or stores it: who sees the word's new value (by
    /// an acquire load) sees the data.
    [[nodiscard]] LANEWAY_FN trigger_operation signal(symmetric_ptr<std::uint64_t> word, std::uint64_t value = 1,
                                                      signal_op how = signal_op::add) const {
        trigger_operation made = *this;
        made.signal_ = {how == signal_op::add ? memory_op::add : memory_op::put, word};
        made.signal_value_ = value;
        made.signals_ = 1;
        return made;
    }
    /// When all of it is there, triggers a tag of a PE, `n` times at once. May be called max_links times.
    [[nodiscard]] LANEWAY_FN trigger_operation then(int pe, std::uint32_t tag, std::uint32_t n = 1) const {
        trigger_operation made = *this;
        if (made.n_links_ == max_links) {
            made.outside_ = 1;
        } else {
            made.links_[made.n_links_++] = {pe, tag, n};
        }
        return made;
    }

    /// When the data is there, starts something that a component takes: posts a message to the PE (`start(word{7})`),
    /// or submits a task (`start(lw::task_call<square>{3.0})`, task/task_starter.hpp). Comes last; the tags that follow
    /// are triggered when it has been left with that component, or, `start(...).when_done()`, when the handler has
    /// returned or the task is done. For triggers that have been made with the component.
    template <class Item>
    [[nodiscard]] LANEWAY_FN starting_operation<Item> start(const Item& item) const {
        return {*this, item};
    }

    [[nodiscard]] LANEWAY_FN int pe() const { return pe_; }
    [[nodiscard]] LANEWAY_FN const memory_target& source() const { return source_; }
    [[nodiscard]] LANEWAY_FN const memory_target& target() const { return target_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t count() const { return count_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t element_bytes() const {
        const word_type type = target_.type();
        return type == word_type::i32 || type == word_type::u32 || type == word_type::f32 ? 4 : 8;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t bytes() const { return count_ == 0 ? 0 : count_ * element_bytes(); }
    [[nodiscard]] LANEWAY_FN bool signals() const { return signals_ != 0; }
    [[nodiscard]] LANEWAY_FN const memory_target& signal_target() const { return signal_; }
    [[nodiscard]] LANEWAY_FN std::uint64_t signal_value() const { return signal_value_; }
    [[nodiscard]] LANEWAY_FN int n_links() const { return n_links_; }
    [[nodiscard]] LANEWAY_FN const trigger_link& link(int number) const { return links_[number]; }
    /// What is started: 1 more than its number among what the component starts; 0: nothing.
    [[nodiscard]] LANEWAY_FN std::uint32_t starts() const { return starts_; }
    [[nodiscard]] LANEWAY_FN trigger_operation starting(std::uint32_t number) const {
        trigger_operation made = *this;
        made.starts_ = static_cast<std::uint8_t>(number + 1);
        return made;
    }
    /// Whether signal and tags follow when that is done.
    [[nodiscard]] LANEWAY_FN bool when_done() const { return when_done_ != 0; }
    [[nodiscard]] LANEWAY_FN trigger_operation following_when_done() const {
        trigger_operation made = *this;
        made.when_done_ = 1;
        return made;
    }
    /// Whether the arrays had these elements when the operation was made, and there are no more links than may be.
    [[nodiscard]] LANEWAY_FN bool fits() const { return outside_ == 0; }

private:
    template <memory_op Op, class T>
    static LANEWAY_FN trigger_operation move(symmetric_ref<T> from, std::uint64_t first, std::uint64_t count,
                                             symmetric_ref<T> to, std::uint64_t at, int pe) {
        trigger_operation made = nothing(pe);
        const auto holds = [count](const symmetric_ref<T>& array, std::uint64_t start) {
            return start <= array.size() && count <= array.size() - start;
        };
        made.outside_ = holds(from, first) && holds(to, at) ? 0 : 1;
        made.source_ = {memory_op::get, from[first]};
        made.target_ = {Op, to[at]};
        made.count_ = count;
        return made;
    }

    memory_target source_;
    memory_target target_;
    memory_target signal_;
    std::uint64_t count_ = 0;  ///< elements
    std::uint64_t signal_value_ = 0;
    std::int32_t pe_ = -1;
    trigger_link links_[max_links];
    std::uint8_t n_links_ = 0;
    std::uint8_t signals_ : 1 = 0;
    std::uint8_t when_done_ : 1 = 0;
    std::uint8_t outside_ = 0;
    std::uint8_t starts_ = 0;
};

static_assert(trivially_copyable<trigger_operation>);

/// An operation, and what it starts. `WhenDone`: its signal and the next tags wait for the end of that.
template <class Item, bool WhenDone>
struct starting_operation {
    static_assert(trivially_copyable<Item>, "what a triggered operation starts is copied to devices");
    static_assert(alignof(Item) <= 16, "what a triggered operation starts is aligned to 16 bytes at most");

    trigger_operation operation;
    Item item;

    [[nodiscard]] LANEWAY_FN starting_operation<Item, true> when_done() const {
        return {operation.following_when_done(), item};
    }
};

}  // namespace laneway
