// Fork-join on channels: functions that spawn others and go on when these are done.
//
//   struct add {                                         // the continuation
//       struct arguments { std::uint64_t left, right; };
//       using result = std::uint64_t;
//       static constexpr bool follows = true;
//       template <class Ctx, class Task>
//       LANEWAY_FN void operator()(Ctx& ctx, const arguments& sum, Task& task) const {
//           task.finish(ctx, sum.left + sum.right);
//       }
//   };
//   struct fib {
//       using arguments = std::uint32_t;
//       using result = std::uint64_t;
//       static constexpr std::uint32_t children = 2;      // that it spawns, at most
//       template <class Ctx, class Task>
//       LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task) const {
//           if (n < 2) return task.finish(ctx, n);
//           auto fork = task.fork(ctx, lw::task<fib>, 2, lw::task<add>);
//           if (!fork) return;                            // no room now: the function is called again
//           fork.spawn(ctx, n - 1, &fork->left);
//           fork.spawn(ctx, n - 2, &fork->right);
//           fork.sync(ctx);
//       }
//   };
//   lw::fork_join program(runtime, {.levels = 41}, fib{}, add{});
//   std::vector<std::uint64_t> results = program.run<fib>({40});
//   auto service = program.service<fib>();              // for a session: any thread has service.submit<fib>(40).get()
//
// Follows the mapping of Cilk to channels of Orr (Fine-grain Task Aggregation and Coordination on GPUs, 2016, 4.3):
// each function has a stack of channels, one for each depth of the recursion, so memory is bounded and the program
// still ends (docs/architecture/channels.md has the proof). What differs: a continuation lies in its channel from the
// beginning, where children leave their results, and is made ready by the last of them, not by its level.
#pragma once

#include <algorithm>

#include "laneway/channel_graph.hpp"
#include "laneway/task/fork_calls.hpp"
#include "laneway/task/fork_plan.hpp"
#include "laneway/task/fork_service.hpp"
#include "laneway/task/fork_task.hpp"

namespace laneway {

/// A program of these functions, each trivially copyable with `using arguments`, `using result`. Host only; not
/// thread-safe; refers to its runtime.
template <class... Functions>
class fork_join {
public:
    /// Throws usage_error where the options leave no room.
    fork_join(runtime& runtime, const fork_join_options& options, const Functions&... functions)
        : runtime_(runtime), options_(options),
          plan_(plan_fork_join(plans(options), options, useful_width(runtime), warps_keep)),
          graph_(runtime, {.stack_bytes = plan_.stack_bytes}), kernels_{
                                                                   graph_.kernel(fork_kernel<Functions, Functions...>{
                                                                       functions})...} {
        (connect<Functions>(options), ...);
    }

    /// Calls a function once for each of the arguments, all at once, on all PEs in turn, and returns their results in
    /// order. Throws as channel_graph::run does, and device_fault for a call that has not finished once.
    template <class Function>
    std::vector<typename Function::result> run(const std::vector<typename Function::arguments>& all) {
        return run_with<Function>(deepest_or_fullest_first{}, all);
    }
    /// The same with a policy of the user's, which may have a warp or a thread of the host decide for all: see
    /// channel.hpp and channel_board.hpp. Warps, or blocks, keep what they produce where the policy says `follows`;
    /// with any other, or a scheduler, they keep nothing, and channels have a quarter of memory_bytes all the same.
    template <class Function, class Policy>
    std::vector<typename Function::result> run_with(const Policy& policy,
                                                    const std::vector<typename Function::arguments>& all) {
        auto calls = component_with<Function>(policy, all);
        report_ = runtime_.run(calls);
        return calls.results();
    }
    /// The same as a component of runs, for runtime::run and for_each, beside a body and any other components: each run
    /// makes these calls, and results() has what they gave. It refers to this program, of which a run makes one
    /// function's calls.
    template <class Function>
    [[nodiscard]] auto component(const std::vector<typename Function::arguments>& all) {
        return component_with<Function>(deepest_or_fullest_first{}, all);
    }
    template <class Function, class Policy>
    [[nodiscard]] auto component_with(const Policy& policy, const std::vector<typename Function::arguments>& all) {
        constexpr std::uint32_t number = number_of_type<Function, Functions...>();
        static_assert(number < sizeof...(Functions),
                      "the program has no function of this type: give it to fork_join()");
        return std::apply(
            [&](const auto&... kernels) {
                auto part = graph_.component_with(policy, kernels...);
                return fork_calls<channel_graph, decltype(part), Function>(graph_, part, {number}, all);
            },
            kernels_);
    }

    /// The program as a component of a session, for runtime::start, in which host threads may call the functions
    /// `Roots`: see fork_service.hpp. It has channels of its own, where all that is spawned lies: warps keep nothing in
    /// a session. Throws usage_error where the options leave no room.
    template <class... Roots>
    [[nodiscard]] auto service(const channel_service_options& how = {}) {
        static_assert(((number_of_type<Roots, Functions...>() < sizeof...(Functions)) && ...),
                      "the program has no function of this type: give it to fork_join()");
        static_assert(sizeof...(Roots) > 0 && (!is_continuation<Roots> && ...),
                      "host threads call one function at least, and no continuation");
        channel_graph graph(runtime_);
        add_channels<Roots...>(graph);
        constexpr auto first_request = static_cast<std::uint32_t>(sizeof...(Functions));
        const auto functions =
            std::make_tuple(serve<Functions>(graph, kernel_with<Functions, Roots...>{code_of<Functions>()},
                                             number_of_type<Functions, Functions...>())...);
        const auto requests = std::make_tuple(serve<fork_request<Roots>>(
            graph, kernel_with<fork_request<Roots>, Roots...>{}, first_request + number_of_type<Roots, Roots...>())...);
        constexpr auto first_answer = static_cast<std::uint32_t>(first_request + sizeof...(Roots));
        const auto answers = std::make_tuple(graph.host_kernel(
            channel<fork_element<fork_answer<Roots>>>{first_answer + number_of_type<Roots, Roots...>()})...);
        return std::apply(
            [&](const auto&... kernels) {
                using made = decltype(graph.service_with(how, deepest_or_fullest_first{}, kernels...));
                return fork_join_service<made, Roots...>(
                    graph.service_with(how, deepest_or_fullest_first{}, kernels...), first_request, runtime_.n_pes());
            },
            std::tuple_cat(functions, requests, answers));
    }

    /// Of the last run.
    [[nodiscard]] const run_report& report() const { return report_; }
    [[nodiscard]] channel_statistics statistics() const { return graph_.statistics(); }
    /// Elements that a level of a channel has room for on each PE.
    [[nodiscard]] std::uint32_t width() const { return plan_.width; }

private:
    /// Whether warps, or blocks, may keep elements of any function.
    static constexpr bool warps_keep = (keeps_elements<fork_kernel<Functions, Functions...>> || ...) ||
                                       blocks_keep_elements<fork_kernel<Functions, Functions...>...>;

    /// A GPU has a quarter of a million lanes, whose work may lie at a few depths; a thread has one.
    static std::uint32_t useful_width(runtime& runtime) { return runtime.machine().has_gpus() ? 1 << 20 : 1 << 10; }

    template <class Function>
    static channel_options options_for(const fork_join_options& options, std::uint32_t width) {
        constexpr std::uint32_t most = std::max({1u, children_of<Functions>...});
        return {.width = width,
                .levels = options.levels,
                .at_once = is_continuation<Function> ? 1 : most,
                .name = name_of<Function>()};
    }
    template <class Function>
    static std::string name_of() {
        return std::string(is_continuation<Function> ? "continuation " : "function ") +
               std::to_string(number_of_type<Function, Functions...>());
    }
    static std::vector<channel_plan> plans(const fork_join_options& options) {
        return {plan_of<Functions>(options)...};
    }
    template <class Function>
    static channel_plan plan_of(const fork_join_options& options) {
        return {.options = options_for<Function>(options, 1),
                .element_bytes = sizeof(fork_element<Function>),
                .is_after = is_continuation<Function>,
                .takes_block = width_of<Function> == task_width::block};
    }
    template <class Function>
    void connect(const fork_join_options& options) {
        using element = fork_element<Function>;
        const channel_options chosen = options_for<Function>(options, plan_.width);
        const auto made = is_continuation<Function> ? graph_.template channel_after<element>(chosen)
                                                    : graph_.template channel<element>(chosen);
        graph_.connect(made, std::get<number_of_type<Function, Functions...>()>(kernels_));
    }

    // In a session, where calls of the host are one level above the functions.

    template <class Function, class... Roots>
    using kernel_with = fork_kernel<Function, Functions..., fork_request<Roots>..., fork_answer<Roots>...>;

    template <class Function>
    [[nodiscard]] const Function& code_of() const {
        return std::get<number_of_type<Function, Functions...>()>(kernels_).code.code;
    }
    /// Makes a kernel the consumer of a channel.
    template <class Function, class Kernel>
    static kernel_node<Kernel> serve(channel_graph& graph, const Kernel& code, std::uint32_t number) {
        const auto made = graph.kernel(code);
        graph.connect(channel<fork_element<Function>>{number}, made);
        return made;
    }
    /// The functions' channels, those of calls, and those of answers, in the order of their numbers.
    template <class... Roots>
    void add_channels(channel_graph& graph) const {
        fork_join_options deeper = options_;
        ++deeper.levels;
        std::vector<channel_plan> all = plans(deeper);
        // With one level they would keep space for elements of a cycle.
        const auto of_host = [](const std::string& name) {
            return channel_options{.width = 1, .levels = 2, .name = name};
        };
        (all.push_back({of_host("calls of " + name_of<Roots>()), sizeof(fork_element<fork_request<Roots>>)}), ...);
        (all.push_back({of_host("answers of " + name_of<Roots>()), sizeof(fork_element<fork_answer<Roots>>), true}),
         ...);
        const std::uint32_t width = plan_fork_join(all, deeper, useful_width(runtime_), false).width;
        for (auto& plan : all) plan.options.width = width;
        std::size_t at = 0;
        (add_channel<Functions>(graph, all[at++].options), ...);
        (add_channel<fork_request<Roots>>(graph, all[at++].options), ...);
        (add_channel<fork_answer<Roots>>(graph, all[at++].options), ...);
    }
    template <class Function>
    static void add_channel(channel_graph& graph, const channel_options& chosen) {
        using element = fork_element<Function>;
        if constexpr (is_continuation<Function>) {
            (void)graph.template channel_after<element>(chosen);
        } else {
            (void)graph.template channel<element>(chosen);
        }
    }

    runtime& runtime_;
    fork_join_options options_;
    fork_join_plan plan_;
    channel_graph graph_;
    std::tuple<kernel_node<fork_kernel<Functions, Functions...>>...> kernels_;
    run_report report_;
};

template <class... Functions>
fork_join(runtime&, const fork_join_options&, const Functions&...) -> fork_join<Functions...>;

}  // namespace laneway
