// What a lane of a body has of a service: posting requests to those who serve its PE, and waiting for answers.
#pragma once

#include "laneway/task/send_request.hpp"
#include "laneway/task/service_caller.hpp"
#include "laneway/task/service_get.hpp"

namespace laneway {

template <class... Types>
struct service_ref;

/// A lane's access to a service. Any lane calls any member, also in divergent code; lanes that arrive together share a
/// slot of their block's queue. What cannot be ends the run with bad_pe, bad_address or bad_range; all members fail
/// with stopped or timeout when the run ends.
template <class Ctx, class Out, class... Types>
class service_agent : public service_caller<Ctx, Out> {
    using base = service_caller<Ctx, Out>;
    using base::check;
    using base::set_signal;

public:
    LANEWAY_FN service_agent(const Ctx& ctx, const service_ref<Types...>& all, Out& out, service_queue* queue)
        : base(ctx, all.rings, out, queue) {}

    /// Has a request carried out, some time before the run returns. Waits while the block's queue is full.
    template <class Type>
    LANEWAY_FN status post(Ctx& ctx, task_name<Type>, const typename Type::arguments& arguments) {
        std::uint64_t ticket = 0;
        return base::template send<Type>(ctx, base::mine(ctx, ctx.converged()), number<Type>(), false, arguments,
                                         ticket);
    }

    /// Has a request carried out and waits for its result. The answer's code is that of service_call::refuse where the
    /// functor has refused it.
    template <class Type>
    LANEWAY_FN answered<service_result<Type>> call(Ctx& ctx, task_name<Type>,
                                                   const typename Type::arguments& arguments) {
        return base::template ask<Type>(ctx, base::mine(ctx, ctx.converged()), number<Type>(), arguments);
    }

    /// Has a message posted to a PE, of a type that some mailbox of the run carries; it is served before the run
    /// returns. The service has send_request<Message> among its types.
    template <class Message>
    LANEWAY_FN status send(Ctx& ctx, int pe, const Message& message) {
        if (pe < 0 || pe >= ctx.n_pes()) return fail(ctx, status::bad_pe, operation::post, pe);
        (void)this->out().send_forwards(ctx, ctx.converged());  // makes room where warps of this PE put what they post
        return post(ctx, task<send_request<Message>>, {message, pe});
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
        service_copy::arguments asked{{memory_op::get, from}, {memory_op::put, to}, count, {}, ctx.pe(), pe};
        const status signalled = set_signal(ctx, asked.signal, pe, signal, signal_value, how);
        return signalled == status::ok ? post(ctx, task<service_copy>, asked) : signalled;
    }
    /// The other way: copies `count` elements of a PE's part of an array, from `from` on, to `to` of the own part of
    /// one.
    template <remote_word T>
    LANEWAY_FN status copy_from(Ctx& ctx, symmetric_ptr<T> from, int pe, std::uint64_t count, symmetric_ptr<T> to,
                                symmetric_ptr<std::uint64_t> signal = {}, std::uint64_t signal_value = 1,
                                signal_op how = signal_op::add) {
        service_copy::arguments asked{};
        status fine = copy_here(ctx, asked, from, pe, to, count);
        if (fine == status::ok) fine = set_signal(ctx, asked.signal, ctx.pe(), signal, signal_value, how);
        return fine == status::ok ? post(ctx, task<service_copy>, asked) : fine;
    }
    /// The same, and waits until the elements are there.
    template <remote_word T>
    LANEWAY_FN status get(Ctx& ctx, symmetric_ptr<T> from, int pe, symmetric_ptr<T> to, std::uint64_t count) {
        service_copy::arguments asked{};
        const status fine = copy_here(ctx, asked, from, pe, to, count);
        return fine == status::ok ? call(ctx, task<service_copy>, asked).code : fine;
    }
    /// Waits for `count` values, at most service_get::most, which travel in the answer, and stores them for this lane
    /// alone: into whatever memory it reaches. The service has service_get among its types.
    template <remote_word T>
    LANEWAY_FN status get(Ctx& ctx, symmetric_ptr<T> from, int pe, T* values, std::uint32_t count) {
        const status fine = check(ctx, operation::get, from, pe, count);
        if (fine != status::ok) return fine;
        if (count > service_get::most) {
            return fail(ctx, status::too_long, operation::get, pe, count * sizeof(T), service_get::most * sizeof(T));
        }
        const auto got = call(ctx, task<service_get>, {{memory_op::get, from}, count, pe});
        if (got.code == status::ok) got.value.give(values, count);
        return got.code;
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

private:
    /// A copy to the own part of an array.
    template <remote_word T>
    LANEWAY_FN status copy_here(Ctx& ctx, service_copy::arguments& made, symmetric_ptr<T> from, int pe,
                                symmetric_ptr<T> to, std::uint64_t count) {
        made = {{memory_op::get, from}, {memory_op::put, to}, count, {}, pe, ctx.pe()};
        const status there = check(ctx, operation::get, from, pe, count);
        return there == status::ok ? check(ctx, operation::get, to, ctx.pe(), count) : there;
    }
    template <class Type>
    static constexpr std::uint32_t number() {
        constexpr std::uint32_t found = number_of_type<Type, Types...>();
        static_assert(found < sizeof...(Types), "the service has no request type of this name: give it to service()");
        return found;
    }
};

}  // namespace laneway
