#include "laneway/simt/checked/lane_history.hpp"

#include <algorithm>

namespace laneway::checked {

lane_history::look lane_history::begin_plain(const void* word, std::size_t bytes, const std::source_location& where) {
    switch_plainly();
    look begun;
    const auto address = reinterpret_cast<std::uintptr_t>(word);
    begun.watched = watch_.watches(address);
    if (!begun.watched) return begun;
    const auto size = static_cast<std::uint32_t>(bytes);
    begun.mine = {address, size, access_kind::plain_read, now().track(), now().now(), where};
    begun.other = watch_.conflict(now(), begun.mine);
    begun.barriers = watch_.barriers();
    return begun;
}

void lane_history::end_plain(const look& begun, access_kind kind) {
    // A value that was read long ago is compared with what was before it, and no more after a barrier.
    if (!begun.watched || begun.barriers != watch_.barriers()) return;
    access mine = begun.mine;
    mine.kind = kind;
    const auto other = kind == access_kind::plain_read ? begun.other : watch_.conflict(now(), mine);
    // Lanes of a run that ends leave waits that have not come true.
    if (other && !stopping()) watch_.report(mine, *other);
    watch_.keep(now(), mine);
}

void lane_history::atomic(const void* word, std::size_t bytes, access_kind kind, order o,
                          const std::source_location& where) {
    const auto address = reinterpret_cast<std::uintptr_t>(word);
    if (!watch_.watches(address)) return;
    const access mine{address, static_cast<std::uint32_t>(bytes), kind, now().track(), now().now(), where};
    watch_.order_atomic(now(), address, kind, o);
    if (const auto other = watch_.conflict(now(), mine); other && !stopping()) watch_.report(mine, *other);
    watch_.keep(now(), mine);
}

std::string lane_history::still_in() const {
    return position_.text() + " was still in " +
           (serves() ? "a handler of messages of PE " + std::to_string(source_) : "its functor or what that calls");
}

void lane_history::begin(const clock& before) {
    next_served_ = std::max(next_served_, now().now() + 1);
    strands_.emplace_back(strands_.front().track() + 1, next_served_, before);
}

void lane_history::end_served() {
    strand ended = now();
    strands_.pop_back();
    watch_.end_handler(ended, source_);
    next_served_ = ended.now() + 1;
    now().pass_on(ended.fenced());  // its answer is sent from here
}

}  // namespace laneway::checked
