// The runtime: the host's way into the library.
#pragma once

#include <tuple>

#include "laneway/comm/comm_resources.hpp"
#include "laneway/comm/grid.hpp"
#include "laneway/comm/host_calls.hpp"
#include "laneway/comm/mailbox_handle.hpp"
#include "laneway/comm/one_sided.hpp"
#include "laneway/flow/index_space.hpp"
#include "laneway/memory/device_memory.hpp"
#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/collectives_component.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/component_messages.hpp"
#include "laneway/run/program.hpp"
#include "laneway/run/session.hpp"
#include "laneway/run/triggers.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway {

class communicator;
struct communicator_options;

/// The devices of a job and what runs on them. Host only; not thread-safe; one run at a time. What starts a run, or
/// allocates, copies or clears memory of the devices, throws usage_error while a run goes on, as from a host function.
/// It stays where it was made, as what it gives refers to its machine; a function can still return one that it makes.
///
/// Where the job has several processes (options::processes), each has a runtime with all PEs, its devices run those
/// that are its own, and all make the same calls in the same order with the same values: what allocates, copies, clears
/// or runs waits for the others, on the thread that made the runtime. Every process gets the whole report, and copies
/// from any PE; what it copies to the PE of another one counts for nothing.
class runtime {
public:
    /// Opens the devices; throws usage_error for a list that names none or wrong ones.
    explicit runtime(options options = {});
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    [[nodiscard]] int n_pes() const { return machine_.n_pes(); }
    [[nodiscard]] laneway::machine& machine() { return machine_; }
    /// Deadline of the runs and sessions that come, at first options::timeout_seconds. Throws usage_error for seconds
    /// that cannot be.
    void set_timeout(double seconds) { options_.timeout_seconds = run_deadline(seconds).seconds(); }
    [[nodiscard]] double timeout() const { return options_.timeout_seconds; }

    /// `size` zeroed elements on every PE.
    template <class T>
    [[nodiscard]] symmetric_array<T> allocate(std::uint64_t size) {
        return symmetric_array<T>(machine_, size);
    }

    /// Memory of each PE that its lanes allocate and release while kernels run, within quotas that have names: see
    /// memory/device_memory.hpp. Its `ref()` goes into functors and handlers of any run or session.
    [[nodiscard]] laneway::device_memory device_memory(const device_heap_options& options = {});

    /// A mailbox for messages of the types `Messages`, all of them different, with one handler each. Handlers are
    /// trivially copyable and run on the PE that a message was posted to, on any lane, at the same time as others;
    /// comm/routes.hpp says what forms they may have.
    template <class... Messages, class... Handlers>
    [[nodiscard]] auto mailbox(const Handlers&... handlers) const {
        static_assert(all_differ<Messages...>,
                      "the types of a mailbox's messages differ: give each kind its own struct");
        static_assert(sizeof...(Messages) == sizeof...(Handlers), "a mailbox has one handler for each type of message");
        static_assert(sizeof...(Messages) > 0, "a mailbox carries messages: name their types in runtime.mailbox<...>");
        return handle_of(with_allocations(routes<route<Messages, Handlers>...>{{handlers}...}));
    }

    /// A function of the host that lanes of any PE may call during runs: `ref()` of what this returns goes into
    /// functors and handlers. `function(request)` returns a Reply, or anything where lanes want no_reply; it is called
    /// by options::host_threads threads. What it throws ends the run with host_call_error, which names `name`.
    template <class Request, class Reply = no_reply, class Function>
    [[nodiscard]] laneway::host_calls<Request, Reply> host_calls(std::string name, Function function) {
        return {machine_, options_, std::move(name), std::move(function)};
    }

    /// A mailbox with which lanes can do one-sided operations as well (comm/one_sided.hpp).
    template <class... Messages, class... Handlers>
    [[nodiscard]] auto one_sided(const Handlers&... handlers) {
        static_assert(all_differ<Messages...>,
                      "the types of a mailbox's messages differ: give each kind its own struct");
        if (gets_ == nullptr) gets_ = std::make_unique<gets_memory>(machine_, max_lanes(machine_, options_));
        const serve_memory serve{gets_->counters.ref(), gets_->values.ref()};
        using all = with_one_sided<route<Messages, Handlers>...>;
        return handle_of(
            with_allocations(all{{handlers}..., {serve}, {serve}, {serve_fetch{serve}}, {serve_get{serve}}, {serve}}));
    }

    /// Collectives among the working warps, blocks or grids of all PEs, from inside a body: comm/collective/
    /// collectives.hpp says which.
    [[nodiscard]] collectives_component collectives(const collective_options& options = {}) const {
        return {machine_, options, pe_with(options_, injected_fault::mute_collectives)};
    }

    /// Tags for operations that are prepared beforehand and carried out when lanes have triggered them often enough:
    /// see run/triggers.hpp. Throws usage_error where PEs cannot store into each other's memory.
    [[nodiscard]] laneway::triggers triggers(const trigger_options& options = {}) { return {machine_, options}; }

    /// A stream of a PE's device, for copies and kernels of a user's own beside runs and sessions: see
    /// simt/device_stream.hpp. `name` is told in messages. On a GPU a run leaves kernels of streams room where
    /// options::gpu_blocks is less than what fits. Throws usage_error while a run goes on.
    [[nodiscard]] device_stream stream(int pe, const std::string& name = "of a user");

    /// Two-sided messages between PEs, matched by source and tag. Each has messages of its own. Who calls this includes
    /// laneway/run/communicator.hpp, which would be a quarter of what this header makes the compiler read.
    [[nodiscard]] laneway::communicator communicator();
    [[nodiscard]] laneway::communicator communicator(const communicator_options& options);

    /// Runs `body(ctx, agents...)` on every working lane of every PE, with an agent of each component in their order
    /// (`run(body, box)` calls body(ctx, box)), and returns when nothing is left anywhere: all bodies have returned,
    /// all messages and host calls have been served, and the components have no work. Without a body, `run(list)` runs
    /// the components' own work. Throws timeout_error past the deadline, device_fault where device code reported an
    /// error or the audit fails, lane_error where a body or handler threw on a CPU device, usage_error where the
    /// options leave no room for what the program needs, or a component belongs to another runtime. A body may say how
    /// much of a GPU shall serve: server_share_of.
    template <class First, class... Rest>
    run_report run(First&& first, Rest&&... rest) {
        static_assert((component<Rest> && ...), "run(body, components...): mailboxes, worklists, index spaces");
        if constexpr (component<First>) {
            return run_over(no_body{}, first, rest...);
        } else {
            static_assert(trivially_copyable<std::remove_cvref_t<First>>,
                          "a body is copied to every device: it holds values and ref()s only");
            return run_over(first, rest...);
        }
    }

    /// Calls `body(ctx, i, agents...)` once for each i below n, by any working lane of any PE, with agents as run does;
    /// lanes take indices piece by piece, each when it has done its last ones. Throws as run does.
    template <class Body, class... Components>
    run_report for_each(std::uint64_t n, const Body& body, Components&&... components) {
        static_assert(trivially_copyable<Body>, "a body is copied to every device: it holds values and ref()s only");
        indices_.resize(n);
        return for_each(indices_, body, components...);
    }
    /// The same for each index of a space that the caller keeps: of a PE's own numbers, for instance.
    template <class Body, class... Components>
    run_report for_each(index_space& indices, const Body& body, Components&&... components) {
        static_assert(trivially_copyable<Body>, "a body is copied to every device: it holds values and ref()s only");
        return run(each_index<Body>{body}, indices, components...);
    }

    /// Starts a session: a program of components (docs/guides/components.md says which) that stays on the devices, for
    /// host threads to post to, call and submit to (run/session.hpp). It refers to this runtime and must end before it.
    /// The thread that has started it may use the runtime as ever: each run, copy and allocation waits until the
    /// session's work is done, and the session leaves the devices for that long. Other threads are refused. One session
    /// at a time. Throws as run does.
    ///
    /// `start(body, components...)` calls `body(ctx, agents...)` first, once on every working lane, as run does; then
    /// lanes may meet in collectives as well. What host threads leave is taken by warps whose body has returned, and an
    /// epoch ends when all have: a body does not wait for the host.
    template <class First, class... Rest>
    [[nodiscard]] auto start(First&& first, Rest&&... rest) {
        static_assert((component<Rest> && ...), "start(body, components...): docs/guides/components.md says which");
        if constexpr (component<First>) {
            return start_over(no_body{}, first, rest...);
        } else {
            static_assert(trivially_copyable<std::remove_cvref_t<First>>,
                          "a body is copied to every device: it holds values and ref()s only");
            return start_over(first, rest...);
        }
    }

private:
    /// Lets a component that host threads feed take its memory.
    template <class Component>
    void add_feed([[maybe_unused]] std::vector<std::shared_ptr<session_feed>>& feeds,
                  [[maybe_unused]] const Component& component, [[maybe_unused]] const comm_plan& plan) {
        if constexpr (has_feed<Component>) {
            component.feed()->attach(machine_, plan);
            feeds.push_back(component.feed());
        }
    }

    static constexpr double endless_seconds = 1e9;

    template <class Body, class... Components>
    auto start_over(const Body& body, Components&... components) {
        constexpr bool has_body = !std::is_same_v<Body, no_body>;
        constexpr bool meets = (std::is_same_v<std::remove_cvref_t<Components>, collectives_component> || ...);
        static_assert(has_body || !meets,
                      "a session without a body has no lanes that would meet: start(body, components...), run() a "
                      "collective between its epochs, or prepare a ring_all_reduce, which host threads start by "
                      "triggers");
        constexpr bool counts = (std::is_same_v<std::remove_cvref_t<Components>, index_space> || ...);
        static_assert(has_body || !counts,
                      "a session without a body hands out no indices: start(body, indices...), for_each() between its "
                      "epochs, or submit_many() to a pool of tasks");
        static_assert(((!prepares<Components> || has_feed<Components>)&&...),
                      "host threads cannot feed this component: it is for run()");
        using own_type = view_list<session_ref_of<Components>...>;
        using views_type = decltype(distinct_views<>::of(std::declval<const session_ref_of<Components>&>()...));
        using resident = std::conditional_t<has_body, resident_body<Body>, no_body>;
        using parts = session_parts<resident, views_type>;
        using program = typename parts::program;
        using session = typename parts::session;
        if (machine_.n_processes() > 1) throw usage_error("a session belongs to a job of one process");
        refuse_twice({identity_of(components)...});
        const auto present =
            present_in(std::type_identity<views_type>(), std::type_identity<own_type>(), components...);
        (refuse_beside(components, present), ...);
        (refuse_others(components, machine_), ...);
        refuse_thresholds((0 + ... + (has_threshold(components) ? 1 : 0)));
        const auto mine = machine_.refuse_during_run();
        const run_deadline until = machine_.begin(options_.timeout_seconds);
        const comm_plan plan = plan_for<program, true>(components...);
        auto resources = std::make_unique<comm_resources>(machine_, options_, plan, until);
        std::vector<std::shared_ptr<session_feed>> feeds;
        number_components(components...);
        (add_feed(feeds, components, plan), ...);
        const auto launch = [this, plan, over = resident{body}, refs = std::tuple(components...)](session& started) {
            return std::apply([&](const auto&... all) { return launch_session<program>(started, plan, over, all...); },
                              refs);
        };
        return session(machine_, options_, plan, std::move(resources), {identity_of(components)...}, std::move(feeds),
                       launch);
    }

    template <class Body, class... Components>
    run_report run_over(const Body& body, Components&... components) {
        using views_type = decltype(distinct_views<>::of(std::declval<const ref_of<Components>&>()...));
        using program = typename program_over<Body, views_type>::type;
        static_assert(!(takes_from_host<ref_of<Components>> || ...),
                      "host threads feed this component: it is for start(components...)");
        refuse_twice({identity_of(components)...});
        const auto present = present_in(std::type_identity<views_type>(),
                                        std::type_identity<view_list<ref_of<Components>...>>(), components...);
        (refuse_beside(components, present), ...);
        (refuse_others(components, machine_), ...);
        refuse_thresholds((0 + ... + (has_threshold(components) ? 1 : 0)));
        const auto mine = machine_.refuse_during_run();
        const run_deadline until = machine_.begin(options_.timeout_seconds);
        const comm_plan plan = plan_for<program, false>(components...);
        comm_resources& resources = resources_for(plan, until);
        number_components(components...);
        (begin_component(components, machine_, plan, until), ...);
        const auto views_on = [&]([[maybe_unused]] int pe) { return distinct_views<>::of(components.ref(pe)...); };
        const auto programs = programs_for<program>(plan, resources, body, views_on, policy_of(components...), {});
        const auto account = [&] { return (std::string{} + ... + account_of(components)); };
        run_label label;
        label.given = (std::string{} + ... + given_to(components));
        run_report report = run_programs(resources, plan, programs, until, account, label);
        (end_component(components, report), ...);
        return report;
    }

    /// Runs the program of a session until it ends by itself.
    template <class Program, class Session, class Body, class... Components>
    double launch_session(Session& started, const comm_plan& plan, const Body& body, const Components&... components) {
        const auto views_on = [&](int pe) {
            return in_front(started.inbox(pe), distinct_views<>::of(session_ref_in(components, pe)...));
        };
        comm_resources& resources = started.resources();
        const auto programs = programs_for<Program>(plan, resources, body, views_on, policy_of(components...),
                                                    started.epochs(), started.comes_back());
        const double seconds =
            machine_.run(programs, plan.shapes(), run_deadline(endless_seconds),
                         [&] { return resources.ring_fills() + memory_account(); }, {"session", started.comes_back()});
        resources.commit_pending();
        return seconds;
    }

    /// Sizes of a program beside what its components hold on the PEs already.
    template <class Program, bool in_session, class... Components>
    comm_plan plan_for(const Components&... components) const {
        auto outline = outline_of<Program>(machine_, held_bytes());
        for (int pe = 0; pe < n_pes(); ++pe) {
            pe_outline& mine = outline[static_cast<std::size_t>(pe)];
            mine.held_bytes += (std::uint64_t{0} + ... + held_bytes_of(components, pe));
            [[maybe_unused]] const auto ask = [&](double share) {
                mine.server_share = share > mine.server_share ? share : mine.server_share;
            };
            (ask(server_share_of_component<in_session>(components, pe)), ...);
        }
        return plan_program(program_traits::of<Program>(), outline, options_);
    }

    /// One program a PE. `views_on(pe)`: of its components. `comes_back`: bodies have run.
    template <class Program, class Body, class Views>
    std::vector<pe_program> programs_for(const comm_plan& plan, comm_resources& resources, const Body& body,
                                         const Views& views_on, const threshold_policy& policy,
                                         const epoch_words& epochs, bool comes_back = false) {
        std::vector<pe_program> programs;
        std::uint64_t first_rank = 0;
        resources.follow_meter();
        for (int pe = 0; pe < n_pes(); ++pe) {
            const pe_grid& grid = plan.grids[static_cast<std::size_t>(pe)];
            const auto views = views_on(pe);
            const pe_resources mine = resources.of(pe, policy, epochs);
            const Program made{{mine.links,
                                mine.replies,
                                mine.answers,
                                {joined_handlers(views), mine.forwards},
                                plan.chunk_bytes,
                                options_.path},
                               mine.termination,
                               mine.barriers,
                               body,
                               views,
                               first_rank,
                               plan.worker_lanes(),
                               static_cast<std::uint64_t>(grid.worker_warps()),
                               grid.servers(),
                               comes_back};
            programs.push_back(pe_program::of(made));
            first_rank += grid.worker_lanes();
        }
        return programs;
    }

    template <class Routes>
    mailbox_handle<Routes> handle_of(const Routes& routes) const {
        return {machine_, routes};
    }

    /// What device memories tell of a run that has failed.
    [[nodiscard]] std::string memory_account() const;
    /// What the runtime's own arrays take on a PE.
    [[nodiscard]] std::uint64_t held_bytes() const;
    /// The resources for communication of the last run, where it suits this one as well; cleared only if that run has
    /// not ended well.
    comm_resources& resources_for(const comm_plan& plan, const run_deadline& until);
    /// `account`: what components add to the message of a run that fails.
    run_report run_programs(comm_resources& resources, const comm_plan& plan, const std::vector<pe_program>& programs,
                            const run_deadline& until, const std::function<std::string()>& account,
                            const run_label& label);

    /// What serve_memory refers to.
    struct gets_memory {
        gets_memory(laneway::machine& machine, std::uint64_t lanes)
            : counters(machine, lanes), values(machine, lanes * max_values_asked) {}

        symmetric_array<lane_gets> counters;
        symmetric_array<std::uint64_t> values;
    };

    options options_;
    laneway::machine machine_;
    std::unique_ptr<comm_resources> resources_;
    bool ended_well_ = true;  ///< the last run
    std::uint32_t n_communicators_ = 0;
    std::unique_ptr<gets_memory> gets_;
    std::vector<std::weak_ptr<device_memory_heaps>> memories_;
    std::shared_ptr<stream_engine> streams_;  ///< null: none has been made
    index_space indices_{0};                  ///< of for_each
};

}  // namespace laneway
