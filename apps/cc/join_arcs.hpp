// The device part of connected components by a router: a forest over all vertices that one device has for itself.
#pragma once

#include <cstdint>

#include "laneway/simt/order.hpp"

namespace laneway::apps {

/// An arc that travels by itself; the way it leads does not matter.
template <class Vertex>
struct loose_arc {
    Vertex tail;
    Vertex head;
};

/// Every vertex has a parent, which is at most itself; a vertex that is its own is a root. All words are in the memory
/// of the device. Parents only become less, and what stood there before is in the same component as what does now: so
/// all lanes change them at once, without locks.
template <class Vertex>
struct local_forest {
    Vertex* parent;
    std::uint64_t count;

    /// The root of a vertex, or a vertex that was one a moment ago. Each vertex on the way gets its grandparent for a
    /// parent, so that those behind it have half as far to go. Any lane.
    template <class Ctx>
    LANEWAY_FN Vertex root_of(Ctx& ctx, Vertex vertex) const {
        for (;;) {
            const Vertex up = load(ctx, vertex);
            if (up == vertex) return vertex;
            const Vertex over = load(ctx, up);
            if (over != up) (void)ctx.fetch_min(parent + vertex, over, order::relaxed, scope::device);
            vertex = over;
        }
    }

    /// Puts a and b into one tree. The greater one's parent becomes the lesser, if it is not less already; what it was
    /// before must then be joined with the lesser, and so on with ever lesser pairs. Any lane.
    template <class Ctx>
    LANEWAY_FN void join(Ctx& ctx, Vertex a, Vertex b) const {
        a = root_of(ctx, a);
        b = root_of(ctx, b);
        while (a != b) {
            const Vertex high = a > b ? a : b;
            const Vertex low = a > b ? b : a;
            const Vertex before = ctx.fetch_min(parent + high, low, order::relaxed, scope::device);
            if (before == high) return;
            a = before;
            b = low;
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN Vertex load(Ctx& ctx, Vertex vertex) const {
        return ctx.load(parent + vertex, order::relaxed, scope::device);
    }
};

/// Makes every vertex a root.
template <class Vertex>
struct begin_forest {
    local_forest<Vertex> forest;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t v = ctx.rank(); v < forest.count; v += ctx.size()) {
            forest.parent[v] = static_cast<Vertex>(v);
        }
    }
};

/// Joins the ends of each arc of a segment.
template <class Vertex>
struct join_arcs {
    local_forest<Vertex> forest;
    const loose_arc<Vertex>* arcs;
    std::uint64_t count;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < count; i += ctx.size()) forest.join(ctx, arcs[i].tail, arcs[i].head);
    }
};

/// Joins some vertices, which are consecutive, with the parents that they have in another device's forest.
template <class Vertex>
struct join_forest {
    local_forest<Vertex> forest;
    std::uint64_t first;
    const Vertex* parents;
    std::uint64_t count;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < count; i += ctx.size()) {
            forest.join(ctx, static_cast<Vertex>(first + i), parents[i]);
        }
    }
};

/// Lets all vertices point to their roots. Nothing joins meanwhile, so the roots stay what they are.
template <class Vertex>
struct flatten_forest {
    local_forest<Vertex> forest;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t v = ctx.rank(); v < forest.count; v += ctx.size()) {
            const Vertex root = forest.root_of(ctx, static_cast<Vertex>(v));
            ctx.store(forest.parent + v, root, order::relaxed, scope::device);
        }
    }
};

}  // namespace laneway::apps
