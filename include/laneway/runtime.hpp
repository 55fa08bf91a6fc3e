// The runtime: the host's way into the library.
#pragma once

#include "laneway/comm/grid.hpp"
#include "laneway/comm/host_calls.hpp"
#include "laneway/comm/mailbox.hpp"
#include "laneway/comm/one_sided.hpp"
#include "laneway/comm/post_office.hpp"
#include "laneway/memory/symmetric_array.hpp"

namespace laneway {

/// A mailbox as the host knows it: types of message and the handlers that serve them. Made by runtime::mailbox.
template <class Routes>
struct mailbox_handle {
    Routes handlers;
};

/// The devices of a job and what runs on them. Host only; not thread-safe; one run at a time. What starts a run, or
/// allocates, copies or clears memory of the devices, throws usage_error while a run goes on, as from a host function.
/// It stays where it was made, as what it gives refers to its machine; a function can still return one that it makes.
class runtime {
public:
    /// Opens the devices; throws usage_error for a list that names none or wrong ones.
    explicit runtime(options options = {})
        : options_(std::move(options)), machine_(options_.devices, options_.seed, options_.checked_accesses) {}
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    [[nodiscard]] int n_pes() const { return machine_.n_pes(); }
    [[nodiscard]] laneway::machine& machine() { return machine_; }

    /// `size` zeroed elements on every PE.
    template <class T>
    [[nodiscard]] symmetric_array<T> allocate(std::uint64_t size) {
        return symmetric_array<T>(machine_, size);
    }

    /// A mailbox for messages of the types `Messages`, all of them different, with one handler each. Handlers are
    /// trivially copyable and run on the PE that a message was posted to, on any lane, at the same time as others;
    /// comm/routes.hpp says what forms they may have.
    template <class... Messages, class... Handlers>
    [[nodiscard]] auto mailbox(const Handlers&... handlers) const {
        static_assert(all_differ<Messages...>,
                      "the types of a mailbox's messages differ: give each kind its own struct");
        static_assert(sizeof...(Messages) == sizeof...(Handlers), "a mailbox has one handler for each type of message");
        return handle_of(with_places(routes<route<Messages, Handlers>...>{{handlers}...}));
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
        if (gets_ == nullptr)
            gets_ = std::make_unique<symmetric_array<lane_gets>>(machine_, most_lanes(machine_, options_));
        const serve_memory serve{gets_->ref()};
        using all = with_one_sided<route<Messages, Handlers>...>;
        return handle_of(
            with_places(all{{handlers}..., {serve}, {serve}, {serve_fetch{serve}}, {serve_get{serve}}, {serve}}));
    }

    /// Runs `functor(ctx, box)` on every working lane of every PE and returns when nothing is left anywhere: all
    /// functors have returned and all messages and host calls have been served. Throws timeout_error past the
    /// deadline, device_fault where device code reported an error or the audit fails, lane_error where a functor or
    /// handler threw on a CPU device, usage_error where the options leave no room for what the program needs. A functor
    /// may say how much of a GPU shall serve: server_share_of.
    template <class Functor, class Routes>
    run_report run(const Functor& functor, const mailbox_handle<Routes>& mailbox) {
        static_assert(trivially_copyable<Functor>,
                      "a functor is copied to every device: it holds values and ref()s only");
        using program = mailbox_program<Routes, Functor>;
        machine_.refuse_during_run();
        const run_deadline until = machine_.begin(options_.timeout_seconds);
        const std::uint64_t gets_bytes = gets_ == nullptr ? 0 : gets_->size() * sizeof(lane_gets);
        const office_plan plan = plan_program<program>(outline_of<program>(machine_, gets_bytes), options_);
        post_office& office = office_for(plan, until);
        std::vector<program> programs;
        std::vector<launch_shape> shapes;
        std::uint64_t ranks = 0;
        for (int pe = 0; pe < n_pes(); ++pe) {
            const pe_grid& grid = plan.grids[static_cast<std::size_t>(pe)];
            programs.push_back({{office.links(pe),
                                 office.replies(pe),
                                 office.answers(pe),
                                 {mailbox.handlers, office.onward(pe)},
                                 plan.chunk_bytes,
                                 options_.carry,
                                 grid.worker_lanes()},
                                office.waves(pe, {}),
                                office.barriers(pe),
                                functor,
                                ranks,
                                0,
                                static_cast<std::uint64_t>(grid.worker_warps()),
                                grid.server_blocks});
            shapes.push_back(grid.shape);
            ranks += grid.worker_lanes();
        }
        for (auto& p : programs) p.ranks = ranks;
        office.reset();
        if (gets_ != nullptr) gets_->clear();
        const double seconds = machine_.run(programs, shapes, until, [&] { return office.ring_fills(); });
        return office.report(seconds);
    }

private:
    template <class Routes>
    static mailbox_handle<Routes> handle_of(const Routes& routes) {
        return {routes};
    }

    /// The post office of the last run, where it suits this one as well.
    post_office& office_for(const office_plan& plan, const run_deadline& until) {
        if (!office_ || !office_->suits(plan)) {
            office_.reset();
            office_ = std::make_unique<post_office>(machine_, options_, plan, until);
        }
        return *office_;
    }

    options options_;
    laneway::machine machine_;
    std::unique_ptr<post_office> office_;
    std::unique_ptr<symmetric_array<lane_gets>> gets_;  ///< see serve_memory
};

}  // namespace laneway
