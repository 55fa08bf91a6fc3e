// A graph of channels as a component of a session: it stays on the devices, host threads put elements into its channels
// and take those that are meant for them.
//
//   const auto to_host = graph.host_kernel(results);      // host threads consume this channel
//   auto service = graph.service(kernel, to_host);
//   auto session = runtime.start(service);
//   service.enqueue(jobs, {7}, 1);                        // any thread, for PE 1; waits while there is no room
//   const answer first = service.take(results);           // any thread; waits for one
//   session.quiesce();                                    // all that was enqueued is done; what it gave can be taken
#pragma once

#include <optional>

#include "laneway/task/channel_component.hpp"
#include "laneway/task/channel_host.hpp"

namespace laneway {

/// Made by channel_graph::service. A handle: copies are the same graph. It serves one session at a time; the graph that
/// has made it is not touched by it and may be run, or gone.
template <class Policy, class... Kernels>
class channel_service {
    static_assert(scheduler_of<Policy> != channel_scheduler::host_thread,
                  "in a session every warp, or one, decides what warps serve: a thread of the host does in runs");

public:
    using ref_type = channel_service_ref<Policy, Kernels...>;

    channel_service(machine& machine, channel_table table, std::vector<channel_plan> plans,
                    const channel_service_options& options, const Policy& policy, const task_types<Kernels...>& kernels)
        : first_arrivals_(add_inner_channels<Kernels...>(plans, machine.n_pes(), table.rooms())),
          host_(std::make_shared<channel_host>(machine, std::move(table), std::move(plans), options,
                                               scheduler_of<Policy>)),
          policy_(policy), kernels_(kernels) {}

    /// Puts an element into the first level of a channel of a PE. Waits while elements of host threads fill the PE's
    /// inbox. Throws usage_error for a PE that does not exist and without a session, timeout_error past the deadline,
    /// and what ended the session. Elements of one thread are not certain to be consumed in their order.
    template <class T>
    void enqueue(channel<T> to, const std::type_identity_t<T>& element, int pe = 0) {
        host_->enqueue(to.number, &element, sizeof(T), pe);
    }
    /// The next element of a channel that host threads consume; each is given to one thread. Waits for it, to the
    /// deadline: a program that is on the devices then ends with the session. Throws as enqueue, and usage_error for a
    /// channel that a kernel consumes.
    template <class T>
    [[nodiscard]] T take(channel<T> from) {
        alignas(16) std::byte bytes[sizeof(T)];
        (void)host_->take(from.number, bytes, sizeof(T), true);
        return *std::launder(reinterpret_cast<T*>(bytes));
    }
    /// The same without waiting, also after the session and until the next one: none where nothing is there.
    template <class T>
    [[nodiscard]] std::optional<T> try_take(channel<T> from) {
        alignas(16) std::byte bytes[sizeof(T)];
        if (!host_->take(from.number, bytes, sizeof(T), false)) return std::nullopt;
        return *std::launder(reinterpret_cast<T*>(bytes));
    }
    /// Of the session so far, or the last one. On the thread that owns the session, which leaves the devices for it.
    [[nodiscard]] channel_statistics statistics() const { return host_->statistics(); }

    // As a component, see run/component.hpp.
    void take_place(std::uint32_t place) const { host_->take_place(place); }
    [[nodiscard]] ref_type ref(int pe) const {
        return {graph_ref_of(host_->store(), pe, policy_, kernels_, first_arrivals_), host_->inbox(pe)};
    }
    [[nodiscard]] const std::shared_ptr<channel_host>& feed() const { return host_; }

private:
    std::uint32_t first_arrivals_;
    std::shared_ptr<channel_host> host_;
    Policy policy_;
    task_types<Kernels...> kernels_;
};

}  // namespace laneway
