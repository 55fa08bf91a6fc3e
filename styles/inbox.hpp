// Bulk puts: a block stores the messages that it has sorted for a PE into an array there, one after another.
#pragma once

#include "laneway/memory/symmetric_array.hpp"
#include "styles/block_call.hpp"

namespace laneway::styles {

/// Where each PE receives bulk puts: one array, filled from all sides.
template <class Message>
struct inbox_ref {
    symmetric_ref<Message> messages;
    symmetric_ref<std::uint64_t> length;  ///< one element, 0 at the start

    /// Reserves room at the PE for the messages sorted for it, and stores them there, block-wide.
    template <class Ctx>
    LANEWAY_FN void put(Ctx& ctx, block_call<Ctx, Message>& call, int pe) const {
        const std::uint32_t count = call.count(pe);
        if (count == 0) return;
        const std::uint64_t first =
            call.once([&] { return ctx.fetch_add(length.at(ctx, pe), count, order::relaxed, scope::system); });
        Message* const to = messages.at(ctx, pe) + first;
        for (std::uint32_t i = call.lane(); i < count; i += call.lanes()) to[i] = call.messages(pe)[i];
    }
};

/// Host owner; has room for all messages of all PEs in a round.
template <class Message>
class inbox {
public:
    inbox(machine& all, std::uint64_t messages_a_pe)
        : messages_(all, messages_a_pe * static_cast<std::uint64_t>(all.n_pes())), length_(all, 1) {}

    [[nodiscard]] inbox_ref<Message> ref() const { return {messages_.ref(), length_.ref()}; }
    void clear() { length_.clear(); }

private:
    symmetric_array<Message> messages_;
    symmetric_array<std::uint64_t> length_;
};

}  // namespace laneway::styles
