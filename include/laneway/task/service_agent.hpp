// What a lane of a body has of a service: posting requests to those who serve its PE, and waiting for answers.
#pragma once

#include "laneway/comm/one_sided.hpp"
#include "laneway/task/send_request.hpp"
#include "laneway/task/service_operations.hpp"
#include "laneway/task/service_queue.hpp"

namespace laneway {

template <class... Types>
struct service_ref;

/// A lane's access to a service. Any lane calls any member, also in divergent code; lanes that arrive together share a
/// slot of their block's queue. What cannot be ends the run with bad_pe, bad_address or bad_range; all members fail
/// with stopped or timeout when the run ends.
template <class Ctx, class Out, class... Types>
class service_agent {
    using view = service_ref<Types...>;

public:
    static constexpr bool polls = true;
    static constexpr bool leaves = true;

    LANEWAY_FN service_agent(const Ctx& ctx, const view& all, Out& out, service_queue* queue)
        : all_(all), out_(out), queue_(queue), ring_(all.rings.ring(ctx, ctx.pe(), ctx.block())),
          server_(all.rings.server_of(ctx.pe())) {}

    /// Has a request carried out, some time before the run returns. Waits while the block's queue is full.
    template <class Type>
    LANEWAY_FN status post(Ctx& ctx, task_name<Type>, const typename Type::arguments& arguments) {
        std::uint64_t ticket = 0;
        return send<Type>(ctx, ctx.converged(), false, arguments, ticket);
    }

    /// Has a request carried out and waits for its result. The answer's code is that of service_call::refuse where the
    /// functor has refused it.
    template <class Type>
    LANEWAY_FN answered<service_result<Type>> call(Ctx& ctx, task_name<Type>,
                                                   const typename Type::arguments& arguments) {
        const lane_mask mask = ctx.converged();
        std::uint64_t ticket = 0;
        const status sent = send<Type>(ctx, mask, true, arguments, ticket);
        if (sent != status::ok) return {sent, {}};
        service_answer<Type> answer;
        const status waited = await_answer(ctx, mask, ticket, number<Type>(), is_ordered<Type>, answer);
        if (waited != status::ok) return {waited, {}};
        ctx.sync(mask);
        if (elected(ctx, mask)) queue_->release(ctx, ring_, ticket);
        return {static_cast<status>(answer.code), answer.value};
    }

    /// Has a message posted to a PE, of a type that some mailbox of the run carries; it is served before the run
    /// returns. The service has send_request<Message> among its types.
    template <class Message>
    LANEWAY_FN status send(Ctx& ctx, int pe, const Message& message) {
        if (pe < 0 || pe >= ctx.n_pes()) return fail(ctx, status::bad_pe, operation::post, pe);
        (void)out_.send_forwards(ctx, ctx.converged());  // makes room where warps of this PE put what they post
        return post(ctx, task<send_request<Message>>, {message, pe});
    }

    /// Waits until all that lanes of this block have posted so far is done, and visible: what this lane posted, and
    /// what mates posted before it met them.
    LANEWAY_FN status quiet(Ctx& ctx) {
        const std::uint64_t posted = ctx.load(&queue_->tail, order::relaxed, scope::block);
        // Partner: the release store in service_server::serve.
        return await(ctx, ctx.converged(), {operation::quiet, server_, posted},
                     [&] { return ring_.has_done(ctx, posted); });
    }

    /// Waits until the own PE's word is `value` or more: what was put before it is visible. Each lane leaves when its
    /// own word has come.
    LANEWAY_FN status wait_signal(Ctx& ctx, symmetric_ptr<std::uint64_t> word, std::uint64_t value) {
        const status fine = check(ctx, operation::signal, word, ctx.pe(), 1);
        if (fine != status::ok) return fine;
        const std::uint64_t* const mine = address(ctx, word, ctx.pe());
        // Partner: the fence of service_signal::raise.
        return await(ctx, lane_mask{1} << ctx.lane(), {operation::signal, ctx.pe(), value},
                     [&] { return reaches(ctx, mine, value, scope::system); });
    }

    // One-sided operations on symmetric memory, by whoever serves. What has been posted is done after quiet, or at the
    // end of the run.

    /// Stores a value.
    template <remote_word T>
    LANEWAY_FN status put(Ctx& ctx, symmetric_ptr<T> to, int pe, std::type_identity_t<T> value) {
        return update<memory_op::put>(ctx, to, pe, value);
    }
    /// Stores `count` values, at most service_put::most, which travel in the request; then stores `signal_value` into
    /// the signal, or adds it, where there is one: who sees it sees the values.
    template <remote_word T>
    LANEWAY_FN status put(Ctx& ctx, symmetric_ptr<T> to, int pe, const T* values, std::uint32_t count,
                          symmetric_ptr<std::uint64_t> signal = {}, std::uint64_t signal_value = 1,
                          signal_op how = signal_op::add) {
        const status fine = check(ctx, operation::put, to, pe, count);
        if (fine != status::ok) return fine;
        if (count > service_put::most) {
            return fail(ctx, status::too_long, operation::put, pe, count * sizeof(T), service_put::most * sizeof(T));
        }
        service_put::arguments asked{{memory_op::put, to}, {}, {}, count, pe};
        for (std::uint32_t i = 0; i < count; ++i) asked.words[i] = word_bits(values[i]);
        const status signalled = set_signal(ctx, asked.signal, pe, signal, signal_value, how);
        return signalled == status::ok ? post(ctx, task<service_put>, asked) : signalled;
    }
    /// Copies `count` elements of the own part of an array, from `first` on, to another PE's `to`; the same signal. The
    /// elements must stay as they are until then.
    template <remote_word T>
    LANEWAY_FN status copy(Ctx& ctx, symmetric_ptr<T> from, std::uint64_t count, symmetric_ptr<T> to, int pe,
                           symmetric_ptr<std::uint64_t> signal = {}, std::uint64_t signal_value = 1,
                           signal_op how = signal_op::add) {
        status fine = check(ctx, operation::put, to, pe, count);
        if (fine == status::ok) fine = check(ctx, operation::get, from, ctx.pe(), count);
        if (fine != status::ok) return fine;
        service_copy::arguments asked{{memory_op::get, from}, {memory_op::put, to}, count, {}, pe};
        const status signalled = set_signal(ctx, asked.signal, pe, signal, signal_value, how);
        return signalled == status::ok ? post(ctx, task<service_copy>, asked) : signalled;
    }
    /// Applies an operation to a word; nobody waits. put, add, min, max, bit_and, bit_or or bit_xor.
    template <memory_op Op, remote_word T>
    requires(applies<Op, T>&& is_service_update<Op>) LANEWAY_FN status
        update(Ctx& ctx, symmetric_ptr<T> at, int pe, std::type_identity_t<T> value) {
        const status fine = check(ctx, Op == memory_op::put ? operation::put : operation::atomic, at, pe, 1);
        return fine == status::ok ? post(ctx, task<service_update>, {{Op, at}, word_bits(value), pe}) : fine;
    }
    /// The same, and what the word held before; not put, but also get, exchange and compare_exchange, which stores
    /// `value` where the word held `expected`.
    template <memory_op Op, remote_word T>
    requires(applies<Op, T>&& is_service_fetch<Op>)
        LANEWAY_FN answered<T> fetch(Ctx& ctx, symmetric_ptr<T> at, int pe, std::type_identity_t<T> value = {},
                                     std::type_identity_t<T> expected = {}) {
        const status fine = check(ctx, Op == memory_op::get ? operation::get : operation::atomic, at, pe, 1);
        if (fine != status::ok) return {fine, {}};
        const auto got = call(ctx, task<service_fetch>, {{Op, at}, word_bits(value), word_bits(expected), pe});
        return {got.code, word_of<T>(got.value)};
    }
    template <remote_word T>
    LANEWAY_FN answered<T> get(Ctx& ctx, symmetric_ptr<T> from, int pe) {
        return fetch<memory_op::get>(ctx, from, pe);
    }
    template <remote_word T>
    LANEWAY_FN status add(Ctx& ctx, symmetric_ptr<T> at, int pe, std::type_identity_t<T> value) {
        return update<memory_op::add>(ctx, at, pe, value);
    }
    template <remote_word T>
    LANEWAY_FN answered<T> fetch_add(Ctx& ctx, symmetric_ptr<T> at, int pe, std::type_identity_t<T> value) {
        return fetch<memory_op::add>(ctx, at, pe, value);
    }

    /// At least so many bytes of the server's heap (service_allocate), on the PE that serves, or on this one where host
    /// threads serve; no_room where there are none.
    LANEWAY_FN answered<void*> allocate(Ctx& ctx, std::uint64_t bytes) {
        return call(ctx, task<service_allocate>, bytes);
    }
    /// Gives them back, once; null is ignored. bad_range for what is no live piece of that heap.
    LANEWAY_FN status deallocate(Ctx& ctx, void* piece) { return call(ctx, task<service_free>, piece).code; }

    // As a component.
    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() != 0 || ctx.lane() != 0) return;
        // Nobody adds to it before a body returns.
        queue_->open(ctx.load(all_.rings.posted_by(ctx, ctx.block()), order::relaxed, scope::device),
                     all_.rings.n_slots);
    }
    LANEWAY_FN bool poll(Ctx& ctx) {
        if constexpr (Ctx::warp_lanes > 1) ctx.pause(5);  // servers serve, and they are others
        return false;
    }
    /// A body is open work until it has returned; what it has posted is created work before. Warps of the block may
    /// tell in any order.
    LANEWAY_FN void leave(Ctx& ctx) {
        if (ctx.lane() != 0) return;
        const std::uint64_t posted = ctx.load(&queue_->tail, order::relaxed, scope::block);
        ctx.fetch_max(all_.rings.posted_by(ctx, ctx.block()), posted, order::relaxed, scope::device);
    }
    LANEWAY_FN void refresh(Ctx&) {}
    LANEWAY_FN void close(Ctx&) {}

private:
    template <class Type>
    static constexpr std::uint32_t number() {
        constexpr std::uint32_t found = number_of_type<Type, Types...>();
        static_assert(found < sizeof...(Types), "the service has no request type of this name: give it to service()");
        return found;
    }

    template <class T>
    LANEWAY_FN status check(Ctx& ctx, operation what, symmetric_ptr<T> at, int pe, std::uint64_t count) {
        if (pe < 0 || pe >= ctx.n_pes()) return fail(ctx, status::bad_pe, what, pe);
        return exists(ctx, at, count) ? status::ok : refuse_address(ctx, what, pe, at);
    }
    LANEWAY_FN status set_signal(Ctx& ctx, service_signal& made, int pe, symmetric_ptr<std::uint64_t> word,
                                 std::uint64_t value, signal_op how) {
        if (word.segment == unnamed_segment) return status::ok;
        made = {{how == signal_op::add ? memory_op::add : memory_op::put, word}, value, true};
        return check(ctx, operation::put, word, pe, 1);
    }

    /// The lanes of the mask, together; `ticket` for all of them.
    template <class Type>
    LANEWAY_FN status send(Ctx& ctx, lane_mask mask, bool waits, const typename Type::arguments& arguments,
                           std::uint64_t& ticket) {
        const status drawn = draw(ctx, mask, number<Type>(), ticket);
        if (drawn != status::ok) return drawn;
        all_.rings.renew_answers(ctx, mask, ring_, ticket);
        chunk_sender to;
        static_cast<chunk_ring_layout&>(to) = ring_.requests;
        const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        const auto mine = static_cast<std::uint32_t>(rank_in(ctx, mask));
        const bool in_words = !is_ordered<Type> && to.words != nullptr && fits_words<typename Type::arguments>(count);
        const auto label = service_label::of(count, waits, number<Type>(), in_words).label;
        if (in_words) {
            to.store_words(ctx, ticket, mine, arguments);
            ctx.sync(mask);
            if (elected(ctx, mask)) to.raise_flag(ctx, ticket, label, 0);
        } else {
            reinterpret_cast<typename Type::arguments*>(to.slot(ticket))[mine] = arguments;
            ctx.sync(mask);
            if (elected(ctx, mask)) {
                // Partner: chunk_receiver::arrived. Cumulative over the other lanes' stores.
                ring_.store_flag(ctx, ticket, label);
            }
        }
        if (!waits && elected(ctx, mask)) queue_->release(ctx, ring_, ticket);
        return status::ok;
    }

    LANEWAY_FN status draw(Ctx& ctx, lane_mask mask, std::uint32_t type, std::uint64_t& ticket) {
        const wait_site site{operation::request, server_, type};
        const auto try_draw = [&] {
            return once(ctx, mask, [&] { return std::uint32_t{queue_->try_draw(ctx, ring_, ticket)}; }) != 0;
        };
        status drawn = try_draw() ? status::ok : await(ctx, mask, site, try_draw);
        if (drawn != status::ok) return drawn;
        ctx.sync(mask);  // what the elected lane has acquired is visible to all
        ticket = ctx.shuffle(mask, ticket, Ctx::first_lane(mask));
        // Who posts now and then, and never has to wait, would not hear of the end of the run, nor see its deadline.
        if (ticket % 64 == 63) {
            drawn =
                static_cast<status>(once(ctx, mask, [&] { return static_cast<std::uint32_t>(check_end(ctx, site)); }));
        }
        return drawn;
    }
    static LANEWAY_FN status check_end(Ctx& ctx, const wait_site& site) {
        if (stopped(ctx)) return status::stopped;
        if (ctx.now_ns() <= ctx.deadline_ns()) return status::ok;
        return fail(ctx, status::timeout, site.what, site.peer, site.number);
    }

    template <class Type>
    LANEWAY_FN status await_answer(Ctx& ctx, lane_mask mask, std::uint64_t ticket, std::uint32_t type, bool ordered,
                                   service_answer<Type>& answer) {
        const auto column = static_cast<std::uint32_t>(rank_in(ctx, mask));
        const order o = ordered ? order::acquire : tagged_load_order<Ctx>;
        const auto look = [&] { return all_.rings.load_answer(ctx, ring_, ticket, column, answer, o); };
        return await(ctx, mask, {operation::served, server_, type}, look);
    }

    /// The lanes of the mask, together, wait until `look()` is true for each. Where warps are lanes, this one serves
    /// meanwhile.
    template <class Look>
    LANEWAY_SLOW status await(Ctx& ctx, lane_mask mask, const wait_site& site, Look&& look) {
        bounded_spin spin(2);
        bool here = false;
        for (unsigned looks = 1;; ++looks) {
            if (!here) here = look();
            if (ctx.ballot(mask, !here) == 0) return status::ok;
            // On a GPU how soon a word is seen is what a step costs, and nothing has to be helped on its way.
            if (Ctx::warp_lanes >= 32 && looks % 16 != 0) continue;
            // All lanes of the mask do the same, whenever each has seen a warp return.
            const bool others_do = once(ctx, mask, [&] { return std::uint32_t{out_.others_take_turns(ctx)}; }) != 0;
            const status helped = others_do ? status::ok : out_.help(ctx, mask);
            const auto going = static_cast<status>(once(ctx, mask, [&] {
                const status ended = check_end(ctx, site);
                return static_cast<std::uint32_t>(ended == status::ok ? spin.next(ctx, site) : ended);
            }));
            if (going != status::ok) return going;
            if (ctx.ballot(mask, helped != status::ok) != 0) return status::stopped;
        }
    }

    const view& all_;
    Out& out_;
    service_queue* queue_;
    service_ring ring_;
    int server_;
};

}  // namespace laneway
