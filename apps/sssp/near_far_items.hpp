// The five functions of shortest paths as work items, and the work itself: the device part.
#pragma once

#include "graph/graph_part.hpp"
#include "laneway/flow/halo_copies.hpp"
#include "laneway/flow/item_route.hpp"
#include "laneway/simt/context.hpp"

namespace laneway::apps {

/// "The vertex at this place of the whole graph can have this distance."
struct near_far_item {
    std::uint64_t distance = 0;
    std::uint64_t vertex = 0;
};
/// The same for the PE that owns it, which knows its rows by number.
struct near_far_message {
    std::uint32_t low = 0;  ///< of the distance
    std::uint32_t high = 0;
    std::uint32_t row = 0;
};

/// One PE's part. An item is useful as long as its distance is still that of its vertex.
template <class Vertex>
struct near_far_application {
    using item = near_far_item;
    using packed = near_far_message;

    graph_rows<Vertex> rows;
    std::uint64_t* distances = nullptr;  ///< one a row, all ones where there is none; PE memory
    halo_copies_ref<std::uint64_t> halo;

    template <class Ctx>
    LANEWAY_FN packed pack(Ctx& ctx, const item& made) const {
        const std::uint64_t row = made.vertex - rows.ranges.starts[rows.ranges.owner(ctx, made.vertex)];
        return {static_cast<std::uint32_t>(made.distance), static_cast<std::uint32_t>(made.distance >> 32),
                static_cast<std::uint32_t>(row)};
    }
    template <class Ctx>
    LANEWAY_FN item unpack(Ctx&, const packed& come) const {
        return {distance_of(come), rows.first + come.row};
    }

    /// Own vertices take what is nearer; of others the halo copy says whether their PE can gain by it.
    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx& ctx, const item& made) const {
        const std::uint64_t row = made.vertex - rows.first;
        if (row < rows.count) return lower(ctx, row, made.distance) ? item_route::keep() : item_route::drop();
        const int owner = rows.ranges.owner(ctx, made.vertex);
        return halo.look_and_lower(ctx, made.vertex, made.distance) ? item_route::pass(owner)
                                                                    : item_route::suppress(owner);
    }
    template <class Ctx>
    LANEWAY_FN item_route on_receive(Ctx& ctx, const packed& come) const {
        return lower(ctx, come.row, distance_of(come)) ? item_route::keep() : item_route::drop();
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx&, const item& one) const {
        return one.distance;
    }

    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx& ctx, const item& one) const {
        const std::uint64_t row = one.vertex - rows.first;
        if (ctx.load(distances + row, order::relaxed, scope::device) != one.distance) return item_parts::none();
        return item_parts::of(static_cast<std::uint32_t>(rows.degree(row)));
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const item& one, std::uint32_t part, List& list) const {
        const std::uint64_t arc = rows.offsets[one.vertex - rows.first] + part;
        const std::uint64_t length = rows.weights == nullptr ? 1 : rows.weights[arc];
        (void)list.push(ctx, {one.distance + length, rows.heads[arc]});  // a failure ends the run
    }

private:
    static LANEWAY_FN std::uint64_t distance_of(const packed& come) {
        return std::uint64_t{come.high} << 32 | come.low;
    }
    /// Most arcs bring nothing, and a look costs less than an update.
    template <class Ctx>
    LANEWAY_FN bool lower(Ctx& ctx, std::uint64_t row, std::uint64_t distance) const {
        std::uint64_t* const word = distances + row;
        return distance < ctx.load(word, order::relaxed, scope::device) &&
               distance < ctx.fetch_min(word, distance, order::relaxed, scope::device);
    }
};

}  // namespace laneway::apps
