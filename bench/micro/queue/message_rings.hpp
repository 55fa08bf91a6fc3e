// A plain queue to compare with: one ring of messages for each warp, single producer, single consumer.
//
// Messages lie one after the other, as a CPU queue would have them. The lanes of a warp write theirs, the first one
// publishes the ring's new end; the host thread that owns the ring reads up to it.
#pragma once

#include "laneway/queue/work_group_queue_memory.hpp"

namespace laneway::bench {

template <class Message>
struct message_rings_layout {
    static constexpr std::size_t stride = destructive_bytes / sizeof(std::uint64_t);

    Message* messages = nullptr;       ///< host-visible, [ring][size]
    std::uint64_t* ends = nullptr;     ///< host-visible, [ring] at a stride; written by the PE
    std::uint64_t* begins = nullptr;   ///< host-visible, [ring] at a stride; written by the host
    std::uint64_t* written = nullptr;  ///< PE memory, [ring] at a stride
    std::uint64_t* known = nullptr;    ///< PE memory, [ring] at a stride; what the warp has seen of its `begins`
    std::uint32_t size = 0;            ///< messages of a ring

    /// All lanes of the warp that owns the ring, together.
    template <class Ctx>
    LANEWAY_FN status push(Ctx& ctx, std::size_t ring, const Message& message) const {
        constexpr auto lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        const std::uint64_t first = written[ring * stride];
        const status room = once(ctx, full_warp<Ctx>, [&] {
            if (first + lanes <= known[ring * stride] + size) return status::ok;
            std::uint64_t begin = 0;
            const status waited = wait_until(ctx, {operation::host_slot, -1, first}, [&] {
                begin = ctx.load(begins + ring * stride, order::acquire, scope::system);  // partner: message_reader
                return first + lanes <= begin + size;
            });
            known[ring * stride] = begin;
            return waited;
        });
        if (room != status::ok) return room;
        messages[ring * size + (first + static_cast<std::uint64_t>(ctx.lane())) % size] = message;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            written[ring * stride] = first + lanes;
            ctx.store(ends + ring * stride, first + lanes, order::release, scope::system);  // partner: message_reader
        }
        ctx.sync(full_warp<Ctx>);
        return status::ok;
    }
};

/// Owner of the rings of one PE.
template <class Message>
class message_rings {
public:
    message_rings(const std::shared_ptr<device>& producer, std::size_t rings, std::uint32_t size)
        : rings_(rings), words_(rings * message_rings_layout<Message>::stride),
          host_visible_(allocate_host_visible(producer, rings * size * sizeof(Message) + 2 * words_ * 8)),
          own_(producer, 2 * words_) {
        layout_.ends = reinterpret_cast<std::uint64_t*>(host_visible_.get());
        layout_.begins = layout_.ends + words_;
        layout_.messages = reinterpret_cast<Message*>(layout_.begins + words_);
        layout_.written = own_.data();
        layout_.known = own_.data() + words_;
        layout_.size = size;
    }

    void reset() {
        own_.fill_bytes(0);
        std::memset(layout_.ends, 0, 2 * words_ * sizeof(std::uint64_t));
    }
    [[nodiscard]] const message_rings_layout<Message>& layout() const { return layout_; }
    [[nodiscard]] std::size_t rings() const { return rings_; }

private:
    std::size_t rings_;
    std::size_t words_;
    std::shared_ptr<std::byte> host_visible_;
    buffer<std::uint64_t> own_;
    message_rings_layout<Message> layout_;
};

/// One ring as its host thread sees it.
template <class Message>
class message_reader {
public:
    message_reader(const message_rings_layout<Message>& rings, std::size_t ring) : rings_(rings), ring_(ring) {}

    /// Calls `use(message)` for all that has arrived; whether there was any.
    template <class Use>
    bool drain(host_context& ctx, Use&& use) {
        constexpr std::size_t stride = message_rings_layout<Message>::stride;
        const std::uint64_t end = ctx.load(rings_.ends + ring_ * stride, order::acquire, scope::system);
        if (begin_ == end) return false;
        for (; begin_ < end; ++begin_) use(rings_.messages[ring_ * rings_.size + begin_ % rings_.size]);
        ctx.store(rings_.begins + ring_ * stride, begin_, order::release, scope::system);
        return true;
    }

private:
    message_rings_layout<Message> rings_;
    std::size_t ring_;
    std::uint64_t begin_ = 0;
};

}  // namespace laneway::bench
