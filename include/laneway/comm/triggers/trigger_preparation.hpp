// How tags get their operations, and lose them.
#pragma once

#include "laneway/comm/triggers/trigger_rounds.hpp"

namespace laneway {

/// Prepares tags of the PE of these rounds. What fails ends the run.
template <class Ctx>
class trigger_preparation {
public:
    LANEWAY_FN explicit trigger_preparation(trigger_rounds<Ctx>& rounds) : rounds_(rounds), view_(rounds.view()) {}

    /// Gives a tag of the own PE its operation. `keep()`: called when the tag is this lane's own, before the operation
    /// can be carried out. bad_tag, bad_threshold, prepared_twice, bad_pe, bad_range; no_room where the next tag's PE
    /// has no cell left.
    template <class Keep>
    LANEWAY_SLOW status prepare(Ctx& ctx, std::uint32_t tag, std::uint32_t threshold, const trigger_operation& op,
                                firing how, Keep&& keep) {
        if (tag >= view_.tags()) return fail(ctx, status::bad_tag, operation::prepare, -1, tag, view_.tags());
        if (threshold == 0 || threshold > trigger_word::max_count) {
            return fail(ctx, status::bad_threshold, operation::prepare, -1, tag, threshold);
        }
        if (status found = check(ctx, tag, op); found != status::ok) return found;
        trigger_slot& slot = rounds_.slot(tag);
        if (!claim(ctx, slot)) return fail(ctx, status::prepared_twice, operation::prepare, -1, tag);
        slot.keep_cells(op);
        slot.hold(op);
        keep();
        for (int i = 0; i < op.n_links(); ++i) {
            if (op.link(i).pe == ctx.pe() || slot.cells[i] != 0) continue;
            if (status found = take_cell(ctx, op.link(i), slot.closed, slot.cells[i]); found != status::ok)
                return found;
        }
        // Partners: the adds of those who trigger. Triggers that came before count.
        const trigger_word before{
            ctx.fetch_add(&slot.word, trigger_word::prepared(threshold, how), order::acq_rel, scope::device)};
        if (how == firing::once && before.count() > threshold) return rounds_.refuse(ctx, tag);
        if (before.count() < threshold) return status::ok;
        rounds_.created(ctx);
        return rounds_.carry_out(ctx, tag);
    }

    /// Takes the operation from a tag of the own PE, so that another one can be prepared; triggers that no round has
    /// used stay. False, and nothing has happened, where the tag has none or its round is open: that is carried out.
    LANEWAY_SLOW bool disarm(Ctx& ctx, std::uint32_t tag) {
        if (tag >= view_.tags()) {
            (void)fail(ctx, status::bad_tag, operation::disarm, -1, tag, view_.tags());
            return false;
        }
        trigger_slot& slot = rounds_.slot(tag);
        trigger_word now = rounds_.word(ctx, tag);
        while (now.threshold() != 0 && !now.open()) {
            // Partners: the adds of those who trigger, and of who has closed the last round.
            if (ctx.compare_exchange(&slot.word, now.bits, now.disarmed(), order::acq_rel, scope::device)) {
                ctx.store(&slot.pieces, 0u, order::release, scope::device);  // Partner: the acquire in claim.
                return true;
            }
        }
        return false;
    }

private:
    /// What is known to be wrong with an operation.
    LANEWAY_FN status check(Ctx& ctx, std::uint32_t tag, const trigger_operation& op) {
        const auto refuse_pe = [&](int pe) { return fail(ctx, status::bad_pe, operation::prepare, pe, tag); };
        if (op.pe() < 0 || op.pe() >= ctx.n_pes()) return refuse_pe(op.pe());
        for (int i = 0; i < op.n_links(); ++i) {
            const trigger_link& link = op.link(i);
            if (link.pe < 0 || link.pe >= ctx.n_pes()) return refuse_pe(link.pe);
            if (link.tag >= view_.tags()) {
                return fail(ctx, status::bad_tag, operation::prepare, link.pe, link.tag, view_.tags());
            }
            if (link.n > trigger_word::max_count) {
                return fail(ctx, status::bad_threshold, operation::prepare, link.pe, tag, link.n);
            }
        }
        const operation_places places = find_places(ctx, op);
        return op.fits() && places.can_move && places.can_signal
                   ? status::ok
                   : fail(ctx, status::bad_range, operation::prepare, op.pe(), tag);
    }

    /// Makes a tag without an operation, or one that has fired once for all, this lane's own: `pieces` is not 0 then.
    LANEWAY_FN bool claim(Ctx& ctx, trigger_slot& slot) {
        std::uint32_t none = 0;
        // Partner: the release in disarm.
        if (ctx.compare_exchange(&slot.pieces, none, 1u, order::acquire, scope::device)) return true;
        trigger_word now{ctx.load(&slot.word, order::relaxed, scope::device)};
        // Partner: the add in end_round.
        return now.spent() && ctx.compare_exchange(&slot.word, now.bits, now.disarmed(), order::acq_rel, scope::device);
    }

    /// Gets a link a cell of its PE, of which so many rounds count as seen.
    LANEWAY_FN status take_cell(Ctx& ctx, const trigger_link& link, std::uint64_t rounds, std::uint32_t& cell) {
        auto* const counters = address(ctx, view_.counters[0], link.pe);
        trigger_cell* const cells = address(ctx, view_.cells[0], link.pe);
        if (counters == nullptr || cells == nullptr) {
            return fail(ctx, status::bad_range, operation::prepare, link.pe, link.tag);
        }
        const std::uint32_t number = ctx.fetch_add(&counters->cells, 1u, order::relaxed, scope::system);
        if (number >= view_.chains()) {
            return fail(ctx, status::no_room, operation::prepare, link.pe, view_.chains());
        }
        trigger_cell& taken = cells[view_.outside + number];
        cell = view_.outside + number + 1;
        // Seen with the first trigger: partner is the acquire load in look.
        taken.tag = link.tag;
        taken.n = link.n;
        if (rounds == 0) return status::ok;
        ctx.store(&taken.seen, rounds, order::relaxed, scope::system);
        // Partner: the same; who sees this sees `seen` as well, and so nothing new.
        ctx.store(&taken.sent, rounds, order::release, scope::system);
        return status::ok;
    }

    trigger_rounds<Ctx>& rounds_;
    const trigger_ref& view_;
};

}  // namespace laneway
