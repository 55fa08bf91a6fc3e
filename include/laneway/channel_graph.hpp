// Graphs of channels: kernels that consume elements of channels and produce elements for others, until none is left
// anywhere. The host starts one and waits for its end; what runs when is decided on the devices.
//
//   lw::channel_graph graph(runtime);
//   const auto numbers = graph.channel<int>({.width = 32768, .levels = 40, .at_once = 2});
//   const auto kernel = graph.kernel(fib{numbers, result.ref()});
//   graph.connect(numbers, kernel);
//   graph.init(numbers, {40});
//   graph.run(kernel);                                  // alone; or beside others, with a body whose lanes have
//   runtime.run(body, box, graph.component(kernel));    // talloc and enq: body(ctx, box, channels)
//
// After Orr (Fine-grain Task Aggregation and Coordination on GPUs, 2016, chapter 4) and Gaster and Howes (Can GPGPU
// Programming Be Liberated from the Data-Parallel Bottleneck?, IEEE Computer 2012), who defined channels.
#pragma once

#include "laneway/runtime.hpp"
#include "laneway/task/channel_service.hpp"

namespace laneway {

/// A kernel of a graph: a functor that is called for each element of its channels, by one lane,
///   void or outcome operator()(ctx, element&, node) const
/// with `using element = T`. What it may do with `node`: channel_node.hpp.
template <class Kernel>
struct kernel_node {
    std::uint32_t number = 0;
    Kernel code;
    const void* graph = nullptr;  ///< that has made it
};

/// Host only; not thread-safe. Refers to its runtime.
class channel_graph {
public:
    /// Throws usage_error for options that cannot be.
    explicit channel_graph(runtime& runtime, const channel_graph_options& options = {})
        : runtime_(runtime), table_(options) {}
    channel_graph(const channel_graph&) = delete;
    channel_graph& operator=(const channel_graph&) = delete;

    /// A channel of elements of type T on every PE, trivially copyable and aligned to 16 bytes at most. Throws
    /// usage_error for options that cannot be.
    template <class T>
    laneway::channel<T> channel(const channel_options& options = {}) {
        static_assert(trivially_copyable<T>, "elements of channels are copied as bytes");
        return {table_.add_channel({options, sizeof(T)}, alignof(T))};
    }
    template <class T>
    laneway::channel<T> channel(std::uint32_t width) {
        return channel<T>(channel_options{.width = width});
    }
    /// A channel whose elements depend on those of others of the same level being consumed, as continuations do.
    template <class T>
    laneway::channel<T> channel_after(const channel_options& options) {
        return {table_.add_channel({options, sizeof(T), true}, alignof(T))};
    }

    template <class Kernel>
    kernel_node<Kernel> kernel(const Kernel& code) {
        static_assert(trivially_copyable<Kernel>,
                      "a kernel is copied to every device: it holds values and ref()s only");
        return {table_.add_kernel(), code, this};
    }
    /// The kernel consumes the channel, which has no other consumer; it may consume several.
    template <class T, class Kernel>
    void connect(laneway::channel<T> from, const kernel_node<Kernel>& to) {
        static_assert(std::is_same_v<T, typename Kernel::element>, "a kernel consumes elements of its own type");
        refuse_foreign(to.graph);
        table_.connect(from.number, to.number);
    }
    /// The next run begins with these elements in the first level of a channel of a PE. They may fill it where its
    /// elements are consumed without new ones: in a cycle, leave room for 2 elements of each channel of the graph.
    template <class T>
    void init(laneway::channel<T> to, const std::vector<T>& elements, int pe = 0) {
        if (pe < 0 || pe >= runtime_.n_pes()) throw usage_error("PE " + std::to_string(pe) + " does not exist");
        table_.init(to.number, pe, std::as_bytes(std::span(elements)));
    }

    /// Runs the graph with all of its kernels, until nothing is left anywhere. Throws usage_error for a graph that
    /// cannot run; as runtime::run does, with what the channels held at the deadline; device_fault where an element was
    /// reserved and never freed.
    template <class... Kernels>
    run_report run(const kernel_node<Kernels>&... kernels) {
        return run_with(deepest_or_fullest_first{}, kernels...);
    }
    /// The same with a policy of the user's, see channel.hpp.
    template <class Policy, class... Kernels>
    run_report run_with(const Policy& policy, const kernel_node<Kernels>&... kernels) {
        auto whole = make(policy, graph_use::run, kernels...);
        return runtime_.run(whole);
    }
    /// The graph as a component of runs, for runtime::run and for_each, beside a body and any other components: its
    /// agent has talloc and enq. Each run begins with what init has given until then, which may be nothing. It refers
    /// to this graph; a run takes a graph once. Throws usage_error for a graph that cannot run.
    template <class... Kernels>
    [[nodiscard]] auto component(const kernel_node<Kernels>&... kernels) {
        return component_with(deepest_or_fullest_first{}, kernels...);
    }
    /// The same with a policy of the user's.
    template <class Policy, class... Kernels>
    [[nodiscard]] auto component_with(const Policy& policy, const kernel_node<Kernels>&... kernels) {
        return make(policy, graph_use::component, kernels...);
    }
    /// Forgets what init has given.
    void forget_init() { table_.forget_init(); }

    /// Makes host threads the consumer of a channel: the kernel is given to service() with the others.
    template <class T>
    kernel_node<give_to_host<T>> host_kernel(laneway::channel<T> from) {
        return {table_.connect_host(from.number), {from.number}, this};
    }
    /// The graph as a component of a session, for runtime::start: see channel_service.hpp. It begins with what init has
    /// given so far. Throws usage_error for a graph that cannot run.
    template <class... Kernels>
    auto service(const kernel_node<Kernels>&... kernels) {
        return service_with(channel_service_options{}, deepest_or_fullest_first{}, kernels...);
    }
    /// The same with options, and a policy of the user's.
    template <class Policy, class... Kernels>
    auto service_with(const channel_service_options& options, const Policy& policy,
                      const kernel_node<Kernels>&... kernels) {
        static_assert(trivially_copyable<Policy>);
        auto plans = table_.plans_for(numbers_of(kernels...), graph_use::session);
        return channel_service<Policy, Kernels...>(runtime_.machine(), table_.take(), std::move(plans), options, policy,
                                                   task_types_of(kernels.code...));
    }

    /// Of the last run.
    [[nodiscard]] channel_statistics statistics() const { return statistics_of(store_.memories()); }

private:
    // Not a list in braces: nvcc 13.0 hands the host's compiler such a list of a pack broken.
    template <class... Kernels>
    std::vector<std::uint32_t> numbers_of(const kernel_node<Kernels>&... kernels) const {
        std::vector<std::uint32_t> numbers;
        ((refuse_foreign(kernels.graph), numbers.push_back(kernels.number)), ...);
        return numbers;
    }
    void refuse_foreign(const void* graph) const {
        if (graph != this) throw usage_error("the kernel belongs to another graph");
    }

    template <class Policy, class... Kernels>
    auto make(const Policy& policy, graph_use use, const kernel_node<Kernels>&... kernels) {
        static_assert(trivially_copyable<Policy>);
        return channel_component<Policy, Kernels...>(runtime_.machine(), table_, store_, numbers_of(kernels...), use,
                                                     policy, task_types_of(kernels.code...));
    }

    runtime& runtime_;
    channel_table table_;
    channel_store store_;
};

}  // namespace laneway
