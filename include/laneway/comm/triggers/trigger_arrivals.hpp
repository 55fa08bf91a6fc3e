// Triggers that come from elsewhere: lanes of other PEs, operations that other PEs chain to a tag here, streams and
// kernels outside the program. They leave counts, which lanes of the tag's PE find and trigger by.
#pragma once

#include "laneway/comm/triggers/trigger_rounds.hpp"

namespace laneway {

/// Triggers on their way to and from the PE of these rounds. None waits; what fails ends the run.
template <class Ctx>
class trigger_arrivals {
public:
    static constexpr std::uint32_t no_tag = trigger_rounds<Ctx>::no_tag;

    LANEWAY_FN trigger_arrivals(Ctx& ctx, trigger_rounds<Ctx>& rounds)
        : rounds_(rounds), view_(rounds.view()), counters_(rounds.counters()), cells_(address(ctx, view_.cells[0])) {}

    /// As trigger, for a tag of any PE. What the lane wrote before, there or here, comes before.
    LANEWAY_SLOW status trigger_on(Ctx& ctx, int pe, std::uint32_t tag, std::uint32_t n) {
        if (pe == ctx.pe()) return rounds_.trigger(ctx, tag, n);
        if (pe < 0 || pe >= ctx.n_pes()) return fail(ctx, status::bad_pe, operation::trigger, pe, tag);
        if (tag >= view_.tags()) return fail(ctx, status::bad_tag, operation::trigger, pe, tag, view_.tags());
        if (n > trigger_word::max_count) return fail(ctx, status::too_many_triggers, operation::trigger, pe, tag, n);
        if (n == 0) return status::ok;
        rounds_.created(ctx, n);
        // Partners: the exchanges of take_calls and take_call, on the other PE.
        remote_address(ctx, view_.calls[tag], pe).fetch_add(ctx, n, order::release);
        mark_called(ctx, pe, tag);
        return status::ok;
    }

    /// What an operation of a PE's tag has started is done, here. What the lane has done comes before what follows.
    LANEWAY_FN void tell_end(Ctx& ctx, int pe, std::uint32_t tag) {
        if (pe == ctx.pe()) return rounds_.end_started(ctx, tag);
        if (stopped(ctx)) return;
        // Partners: as in trigger_on. The round counts as open.
        remote_address(ctx, view_.calls[tag], pe).fetch_or(ctx, trigger_ref::ended, order::release);
        mark_called(ctx, pe, tag);
    }

    /// Looks at the cell with this number, of those in use, and triggers its tag as often as the other PE, or a stream,
    /// has; the tag, or no_tag where there was nothing new. Any lane.
    LANEWAY_FN std::uint32_t look(Ctx& ctx, std::uint32_t number) {
        const std::uint32_t outside = counters_.outside;  // as long as a program runs
        trigger_cell& cell = cells_[number < outside ? number : number - outside + view_.outside];
        const std::uint64_t seen = ctx.load(&cell.seen, order::relaxed, scope::device);
        if (ctx.load(&cell.sent, order::relaxed, scope::system) <= seen) return no_tag;
        // Partners: the fence before send_trigger; a stream's store, and the fence before a kernel's add.
        const std::uint64_t sent = ctx.load(&cell.sent, order::acquire, scope::system);
        std::uint64_t expected = seen;
        if (!ctx.compare_exchange(&cell.seen, expected, sent, order::relaxed, scope::device)) return no_tag;
        if (number < outside) come_behind(ctx, rounds_.outside_order(ctx));
        const std::uint64_t more = sent - seen;
        trigger_often(ctx, cell.tag, more * cell.n);
        rounds_.completed(ctx, more);
        return cell.tag;
    }
    /// Triggers the tags that lanes of other PEs have triggered, and ends rounds whose messages are done there; the
    /// last of these, or no_tag where there was none. Any lane.
    LANEWAY_FN std::uint32_t take_calls(Ctx& ctx) {
        if (ctx.load(&counters_.called, order::relaxed, scope::system) == 0) return no_tag;
        return take_groups(ctx);
    }
    /// Cells in use. Any lane.
    [[nodiscard]] LANEWAY_FN std::uint32_t cells(Ctx& ctx) const {
        // Partner: the add in take_cell, of another PE, also where there is no cell left. The cell's tag is there
        // before its first `sent`.
        const std::uint32_t asked = ctx.load(&counters_.cells, order::relaxed, scope::system);
        const std::uint32_t most = view_.chains();
        return counters_.outside + (asked < most ? asked : most);
    }
    /// Of a trigger from outside: there will be `n` in all. The control warp.
    LANEWAY_FN void owe(Ctx& ctx, std::uint32_t number, std::uint64_t n) {
        ctx.fetch_max(&cells_[number].owed, n, order::relaxed, scope::device);
    }

private:
    /// Says on another PE in which words of calls something has come. Partners: as in trigger_on.
    LANEWAY_FN void mark_called(Ctx& ctx, int pe, std::uint32_t tag) {
        const auto counters = remote_address(ctx, view_.counters[0], pe);
        (counters->*&trigger_counters::called).fetch_or(ctx, group_of(tag), order::release);
    }
    /// The tags whose calls are told by one bit.
    static LANEWAY_FN std::uint64_t group_of(std::uint32_t tag) { return std::uint64_t{1} << tag % 64; }

    LANEWAY_SLOW std::uint32_t take_groups(Ctx& ctx) {
        std::uint32_t found = no_tag;
        // Partner: the release in trigger_on. Who raises a count later says so again.
        std::uint64_t groups = ctx.exchange(&counters_.called, std::uint64_t{0}, order::acquire, scope::system);
        for (std::uint32_t first = 0; groups != 0; ++first, groups >>= 1) {
            if (groups % 2 == 0) continue;
            for (std::uint32_t tag = first; tag < view_.tags(); tag += 64) {
                if (take_call(ctx, tag)) found = tag;
            }
        }
        return found;
    }
    LANEWAY_FN bool take_call(Ctx& ctx, std::uint32_t tag) {
        std::uint64_t* const calls = address(ctx, view_.calls[tag]);
        if (ctx.load(calls, order::relaxed, scope::system) == 0) return false;
        // Partner: the release in trigger_on. Another lane may have taken them.
        const std::uint64_t told = ctx.exchange(calls, std::uint64_t{0}, order::acquire, scope::system);
        const std::uint64_t n = told & ~trigger_ref::ended;
        if ((told & trigger_ref::ended) != 0) rounds_.end_started(ctx, tag);
        if (n != 0) trigger_often(ctx, tag, n);
        if (n != 0) rounds_.completed(ctx, n);
        return told != 0;
    }
    LANEWAY_FN void trigger_often(Ctx& ctx, std::uint32_t tag, std::uint64_t n) {
        constexpr std::uint32_t too_many = trigger_word::max_count + 1;
        // A failure ends the run.
        (void)rounds_.trigger(ctx, tag, n < too_many ? static_cast<std::uint32_t>(n) : too_many);
    }

    trigger_rounds<Ctx>& rounds_;
    const trigger_ref& view_;
    trigger_counters& counters_;
    trigger_cell* cells_;
};

/// Triggers a tag of any PE, from a handler that holds the view. Any lane.
template <class Ctx>
LANEWAY_FN status trigger_on(Ctx& ctx, const trigger_ref& view, int pe, std::uint32_t tag, std::uint32_t n = 1) {
    trigger_rounds<Ctx> rounds(ctx, view);
    return trigger_arrivals<Ctx>(ctx, rounds).trigger_on(ctx, pe, tag, n);
}

/// A PE's counters of triggered operations, for the termination detector.
template <class Ctx>
struct trigger_counts {
    /// Any lane.
    static LANEWAY_FN std::uint64_t completed(Ctx& ctx, const trigger_ref& view) {
        // Partner: the release add of trigger_rounds.
        return ctx.load(&address(ctx, view.counters[0])->completed, order::acquire, scope::device);
    }
    static LANEWAY_FN std::uint64_t created(Ctx& ctx, const trigger_ref& view) {
        const trigger_counters& counters = *address(ctx, view.counters[0]);
        std::uint64_t sum = ctx.load(&counters.created, order::acquire, scope::device);
        // Triggers from outside: those that have been declared, or, where more came, those.
        for (std::uint32_t i = 0; i < counters.outside; ++i) {
            const trigger_cell& cell = *address(ctx, view.cells[i]);
            const std::uint64_t owed = ctx.load(&cell.owed, order::relaxed, scope::device);
            const std::uint64_t seen = ctx.load(&cell.seen, order::relaxed, scope::device);
            sum += owed > seen ? owed : seen;
        }
        return sum;
    }
};

}  // namespace laneway
