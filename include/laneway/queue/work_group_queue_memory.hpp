// The host's side of the work-group queue: its memory, and the threads' view of one line.
#pragma once

#include <bit>
#include <memory>

#include "laneway/queue/work_group_queue.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/host_service.hpp"

namespace laneway {

/// The messages of one slot, column by column or row by row. Valid until the slot is released.
template <class Message>
class message_columns {
public:
    using words = message_words<Message>;
    using word = typename words::word;

    message_columns() = default;
    message_columns(const std::byte* slot, std::uint32_t columns, std::uint32_t messages, std::uint32_t index)
        : first_(reinterpret_cast<const word*>(slot)), columns_(columns), messages_(messages), index_(index) {}

    [[nodiscard]] std::uint32_t size() const { return messages_; }
    [[nodiscard]] bool empty() const { return messages_ == 0; }
    [[nodiscard]] std::uint32_t slot() const { return index_; }
    /// Word `f` of all messages, size() of them one after the other: what loops over a batch read fastest.
    [[nodiscard]] const word* row(std::uint32_t f) const { return first_ + std::size_t{f} * columns_; }
    /// The message of one column, put together.
    [[nodiscard]] Message operator[](std::uint32_t column) const {
        word cut[words::count];
        for (std::uint32_t f = 0; f < words::count; ++f) cut[f] = row(f)[column];
        Message message;
        std::memcpy(&message, cut, sizeof(Message));
        return message;
    }

private:
    const word* first_ = nullptr;
    std::uint32_t columns_ = 0;
    std::uint32_t messages_ = 0;
    std::uint32_t index_ = 0;
};

/// One line as its host thread sees it. Belongs to that thread.
template <class Message>
class alignas(destructive_bytes) work_group_receiver {
public:
    work_group_receiver(const work_group_layout& queue, std::uint32_t line) : queue_(queue), line_(line) {}

    /// The next slot of the line, empty while it has not arrived. Does not wait.
    [[nodiscard]] message_columns<Message> peek(host_context& ctx) const {
        const std::uint32_t slot = queue_.slot_of(line_, turn_);
        if (ctx.load(queue_.flags + slot, order::relaxed, scope::system) >> 16 != flag_of(turn_)) return {};
        // Partner: work_group_sender::publish.
        const std::uint64_t flag = ctx.load(queue_.flags + slot, order::acquire, scope::system);
        fetch_ahead();
        return {address(slot), queue_.columns, static_cast<std::uint32_t>(flag & max_group_messages), slot};
    }

    /// Frees the slot that peek() gave, after the last read of it.
    void release(host_context& ctx) {
        // Partner: work_group_sender::has_served.
        ctx.store(queue_.served + line_ * work_group_layout::line_stride, ++turn_, order::release, scope::system);
    }

    /// Slots of this line served so far.
    [[nodiscard]] std::uint64_t served() const { return turn_; }

private:
    [[nodiscard]] std::uint64_t flag_of(std::uint64_t turn) const { return turn * queue_.n_lines + line_ + 1; }
    [[nodiscard]] const std::byte* address(std::uint32_t slot) const {
        return queue_.slots + std::size_t{slot} * queue_.slot_bytes;
    }

    // Slots that a device wrote lie in no core's cache. If the next one has arrived, it comes while this one is served.
    void fetch_ahead() const {
        constexpr std::uint32_t line_bytes = 64;
        constexpr std::uint32_t max_bytes = 8192;  // beyond, the hardware has seen the stream itself
        const std::uint32_t slot = queue_.slot_of(line_, turn_ + 1);
        const std::atomic_ref<std::uint64_t> flag(queue_.flags[slot]);
        if (flag.load(std::memory_order_relaxed) >> 16 != flag_of(turn_ + 1)) return;
        for (std::uint32_t at = 0; at < queue_.slot_bytes && at < max_bytes; at += line_bytes) {
            __builtin_prefetch(address(slot) + at);
        }
    }

    work_group_layout queue_;
    std::uint32_t line_;
    std::uint64_t turn_ = 0;
};

/// Sizes of a queue.
struct work_group_queue_shape {
    int lines = 1;               ///< host threads that serve it
    std::uint32_t slots = 1024;  ///< of each line; rounded up to a power of two
    std::uint32_t columns = 32;  ///< messages of a slot: lanes of the largest group that shares one
};

/// Owner of the queue of one PE.
template <class Message>
class work_group_queue {
public:
    /// Throws usage_error for sizes that cannot be. Host, before the kernels.
    work_group_queue(const std::shared_ptr<device>& producer, const work_group_queue_shape& shape)
        : layout_(measure(shape)) {
        const std::size_t payload = layout_.all_slots() * layout_.slot_bytes;
        const std::size_t lines = std::size_t{layout_.n_lines} * destructive_bytes;
        host_visible_ = allocate_host_visible(producer, visible_bytes(layout_));
        counters_ = buffer<std::uint64_t>(producer, n_counters(layout_));
        layout_.slots = host_visible_.get();
        layout_.served = reinterpret_cast<std::uint64_t*>(host_visible_.get() + payload);
        layout_.flags = reinterpret_cast<std::uint64_t*>(host_visible_.get() + payload + lines);
        layout_.tail = counters_.data();
        layout_.known = counters_.data() + work_group_layout::line_stride;
    }

    /// Empties the queue; receivers must be made anew. Host, between runs.
    void reset() {
        counters_.fill_bytes(0);
        for (std::uint32_t line = 0; line < layout_.n_lines; ++line) {
            layout_.served[line * work_group_layout::line_stride] = 0;
        }
        std::memset(layout_.flags, 0, layout_.all_slots() * sizeof(std::uint64_t));
    }

    [[nodiscard]] work_group_sender<Message> sender() const {
        work_group_sender<Message> made;
        static_cast<work_group_layout&>(made) = layout_;
        return made;
    }
    [[nodiscard]] work_group_receiver<Message> receiver(int line) const {
        return {layout_, static_cast<std::uint32_t>(line)};
    }
    [[nodiscard]] const work_group_layout& layout() const { return layout_; }
    /// Groups that have drawn a ticket. Host, between runs.
    [[nodiscard]] std::uint64_t tickets() const { return counters_.copy_out()[0]; }

    /// The sizes of a queue, without its memory. Throws usage_error for sizes that cannot be.
    static work_group_layout measure(const work_group_queue_shape& shape) {
        if (shape.lines < 1 || shape.lines > 1024) throw usage_error("host threads of a queue: between 1 and 1024");
        if (shape.slots < 1 || shape.slots > 1u << 20)
            throw usage_error("slots of a host queue: between 1 and 1048576");
        if (shape.columns < 1 || shape.columns > max_group_messages) {
            throw usage_error("columns of a host queue: between 1 and " + std::to_string(max_group_messages));
        }
        work_group_layout made;
        made.n_lines = static_cast<std::uint32_t>(shape.lines);
        made.log2_slots = static_cast<std::uint32_t>(std::bit_width(shape.slots - 1));
        made.columns = shape.columns;
        using words = message_words<Message>;
        const std::size_t bytes = sizeof(typename words::word) * words::count * shape.columns;
        const std::size_t padded = (bytes + destructive_bytes - 1) / destructive_bytes * destructive_bytes;
        if (padded > 1u << 30)
            throw usage_error("a slot of a host queue would take " + std::to_string(padded) + " bytes");
        made.slot_bytes = static_cast<std::uint32_t>(padded);
        return made;
    }
    /// What a queue of these sizes takes, in host and PE memory.
    static std::size_t bytes(const work_group_layout& layout) {
        return visible_bytes(layout) + n_counters(layout) * sizeof(std::uint64_t);
    }

private:
    static std::size_t visible_bytes(const work_group_layout& layout) {
        return layout.all_slots() * (layout.slot_bytes + sizeof(std::uint64_t)) + layout.n_lines * destructive_bytes;
    }
    static std::size_t n_counters(const work_group_layout& layout) {
        return (layout.n_lines + 1) * work_group_layout::line_stride;
    }

    work_group_layout layout_;
    std::shared_ptr<std::byte> host_visible_;
    buffer<std::uint64_t> counters_;
};

}  // namespace laneway
