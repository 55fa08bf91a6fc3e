// The worklist as a component: keys that spread over a distributed graph and fall until none falls any more.
//
// Every PE owns a contiguous range of vertices and a priority worklist over them. Warps take vertices, visit their arcs
// and propose lower keys for the heads: to the own worklist directly, to other PEs as messages. What an arc does to a
// key is the application's.
#pragma once

#include "laneway/flow/halo_copies.hpp"
#include "laneway/flow/hub_shards.hpp"
#include "laneway/flow/vertex_ranges.hpp"
#include "laneway/flow/worklist_consumer.hpp"
#include "laneway/run/program.hpp"

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
    static constexpr bool shares_buffers = false;  // many travel
    priority_worklist_ref<Key> list;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const key_message<Key>& message) const {
        list.lower(ctx, message.id, message.key, list.current_threshold(ctx));
    }
};

/// What an arc proposes: that `head`, a vertex of the whole graph, can have `key`; worklist_word::unreached proposes
/// nothing, and worklist_word::too_great a key that does not fit, see worklist::overflowed.
template <class Key>
struct proposal {
    std::uint64_t head = 0;
    Key key = worklist_word<Key>::unreached;
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

template <class Ctx, class Out, class Key, class Application, int Warps>
class worklist_agent;

/// Device view of one PE's part. `Application`, trivially copyable, has
///   arc_range arcs(std::uint32_t id) const;                       of the own PE's vertex id
///   template <class Ctx> proposal<Key> visit(Ctx& ctx, std::uint64_t arc, Key key) const;
/// `visit` may be asked for an arc more than once. It is read for several arcs before the first is waited for, as long
/// as it only loads and calculates: a store, or a branch on what it has loaded, makes each arc wait for the one before.
/// `Warps`: of a GPU's block. Up to 16 have more registers and follow paths, which searches along long paths need; more
/// hide the latency of memory where there is plenty to do.
template <class Key, class Application, int Warps = 16>
struct worklist_ref {
    using routes_type = routes<route<key_message<Key>, lower_key<Key>>>;
    static constexpr int cuda_warps = Warps;
    static constexpr std::size_t shared_bytes = sizeof(worklist_shared);
    static constexpr bool counts_work = true;

    priority_worklist_ref<Key> list;
    Application application;
    hub_shards_ref hubs;
    vertex_ranges ranges;
    std::uint64_t first = 0;  ///< vertices of this PE: [first, first + count)
    std::uint64_t count = 0;
    halo_copies_ref<Key> halo;
    bool has_threshold = false;  ///< that the termination detector raises

    [[nodiscard]] routes_type handlers() const { return {{{list}}}; }

    template <class Ctx, class Out>
    LANEWAY_FN worklist_agent<Ctx, Out, Key, Application, Warps> agent(Ctx&, Out& out, const roles& mine,
                                                                       std::byte* shared) const {
        return {*this, out, mine, reinterpret_cast<worklist_shared*>(shared)};
    }

    [[nodiscard]] LANEWAY_FN std::uint64_t* completed(int block) const { return &list.blocks[block].completed; }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        const std::uint64_t threshold = list.current_threshold(ctx);
        keyed_reply found;
        for (std::uint32_t r = first_ring(ctx); r < list.rings; r += Ctx::warp_lanes) {
            threshold_scan::add(ctx, list.blocks[r], threshold, found);
        }
        threshold_scan::acquired(ctx);
        sum.completed += found.completed;
        if (!has_threshold) return;  // nothing waits for the detector to raise it
        sum.deferred += found.deferred;
        sum.kept += found.kept;
        sum.active += found.active;
        sum.least = found.least < sum.least ? found.least : sum.least;
    }

    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        for (std::uint32_t r = first_ring(ctx); r < list.rings; r += Ctx::warp_lanes) {
            if (list.in_waves) {
                sum.created += list.blocks[r].wave();
                continue;
            }
            const std::uint64_t far = list.far(r).pushes(ctx);
            sum.created += list.near(r).pushes(ctx) + far;
            if (has_threshold) sum.deferred += far;
        }
    }

    template <class Ctx>
    LANEWAY_FN void apply(Ctx& ctx, std::uint64_t threshold) const {
        if (has_threshold) ctx.store(list.threshold, threshold, order::relaxed, scope::device);
    }

private:
    template <class Ctx>
    static LANEWAY_FN std::uint32_t first_ring(const Ctx& ctx) {
        return static_cast<std::uint32_t>(ctx.lane());
    }
};

/// One lane's access. `propose` may be called by any lane, also in divergent code; the rest is the progress loop's.
template <class Ctx, class Out, class Key, class Application, int Warps>
class worklist_agent {
public:
    static constexpr bool polls = true;
    using part = worklist_ref<Key, Application, Warps>;
    using list_type = priority_worklist_ref<Key>;
    /// Arcs of a path that a lane follows before it hands on what it finds, so that others get a share of what grows.
    static constexpr int max_follows = Warps <= 16 ? 16 : 0;

    LANEWAY_FN worklist_agent(const part& mine, Out& out, const roles& role, worklist_shared* shared)
        : part_(mine), out_(out), first_(role.works && role.team_index == 0),
          consumer_(mine.list, static_cast<std::uint32_t>(role.works ? role.team_number : 0), shared) {}

    /// Proposes a key for a vertex of the whole graph, which gets it if none below it has been proposed.
    LANEWAY_FN void propose(Ctx& ctx, const proposal<Key>& made) {
        if (made.key > worklist_word<Key>::unreached) return consumer_.note_overflow(ctx);
        const Key known = ctx.load(known_key(made.head), order::relaxed, scope::device);
        if (improves(made, known)) (void)propose(ctx, made, known, part_.list.current_threshold(ctx), false);
    }

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) consumer_.open(ctx);
    }
    LANEWAY_FN void refresh(Ctx& ctx) { consumer_.refresh(ctx); }
    LANEWAY_FN bool poll(Ctx& ctx) {
        if (!work(ctx)) return false;
        if (++turns_ % 16 == 0) (void)out_.flush_old(ctx);
        return true;
    }
    LANEWAY_FN void close(Ctx& ctx) const {
        out_.count_items(ctx, items_);
        if (first_ && ctx.lane() == 0) consumer_.close(ctx);
    }

private:
    using taken_id = typename worklist_consumer<Key>::taken;

    LANEWAY_FN arc_range arcs_of(Ctx& ctx, std::uint32_t id) const {
        return run_user_code(ctx, {user_code::arcs}, arcs_needs_LANEWAY_FN{}, part_.application, id);
    }

    LANEWAY_FN proposal<Key> visit(Ctx& ctx, std::uint64_t arc, Key key) const {
        return run_user_code(ctx, {user_code::visit}, visit_needs_LANEWAY_FN{}, part_.application, ctx, arc, key);
    }

    LANEWAY_FN bool work(Ctx& ctx) {
        const std::uint64_t bound = consumer_.bound(ctx);
        arc_range arcs;
        std::uint32_t least = 0;
        auto taken = consumer_.take(ctx, bound, [&](std::uint32_t id) {
            const std::uint32_t shard = id - static_cast<std::uint32_t>(part_.count);
            arcs = id < part_.count ? arcs_of(ctx, id) : part_.hubs.arcs(shard);
            least = id < part_.count ? 0 : part_.hubs.min_of(shard);
        });
        taken.key -= static_cast<Key>(least);
        const lane_mask popped = ctx.ballot(full_warp<Ctx>, taken.popped);
        if (popped == 0) return false;
        // What was found near goes through a ring, which takes as long as all else. A warp that finds few ids is short
        // of work: there the paths of a search set the pace, and each lane follows the one that it has found for a
        // while.
        const bool follows = Ctx::count_lanes(popped) < Ctx::warp_lanes && !part_.list.in_waves;
        for (int left = follows ? max_follows : 0;; --left) {
            follows_ = left > 0;
            found_.active = false;
            visit_arcs(ctx, taken, arcs, bound);
            if (!follows_ || ctx.ballot(full_warp<Ctx>, found_.active) == 0) break;
            taken = found_;
            arcs = found_arcs_;
        }
        follows_ = false;
        ctx.sync(full_warp<Ctx>);
        // Only now: who follows a path has not completed the id with which it began.
        if (ctx.lane() == 0) out_.complete(ctx, static_cast<std::uint32_t>(Ctx::count_lanes(popped)));
        return true;
    }

    /// Visits the arcs of the ids that lanes have taken. The whole warp, together.
    LANEWAY_FN void visit_arcs(Ctx& ctx, const taken_id& taken, arc_range arcs, std::uint64_t bound) {
        if (!taken.active) arcs.count = 0;
        if (taken.active && taken.id < part_.count) ++items_;
        const bool is_hub = arcs.count > shard_arcs;
        if (ctx.ballot(full_warp<Ctx>, is_hub) != 0) {
            const arc_range shards = is_hub ? part_.hubs.of(taken.id) : arc_range{};
            for_each_arc(ctx, shards, taken.key,
                         [&](const arc_batch& batch, Key key) { spread(ctx, batch, key, bound); });
            if (is_hub) arcs.count = 0;
        }
        for_each_arc(ctx, arcs, taken.key,
                     [&](const arc_batch& batch, Key key) { visit_batch(ctx, batch, key, bound); });
    }

    /// Hands a hub's key to its shards, numbered by the batch, with what the arcs of each add at least.
    LANEWAY_FN void spread(Ctx& ctx, const arc_batch& batch, Key key, std::uint64_t bound) {
        for (int k = 0; k < batch.count; ++k) {
            const std::uint64_t shard = batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k);
            const std::uint64_t its = std::uint64_t{key} + part_.hubs.min_of(shard);
            if (its >= worklist_word<Key>::unreached) {  // so does each of its arcs
                consumer_.note_overflow(ctx);
                continue;
            }
            part_.list.lower(ctx, static_cast<std::uint32_t>(part_.count + shard), static_cast<Key>(its), bound);
        }
    }

    /// First all arcs are read, then what is known of their heads, and only then is anything waited for: so lanes of a
    /// warp that have fewer arcs than others read their first one again rather than branch.
    LANEWAY_FN void visit_batch(Ctx& ctx, const arc_batch& batch, Key key, std::uint64_t bound) {
        proposal<Key> proposals[arc_batch::most];
        Key known[arc_batch::most];
        for (int k = 0; k < arc_batch::most; ++k) {
            if (Ctx::warp_lanes == 1 && k == batch.count) break;
            proposals[k] = visit(ctx, batch.arc(k), key);
        }
        for (int k = 0; k < arc_batch::most; ++k) {
            known[k] = k < batch.count ? ctx.load(known_key(proposals[k].head), order::relaxed, scope::device) : Key{0};
        }
        // Asked for together with what is known of the head, as it may be the next one.
        arc_range ahead;
        const std::uint64_t first = proposals[0].head - part_.first;
        if (max_follows > 0 && follows_ && first < part_.count) ahead = arcs_of(ctx, static_cast<std::uint32_t>(first));
        unsigned better = 0;
        bool fits = true;
        for (int k = 0; k < arc_batch::most; ++k) {
            if (improves(proposals[k], known[k])) better |= 1u << k;
            fits = fits && proposals[k].key <= worklist_word<Key>::unreached;
        }
        if (!fits) consumer_.note_overflow(ctx);
        propose_better(ctx, proposals, known, better, bound, ahead);
    }

    /// Proposes what `better` has a bit for. `ahead`: the arcs of the first one's head, for a lane that follows paths.
    LANEWAY_FN void propose_better(Ctx& ctx, const proposal<Key> (&proposals)[arc_batch::most],
                                   const Key (&known)[arc_batch::most], unsigned better, std::uint64_t bound,
                                   const arc_range& ahead) {
        const std::uint64_t first = proposals[0].head - part_.first;
        for (; better != 0; better &= better - 1) {
            // Chosen by comparing, not by indexing: so the arrays stay in registers.
            proposal<Key> made;
            Key seen = 0;
            for (int k = 0; k < arc_batch::most; ++k) {
                if ((better & (0u - better)) != 1u << k) continue;
                made = proposals[k];
                seen = known[k];
            }
            const bool follows = max_follows > 0 && follows_ && !found_.active && made.head - part_.first == first;
            if (propose(ctx, made, seen, bound, follows)) {
                found_ = {false, true, static_cast<std::uint32_t>(first), made.key};
                found_arcs_ = ahead;
            }
        }
    }

    LANEWAY_FN bool improves(const proposal<Key>& made, Key known) const {
        const bool own = made.head - part_.first < part_.count;
        // Nothing is proposed by the greatest key, which is below what is kept of others' vertices that have none yet.
        return made.key < worklist_word<Key>::unreached &&
               made.key < (own ? static_cast<Key>(known >> worklist_word<Key>::state_bits) : known);
    }

    /// Where this PE keeps what it knows of a vertex: the word of its own ones, the least key sent to others.
    LANEWAY_FN Key* known_key(std::uint64_t head) const {
        const std::uint64_t local = head - part_.first;
        const bool own = local < part_.count;
        return (own ? part_.list.words : part_.halo.words) + (own ? local : head);  // chosen, not branched to
    }

    /// Returns whether the vertex has been claimed, which needs `claims`.
    LANEWAY_FN bool propose(Ctx& ctx, const proposal<Key>& made, Key seen, std::uint64_t bound, bool claims) {
        const std::uint64_t local = made.head - part_.first;
        if (local < part_.count) {
            out_.count_direct();
            return part_.list.offer(ctx, static_cast<std::uint32_t>(local), made.key, bound, seen, claims) ==
                   list_type::offered::claimed;
        }
        // Only where it beats all that this PE has sent for the vertex before.
        if (!part_.halo.lower(ctx, made.head, made.key)) return false;
        const int owner = part_.ranges.owner(ctx, made.head);
        (void)out_.post(ctx, owner,
                        key_message<Key>{made.key, static_cast<std::uint32_t>(made.head - part_.ranges.starts[owner])});
        return false;
    }

    const part& part_;
    Out& out_;
    bool first_;  ///< of the working warps of its block
    worklist_consumer<Key> consumer_;
    taken_id found_;        ///< what this lane has claimed while it visited arcs,
    arc_range found_arcs_;  ///< and its arcs
    bool follows_ = false;  ///< whether it may
    std::uint64_t items_ = 0;
    unsigned turns_ = 0;
};

}  // namespace laneway
