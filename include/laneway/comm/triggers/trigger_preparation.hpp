// How tags get their operations, and lose them.
#pragma once

#include "laneway/comm/triggers/trigger_rounds.hpp"

namespace laneway {

/// Why a tag has not got its operation, as `fail` takes it; nothing, where it has.
struct preparation_refusal {
    status what = status::ok;
    int pe = -1;
    std::uint64_t number = 0;
    std::uint64_t limit = 0;
};

/// Prepares tags of the PE of these rounds. What fails ends the run, but for host threads, who are told.
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
        preparation_refusal found = check(ctx, tag, threshold, op);
        if (found.what == status::ok) found = hold(ctx, tag, op, keep);
        if (found.what != status::ok) {
            return fail(ctx, found.what, operation::prepare, found.pe, found.number, found.limit);
        }
        // Partners: the adds of those who trigger. Triggers that came before count.
        const trigger_word before{ctx.fetch_add(&rounds_.slot(tag).word, trigger_word::prepared(threshold, how),
                                                order::acq_rel, scope::device)};
        if (how == firing::once && before.count() > threshold) return rounds_.refuse(ctx, tag);
        return before.count() < threshold ? status::ok : begin(ctx, tag);
    }
    /// The same for a host thread: what cannot be changes nothing, and the run goes on. too_many_triggers as well,
    /// where the tag has been triggered more often than an operation that fires once allows.
    template <class Keep>
    LANEWAY_SLOW preparation_refusal try_prepare(Ctx& ctx, std::uint32_t tag, std::uint32_t threshold,
                                                 const trigger_operation& op, firing how, Keep&& keep) {
        preparation_refusal found = check(ctx, tag, threshold, op);
        if (found.what != status::ok) return found;
        trigger_word before = rounds_.word(ctx, tag);
        if (before.threshold() == 0 && how == firing::once && before.count() > threshold) {
            return {status::too_many_triggers, -1, before.count(), threshold};  // before the slot is changed
        }
        found = hold(ctx, tag, op, keep);
        if (found.what != status::ok) return found;
        trigger_slot& slot = rounds_.slot(tag);
        before = rounds_.word(ctx, tag);
        do {
            if (how == firing::once && before.count() > threshold) {
                drop(ctx, slot);
                return {status::too_many_triggers, -1, before.count(), threshold};
            }
            // Partners: the adds of those who trigger, none of which comes between the look and this.
        } while (!ctx.compare_exchange(&slot.word, before.bits, before.bits + trigger_word::prepared(threshold, how),
                                       order::acq_rel, scope::device));
        if (before.count() >= threshold) (void)begin(ctx, tag);  // a failure ends the run
        return {};
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
                drop(ctx, slot);
                return true;
            }
        }
        return false;
    }

private:
    /// Gives the slot an operation that has been checked, all but its threshold, where there is room for it; else the
    /// slot is as it was.
    template <class Keep>
    LANEWAY_FN preparation_refusal hold(Ctx& ctx, std::uint32_t tag, const trigger_operation& op, Keep&& keep) {
        trigger_slot& slot = rounds_.slot(tag);
        trigger_word spent;
        if (!claim(ctx, slot, spent)) return {status::prepared_twice, -1, tag};
        std::uint32_t had[trigger_operation::max_links];
        for (int i = 0; i < trigger_operation::max_links; ++i) had[i] = slot.cells[i];
        slot.keep_cells(op);
        const preparation_refusal found = take_cells(ctx, op, slot);
        if (found.what != status::ok) {
            for (int i = 0; i < trigger_operation::max_links; ++i) slot.cells[i] = had[i];
            give_back(ctx, slot, spent);
            return found;
        }
        slot.hold(op);
        keep();
        return found;
    }
    /// The tag has no operation any more.
    LANEWAY_FN void drop(Ctx& ctx, trigger_slot& slot) {
        ctx.store(&slot.pieces, 0u, order::release, scope::device);  // Partner: the acquire in claim.
    }
    /// The operation has been prepared behind triggers enough for a round.
    LANEWAY_FN status begin(Ctx& ctx, std::uint32_t tag) {
        rounds_.created(ctx);
        return rounds_.carry_out(ctx, tag);
    }

    /// What is known to be wrong with an operation.
    LANEWAY_FN preparation_refusal check(Ctx& ctx, std::uint32_t tag, std::uint32_t threshold,
                                         const trigger_operation& op) {
        if (tag >= view_.tags()) return {status::bad_tag, -1, tag, view_.tags()};
        if (threshold == 0 || threshold > trigger_word::max_count) return {status::bad_threshold, -1, tag, threshold};
        if (op.pe() < 0 || op.pe() >= ctx.n_pes()) return {status::bad_pe, op.pe(), tag};
        for (int i = 0; i < op.n_links(); ++i) {
            const trigger_link& link = op.link(i);
            if (link.pe < 0 || link.pe >= ctx.n_pes()) return {status::bad_pe, link.pe, tag};
            if (link.tag >= view_.tags()) return {status::bad_tag, link.pe, link.tag, view_.tags()};
            if (link.n > trigger_word::max_count) return {status::bad_threshold, link.pe, tag, link.n};
        }
        const operation_places places = find_places(ctx, op);
        if (op.fits() && places.can_move && places.can_signal) return {};
        return {status::bad_range, op.pe(), tag};
    }

    /// Makes a tag without an operation, or one that has fired once for all, this lane's own: `pieces` is not 0 then.
    /// `spent`: the word of the latter.
    LANEWAY_FN bool claim(Ctx& ctx, trigger_slot& slot, trigger_word& spent) {
        std::uint32_t none = 0;
        // Partner: the release in disarm.
        if (ctx.compare_exchange(&slot.pieces, none, 1u, order::acquire, scope::device)) return true;
        trigger_word now{ctx.load(&slot.word, order::relaxed, scope::device)};
        if (!now.spent()) return false;
        spent = now;
        // Partner: the add in end_round.
        return ctx.compare_exchange(&slot.word, now.bits, now.disarmed(), order::acq_rel, scope::device);
    }
    /// Undoes a claim. Where a tag that was spent has been triggered meanwhile, it stays without an operation.
    LANEWAY_FN void give_back(Ctx& ctx, trigger_slot& slot, trigger_word spent) {
        std::uint64_t none = 0;
        // Partners: the adds of those who trigger, and the next claim.
        if (spent.spent() && ctx.compare_exchange(&slot.word, none, spent.bits, order::acq_rel, scope::device)) return;
        drop(ctx, slot);
    }

    /// Gets the links to other PEs that have none their cells; all of them, or none.
    LANEWAY_FN preparation_refusal take_cells(Ctx& ctx, const trigger_operation& op, trigger_slot& slot) {
        bool is_new[trigger_operation::max_links] = {};
        preparation_refusal found;
        for (int i = 0; i < op.n_links() && found.what == status::ok; ++i) {
            if (op.link(i).pe == ctx.pe() || slot.cells[i] != 0) continue;
            found = reserve_cell(ctx, op.link(i), slot.cells[i]);
            is_new[i] = found.what == status::ok;
        }
        for (int i = 0; i < op.n_links(); ++i) {
            if (!is_new[i]) continue;
            if (found.what == status::ok) {
                fill_cell(ctx, op.link(i), slot.closed, slot.cells[i]);
            } else {
                return_cell(ctx, op.link(i), slot.cells[i]);
            }
        }
        return found;
    }
    /// Reserves the next cell of a link's PE, which is 0 and which nobody looks for triggers in yet.
    LANEWAY_FN preparation_refusal reserve_cell(Ctx& ctx, const trigger_link& link, std::uint32_t& cell) {
        if (!remote_address(ctx, view_.counters[0], link.pe) || !remote_address(ctx, view_.cells[0], link.pe))
            return {status::bad_range, link.pe, link.tag};
        const auto cells = cells_of(ctx, link.pe);
        std::uint32_t number = cells.load(ctx);
        do {
            if (number >= view_.chains()) return {status::no_room, link.pe, view_.chains()};
        } while (!cells.compare_exchange(ctx, number, number + 1));
        cell = view_.outside + number + 1;
        return {};
    }
    /// Gives a reserved one back, unless another PE has reserved the one behind it meanwhile: then it stays unused.
    LANEWAY_FN void return_cell(Ctx& ctx, const trigger_link& link, std::uint32_t cell) {
        std::uint32_t behind = cell - view_.outside;
        (void)cells_of(ctx, link.pe).compare_exchange(ctx, behind, behind - 1);
    }
    /// Makes a reserved one that of a link, of which so many rounds count as seen.
    LANEWAY_FN void fill_cell(Ctx& ctx, const trigger_link& link, std::uint64_t rounds, std::uint32_t cell) {
        const auto taken = remote_address(ctx, view_.cells[cell - 1], link.pe);
        // Seen with the first trigger: partner is the acquire load in look.
        (taken->*&trigger_cell::tag).write(link.tag);
        (taken->*&trigger_cell::n).write(link.n);
        if (rounds == 0) return;
        (taken->*&trigger_cell::seen).store(ctx, rounds);
        // Partner: the same; who sees this sees `seen` as well, and so nothing new.
        (taken->*&trigger_cell::sent).store(ctx, rounds, order::release);
    }
    /// How many cells of a PE are in use.
    LANEWAY_FN remote_ptr<std::uint32_t> cells_of(Ctx& ctx, int pe) const {
        return remote_address(ctx, view_.counters[0], pe)->*&trigger_counters::cells;
    }

    trigger_rounds<Ctx>& rounds_;
    const trigger_ref& view_;
};

}  // namespace laneway
