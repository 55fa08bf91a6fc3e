#include "laneway/task/service_copies.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include "laneway/base/error.hpp"

namespace laneway {

void service_copies::prepare() {
    if (!streams_.empty()) return;
    auto between = allocate_host_visible(between_bytes, job_.has_gpus());
    std::vector<pe_stream> made;
    for (int pe = 0; pe < job_.n_pes(); ++pe) {
        made.push_back(
            {open_stream_backend({.device = job_.device(pe), .pe = pe, .n_pes = job_.n_pes(), .job = {}}), true});
    }
    between_ = std::move(between);
    streams_ = std::move(made);
    // What a stream begins with must not meet a kernel that leaves it no room.
    open(options{}.timeout_seconds);
    wait_all();
}

void service_copies::open(double seconds) {
    using clock = std::chrono::steady_clock;
    seconds_ = seconds;
    until_ = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

std::byte* service_copies::at(const memory_target& place, int pe) const {
    return place.visit([&]<class T>() {
        const auto first = place.element<T>();
        return static_cast<std::byte*>(job_.segment_base(first.segment, pe)) + first.index * sizeof(T);
    });
}

/// The stream of a PE, for what comes behind all puts.
stream_backend& service_copies::begin_on(int pe) {
    begin_puts();
    pe_stream& on = streams_[static_cast<std::size_t>(pe)];
    on.busy = true;
    return *on.backend;
}

void service_copies::begin_copy(int on, std::byte* to, const std::byte* from, std::size_t bytes) {
    begin_on(on).copy(to, from, bytes);
    ++copies_;
}

void service_copies::begin_puts() {
    if (put_.bytes == 0) return;
    const words_put all = std::exchange(put_, {});
    begin_copy(all.pe, all.to, all.room, all.bytes);
}

/// Of the memory between, which copies that go on use.
std::byte* service_copies::room_for(std::size_t bytes) {
    used_ = (used_ + 15) / 16 * 16;
    if (between_bytes - used_ < bytes) {
        for (int pe = 0; pe < job_.n_pes(); ++pe) wait_for(pe);
        used_ = 0;
    }
    std::byte* const room = between_.get() + used_;
    used_ += bytes;
    return room;
}

/// The same for words that are put there, behind those before if they follow these.
std::byte* service_copies::room_to_put(int pe, std::byte* to, std::size_t bytes) {
    const bool follows = put_.bytes != 0 && put_.pe == pe && to == put_.to + put_.bytes &&
                         put_.room + put_.bytes == between_.get() + used_ && between_bytes - used_ >= bytes;
    if (!follows) {
        begin_puts();
        put_ = {pe, to, room_for(bytes), bytes};
        return put_.room;
    }
    put_.bytes += bytes;
    used_ += bytes;
    return put_.room + put_.bytes - bytes;
}

void service_copies::put(const memory_target& first, int pe, const std::uint64_t* words, std::uint32_t count) {
    change_alone();
    first.visit([&]<class T>() {
        std::byte* const room = room_to_put(pe, at(first, pe), count * sizeof(T));
        for (std::uint32_t i = 0; i < count; ++i) {
            const T word = word_of<T>(words[i]);
            std::memcpy(room + i * sizeof(T), &word, sizeof(T));
        }
    });
}

void service_copies::copy(const memory_target& from, int from_pe, const memory_target& to, int pe,
                          std::uint64_t count) {
    const std::size_t bytes = from.visit([&]<class T>() { return static_cast<std::size_t>(count) * sizeof(T); });
    if (job_.device(from_pe)->id() == job_.device(pe)->id()) return copy_within(pe, at(to, pe), at(from, pe), bytes);
    begin_copy(from_pe, at(to, pe), at(from, from_pe), bytes);
}

/// A GPU may copy within its memory by a kernel, for which a resident one leaves no room: so by way of the host.
void service_copies::copy_within(int pe, std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t piece = std::min(bytes - done, between_bytes / 2);
        std::byte* const room = room_for(piece);
        begin_copy(pe, room, from + done, piece);
        begin_copy(pe, to + done, room, piece);
        done += piece;
    }
}

/// What lies there now, in the memory between.
const std::byte* service_copies::loaded(const std::byte* from, int pe, std::size_t bytes) {
    std::byte* const room = room_for(bytes);
    begin_copy(pe, room, from, bytes);
    wait_for(pe);
    return room;
}

template <class T>
T service_copies::load(const std::byte* word, int pe) {
    T value;
    std::memcpy(&value, loaded(word, pe, sizeof(T)), sizeof(T));
    return value;
}

void service_copies::get(const memory_target& first, int pe, std::uint64_t* words, std::uint32_t count) {
    if (count == 0) return;
    first.visit([&]<class T>() {
        const std::byte* const found = loaded(at(first, pe), pe, count * sizeof(T));
        for (std::uint32_t i = 0; i < count; ++i) {
            T word;
            std::memcpy(&word, found + i * sizeof(T), sizeof(T));
            words[i] = word_bits(word);
        }
    });
}

void service_copies::update(const memory_target& target, int pe, std::uint64_t value) {
    if (target.op() == memory_op::put) return put(target, pe, &value, 1);
    (void)apply(target, pe, value, 0);
}

std::uint64_t service_copies::apply(const memory_target& target, int pe, std::uint64_t value, std::uint64_t expected) {
    if (target.op() != memory_op::get) change_alone();
    return target.visit([&]<class T>() {
        host_context mine;
        T word = load<T>(at(target, pe), pe);
        const T held = laneway::apply(mine, target.op(), remote_ptr<T>(&word), word_of<T>(value), word_of<T>(expected));
        const std::uint64_t changed = word_bits(word);
        if (target.op() != memory_op::get) put(target, pe, &changed, 1);
        return word_bits(held);
    });
}

void service_copies::signal(const memory_target& word, int pe, std::uint64_t value) {
    // Behind what other streams copy; its own stream does all in order.
    for (int other = 0; other < job_.n_pes(); ++other) {
        if (other != pe) wait_for(other);
    }
    change_alone();
    std::byte* const place = at(word, pe);
    if (word.op() == memory_op::add) value += load<std::uint64_t>(place, pe);
    begin_on(pe).write_value(reinterpret_cast<std::uint64_t*>(place), value);
}

void service_copies::change_alone() {
    if (alone_.owns_lock()) return;
    alone_ = std::unique_lock(*changing_, until_);
    if (!alone_.owns_lock()) throw_late(0);
}

void service_copies::wait_all() {
    for (int pe = 0; pe < static_cast<int>(streams_.size()); ++pe) wait_for(pe);
    used_ = 0;
    alone_ = {};
}

void service_copies::wait_for(int pe) {
    begin_puts();
    pe_stream& on = streams_[static_cast<std::size_t>(pe)];
    if (!on.busy) return;
    const event over = event::pending();
    on.backend->record(over, {});
    while (!over.done()) {
        if (std::chrono::steady_clock::now() > until_) throw_late(pe);
        (void)on.backend->look(false);
    }
    on.busy = false;
    if (const std::exception_ptr why = over.failure()) std::rethrow_exception(why);
}

void service_copies::throw_late(int pe) {
    std::ostringstream text;
    text << "copies of a host thread on " << job_.device(pe)->name() << " have not ended: the deadline is " << seconds_
         << " s";
    throw timeout_error(text.str());
}

void service_copies::give_up() noexcept {
    try {
        wait_all();
    } catch (...) {
        for (std::size_t pe = 0; pe < streams_.size(); ++pe) {
            if (!streams_[pe].busy) continue;
            job_.device(static_cast<int>(pe))->abandon();
            keep_for_good(std::move(streams_[pe].backend));
            keep_for_good(between_);
        }
        streams_.clear();
    }
    alone_ = {};
}

}  // namespace laneway
