// The device part of connected components: vertices point to smaller ones until each component has one root.
#pragma once

#include "graph/distributed_graph.hpp"
#include "laneway/comm/one_sided.hpp"
#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// A candidate for the value that most of some samples have, and by how many it leads (Boyer and Moore's vote, which
/// can be merged). Exact where more than half are equal.
template <class T>
struct majority {
    T value{};
    std::uint32_t lead = 0;

    LANEWAY_FN void merge(const majority& other) {
        if (value == other.value) {
            lead += other.lead;
        } else if (other.lead > lead) {
            *this = {other.value, other.lead - lead};
        } else {
            lead -= other.lead;
        }
    }
};

/// Every vertex has a word, its parent: a place that is at most its own, its own for a root. Arcs join the trees of
/// their ends. The program never goes up a tree to join it: a minimum that is put into a parent and hands back what
/// stood there, which then takes part in its stead, does it in one operation a step, whoever owns the word.
///
/// First all vertices join with two of their neighbours each, after which most are in one tree; only those outside it
/// join with all neighbours. The graph is symmetric, so what leads into the tree is found from its other end.
template <class Vertex>
struct join_components {
    static constexpr double server_share = 0.01;  ///< nothing to serve where PEs reach each other's memory
    static constexpr std::uint32_t sampled = 2;

    symmetric_ref<graph_view<Vertex>> view;
    symmetric_ref<Vertex> parent;  ///< one a row

    /// `rows`, `tiles`: the own ones.
    template <class Ctx, class Rows, class Tiles, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Rows& rows, Tiles& tiles, Box& box, Sums& sums) const {
        const graph_view<Vertex>& mine = *view.local(ctx);
        one_sided remote(ctx, box);
        begin(ctx, mine.rows, working_warp::of(ctx));
        if (remote.barrier() != status::ok) return;
        std::uint32_t pass = 0;  // over the rows
        for (std::uint32_t sample = 0; sample < sampled; ++sample) {
            join_sampled(ctx, rows, remote, mine.rows, sample, pass++);
            if (remote.barrier() != status::ok) return;
            if (!flatten(ctx, rows, remote, mine.rows, pass++)) return;
            if (remote.barrier() != status::ok) return;
        }
        Vertex largest{};
        if (ctx.pe() == 0 && working_warp::of(ctx).number == 0) largest = most_frequent(ctx, mine.rows);
        const auto skipped = sums.broadcast(ctx, largest, 0);
        if (!skipped) return;
        join_rest(ctx, tiles, remote, mine, skipped.value);
        if (remote.barrier() != status::ok) return;
        (void)flatten(ctx, rows, remote, mine.rows, pass);
    }

private:
    /// Makes every row a root.
    template <class Ctx>
    LANEWAY_FN void begin(Ctx& ctx, const graph_rows<Vertex>& rows, const working_warp& place) const {
        for (std::uint64_t row = place.lane(ctx); row < rows.count; row += place.lanes(ctx)) {
            parent.local(ctx)[row] = static_cast<Vertex>(rows.first + row);
        }
    }

    /// Where the parent of a place lies.
    struct home {
        int pe;
        symmetric_ptr<Vertex> word;
    };
    template <class Ctx>
    LANEWAY_FN home home_of(Ctx& ctx, const graph_rows<Vertex>& rows, Vertex place) const {
        const int owner = rows.ranges.owner(ctx, place);
        return {owner, parent[place - rows.ranges.starts[owner]]};
    }

    /// Puts a and b into one tree. The greater one's parent becomes the lesser, if it is not less already; what it was
    /// before must then be joined with the lesser, and so on with ever lesser pairs. A root that gets a parent has
    /// nothing else to be joined. False if the run is ending. Any lane.
    template <class Ctx, class Remote>
    LANEWAY_FN bool join(Ctx& ctx, Remote& remote, const graph_rows<Vertex>& rows, Vertex a, Vertex b) const {
        while (a != b) {
            const Vertex high = a > b ? a : b;
            const Vertex low = a > b ? b : a;
            const home at = home_of(ctx, rows, high);
            const auto before = remote.fetch_min(at.word, at.pe, low);
            if (!before) return false;
            if (before.value == high) return true;
            a = before.value;
            b = low;
        }
        return true;
    }

    /// Each row with its neighbour number `sample`. Rows that follow each other may have the same one, the hub of a
    /// star. Then they join with any vertex that has been joined with it: where the hub's PE is out of reach, a look at
    /// it takes tens of microseconds. Every working warp, together.
    template <class Ctx, class Rows, class Remote>
    LANEWAY_FN void join_sampled(Ctx& ctx, Rows& own_rows, Remote& remote, const graph_rows<Vertex>& rows,
                                 std::uint32_t sample, std::uint32_t pass) const {
        Vertex head = static_cast<Vertex>(rows.first);
        Vertex joined = head;  // a vertex that is in the head's tree, or will be when all have joined
        const auto join_row = [&](std::uint64_t row) {
            const std::uint64_t arc = rows.offsets[row] + sample;
            if (arc >= rows.offsets[row + 1]) return;
            if (rows.heads[arc] != head) {
                const auto got = parent_of(ctx, remote, rows, rows.heads[arc]);
                if (!got) return;
                head = rows.heads[arc];
                joined = got.value;
            }
            const Vertex own = load_own(ctx, row);
            (void)join(ctx, remote, rows, own, joined);
            joined = own < joined ? own : joined;
        };
        own_rows.for_each(ctx, join_row, pass);
    }

    /// Rows outside the tree of `skipped` with all their neighbours. Every working warp, together.
    template <class Ctx, class Tiles, class Remote>
    LANEWAY_FN void join_rest(Ctx& ctx, Tiles& tiles, Remote& remote, const graph_view<Vertex>& mine,
                              Vertex skipped) const {
        tiles.for_each_together(ctx, [&](std::uint64_t tile) {
            mine.tiles.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool) {
                Vertex root = skipped;
                if (arcs.count > 0) root = load_own(ctx, row);
                for_each_arc(ctx, root == skipped ? arc_range{} : arcs, root, [&](const arc_batch& batch, Vertex its) {
                    for (int k = 0; k < batch.count; ++k) {
                        const std::uint64_t arc = batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k);
                        if (!join_head(ctx, remote, mine.rows, its, mine.rows.heads[arc])) return;
                    }
                });
            });
        });
    }
    /// With the head's parent, which most often is the same: then there is nothing to change.
    template <class Ctx, class Remote>
    LANEWAY_FN bool join_head(Ctx& ctx, Remote& remote, const graph_rows<Vertex>& rows, Vertex root,
                              Vertex head) const {
        const auto its = parent_of(ctx, remote, rows, head);
        return its && join(ctx, remote, rows, root, its.value);
    }

    template <class Ctx, class Remote>
    LANEWAY_FN answered<Vertex> parent_of(Ctx& ctx, Remote& remote, const graph_rows<Vertex>& rows,
                                          Vertex place) const {
        const home at = home_of(ctx, rows, place);
        return remote.get(at.word, at.pe);
    }

    /// Lets rows point to their roots. Nothing joins meanwhile, so the roots stay what they are, and a lane need not
    /// look again from where its last way began, nor at the root where it ended. Each step is stored, so that those
    /// behind it have less far to go. Every working warp, together; false if the run is ending.
    template <class Ctx, class Rows, class Remote>
    LANEWAY_FN bool flatten(Ctx& ctx, Rows& own_rows, Remote& remote, const graph_rows<Vertex>& rows,
                            std::uint32_t pass) const {
        bool goes_on = true;
        Vertex from{};
        Vertex root{};  // place 0 always is one: no place is less
        const auto flatten_row = [&](std::uint64_t row) {
            if (!goes_on) return;
            Vertex up = load_own(ctx, row);
            if (up == root || up == rows.first + row) return;
            if (up == from) return store_own(ctx, row, root);
            from = up;
            while (up != root) {
                const auto next = parent_of(ctx, remote, rows, up);
                goes_on = static_cast<bool>(next);
                if (!next) return;
                if (next.value == up) root = up;
                up = next.value;
                store_own(ctx, row, up);
            }
        };
        own_rows.for_each(ctx, flatten_row, pass);
        return goes_on;
    }

    /// The root of most of some of the PE's rows. One warp, together.
    template <class Ctx>
    LANEWAY_FN Vertex most_frequent(Ctx& ctx, const graph_rows<Vertex>& rows) const {
        constexpr std::uint64_t samples = 256, step = 0x9e3779b97f4a7c15;  // the golden ratio's: spreads any count
        majority<Vertex> vote;
        for (auto i = static_cast<std::uint64_t>(ctx.lane()); i < samples && rows.count > 0; i += Ctx::warp_lanes) {
            vote.merge({load_own(ctx, i * step % rows.count), 1});
        }
        for (int distance = Ctx::warp_lanes / 2; distance > 0; distance /= 2) {
            vote.merge({ctx.shuffle(full_warp<Ctx>, vote.value, ctx.lane() ^ distance),
                        ctx.shuffle(full_warp<Ctx>, vote.lead, ctx.lane() ^ distance)});
        }
        return vote.value;
    }

    template <class Ctx>
    LANEWAY_FN Vertex load_own(Ctx& ctx, std::uint64_t row) const {
        return ctx.load(&parent.local(ctx)[row], order::relaxed, scope::system);
    }
    template <class Ctx>
    LANEWAY_FN void store_own(Ctx& ctx, std::uint64_t row, Vertex up) const {
        ctx.store(&parent.local(ctx)[row], up, order::relaxed, scope::system);
    }
};

}  // namespace laneway::apps
