// The runtime: the host's way into the library.
#pragma once

#include "laneway/comm/grid.hpp"
#include "laneway/comm/mailbox.hpp"
#include "laneway/comm/post_office.hpp"
#include "laneway/memory/symmetric_array.hpp"

namespace laneway {

/// A mailbox as the host knows it: a message type and the handler that serves it. Made by runtime::mailbox.
template <class Message, class Handler>
struct mailbox_handle {
    Handler handler;
};

/// The devices of a job and what runs on them. Host only; not thread-safe; one run at a time.
class runtime {
public:
    /// Opens the devices; throws usage_error for a list that names none or wrong ones.
    explicit runtime(options options = {}) : options_(std::move(options)), machine_(options_.devices, options_.seed) {}

    [[nodiscard]] int n_pes() const { return machine_.n_pes(); }
    [[nodiscard]] laneway::machine& machine() { return machine_; }

    /// `size` zeroed elements on every PE.
    template <class T>
    [[nodiscard]] symmetric_array<T> allocate(std::uint64_t size) {
        return symmetric_array<T>(machine_, size);
    }

    /// A mailbox for messages of type `Message`. The handler is trivially copyable, runs on the PE that a message was
    /// posted to, on any lane, at the same time as other handlers, and must not post.
    template <class Message, class Handler>
    [[nodiscard]] mailbox_handle<Message, Handler> mailbox(const Handler& handler) const {
        static_assert(trivially_copyable<Message> && trivially_copyable<Handler>);
        return {handler};
    }

    /// Runs `functor(ctx, box)` on every working lane of every PE and returns when nothing is left anywhere: all
    /// functors have returned and all messages have been served. Throws timeout_error past the deadline, device_fault
    /// where device code reported an error or the audit fails.
    template <class Functor, class Message, class Handler>
    run_report run(const Functor& functor, const mailbox_handle<Message, Handler>& mailbox) {
        static_assert(trivially_copyable<Functor>);
        using program = mailbox_program<Message, Handler, Functor>;
        const auto shape = fit_chunks<Message>(machine_, options_);
        const auto grids = size_grids<program>(machine_, options_, program::shared_bytes(shape, n_pes()));
        post_office office(machine_, options_, shape.bytes(), grids);
        std::vector<program> programs;
        std::vector<launch_shape> shapes;
        std::uint64_t ranks = 0;
        for (int pe = 0; pe < n_pes(); ++pe) {
            const pe_grid& grid = grids[static_cast<std::size_t>(pe)];
            programs.push_back({{office.links(pe), shape, mailbox.handler},
                                office.waves(pe, {}),
                                functor,
                                ranks,
                                0,
                                static_cast<std::uint64_t>(grid.worker_warps()),
                                grid.server_blocks});
            shapes.push_back(grid.shape);
            ranks += grid.worker_lanes(*machine_.device(pe));
        }
        for (auto& p : programs) p.ranks = ranks;
        office.reset();
        const double seconds =
            machine_.run(programs, shapes, options_.timeout_seconds, [&] { return office.ring_fills(); });
        return office.report(seconds, sizeof(Message));
    }

private:
    options options_;
    laneway::machine machine_;
};

}  // namespace laneway
