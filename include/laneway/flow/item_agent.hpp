// What lanes do with an item worklist: push items, take them, do their parts, lend them to PEs that have none.
#pragma once

#include "laneway/flow/balance.hpp"
#include "laneway/flow/item_arrivals.hpp"
#include "laneway/run/program.hpp"

namespace laneway {

template <class Application, int Warps>
struct item_worklist_ref;

/// Parts of an item that a lane's warp does in a turn, at most; of more, others take their share.
inline constexpr std::uint32_t max_parts_at_once = 512;

/// Entries that wait in a block's queue before it lends some, and those that it lends at once, at most.
inline constexpr std::uint32_t min_to_lend = 4;
inline constexpr std::uint32_t max_loan = 64;

/// What the warps of a working block share, in its shared memory.
struct alignas(16) item_shared {
    threshold_shared threshold;
    std::uint32_t starts_nothing;  ///< 1 while another PE uses its reserve, and the own one is empty
    std::uint32_t to_tell;         ///< 1 while the others do not know how it stands with the own reserve
    std::uint32_t uses_reserve;    ///< 1 where something may be taken from the own reserve
};

/// One lane's access. `push` may be called by any lane, also in divergent code; the rest is the progress loop's.
template <class Ctx, class Out, class Application, int Warps>
class item_agent {
public:
    static constexpr bool polls = true;
    using part = item_worklist_ref<Application, Warps>;
    using item = typename Application::item;

    LANEWAY_FN item_agent(const part& mine, Out& out, const roles& role, item_shared* shared)
        : part_(mine), out_(out), ring_(static_cast<std::uint32_t>(role.works ? role.team_number : 0)), shared_(shared),
          scan_(&mine.queues().pe->threshold, mine.queues().blocks[ring_], &shared->threshold) {}

    /// Adds an item: it goes where on_send of the application says. Any lane, also in divergent code. May wait for
    /// buffers where it leaves (back-pressure), and for the host where all queues are full. Fails with bad_pe, or
    /// stopped or timeout when the run ends, also because the host has kept as much as it may: whoever pushes in a long
    /// loop ends it then.
    LANEWAY_FN status push(Ctx& ctx, const item& made) {
        const item_route route = app().on_send(ctx, made);
        if (threw(ctx)) return status::stopped;
        const bool keeps = route.keeps(ctx.pe());
        const bool leaves = route.leaves(ctx.pe());
        const bool spared = route.pe >= 0 && route.pe != ctx.pe();
        mine_.kept += keeps ? 1 : 0;
        mine_.sent += leaves ? 1 : 0;
        mine_.suppressed += !keeps && !leaves && spared ? 1 : 0;
        mine_.dropped += !keeps && !leaves && !spared ? 1 : 0;
        mine_.returned += leaves && route.pe == lender_ ? 1 : 0;
        if (keeps && !part_.arrivals.keep(ctx, ctx.converged(), made)) return status::stopped;
        if (!leaves) return status::ok;
        return out_.post(ctx, route.pe, item_message<Application>{app().pack(ctx, made)});
    }

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() != 0 || ctx.lane() != 0) return;
        *shared_ = {};
        shared_->uses_reserve = part_.queues().uses_reserve(ctx) ? 1 : 0;
        // In a wave the host has set how much of the far queue is to be looked through.
        scan_.open(ctx, far_words().created(ctx));
    }

    LANEWAY_FN void refresh(Ctx& ctx) {
        if (part_.arrivals.has_priorities && !part_.in_waves) {
            scan_.refresh(ctx, [&] { return far_words().created(ctx); });
        }
        look_at_reserves(ctx);
    }

    LANEWAY_FN bool poll(Ctx& ctx) {
        if (++turns_ % 16 == 0) (void)out_.flush_old(ctx);
        if (part_.queues().tells) tell_of_reserve(ctx);
        if (shared_word(ctx, &shared_->starts_nothing) != 0) return false;
        const bool goes_on = has_rest_;
        bool active = goes_on;
        if (ctx.ballot(full_warp<Ctx>, goes_on) == 0) {
            if constexpr (part::moves) lend(ctx);
            active = ctx.lane() < take(ctx, rest_);
        }
        if (ctx.ballot(full_warp<Ctx>, active) == 0) return false;
        work_on(ctx, active);
        const lane_mask done = ctx.ballot(full_warp<Ctx>, active && !has_rest_);
        if constexpr (part::moves) ask(ctx);
        if (done != 0 && ctx.lane() == 0) out_.complete(ctx, static_cast<std::uint32_t>(Ctx::count_lanes(done)));
        return true;
    }

    LANEWAY_FN void close(Ctx& ctx) const {
        if (part_.in_waves && ctx.warp() == 0 && ctx.lane() == 0) {
            ctx.fetch_max(&part_.queues().pe->ended_ns, ctx.now_ns(), order::relaxed, scope::device);
        }
        out_.count_items(ctx, mine_.done);
        add(ctx, &item_counters::kept);
        add(ctx, &item_counters::sent);
        add(ctx, &item_counters::suppressed);
        add(ctx, &item_counters::dropped);
        add(ctx, &item_counters::passed_on);
        add(ctx, &item_counters::lent);
        add(ctx, &item_counters::returned);
        add(ctx, &item_counters::done);
        add(ctx, &item_counters::useful);
    }

private:
    using entry = typename receive_item<Application>::entry;

    /// The block's far queue, whose places the scan counts from the run's first one on.
    [[nodiscard]] LANEWAY_FN const item_queue_words& far_words() const { return part_.queues().blocks[ring_].far; }
    [[nodiscard]] LANEWAY_FN const item_application<Application>& app() const { return part_.arrivals.application; }

    LANEWAY_FN static std::uint32_t shared_word(Ctx& ctx, const std::uint32_t* word) {
        return once(ctx, full_warp<Ctx>, [&] { return ctx.load(word, order::relaxed, scope::block); });
    }

    LANEWAY_FN void add(Ctx& ctx, std::uint64_t item_counters::*counter) const {
        if (mine_.*counter == 0) return;
        ctx.fetch_add(&(part_.arrivals.counters->*counter), mine_.*counter, order::relaxed, scope::device);
    }

    /// Whether the PE's reserve, or the host, holds something; whether the PE starts items now, and has to tell
    /// something. One lane of the block at a time: all warps would wear out the counters.
    LANEWAY_FN void look_at_reserves(Ctx& ctx) const {
        const item_queues_ref& queues = part_.queues();
        const bool own = queues.uses_reserve(ctx);
        ctx.store(&shared_->uses_reserve, own ? 1u : 0u, order::relaxed, scope::block);
        if (!queues.tells) return;
        bool other = false;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            const std::uint64_t epoch = ctx.load(part_.reserve_epochs + pe, order::relaxed, scope::device);
            other = other || reserve_epoch::of(epoch) == reserve_epoch::told;
        }
        const auto known = reserve_epoch::of(ctx.load(&queues.pe->told, order::relaxed, scope::device));
        // What has been told holds until there is room for some time: telling takes messages to all.
        const bool has_room = !own && queues.near(ring_).fill(ctx) <= queues.near_width / 2;
        const bool tells = known == reserve_epoch::untold || (known == reserve_epoch::told && has_room);
        // Where PEs use their reserves these work: so there is always one that does, and what it holds gets less. So do
        // PEs that have emptied theirs and not told it yet, or two that empty at once would wait for each other.
        const bool waits = !own && known == reserve_epoch::unused && other;
        ctx.store(&shared_->starts_nothing, waits ? 1u : 0u, order::relaxed, scope::block);
        ctx.store(&shared_->to_tell, tells ? 1u : 0u, order::relaxed, scope::block);
    }

    /// Tells the others how it stands with the reserve, where they do not know it. The whole warp, together.
    LANEWAY_FN void tell_of_reserve(Ctx& ctx) {
        if (shared_word(ctx, &shared_->to_tell) == 0) return;
        const std::uint64_t epoch = once(ctx, full_warp<Ctx>, [&] { return next_epoch(ctx); });
        if (epoch == 0) return;
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
            if (pe != ctx.pe()) (void)out_.post(ctx, pe, reserve_message{epoch, static_cast<std::uint32_t>(ctx.pe())});
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) out_.complete(ctx, 1);  // counted as created when the reserve came into use
        // What others make until they hear of it must find room. That there is room again has time.
        if (reserve_epoch::of(epoch) == reserve_epoch::told) (void)out_.flush(ctx);
    }

    /// Moves on what the others know of the reserve; the epoch that they are to be told, or 0 for none. One lane.
    LANEWAY_FN std::uint64_t next_epoch(Ctx& ctx) {
        ctx.store(&shared_->to_tell, 0u, order::relaxed, scope::block);
        std::uint64_t* const told = &part_.queues().pe->told;
        std::uint64_t before = ctx.load(told, order::relaxed, scope::device);
        const auto known = reserve_epoch::of(before);
        // A use that is over before it has been told is told all the same, so that each has two messages.
        if (known == reserve_epoch::unused || (known == reserve_epoch::told && part_.queues().uses_reserve(ctx))) {
            return 0;
        }
        return ctx.compare_exchange(told, before, before + 1, order::relaxed, scope::device) ? before + 1 : 0;
    }

    /// Gives half of what waits in the block's near queue to a PE that has nothing to do. The whole warp, together.
    LANEWAY_FN void lend(Ctx& ctx) {
        if (part_.wants == nullptr) return;
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        const channel_queue_ref queue = part_.queues().near(ring_);
        const std::uint64_t chosen = once(ctx, full_warp<Ctx>, [&]() -> std::uint64_t {
            const std::uint32_t waiting = queue.fill(ctx);
            for (int pe = 0; waiting >= min_to_lend && pe < ctx.n_pes(); ++pe) {
                std::uint32_t one = 1;
                if (pe == ctx.pe() || ctx.load(part_.wants + pe, order::relaxed, scope::device) == 0) continue;
                if (!ctx.compare_exchange(part_.wants + pe, one, 0u, order::relaxed, scope::device)) continue;
                const std::uint32_t share = waiting / 2 < max_loan ? waiting / 2 : max_loan;
                return std::uint64_t{share} << 32 | static_cast<std::uint32_t>(pe);
            }
            return 0;
        });
        const auto pe = static_cast<std::uint32_t>(chosen);
        for (auto left = static_cast<std::uint32_t>(chosen >> 32), all = left; left > 0;) {
            std::uint32_t place = 0;
            const int n = queue.claim(ctx, left < lanes ? left : lanes, place, part_.queues().blocks[ring_].near.end);
            if (n == 0) {  // other warps have been first; it stays as it was where nothing has been lent
                if (left == all && ctx.lane() == 0) ctx.store(part_.wants + pe, 1u, order::relaxed, scope::device);
                break;
            }
            lend_some(ctx, queue, n, place, pe);
            left -= static_cast<std::uint32_t>(n);
        }
    }

    /// The same for entries that were claimed: they count as done when what they are sent as has been counted.
    LANEWAY_FN void lend_some(Ctx& ctx, const channel_queue_ref& queue, int n, std::uint32_t place, std::uint32_t pe) {
        entry given;
        (void)fetch(ctx, queue, n, place, given);
        if (ctx.lane() < n && given.count == entry::passing) {
            mine_.passed_on += 1;
            (void)out_.post(ctx, static_cast<int>(given.first), item_message<Application>{given.packed()});
        } else if (ctx.lane() < n) {
            mine_.lent += 1;
            const item_loan<Application> loan{app().pack(ctx, given.item()), given.first, given.count,
                                              static_cast<std::uint32_t>(ctx.pe())};
            (void)out_.post(ctx, static_cast<int>(pe), loan);
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) out_.complete(ctx, static_cast<std::uint32_t>(n));
    }

    /// Tells the other PEs that there is nothing left to do here. Called while what has just been done does not count
    /// as done yet: so a request has a cause that termination detection knows, and no idle PE makes messages. The whole
    /// warp, together.
    LANEWAY_FN void ask(Ctx& ctx) {
        if (part_.asked == nullptr) return;
        const item_queues_ref& queues = part_.queues();
        bool some = has_rest_ || queues.uses_reserve(ctx);
        for (auto ring = static_cast<std::uint32_t>(ctx.lane()); ring < queues.rings; ring += Ctx::warp_lanes) {
            some = some || queues.near(ring).fill(ctx) != 0;
        }
        if (ctx.ballot(full_warp<Ctx>, some) != 0) return;
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
            std::uint32_t zero = 0;
            if (pe == ctx.pe() || ctx.load(part_.asked + pe, order::relaxed, scope::device) != 0) continue;
            if (!ctx.compare_exchange(part_.asked + pe, zero, 1u, order::relaxed, scope::device)) continue;
            (void)out_.post(ctx, pe, item_request{static_cast<std::uint32_t>(ctx.pe())});
        }
        ctx.sync(full_warp<Ctx>);
    }

    /// Takes entries for the lowest lanes of the warp, and returns for how many: far ones that are to be looked
    /// through, of which some may go back, then near ones, then what the host keeps, then from the reserve. The whole
    /// warp, together.
    LANEWAY_FN int take(Ctx& ctx, entry& taken) {
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        const item_queues_ref& queues = part_.queues();
        const item_block& block = queues.blocks[ring_];
        std::uint32_t place = 0;
        if (part_.arrivals.has_priorities) {
            // Before near ones: else what one far item makes would all be done before the next one is looked at.
            const int n = queues.far(ring_).claim(ctx, lanes, place, far_words().start + scan_.far_limit(ctx));
            if (n != 0) return look_through(ctx, fetch(ctx, queues.far(ring_), n, place, taken), taken);
        }
        int n = queues.near(ring_).claim(ctx, lanes, place, block.near.end);
        if (n != 0) return fetch(ctx, queues.near(ring_), n, place, taken);
        if (shared_word(ctx, &shared_->uses_reserve) == 0) return 0;
        // What came last: it is deepest in a tree of items, so that as few of them as may be wait at the same time.
        n = queues.pe->overflow.take(ctx, taken);
        if (n != 0) return n;
        n = queues.reserve().claim(ctx, lanes, place, queues.pe->reserve.end);
        return n == 0 ? 0 : fetch(ctx, queues.reserve(), n, place, taken);
    }

    /// Copies entries and makes their places free, before anything is made of them.
    LANEWAY_FN int fetch(Ctx& ctx, const channel_queue_ref& queue, int n, std::uint32_t place, entry& taken) {
        if (ctx.lane() < n) {
            const std::byte* const element = queue.element(place);
            come_behind(ctx, element);
            taken = *reinterpret_cast<const entry*>(element);
        }
        const lane_mask mask = ctx.ballot(full_warp<Ctx>, ctx.lane() < n);
        if (ctx.lane() < n) (void)queue.release(ctx, mask, place);
        ctx.sync(full_warp<Ctx>);
        return n;
    }

    /// Puts far items back that are not yet to be worked on: their lanes are left with an entry of no parts.
    LANEWAY_FN int look_through(Ctx& ctx, int n, entry& taken) {
        const std::uint64_t bound = scan_.bound(ctx);
        const bool mine = ctx.lane() < n;
        std::uint64_t priority = 0;
        if (mine && taken.count == entry::whole) priority = app().priority(ctx, taken.item());
        const bool waits = mine && taken.count == entry::whole && !runs_below(bound, priority);
        const lane_mask back = ctx.ballot(full_warp<Ctx>, waits);
        bool kept = false;
        if (waits) {
            scan_.put_off(ctx, priority);
            kept = part_.arrivals.put(ctx, back, false, taken, priority) == item_place::far;
            taken.count = 0;
        }
        scan_.count(ctx, ctx.ballot(full_warp<Ctx>, mine), ctx.ballot(full_warp<Ctx>, kept));
        return n;
    }

    /// Does what the active lanes' entries ask for: of some of them only a first piece. The whole warp, together.
    LANEWAY_FN void work_on(Ctx& ctx, bool active) {
        if (active && rest_.count == entry::passing) {
            mine_.passed_on += 1;
            (void)out_.post(ctx, static_cast<int>(rest_.first), item_message<Application>{rest_.packed()});
        }
        ctx.sync(full_warp<Ctx>);
        const bool works = active && rest_.count != entry::passing && rest_.count != 0;
        item own = works ? rest_.item() : item{};
        arc_range range = works ? parts_of(ctx, own) : arc_range{};
        const int lender = works ? rest_.lender() : -1;
        share(ctx, own, range);
        has_rest_ = range.count > max_parts_at_once;
        if (has_rest_) {
            rest_ = piece_of(own, static_cast<std::uint32_t>(range.begin) + max_parts_at_once,
                             range.count - max_parts_at_once);
            range.count = max_parts_at_once;
        }
        for_each_arc(ctx, range, in_work{own, lender}, [&](const arc_batch& batch, const in_work& one) {
            lender_ = one.lender();
            for (int k = 0; k < batch.count; ++k) {
                const std::uint64_t number = batch.first + std::uint64_t{batch.stride} * static_cast<unsigned>(k);
                app().work(ctx, one.own, static_cast<std::uint32_t>(number), *this);
            }
            lender_ = -1;
        });
        ctx.sync(full_warp<Ctx>);
    }

    /// An item that lanes of the warp share, and whom it was taken from.
    struct in_work : entry_lender<part::moves> {
        LANEWAY_FN in_work() = default;
        LANEWAY_FN in_work(const item& one, int lender) : own(one) { this->set_lender(lender); }
        item own = {};
    };

    /// Some parts of the entry's item, whose lender they keep.
    LANEWAY_FN entry piece_of(const item& own, std::uint32_t first, std::uint32_t count) const {
        entry made = entry::of(own, first, count);
        made.set_lender(rest_.lender());
        return made;
    }

    /// Parts of the lane's entry that are still of use.
    LANEWAY_FN arc_range parts_of(Ctx& ctx, item& own) {
        const item_parts parts = app().parts(ctx, own);
        const bool whole = rest_.count == entry::whole;
        mine_.done += whole ? 1 : 0;
        mine_.useful += whole && parts.useful ? 1 : 0;
        if (!parts.useful) return {};
        return whole ? arc_range{0, parts.count} : arc_range{rest_.first, rest_.count};
    }

    /// Of many parts, hands one half after the other to other warps, while near queues have room. The whole warp,
    /// together.
    LANEWAY_FN void share(Ctx& ctx, const item& own, arc_range& range) {
        bool is_long = range.count > max_parts_at_once;
        for (lane_mask some = ctx.ballot(full_warp<Ctx>, is_long); some != 0;
             some = ctx.ballot(full_warp<Ctx>, is_long)) {
            if (!is_long) continue;
            const std::uint32_t half = range.count / 2;
            const auto first = static_cast<std::uint32_t>(range.begin) + half;
            is_long = part_.queues().try_put(ctx, some, piece_of(own, first, range.count - half));
            if (is_long) range.count = half;
            is_long = is_long && range.count > max_parts_at_once;
        }
    }

    const part& part_;
    Out& out_;
    std::uint32_t ring_;
    item_shared* shared_;
    threshold_scan scan_;
    item_counters mine_;     ///< what this lane has done
    entry rest_;             ///< what the lane has taken,
    bool has_rest_ = false;  ///< and has not yet done all of, as there was no room for the other parts elsewhere
    int lender_ = -1;        ///< of the item that is being worked on
    unsigned turns_ = 0;
};

}  // namespace laneway
