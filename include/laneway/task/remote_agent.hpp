// Remote queues as a component of a program: what lanes of the body hold, and what working warps do.
#pragma once

#include "laneway/comm/await_others.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/task/remote_hand_out.hpp"
#include "laneway/task/remote_runner.hpp"

namespace laneway {

/// In a block's shared memory.
struct remote_shared {
    alignas(16) std::uint32_t any;  ///< whether the last look has found commands, so that there may be more
    std::uint32_t looking;          ///< 1 while a warp looks: the others would slow down who works
    std::uint32_t free;             ///< working warps whose bodies have returned
    remote_hand_out others;         ///< what the warp that looked has taken for other ones
    taken_commands called;          ///< what the team runs
};

/// A lane's access to the queues. What fails ends the run.
template <class Ctx, class Out, bool Fed, class... Types>
class remote_queue_agent {
    using view = remote_queue_ref<Fed, Types...>;

public:
    static constexpr bool polls = true;
    static constexpr bool assists = true;
    static constexpr bool attends = Fed;

    LANEWAY_FN remote_queue_agent(const view& all, Out& out, remote_shared* shared, const roles& mine,
                                  block_team<Ctx>& team, std::uint32_t number)
        : all_(all), out_(out), shared_(shared), team_(team), number_(number), runner_(all),
          next_(static_cast<std::uint32_t>(mine.worker_index)) {}

    /// Posts a command to a PE, also the own one, for a function of the queue: lw::task<F> names it. Any lane, also in
    /// divergent code. Waits while the queue to that PE is full, and runs commands of the own PE meanwhile. bad_pe,
    /// bad_index; stopped or timeout when the run ends.
    template <class Type>
    LANEWAY_FN status post(Ctx& ctx, int pe, task_name<Type>, const typename Type::arguments& arguments,
                           const remote_request& request = {}) {
        return runner_.sender().template post<Type>(ctx, pe, arguments, request, waiting(ctx));
    }
    /// The same with a payload, which is there when the function runs. bad_range, too.
    template <class Type>
    LANEWAY_FN status post(Ctx& ctx, int pe, task_name<Type>, const typename Type::arguments& arguments,
                           const remote_payload& payload, const remote_request& request = {}) {
        return runner_.sender().template post<Type>(ctx, lane_mask{1} << ctx.lane(), pe, arguments, payload, request,
                                                    waiting(ctx));
    }
    /// The same, once for a whole warp, whose lanes share the stores: all of them, together, with the same arguments.
    template <class Type>
    LANEWAY_FN status post_warp(Ctx& ctx, int pe, task_name<Type>, const typename Type::arguments& arguments,
                                const remote_payload& payload, const remote_request& request = {}) {
        return runner_.sender().template post<Type>(ctx, full_warp<Ctx>, pe, arguments, payload, request, waiting(ctx));
    }
    /// Has a PE's launch thread launch a kernel of the host's, behind the payload if there is one. Any lane, as post.
    LANEWAY_FN status launch(Ctx& ctx, int pe, std::uint32_t kernel, const remote_bytes& arguments,
                             const remote_payload& payload = {}, const remote_request& request = {}) {
        return runner_.sender().launch(ctx, lane_mask{1} << ctx.lane(), pe, kernel, arguments, payload, request,
                                       waiting(ctx));
    }

    /// Waits until the own PE's word of a completion signal is `value` or more: what the functions did is visible. Any
    /// lanes; where no other warps of their block do, they run commands of the own PE meanwhile.
    LANEWAY_SLOW status wait_signal(Ctx& ctx, std::uint32_t index, std::uint64_t value) {
        const remote_names_ref& names = all_.names;
        if (index >= names.n_signals) {
            return fail(ctx, status::bad_index, operation::completion, ctx.pe(), index, names.n_signals);
        }
        const auto word = names.signal(ctx, index).first.template element<std::uint64_t>();
        if (!exists(ctx, word)) return fail(ctx, status::bad_range, operation::completion, ctx.pe(), index);
        const std::uint64_t* const mine = address(ctx, word);
        // Partner: the fence of remote_names_ref::raise.
        return await_others(
            ctx, out_, {operation::completion, ctx.pe(), index, value},
            [&] { return reaches(ctx, mine, value, scope::system); },
            [&](lane_mask mask) { return turn(ctx, mates(ctx, mask, &all_.rings.counts_of(ctx))); },
            {.clock_a_turn = true});
    }

    // As a component.
    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) *shared_ = {};
    }
    LANEWAY_FN void close(Ctx&) {}
    LANEWAY_FN void attend(Ctx& ctx) {
        if (ctx.lane() == 0) all_.pass_on_if_open(ctx);
    }
    LANEWAY_FN void refresh(Ctx& ctx) { (void)runner_.finish_launches(ctx); }
    LANEWAY_FN bool poll(Ctx& ctx) {
        if (!is_free_) {
            is_free_ = true;
            if (ctx.lane() == 0) ctx.fetch_add(&shared_->free, 1u, order::relaxed, scope::block);
        }
        if constexpr (any_blocks) {
            const std::uint32_t caller = team_.called_by(ctx);
            if (caller != team_.nobody) return caller == number_ && take_part(ctx);
        }
        const bool is_kept = kept_.label != 0;
        const taken_commands taken = is_kept ? kept_ : look(ctx);
        if (taken.label == 0) return false;
        if (!is_kept && !runner_.land(ctx, full_warp<Ctx>, taken)) return true;
        if (any_blocks && runner_.is_for_block(taken) && block_is_free(ctx)) {
            if (!team_.lead(ctx)) {
                kept_ = taken;  // until the team has run what it runs, of which this warp has a part
                return false;
            }
            kept_ = {};
            if (ctx.lane() == 0) shared_->called = taken;
            team_.call(ctx, number_);
            (void)take_part(ctx);
            if (ctx.lane() == 0) watch(ctx, taken);
        } else {
            run(ctx, full_warp<Ctx>, taken);
        }
        // Whoever lays chunks out for others does not leave before they are taken: it may be long in other work.
        for (taken_commands next = look_at_others(ctx); next.label != 0; next = look_at_others(ctx)) {
            run(ctx, full_warp<Ctx>, next);
        }
        return true;
    }
    LANEWAY_FN void assist(Ctx& ctx) { (void)turn(ctx, full_warp<Ctx>); }

private:
    static constexpr std::uint32_t max_in_a_turn = 8;  ///< slots
    static constexpr bool any_blocks = ((remote_width_of<Types> == width::block) || ...);

    /// How a body's lanes wait for room: they run commands of the own PE, and so make some.
    LANEWAY_FN auto waiting(Ctx& ctx) {
        return [this, &ctx](lane_mask mask, const wait_site& site, auto&& try_draw) {
            return try_draw() ? status::ok : await_room(ctx, mask, site, try_draw);
        };
    }
    template <class Draw>
    LANEWAY_SLOW status await_room(Ctx& ctx, lane_mask mask, const wait_site& site, Draw&& draw) {
        bounded_spin spin;
        unsigned turns = 0;
        do {
            const bool worked = turn(ctx, mask);
            if (!worked || ++turns % 16 == 0) {
                const auto going = once(ctx, mask, [&] { return static_cast<std::uint32_t>(pause(ctx, spin, site)); });
                if (going != static_cast<std::uint32_t>(status::ok)) return static_cast<status>(going);
            }
            (void)out_.help(ctx, mask);
        } while (!draw());
        return status::ok;
    }

    /// Between two looks at what lanes wait for. They look at the clock each time: turns in between may be long, and
    /// who waits should tell what for before others find that nothing goes on.
    static LANEWAY_FN status pause(Ctx& ctx, bounded_spin& spin, const wait_site& site) {
        if (ctx.is_late() && !stopped(ctx)) {
            return fail(ctx, status::timeout, site.what, site.peer, site.number, site.limit);
        }
        return spin.next(ctx, site);
    }

    /// What an idle warp finds: one of the block looks, and where there is much, takes some for the others as well.
    LANEWAY_FN taken_commands look(Ctx& ctx) {
        enum : std::uint32_t { not_now, looks, looks_for_all };
        const taken_commands handed = look_at_others(ctx);
        if (handed.label != 0) return handed;
        const auto how = once(ctx, full_warp<Ctx>, [&]() -> std::uint32_t {
            if (!begin_look(ctx)) return not_now;
            // What was laid out last is not taken yet: it is soon.
            if (shared_->others.any(ctx)) return end_look(ctx), not_now;
            return ctx.load(&shared_->any, order::relaxed, scope::block) != 0 ? looks_for_all : looks;
        });
        if (how == not_now) return {};
        const auto most = how == looks_for_all ? static_cast<std::uint32_t>(team_.warps()) : 1u;
        const taken_commands taken = runner_.take(ctx, full_warp<Ctx>, next_++, most);
        if (ctx.lane() == 0) {
            ctx.store(&shared_->any, taken.label != 0 ? 1u : 0u, order::relaxed, scope::block);
            if (taken.label != 0 && taken.slots > 1) {
                shared_->others.put(ctx, taken.place, taken.ticket + 1, taken.slots - 1);
            }
            end_look(ctx);
        }
        return taken;
    }
    /// What another warp of the block has taken for this one; label 0: nothing.
    LANEWAY_FN taken_commands look_at_others(Ctx& ctx) {
        std::uint32_t place = 0;
        std::uint64_t ticket = 0;
        const auto gets =
            once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{shared_->others.take(ctx, place, ticket)}; });
        if (gets == 0) return {};
        return runner_.handed(ctx, full_warp<Ctx>, ctx.shuffle(full_warp<Ctx>, place, 0),
                              ctx.shuffle(full_warp<Ctx>, ticket, 0));
    }
    /// One lane; false where another warp looks.
    LANEWAY_FN bool begin_look(Ctx& ctx) {
        if (ctx.load(&shared_->looking, order::relaxed, scope::block) != 0) return false;
        // Partner: the release store in end_look.
        return ctx.exchange(&shared_->looking, 1u, order::acquire, scope::block) == 0;
    }
    LANEWAY_FN void end_look(Ctx& ctx) { ctx.store(&shared_->looking, 0u, order::release, scope::block); }

    /// The lanes of the mask run what waits, by themselves; a whole warp several slots, as what it costs to find them
    /// is more than to run small ones.
    LANEWAY_SLOW bool turn(Ctx& ctx, lane_mask mask) {
        const auto finished = once(ctx, mask, [&] { return std::uint32_t{runner_.finish_launches(ctx)}; });
        taken_commands taken = runner_.take(ctx, mask, next_++, mask == full_warp<Ctx> ? max_in_a_turn : 1);
        if (taken.label == 0) return finished != 0;
        if (!runner_.land(ctx, mask, taken)) return true;
        std::uint32_t slots = 0, commands = 0;
        for (std::uint32_t left = taken.slots;;) {
            const std::uint32_t done = runner_.run(ctx, mask, taken);
            if (elected(ctx, mask)) watch(ctx, taken);
            slots += done != 0 ? 1 : 0;
            commands += done;
            if (--left == 0) break;
            taken = runner_.handed(ctx, mask, taken.place, taken.ticket + 1);
        }
        runner_.complete(ctx, mask, slots, commands);
        return true;
    }
    LANEWAY_FN void run(Ctx& ctx, lane_mask mask, const taken_commands& taken) {
        const std::uint32_t done = runner_.run(ctx, mask, taken);
        runner_.complete(ctx, mask, done != 0 ? 1 : 0, done);
        if (elected(ctx, mask)) watch(ctx, taken);
    }
    /// After a piece of work: functions that post each other in a circle would go on for ever.
    LANEWAY_FN void watch(Ctx& ctx, const taken_commands& taken) {
        if (!ctx.is_late() || stopped(ctx)) return;
        (void)fail(ctx, status::timeout, operation::command, taken.source, taken.what().kind());
    }

    /// Whether all working warps of the block would come to a task of all: none runs a body any more.
    LANEWAY_FN bool block_is_free(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] {
                   return std::uint32_t{ctx.load(&shared_->free, order::relaxed, scope::block) ==
                                        static_cast<std::uint32_t>(team_.warps())};
               }) != 0;
    }
    /// In the command that the block has begun.
    LANEWAY_FN bool take_part(Ctx& ctx) {
        team_.take_part(ctx, [&](bool leads) {
            const taken_commands taken = shared_->called;
            const std::uint32_t done = runner_.run(ctx, full_warp<Ctx>, taken, &team_, leads);
            runner_.complete(ctx, full_warp<Ctx>, done != 0 ? 1 : 0, done);
        });
        return true;
    }

    const view& all_;
    Out& out_;
    remote_shared* shared_;
    block_team<Ctx>& team_;
    std::uint32_t number_;
    remote_runner<Ctx, Fed, Types...> runner_;
    std::uint32_t next_;
    bool is_free_ = false;
    taken_commands kept_;  ///< for the block, whose team runs another
};

}  // namespace laneway
