// The part of a shard's turn that several warps do together: posting receives that stand next to each other in the
// queue, and matching what all rings have brought. All else is for the one warp that leads them.
#pragma once

#include "laneway/comm/two_sided/shard_team.hpp"
#include "laneway/comm/two_sided/unexpected_places.hpp"

namespace laneway {

/// Members are for all lanes of the team, together. One of the team's warps has locked the shard.
template <class Ctx>
class team_turn {
public:
    using team_type = typename shard_team<Ctx>::matching;

    LANEWAY_FN team_turn(const two_sided_ref& view, const message_shard_ref& shard, team_type& team)
        : view_(view), shard_(shard), team_(team), delivery_(view), rings_(view, shard), places_(view, shard) {}

    /// How many receives and messages there were.
    LANEWAY_SLOW std::uint64_t operator()(Ctx& ctx) const {
        std::uint64_t done = 0;
        std::uint32_t n = 0;
        for (int batch = 0; batch < max_batches && (n = post(ctx)) != 0; ++batch) done += n;
        for (int batch = 0; batch < max_batches && (n = take(ctx)) != 0; ++batch) done += n;
        return done;
    }

    /// About how many receives and messages wait at a shard: of each ring a power of two, so that where little does
    /// a look or two is enough. A whole warp.
    [[nodiscard]] static LANEWAY_SLOW std::uint32_t load(Ctx& ctx, const message_shard_ref& shard) {
        std::uint32_t n = 0;
        if (ctx.lane() == 0) {
            const std::uint64_t drawn = ctx.load(shard.asked.drawn, order::relaxed, scope::device);
            n = static_cast<std::uint32_t>(drawn - ctx.load(shard.asked.taken, order::relaxed, scope::device));
        }
        for (int source = ctx.lane(); source < ctx.n_pes(); source += Ctx::warp_lanes) {
            const chunk_receiver& in = shard.from[source];
            const std::uint64_t first =
                ring_progress::ticket_of(ctx.load(&shard.read[source].next, order::relaxed, scope::device));
            for (std::uint32_t slots = 1; slots <= in.n_slots; slots *= 2) {
                const std::uint64_t last = first + slots - 1;
                if (chunk_receiver::label_of(in.peek(ctx, last), last).bits == 0) break;
                n += slots / 2 + slots % 2;  // as many as half of them were counted before
            }
        }
        return warp_sum(ctx, n);
    }

private:
    static constexpr int max_batches = 4;
    /// A lane's part of a ring.
    struct ring_place {
        int source = 0;
        std::uint32_t at = 0;     ///< behind the next ticket
        std::uint32_t lanes = 0;  ///< of this ring; 0: this lane has none
        std::uint64_t ticket = 0;
    };

    /// Posts receives at the head of the queue. How many.
    LANEWAY_SLOW std::uint32_t post(Ctx& ctx) const {
        std::uint64_t* const answered = shard_.asked.taken;
        const std::uint64_t first = ctx.load(answered, order::relaxed, scope::device);
        const std::uint32_t number = shard_.asked.at(ctx, first + team_.number());
        const bool here = number != number_queue_ref::none && view_.requests[number].kind == request_kind::receive;
        const match_share before = team_.share(here);
        const bool active = here && before.below == team_.number();
        const std::uint32_t n = team_.share(active).all;
        if (n == 0) return 0;
        // Partner: the acquire load in direct_receive: who sees it finds no ring open as it was before the turn.
        if (team_.number() == 0) ctx.store(answered, first + n, Ctx::tagged_order, scope::device);
        const match_key key = active ? view_.requests[number].key : match_key{};
        const match_result found = shard_.engine.post_together(team_, active, key, number);
        const bool matched = found.outcome == match_outcome::matched;
        incoming_message message;
        if (matched) message = delivery_.kept(ctx, shard_, found.handle);
        delivery_.give(ctx, matched, number, message);
        delivery_.drop(ctx, shard_, matched, found.handle);
        put_back(matched, found.handle);
        return n;
    }

    /// Takes what has come, as far as more messages may wait, and matches it. How many. Beyond the bound one warp does
    /// it. Of a ring whose messages came in before their turn, up to the first of them: the next batch begins behind.
    LANEWAY_SLOW std::uint32_t take(Ctx& ctx) const {
        const std::uint32_t room = places_.room();
        if (room == 0) return 0;
        const ring_place mine = place_of_lane(ctx);
        const chunk_receiver& in = shard_.from[mine.source];
        const bool is_left = mine.lanes != 0 && rings_.taken_at(in, mine.source, mine.ticket) == 0;
        const chunk_label label = is_left ? in.poll(ctx, mine.ticket) : chunk_label{};
        bool comes = is_in_line(mine, label.bits != 0);
        incoming_message message;
        bool whole = true;
        if (comes) whole = delivery_.read(ctx, in, mine.ticket, label, mine.source, message);
        if (team_.any(!whole)) return 0;  // the run is ending
        const match_share all = team_.share(comes);
        comes = comes && all.below < room;
        const std::uint32_t n = all.all < room ? all.all : room;
        if (n == 0) return 0;
        let_in(ctx, comes, {all.below, n}, mine, message);
        go_on(ctx, comes, mine);
        return n;
    }
    /// Lanes share the rings out, each as many in a row as there are slots, or as do for all rings; where there are
    /// more rings than lanes, others have their turn the next time.
    LANEWAY_FN ring_place place_of_lane(Ctx& ctx) const {
        const auto pes = static_cast<std::uint32_t>(ctx.n_pes());
        const std::uint32_t share = team_.lanes() / pes, slots = shard_.from[0].n_slots;
        const std::uint32_t each = share == 0 ? 1 : share < slots ? share : slots;
        const std::uint32_t ring = team_.number() / each;
        ring_place mine;
        if (ring >= pes) return mine;
        mine.source = static_cast<int>((ring + shard_.state->next_source) % pes);
        mine.at = team_.number() % each;
        mine.lanes = each;
        mine.ticket = rings_.next(ctx, mine.source) + mine.at;
        return mine;
    }
    /// Whether this lane's message, and all before it in its ring, have come.
    LANEWAY_FN bool is_in_line(const ring_place& mine, bool here) const {
        const std::uint32_t below = team_.share(here).below;
        const match_answer before = team_.from(below, mine.lanes != 0 ? team_.number() - mine.at : no_lane);
        return here && below - static_cast<std::uint32_t>(before.value) == mine.at;
    }
    /// The ticket of each ring behind those that have come in.
    LANEWAY_FN void go_on(Ctx& ctx, bool came, const ring_place& mine) const {
        const bool has_next = mine.lanes != 0 && mine.at + 1 < mine.lanes;
        const match_answer next = team_.from(came ? 1 : 0, has_next ? team_.number() + 1 : no_lane);
        if (came && next.value == 0) rings_.go_on(ctx, shard_.from[mine.source], mine.source, mine.ticket + 1);
        if (team_.number() == 0) {
            shard_.state->next_source = (shard_.state->next_source + 1) % static_cast<std::uint32_t>(ctx.n_pes());
        }
        team_.sync();
    }

    /// As message_arrivals::let_in. `active`: lanes below this one, and all.
    LANEWAY_SLOW void let_in(Ctx& ctx, bool active, const match_share& all, const ring_place& mine,
                             const incoming_message& message) const {
        const std::uint32_t place = take_place(active, all);
        const match_result found = shard_.engine.arrive_together(team_, active, message.key, place);
        const bool waits = found.outcome == match_outcome::queued, matched = found.outcome == match_outcome::matched;
        const bool in_ring =
            delivery_.keep(ctx, shard_, waits, place, mine.ticket, message, allocate(ctx, waits, message));
        if (found.outcome == match_outcome::refused) {
            (void)fail(ctx, status::unexpected_message, operation::receive, mine.source, message.key.tag, view_.number);
        }
        const bool done = delivery_.fill(ctx, matched, found.handle, message);
        put_back(active && !waits, place);
        if (team_.number() == 0) note_arrivals(ctx, all.all);
        // One fence of each lane for what receivers and the sender are told.
        delivery_.fence(ctx, mine.source);
        if (done) delivery_.complete(ctx, found.handle, request_word::done, Ctx::tagged_order);
        if (active && !in_ring) {
            shard_.from[mine.source].release_relaxed(ctx, lane_mask{1} << ctx.lane(), mine.ticket);
        }
        ctx.sync(full_warp<Ctx>);
    }
    /// One warp after the other: where there is too little memory the first messages of a ring get it, so that the
    /// slots that are needed next are not those that keep their payloads.
    LANEWAY_FN std::byte* allocate(Ctx& ctx, bool waits, const incoming_message& message) const {
        if (!team_.any(waits && message.form == message_form::in_slot)) return nullptr;
        constexpr std::uint32_t lanes = Ctx::warp_lanes;
        std::byte* got = nullptr;
        for (std::uint32_t first = 0; first < team_.lanes(); first += lanes) {
            if (team_.number() / lanes == first / lanes) got = delivery_.allocate(ctx, waits, message);
            team_.sync();
        }
        return got;
    }
    /// One lane.
    LANEWAY_FN void note_arrivals(Ctx& ctx, std::uint32_t n) const {
        shard_state& state = *shard_.state;
        if (state.n_free < state.min_free) state.min_free = state.n_free;
        const std::uint64_t arrived = ctx.load(&state.arrived, order::relaxed, scope::device);
        ctx.store(&state.arrived, arrived + n, order::relaxed, scope::device);
    }

    /// As unexpected_places does it for a warp.
    LANEWAY_FN std::uint32_t take_place(bool active, const match_share& all) const {
        const std::uint32_t free = shard_.state->n_free;
        const std::uint32_t place = active ? shard_.free_places[free - 1 - all.below] : 0;
        team_.sync();
        if (team_.number() == 0) shard_.state->n_free = free - all.all;
        return place;  // matching has a barrier
    }
    LANEWAY_FN void put_back(bool mine, std::uint32_t place) const {
        const match_share all = team_.share(mine);
        const std::uint32_t free = shard_.state->n_free;
        if (mine) shard_.free_places[free + all.below] = place;
        team_.sync();
        if (team_.number() == 0) shard_.state->n_free = free + all.all;
        team_.sync();
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
    team_type& team_;
    message_delivery<Ctx> delivery_;
    ring_reader<Ctx> rings_;
    unexpected_places<Ctx> places_;
};

}  // namespace laneway
