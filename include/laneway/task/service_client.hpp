// What a host thread has of a service while a session goes on: it asks as lanes of a PE do.
//
//   lw::service served(runtime.machine(), {}, square{});
//   auto session = runtime.start(served);
//   lw::service_client client(session, served);
//   client.put(to.ref()[7], pe, 3);
//   const auto y = client.call(lw::task<square>, pe, 1.5);
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "laneway/comm/one_sided.hpp"
#include "laneway/task/service.hpp"

namespace laneway {

/// Any thread, as many at once as there are. Each call waits for the session's deadline at most. All throw usage_error
/// for a PE or elements that do not exist, timeout_error past the deadline, and what ended the session. What has been
/// posted is done behind session.quiesce(). The session outlives it.
template <class Session, class... Types>
class service_client {
    using service_type = service<Types...>;
    using question = typename service_type::question;

public:
    service_client(Session& session, const service_type& served) : session_(session), memory_(*served.feed()) {}

    /// Has a request carried out, in the name of a PE: where lanes of that PE would have theirs carried out, on the PE
    /// itself or on service_options::pe. Waits while the inbox there is full.
    template <class Type>
    void post(task_name<Type>, int pe, const typename Type::arguments& arguments) {
        session_.post(server_of(pe), asked<Type>(pe, arguments));
    }
    /// The same, and waits for the result. The answer's code is that of service_call::refuse where the functor has
    /// refused it.
    template <class Type>
    answered<service_result<Type>> call(task_name<Type>, int pe, const typename Type::arguments& arguments) {
        const auto given = session_.call(server_of(pe), asked<Type>(pe, arguments));
        if (given.ended != 0) session_.quiesce();  // throws what the request has ended the session with
        answered<service_result<Type>> got{static_cast<status>(given.code), {}};
        std::memcpy(static_cast<void*>(&got.value), given.value, sizeof got.value);
        return got;
    }

    // One-sided operations on symmetric memory, as of lanes (service_agent.hpp).

    template <remote_word T>
    void put(symmetric_ptr<T> to, int pe, std::type_identity_t<T> value) {
        update<memory_op::put>(to, pe, value);
    }
    /// Stores up to service_put::most values, and raises a signal behind them where there is one.
    template <remote_word T>
    void put(symmetric_ptr<T> to, int pe, const T* values, std::uint32_t count,
             symmetric_ptr<std::uint64_t> signal = {}, std::uint64_t signal_value = 1, signal_op how = signal_op::add) {
        check(to, pe, count);
        if (count > service_put::most) {
            throw usage_error("service: a put takes " + std::to_string(service_put::most) + " values at most, not " +
                              std::to_string(count));
        }
        service_put::arguments made{{memory_op::put, to}, {}, signal_of(signal, pe, signal_value, how), count, pe};
        for (std::uint32_t i = 0; i < count; ++i) made.words[i] = word_bits(values[i]);
        post(task<service_put>, pe, made);
    }
    /// Copies elements of a PE's part of an array to `pe`, by one lane: for much, see transfers.
    template <remote_word T>
    void copy(symmetric_ptr<T> from, int from_pe, std::uint64_t count, symmetric_ptr<T> to, int pe,
              symmetric_ptr<std::uint64_t> signal = {}, std::uint64_t signal_value = 1,
              signal_op how = signal_op::add) {
        check(from, from_pe, count);
        check(to, pe, count);
        post(task<service_copy>, from_pe,
             {{memory_op::get, from},
              {memory_op::put, to},
              count,
              signal_of(signal, pe, signal_value, how),
              from_pe,
              pe});
    }
    template <memory_op Op, remote_word T>
    requires(applies<Op, T>&& is_service_update<Op>) void update(symmetric_ptr<T> at, int pe,
                                                                 std::type_identity_t<T> value) {
        check(at, pe, 1);
        post(task<service_update>, pe, {{Op, at}, word_bits(value), pe});
    }
    /// The same, and what the word held before.
    template <memory_op Op, remote_word T>
    requires(applies<Op, T>&& is_service_fetch<Op>) T
        fetch(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value = {}, std::type_identity_t<T> expected = {}) {
        check(at, pe, 1);
        return word_of<T>(call(task<service_fetch>, pe, {{Op, at}, word_bits(value), word_bits(expected), pe}).value);
    }
    template <remote_word T>
    T get(symmetric_ptr<T> from, int pe) {
        return fetch<memory_op::get>(from, pe);
    }
    /// `count` values, into memory of the host, service_get::most in each request: for many of them, see copies of
    /// arrays. The service has service_get among its types.
    template <remote_word T>
    void get(symmetric_ptr<T> from, int pe, T* values, std::uint64_t count) {
        check(from, pe, count);
        while (count > 0) {
            const auto some = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, service_get::most));
            call(task<service_get>, pe, {{memory_op::get, from}, some, pe}).value.give(values, some);
            from.index += some;
            values += some;
            count -= some;
        }
    }
    template <remote_word T>
    void add(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value) {
        update<memory_op::add>(at, pe, value);
    }
    template <remote_word T>
    T fetch_add(symmetric_ptr<T> at, int pe, std::type_identity_t<T> value) {
        return fetch<memory_op::add>(at, pe, value);
    }

    /// At least so many bytes of the heap of the PE, or of the one that serves it; null where there are none. Memory
    /// of that device.
    void* allocate(int pe, std::uint64_t bytes) { return call(task<service_allocate>, pe, bytes).value; }
    /// Gives them back, once; null is ignored. False for what is no live piece of that heap.
    bool deallocate(int pe, void* piece) { return static_cast<bool>(call(task<service_free>, pe, piece)); }

private:
    /// Who carries out what is asked in the name of a PE.
    [[nodiscard]] int server_of(int pe) const {
        const machine& job = memory_.job();
        if (pe < 0 || pe >= job.n_pes()) {
            throw usage_error("service: PE " + std::to_string(pe) + " does not exist; there are " +
                              std::to_string(job.n_pes()));
        }
        return memory_.options().by == service_by::pe ? memory_.options().pe : pe;
    }
    template <class T>
    void check(symmetric_ptr<T> first, int pe, std::uint64_t count) const {
        (void)server_of(pe);
        const std::uint64_t held = memory_.job().segment_size(first.segment) / sizeof(T);
        if (first.index <= held && count <= held - first.index) return;
        throw usage_error("service: an address outside symmetric memory of PE " + std::to_string(pe) + ": element " +
                          std::to_string(first.index > held ? first.index : held) + ", where there are " +
                          (held == 0 ? "none" : "0 to " + std::to_string(held - 1)));
    }
    [[nodiscard]] service_signal signal_of(symmetric_ptr<std::uint64_t> word, int pe, std::uint64_t value,
                                           signal_op how) const {
        if (word.segment == unnamed_segment) return {};
        check(word, pe, 1);
        return {{how == signal_op::add ? memory_op::add : memory_op::put, word}, value, true};
    }
    template <class Type>
    static question asked(int pe, const typename Type::arguments& arguments) {
        question made{};
        made.type = service_type::template number<Type>();
        made.pe = pe;
        std::memcpy(made.arguments, static_cast<const void*>(&arguments), sizeof arguments);
        return made;
    }

    Session& session_;
    service_memory& memory_;
};

template <class Session, class... Types>
service_client(Session&, const service<Types...>&) -> service_client<Session, Types...>;

}  // namespace laneway
