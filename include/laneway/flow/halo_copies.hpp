// Halo copies: what a PE last sent about vertices of other PEs, so that it sends no more than what is news to them.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// Device view: one word a vertex of the whole graph, the least key that this PE has sent for it; all ones where it has
/// sent none. Only this PE reads and writes it, so it may lag behind what the owner has by now: that costs a message
/// that is of no use, never a result, where keys only fall.
template <class Key>
struct halo_copies_ref {
    Key* words = nullptr;  ///< PE memory; null on a lone PE

    /// Where the copy of a vertex lies.
    [[nodiscard]] LANEWAY_FN Key* word(std::uint64_t vertex) const { return words + vertex; }

    /// Lowers the copy; false where it was as low before, and a message would be of no use. Any lane; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool lower(Ctx& ctx, std::uint64_t vertex, Key key) const {
        // Relaxed: the word is its own data.
        return key < ctx.fetch_min(word(vertex), key, order::relaxed, scope::device);
    }

    /// The same, but looks first: for callers that mostly come with keys that are of no use.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool look_and_lower(Ctx& ctx, std::uint64_t vertex, Key key) const {
        return key < ctx.load(word(vertex), order::relaxed, scope::device) && lower(ctx, vertex, key);
    }
};

}  // namespace laneway
