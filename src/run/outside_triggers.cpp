#include "laneway/run/outside_triggers.hpp"

#include <algorithm>
#include <cstddef>

#include "laneway/base/error.hpp"
#include "laneway/run/triggers.hpp"
#include "run/trigger_circles.hpp"

namespace laneway {

std::size_t outside_triggers::reserve(int pe, std::uint32_t tag, std::uint32_t n) {
    if (machine_.n_processes() > 1) {
        throw usage_error(name_of_tag(pe, tag) + ": triggers from outside belong to a job of one process");
    }
    const std::lock_guard lock(mutex_);
    const auto used =
        static_cast<std::uint32_t>(std::count_if(all_.begin(), all_.end(), [&](const cell& c) { return c.pe == pe; }));
    if (used == most_) {
        throw usage_error(name_of_tag(pe, tag) + ": the PE has " + std::to_string(most_) +
                          " triggers from outside already; see trigger_options::outside");
    }
    if (host_.is_connected()) {
        throw usage_error(name_of_tag(pe, tag) + ": triggers from outside are reserved before the session begins");
    }
    all_.push_back({pe, used, tag, n});
    changed_ = true;
    return all_.size() - 1;
}

std::uint64_t* outside_triggers::word(std::size_t number) const {
    const std::lock_guard lock(mutex_);
    return &at(all_[number])->sent;
}

void outside_triggers::owe(std::size_t number, std::uint64_t triggers) {
    std::unique_lock lock(mutex_);
    cell& c = all_[number];
    c.owed += triggers;
    changed_ = true;
    if (!host_.is_connected()) return;
    const cell now = c;
    lock.unlock();  // who waits for room holds up nobody
    host_.leave(now.pe, {host_trigger::owe, now.place, now.owed});
}

/// Makes the word the stream's.
void outside_triggers::bind(cell& c, const device_stream& stream) const {
    if (c.stream != nullptr && c.stream != stream.identity()) {
        throw usage_error(name_of_tag(c.pe, c.tag) + ": another stream than \"" + stream.name() +
                          "\" triggers it by this word; reserve one for each");
    }
    if (!share_memory(stream.device(), *machine_.device(c.pe))) {
        throw usage_error(name_of_tag(c.pe, c.tag) + ": " + stream.device().name() + " does not reach the memory of " +
                          machine_.device(c.pe)->name());
    }
    c.stream = stream.identity();
}

void outside_triggers::trigger(std::size_t number, device_stream& stream, std::uint64_t triggers) {
    {
        const std::lock_guard lock(mutex_);
        bind(all_[number], stream);
    }
    owe(number, triggers);
    const std::lock_guard lock(mutex_);
    cell& c = all_[number];
    c.written += triggers;
    stream.write_value(&at(c)->sent, c.written);
}

/// Some bytes of a cell: a stream may store to the others meanwhile.
void outside_triggers::write(const cell& c, const trigger_cell& value, std::size_t from, std::size_t bytes) const {
    machine_.device(c.pe)->copy_in(reinterpret_cast<std::byte*>(at(c)) + from,
                                   reinterpret_cast<const std::byte*>(&value) + from, bytes);
}

trigger_cell outside_triggers::read(const cell& c) const {
    trigger_cell found;
    machine_.device(c.pe)->copy_out(&found, at(c), sizeof found);
    return found;
}

void outside_triggers::begin() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(changed_, false)) return;
    for (const cell& c : all_) {
        const trigger_cell value{0, 0, c.owed, c.tag, c.n};
        constexpr std::size_t from = offsetof(trigger_cell, owed);
        write(c, value, from, sizeof value - from);
        const std::uint32_t used = c.place + 1;  // the last one of the PE says it
        machine_.device(c.pe)->copy_in(&counters_.data(c.pe)->outside, &used, sizeof used);
    }
}

void outside_triggers::forget_before() {
    const std::lock_guard lock(mutex_);
    for (cell& c : all_) c.owed = c.written = std::max(read(c).sent, c.written);
}

void outside_triggers::forget() {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> seen(static_cast<std::size_t>(machine_.n_pes()));
    for (const cell& c : all_) {
        write(c, {c.written, c.written, c.owed, c.tag, c.n}, 0, sizeof(trigger_cell));
        // It counts as created, and so as completed.
        std::uint64_t& sum = seen[static_cast<std::size_t>(c.pe)];
        sum += c.written;
        machine_.device(c.pe)->copy_in(&counters_.data(c.pe)->completed, &sum, sizeof sum);
    }
    changed_ = !all_.empty();
}

void outside_triggers::connect() {
    std::unique_lock lock(mutex_);
    if (!std::exchange(changed_, false)) return;
    const std::vector<cell> now = all_;
    lock.unlock();
    for (const cell& c : now) host_.leave(c.pe, {host_trigger::owe, c.place, c.owed});
}

std::string outside_triggers::account() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const cell& c : all_) {
        const trigger_cell found = read(c);
        if (found.seen >= c.owed) continue;
        text += "; " + name_of_tag(c.pe, c.tag) + " is owed " + std::to_string(c.owed - found.seen) + " of " +
                std::to_string(c.owed) + " triggers from outside";
    }
    return text;
}

std::uint64_t* outside_trigger::word() const { return memory_->outside().word(number_); }

void outside_trigger::owe(std::uint64_t triggers) const { memory_->outside().owe(number_, triggers); }

void outside_trigger::trigger(device_stream& stream, std::uint64_t triggers) const {
    memory_->outside().trigger(number_, stream, triggers);
}

}  // namespace laneway
