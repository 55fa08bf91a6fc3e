// A service beside the compute: any lane asks it for puts, atomics, loads, memory, or what you have written yourself,
// and goes on, or waits for the answer. Requests are carried out by warps of the same PE, by threads of the host or by
// another PE, behind one interface.
//
//   lw::service served(runtime.machine(), {.by = lw::service_by::warps}, square{});
//   runtime.run(body, served);                        // body(ctx, served)
//   served.put(ctx, to[7], pe, 3);                    // in the body, by any lane
//   const auto y = served.call(ctx, lw::task<square>, 1.5);
#pragma once

#include <tuple>

#include "laneway/task/service_ref.hpp"
#include "laneway/task/service_session.hpp"
#include "laneway/task/service_threads.hpp"

namespace laneway {

template <class... Types>
struct service_numbers {
    template <class Type>
    static constexpr std::uint32_t number = number_of_type<Type, Types...>();
};

/// A service with these request types (service_request.hpp says what one is) and those of service_operations.hpp. A
/// handle: copies are the same. It must outlive the runs that use it. In a session host threads ask
/// (service_client.hpp). Throws usage_error for options that cannot be, and where PEs cannot store into each other's
/// memory.
template <class... Types>
class service {
    static_assert((service_type<Types> && ...),
                  "a request type has `using arguments` and `using result` and is, as these are, trivially copyable; "
                  "they have defaults");
    static constexpr std::size_t n_own = 6;
    static_assert(sizeof...(Types) + n_own <= max_chunk_kinds, "a service has 10 request types of your own at most");
    static_assert(((sizeof(typename Types::arguments) <= 256) && ...), "arguments of a request take 256 bytes at most");
    static_assert(((sizeof(service_result<Types>) <= 64) && ...), "the result of a request takes 64 bytes at most");

public:
    template <template <class...> class View>
    using of_all_types =
        View<service_update, service_fetch, service_put, service_copy, service_allocate, service_free, Types...>;
    using ref_type = of_all_types<service_ref>;
    using session_ref_type = of_all_types<service_session_ref>;

    explicit service(machine& machine, const Types&... types) : service(machine, service_options{}, types...) {}
    service(machine& machine, const service_options& options, const Types&... types)
        : memory_(std::make_shared<service_memory>(machine, options, shapes())), types_(types...) {
        // Another PE's lanes would not know of these messages at a barrier, nor make room for them.
        if (options.by != service_by::warps && (forwarding<Types> || ...)) {
            throw usage_error("service: warps of the same PE serve requests that post messages: service_by::warps");
        }
        if (options.by != service_by::host) return;
        threads_ = std::make_shared<threads_type>(memory_, all_types(0));
        machine.attach(threads_);
    }

    /// Of the last run or session.
    [[nodiscard]] service_statistics statistics() const { return memory_->statistics(by_host()); }

    // As a component, see run/component.hpp.
    [[nodiscard]] const void* identity() const { return memory_.get(); }
    [[nodiscard]] std::uint64_t held_bytes(int pe) const { return memory_->held_bytes(pe); }
    [[nodiscard]] double server_share(int pe) const { return memory_->server_share(pe); }
    void begin(machine& machine, const comm_plan& plan, const run_deadline&) const {
        const bool anew = memory_->begin(machine, plan);
        if (threads_ != nullptr) threads_->begin(anew);
    }
    void end(const run_report&) const { memory_->end(by_host()); }
    [[nodiscard]] std::string account() const { return memory_->account(by_host()); }
    [[nodiscard]] ref_type ref(int pe) const { return {memory_->rings(pe), all_types(pe)}; }
    [[nodiscard]] session_ref_type session_ref(int pe) const { return {{memory_->counts(), all_types(pe)}}; }
    [[nodiscard]] const std::shared_ptr<service_memory>& feed() const { return memory_; }

    // For service_client.
    using question = of_all_types<service_question>;
    template <class Type>
    static constexpr std::uint32_t number() {
        constexpr std::uint32_t found = of_all_types<service_numbers>::template number<Type>;
        static_assert(found < n_own + sizeof...(Types),
                      "the service has no request type of this name: give it to service()");
        return found;
    }

private:
    template <class View>
    struct threads_of;
    template <class... All>
    struct threads_of<service_ref<All...>> {
        using type = service_threads<All...>;
    };
    using threads_type = typename threads_of<ref_type>::type;

    static std::vector<service_shape> shapes() {
        return {service_shape::of<service_update>(),   service_shape::of<service_fetch>(),
                service_shape::of<service_put>(),      service_shape::of<service_copy>(),
                service_shape::of<service_allocate>(), service_shape::of<service_free>(),
                service_shape::of<Types>()...};
    }
    /// All request types, as servers of a PE carry them out.
    [[nodiscard]] decltype(ref_type::types) all_types(int pe) const {
        const device_heap_ref heap = memory_->heap(pe);
        const bool any = memory_->options().heap_bytes > 0;
        const auto joined = [&](const Types&... own) {
            return task_types_of(service_update{}, service_fetch{}, service_put{}, service_copy{},
                                 service_allocate{heap, any}, service_free{heap, any}, own...);
        };
        return std::apply(joined, types_);
    }
    [[nodiscard]] service_statistics by_host() const {
        return threads_ == nullptr ? service_statistics{} : threads_->statistics();
    }

    std::shared_ptr<service_memory> memory_;
    std::tuple<Types...> types_;
    std::shared_ptr<threads_type> threads_;  ///< null unless host threads serve
};

template <class... Types>
service(machine&, const service_options&, const Types&...) -> service<Types...>;
template <class... Types>
service(machine&, const Types&...) -> service<Types...>;

}  // namespace laneway
