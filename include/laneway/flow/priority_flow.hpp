// Priority flow: the device program that spreads falling keys over a distributed graph until none falls any more.
//
// Every PE owns a contiguous range of vertices and a priority worklist over them. Workers take vertices, visit their
// arcs and emit lower keys for the heads: into the own worklist directly, to other PEs as messages. What an arc does
// to a key is the application's.
#pragma once

#include "laneway/comm/outbox.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/comm/server.hpp"
#include "laneway/comm/waves.hpp"
#include "laneway/flow/hub_shards.hpp"
#include "laneway/flow/vertex_ranges.hpp"
#include "laneway/flow/worklist_consumer.hpp"

namespace laneway {

/// "The vertex `id` of your range can have `key`."
template <class Key>
struct key_message {
    Key key;
    std::uint32_t id;
};

/// Serves key messages on the PE that owns the vertex.
template <class Key>
struct lower_key {
    priority_worklist_ref<Key> list;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const key_message<Key>& message) const {
        list.lower(ctx, message.id, message.key, list.current_threshold(ctx));
    }
};

/// What an arc proposes: that `head`, a vertex of the whole graph, can have `key`; worklist_word::unreached proposes
/// nothing.
template <class Key>
struct proposal {
    std::uint64_t head = 0;
    Key key = worklist_word<Key>::unreached;
};

/// Counts a PE's work for the waves: places of the worklist's rings, and messages.
template <class Ctx, class Key>
struct flow_ledger {
    const links_ref& links;
    const priority_worklist_ref<Key>& list;

    static constexpr bool closed = false;

    LANEWAY_FN keyed_reply look(Ctx& ctx) const {
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        const std::uint64_t threshold = list.current_threshold(ctx);
        std::uint64_t completed = 0;
        std::uint64_t far_taken = 0;
        std::uint64_t far_kept = 0;
        std::uint64_t unscanned = 0;
        std::uint64_t least = ~std::uint64_t{0};
        for (std::uint32_t r = lane; r < list.rings; r += Ctx::warp_lanes) {
            // Partner: the release add in done_work::publish. What that work created is counted below.
            completed += ctx.load(&list.blocks[r].completed, order::acquire, scope::device);
            far_taken += ctx.load(&list.blocks[r].far_taken, order::relaxed, scope::device);
            far_kept += ctx.load(&list.blocks[r].far_kept, order::relaxed, scope::device);
            unscanned += ctx.load(&list.blocks[r].scanned, order::relaxed, scope::device) != threshold ? 1 : 0;
            const std::uint64_t of_block = ctx.load(&list.blocks[r].least, order::relaxed, scope::device);
            least = of_block < least ? of_block : least;
        }
        keyed_reply now;
        // Partner: the release add in server.
        if (lane == 0) now.served = ctx.load(&links.work->served, order::acquire, scope::device);
        now.completed = now.served + warp_sum(ctx, completed);
        ctx.sync(full_warp<Ctx>);  // all lanes have read the counters above before any reads those below
        std::uint64_t near = 0;
        std::uint64_t far = 0;
        for (std::uint32_t r = lane; r < list.rings; r += Ctx::warp_lanes) {
            near += list.near(r).pushes(ctx);
            far += list.far(r).pushes(ctx);
        }
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
            near += ctx.load(&links.sent[pe].messages, order::relaxed, scope::device);
        }
        far = warp_sum(ctx, far);
        now.created = warp_sum(ctx, near) + far;
        now.deferred = far - warp_sum(ctx, far_taken);
        now.busy = warp_sum(ctx, unscanned);
        now.kept = warp_sum(ctx, far_kept);
        now.least = warp_min(ctx, least);
        return now;
    }
    LANEWAY_FN void apply(Ctx& ctx, std::uint64_t threshold) const {
        ctx.store(list.threshold, threshold, order::relaxed, scope::device);
    }
};

LANEWAY_STRICT_BEGIN
/// As call_needs_LANEWAY_FN, of an application's `arcs` and `visit`.
struct arcs_needs_LANEWAY_FN {
    template <class Application>
    LANEWAY_FN arc_range operator()(const Application& application, std::uint32_t id) const {
        return application.arcs(id);
    }
};
struct visit_needs_LANEWAY_FN {
    template <class Application, class Ctx, class Key>
    LANEWAY_FN proposal<Key> operator()(const Application& application, Ctx& ctx, std::uint64_t arc, Key key) const {
        return application.visit(ctx, arc, key);
    }
};
LANEWAY_STRICT_END

/// `Application`, trivially copyable, has
///   arc_range arcs(std::uint32_t id) const;                       of the own PE's vertex id
///   template <class Ctx> proposal<Key> visit(Ctx& ctx, std::uint64_t arc, Key key) const;
/// `Warps`: of a GPU's block. Fewer have more registers and shorter turns, which searches along long paths need; more
/// hide the latency of memory where there is plenty to do.
template <class Key, class Application, int Warps = 16>
struct priority_flow {
    static constexpr int cuda_warps = Warps;
    static constexpr double server_share = usual_server_share;
    static constexpr bool has_flushers = false;  // every worker takes short turns and flushes between them
    using message = key_message<Key>;
    using routes_type = routes<route<message, lower_key<Key>>>;

    links_ref links;
    std::uint32_t chunk_bytes = 0;
    waves_ref waves;
    delivery<routes_type> handlers;
    Application application;
    hub_shards_ref hubs;
    vertex_ranges ranges;
    std::uint64_t first = 0;  ///< vertices of this PE: [first, first + count)
    std::uint64_t count = 0;
    Key* sent_keys = nullptr;  ///< one a vertex of the graph: least key this PE has sent; null on a lone PE
    int server_blocks = 0;

    /// Shared memory of a block.
    static std::size_t shared_bytes(std::size_t chunk_bytes, int n_pes) {
        return sizeof(shared_words) + outbox_bytes<routes_type>(chunk_bytes, n_pes);
    }

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const roles mine(ctx, server_blocks);
        const auto serve = [&](int source, const arrived_chunk& chunk) {
            serve_plain<Ctx, message>(ctx, handlers, source, chunk);
        };
        server in(ctx, links, mine.server_index, serve);
        wave_control<Ctx, flow_ledger<Ctx, Key>> control(ctx, waves, {links, worklist()});
        const auto idle = [&] {
            if constexpr (Ctx::warp_lanes == 1) {
                return [&] {
                    in.turn(ctx);
                    if (mine.control) control.turn(ctx);
                };
            } else {
                return [] {};  // refers to nothing, so that nothing must lie in memory for its sake
            }
        }();
        auto* words = reinterpret_cast<shared_words*>(ctx.shared());
        const auto ring = static_cast<std::uint32_t>(mine.works ? ctx.block() - server_blocks : 0);
        worklist_consumer<Key> list(worklist(), ring, &words->list);
        outbox<Ctx, routes_type, decltype(idle)> out(ctx, links, chunk_bytes, handlers, idle,
                                                     ctx.shared() + sizeof(shared_words),
                                                     &worklist().blocks[ring].completed);
        out.open(ctx);
        if (ctx.warp() == 0 && ctx.lane() == 0) {
            words->board.open();
            list.open(ctx);
        }
        ctx.sync_block();
        std::uint64_t items = 0;
        unsigned turns = 0;
        run_turns(
            ctx, mine, &words->board, waves.finished, [&] { control.turn(ctx); }, [&] { return in.turn(ctx); },
            [&] {
                const bool worked = work(ctx, out, list, items);
                if (!worked) (void)out.run_dry(ctx);
                if (worked && ++turns % 16 == 0) (void)out.flush_old(ctx);
                return worked;
            },
            [&] {
                if (mine.works) list.refresh(ctx);
            },
            [] {});
        out.account(ctx);
        if (items != 0) ctx.fetch_add(&links.work->items, items, order::relaxed, scope::device);
    }

private:
    LANEWAY_FN const priority_worklist_ref<Key>& worklist() const { return handler_of<message>(handlers.routes).list; }

    struct shared_words {
        turn_board board;
        alignas(16) worklist_shared list;
    };

    template <class Ctx>
    LANEWAY_FN arc_range arcs_of(Ctx& ctx, std::uint32_t id) const {
        return run_user_code(ctx, {user_code::arcs}, arcs_needs_LANEWAY_FN{}, application, id);
    }

    template <class Ctx, class Out>
    LANEWAY_FN bool work(Ctx& ctx, Out& out, worklist_consumer<Key>& list, std::uint64_t& items) const {
        const std::uint64_t bound = list.bound(ctx);
        arc_range arcs;
        const auto taken = list.take(ctx, bound, [&](std::uint32_t id) {
            arcs = id < count ? arcs_of(ctx, id) : hubs.arcs(id - static_cast<std::uint32_t>(count));
        });
        const lane_mask popped = ctx.ballot(full_warp<Ctx>, taken.popped);
        if (popped == 0) return false;
        if (!taken.active) arcs.count = 0;
        if (taken.active && taken.id < count) ++items;
        const bool is_hub = arcs.count > shard_arcs;
        if (ctx.ballot(full_warp<Ctx>, is_hub) != 0) {
            const arc_range shards = is_hub ? hubs.of(taken.id) : arc_range{};
            for_each_arc(ctx, shards, taken.key,
                         [&](const arc_batch& batch, Key key) { spread(ctx, batch, key, bound); });
            if (is_hub) arcs.count = 0;
        }
        for_each_arc(ctx, arcs, taken.key,
                     [&](const arc_batch& batch, Key key) { visit_batch(ctx, out, batch, key, bound); });
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) out.complete(ctx, static_cast<std::uint32_t>(Ctx::count_lanes(popped)));
        return true;
    }

    /// Hands a hub's key to its shards, numbered by the batch.
    template <class Ctx>
    LANEWAY_FN void spread(Ctx& ctx, const arc_batch& batch, Key key, std::uint64_t bound) const {
        for (int k = 0; k < batch.count; ++k) {
            const std::uint64_t shard = batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k);
            worklist().lower(ctx, static_cast<std::uint32_t>(count + shard), key, bound);
        }
    }

    /// First all arcs are read, then what is known of their heads, and only then is anything waited for.
    template <class Ctx, class Out>
    LANEWAY_FN void visit_batch(Ctx& ctx, Out& out, const arc_batch& batch, Key key, std::uint64_t bound) const {
        proposal<Key> proposals[arc_batch::most];
        Key known[arc_batch::most];
        for (int k = 0; k < arc_batch::most; ++k) {
            if (k < batch.count)
                proposals[k] = run_user_code(ctx, {user_code::visit}, visit_needs_LANEWAY_FN{}, application, ctx,
                                             batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k), key);
        }
        for (int k = 0; k < arc_batch::most; ++k) {
            if (k < batch.count) known[k] = ctx.load(known_key(proposals[k].head), order::relaxed, scope::device);
        }
        unsigned better = 0;
        for (int k = 0; k < arc_batch::most; ++k) {
            if (k < batch.count && improves(proposals[k], known[k])) better |= 1u << k;
        }
        for (; better != 0; better &= better - 1) {
            // Chosen by comparing, not by indexing: so the arrays above stay in registers.
            proposal<Key> made;
            Key seen = 0;
            for (int k = 0; k < arc_batch::most; ++k) {
                if ((better & (0u - better)) != 1u << k) continue;
                made = proposals[k];
                seen = known[k];
            }
            propose(ctx, out, made, seen, bound);
        }
    }

    LANEWAY_FN bool improves(const proposal<Key>& made, Key known) const {
        const bool own = made.head - first < count;
        return made.key < (own ? static_cast<Key>(known >> worklist_word<Key>::state_bits) : known);
    }

    /// Where this PE keeps what it knows of a vertex: the word of its own ones, the least key sent to others.
    LANEWAY_FN Key* known_key(std::uint64_t head) const {
        const std::uint64_t local = head - first;
        return local < count ? worklist().words + local : sent_keys + head;
    }

    template <class Ctx, class Out>
    LANEWAY_FN void propose(Ctx& ctx, Out& out, const proposal<Key>& made, Key seen, std::uint64_t bound) const {
        const std::uint64_t local = made.head - first;
        if (local < count) {
            out.count_direct();
            worklist().lower(ctx, static_cast<std::uint32_t>(local), made.key, bound, seen);
            return;
        }
        // Only where it beats all that this PE has sent for the vertex before.
        if (ctx.fetch_min(sent_keys + made.head, made.key, order::relaxed, scope::device) <= made.key) return;
        const int owner = ranges.owner(ctx, made.head);
        (void)out.post(ctx, owner, message{made.key, static_cast<std::uint32_t>(made.head - ranges.starts[owner])});
    }
};

}  // namespace laneway
