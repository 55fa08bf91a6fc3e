// Rings of channels in symmetric memory, which lanes of both PEs find by its names.
#pragma once

#include "laneway/memory/copy_bytes.hpp"
#include "laneway/memory/symmetric.hpp"
#include "laneway/queue/chunk_ring.hpp"

namespace laneway {

/// A ring's parts: slots, flags and words lie on the destination, credits on the source.
struct symmetric_ring {
    symmetric_ptr<byte_word<16>> slots;
    symmetric_ptr<std::uint64_t> flags;
    symmetric_ptr<std::uint64_t> words;
    symmetric_ptr<std::uint64_t> credits;
    std::uint32_t n_slots = 1;  ///< a power of two
    std::uint32_t slot_bytes = 16;

    /// For lanes of the source, which draw tickets at `tail`. Any lane; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN chunk_sender sender(const Ctx& ctx, int destination, std::uint64_t* tail) const {
        chunk_ring_layout made = layout(ctx, ctx.pe(), destination);
        made.tail = tail;
        return chunk_sender(made);
    }
    /// For lanes of the destination. The same.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN chunk_receiver receiver(const Ctx& ctx, int source) const {
        return chunk_receiver(layout(ctx, source, ctx.pe()));
    }

private:
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN chunk_ring_layout layout(const Ctx& ctx, int source, int destination) const {
        chunk_ring_layout made;
        made.slots = address(ctx, slots, destination)->bytes;
        made.flags = address(ctx, flags, destination);
        made.words = address(ctx, words, destination);
        made.credits = address(ctx, credits, source);
        made.n_slots = n_slots;
        made.slot_bytes = slot_bytes;
        return made;
    }
};

}  // namespace laneway
