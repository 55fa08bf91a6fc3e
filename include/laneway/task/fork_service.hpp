// A fork-join program as a component of a session: it stays on the devices, and host threads have it call functions.
//
// A call of the host is an element of a channel of its own. Its function forks: the one child is the call, and the
// continuation behind it lies in a channel that host threads consume. So all that holds for functions and for elements
// of host threads holds for these calls: space, termination, the audit.
#pragma once

#include <cstddef>

#include "laneway/task/channel_service.hpp"
#include "laneway/task/fork_answers.hpp"
#include "laneway/task/fork_task.hpp"

namespace laneway {

/// The continuation behind a call of the host: never called, but read by host threads.
template <class Function>
struct fork_answer {
    static constexpr bool follows = true;
    struct arguments {
        std::uint64_t ticket;
        typename Function::result value;
    };
    using result = std::uint32_t;
};

/// What host threads submit.
template <class Function>
struct fork_request {
    struct arguments {
        std::uint64_t ticket;
        typename Function::arguments of_call;
    };
    using result = std::uint32_t;
    static constexpr std::uint32_t children = 1;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& request, Task& task) const {
        auto fork = task.fork(ctx, laneway::task<Function>, 1, laneway::task<fork_answer<Function>>);
        if (!fork) return;
        fork->ticket = request.ticket;
        fork.spawn(ctx, request.of_call, &fork->value);
        fork.sync(ctx);
    }
};
template <class Function>
inline constexpr bool is_host_call<fork_request<Function>> = true;

/// Made by fork_join::service. A handle: copies are the same program. It serves one session at a time; any thread may
/// submit while that lasts. `Service`: channel_service of all functions; `Roots`: those that host threads may call.
template <class Service, class... Roots>
class fork_join_service {
public:
    using ref_type = typename Service::ref_type;

    /// `first_request`: number of the channel of calls of the first of the roots. Behind these are their answers.
    fork_join_service(const Service& service, std::uint32_t first_request, int n_pes)
        : service_(service), first_request_(first_request),
          answers_(std::make_shared<fork_answers>(service.feed(), channels(first_request), n_pes)) {}

    /// Has a function called, on one of the PEs in turn, and returns at once; waits while the inbox of that PE is full.
    /// Throws usage_error without a session, timeout_error past the deadline, and what ended the session.
    template <class Function>
    fork_future<typename Function::result> submit(const typename Function::arguments& arguments) {
        constexpr std::uint32_t number = number_of_type<Function, Roots...>();
        static_assert(number < sizeof...(Roots), "host threads may call the functions named in service<...>() only");
        const auto [call, pe] = answers_->begin();
        fork_element<fork_request<Function>> element{};
        element.header.result_at = fork_header::nowhere;
        element.arguments.ticket = call.ticket;
        element.arguments.of_call = arguments;
        answers_->submit(call, first_request_ + number, &element, sizeof element, pe);
        return {answers_, call};
    }
    /// Of the session so far, or the last one. On the thread that owns the session, which leaves the devices for it.
    [[nodiscard]] channel_statistics statistics() const { return service_.statistics(); }

    // As a component, see run/component.hpp.
    void take_place(std::uint32_t place) const { service_.take_place(place); }
    [[nodiscard]] ref_type ref(int pe) const { return service_.ref(pe); }
    [[nodiscard]] const std::shared_ptr<channel_host>& feed() const { return service_.feed(); }

private:
    static std::vector<fork_answer_channel> channels(std::uint32_t first_request) {
        std::vector<fork_answer_channel> made;
        (made.push_back(answers_of<Roots>(first_request)), ...);
        return made;
    }
    template <class Function>
    static fork_answer_channel answers_of(std::uint32_t first_request) {
        using element = fork_element<fork_answer<Function>>;
        using arguments = typename fork_answer<Function>::arguments;
        constexpr std::size_t at = offsetof(element, arguments);
        return {first_request + static_cast<std::uint32_t>(sizeof...(Roots)) + number_of_type<Function, Roots...>(),
                sizeof(element), at + offsetof(arguments, ticket), at + offsetof(arguments, value),
                sizeof(typename Function::result)};
    }

    Service service_;
    std::uint32_t first_request_;
    std::shared_ptr<fork_answers> answers_;
};

}  // namespace laneway
