// Remote queues: functions and kernels that lanes of one PE, or host threads, have run on another.
//
//   lw::remote_queue remote(runtime.machine(), add_up{sums.ref()}, smooth{image.ref()});
//   const auto done = remote.signal(words, 0);
//   runtime.run(body, remote);      // body: remote.post(ctx, pe, lw::task<add_up>, {3, 4}, {.signal = {0, done}})
//
// One operation carries the arguments, a payload into a target buffer, and the command; working warps of the other PE
// run it when all is there, and a completion signal tells its end to any PE. Follows XTQ (LeBeane and others, SC 2016).
#pragma once

#include "laneway/task/remote_memory.hpp"

namespace laneway {

/// Queues for commands to these functions (remote_command.hpp says what a function is) and to kernels of the host's. A
/// handle: copies are the same. It must outlive the runs that use it. Throws usage_error for options that cannot be,
/// and where PEs cannot store into each other's memory.
template <class... Types>
class remote_queue {
    static_assert((remote_function<Types> && ...),
                  "a function of a remote queue has `using arguments` and is, as these are, trivially copyable; "
                  "arguments have a default and are aligned to 16 bytes at most");
    static_assert(sizeof...(Types) < max_chunk_kinds, "a remote queue has 15 functions at most");
    static_assert(((sizeof(typename Types::arguments) <= 1024) && ...),
                  "arguments of a function take 1,024 bytes at most; longer data goes as its payload");

public:
    using ref_type = remote_queue_ref<false, Types...>;
    using session_ref_type = remote_queue_ref<true, Types...>;

    explicit remote_queue(machine& machine, const Types&... types)
        : remote_queue(machine, remote_queue_options{}, types...) {}
    remote_queue(machine& machine, const remote_queue_options& options, const Types&... types)
        : memory_(std::make_shared<remote_memory>(
              machine, options,
              std::vector<remote_shape>{
                  {sizeof(remote_record<typename Types::arguments>), remote_batch_of<Types>}...})),
          types_(task_types_of(types...)) {}

    // Registration, between runs. What is registered has the same number on all PEs; where the job has several
    // processes all register the same in the same order, which the next run checks.

    /// Makes word `element` of the array, on each PE, a completion signal.
    std::uint32_t signal(const symmetric_array<std::uint64_t>& words, std::uint64_t element) {
        return memory_->add_signal(words, element);
    }
    /// Makes the array a target buffer for payloads of its type.
    template <remote_word T>
    std::uint32_t buffer(const symmetric_array<T>& array) {
        return memory_->add_buffer({{memory_op::put, array.ref()[0]}, array.size()});
    }
    /// Makes a function of the host a kernel: on the PE that a command names, the launch thread calls
    /// `launch(request)`, which launches what it likes and returns when that has ended. What it throws ends the run
    /// with host_call_error, which says `name`.
    std::uint32_t kernel(std::string name, std::function<void(const launch_request&)> launch) {
        return memory_->add_kernel(std::move(name), std::move(launch));
    }

    // From host threads, while a session runs; any thread. They throw usage_error for what cannot be, and what ended
    // the session.

    /// Posts a command to a PE, as a lane would. Waits while there are host_slots commands of host threads.
    template <class Type>
    void post(int pe, const typename Type::arguments& arguments, const remote_request& request = {}) {
        give<Type>(pe, arguments, nullptr, request, false);
    }
    /// The same with a payload, which is there when the function runs. Waits also for room for it.
    template <class Type>
    void post(int pe, const typename Type::arguments& arguments, const host_payload& payload,
              const remote_request& request = {}) {
        give<Type>(pe, arguments, &payload, request, false);
    }
    /// The same, and waits until the function has run there. In place of a signal.
    template <class Type>
    void call(int pe, const typename Type::arguments& arguments, std::uint32_t queue = 0) {
        give<Type>(pe, arguments, nullptr, {queue, {}}, true);
    }
    template <class Type>
    void call(int pe, const typename Type::arguments& arguments, const host_payload& payload, std::uint32_t queue = 0) {
        give<Type>(pe, arguments, &payload, {queue, {}}, true);
    }
    /// Has a PE's launch thread launch a kernel.
    void launch(int pe, std::uint32_t kernel, const remote_bytes& arguments, const remote_request& request = {}) {
        give_kernel(pe, kernel, arguments, nullptr, request, false);
    }
    void launch(int pe, std::uint32_t kernel, const remote_bytes& arguments, const host_payload& payload,
                const remote_request& request = {}) {
        give_kernel(pe, kernel, arguments, &payload, request, false);
    }
    /// The same, and waits until the kernel has returned. In place of a signal.
    void call_kernel(int pe, std::uint32_t kernel, const remote_bytes& arguments, std::uint32_t queue = 0) {
        give_kernel(pe, kernel, arguments, nullptr, {queue, {}}, true);
    }
    void call_kernel(int pe, std::uint32_t kernel, const remote_bytes& arguments, const host_payload& payload,
                     std::uint32_t queue = 0) {
        give_kernel(pe, kernel, arguments, &payload, {queue, {}}, true);
    }

    [[nodiscard]] remote_statistics statistics() const { return memory_->statistics(); }

    // As a component, see run/component.hpp.
    [[nodiscard]] std::uint64_t held_bytes(int) const { return memory_->held_bytes(); }
    void begin(machine& machine, const comm_plan&, const run_deadline&) const { memory_->begin(machine); }
    void end(const run_report&) const { memory_->end(); }
    [[nodiscard]] ref_type ref(int pe) const {
        return {memory_->rings(), memory_->names(), memory_->launches(pe), types_, {}};
    }
    [[nodiscard]] session_ref_type session_ref(int pe) const {
        return {memory_->rings(), memory_->names(), memory_->launches(pe), types_, memory_->inboxes(pe)};
    }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return memory_; }

private:
    template <class Type>
    void give(int pe, const typename Type::arguments& arguments, const host_payload* payload,
              const remote_request& request, bool ends) {
        constexpr std::uint32_t number = number_of_type<Type, Types...>();
        static_assert(number < sizeof...(Types),
                      "the remote queue has no function of this name: give it to remote_queue()");
        remote_record<typename Type::arguments> record{remote_header::of(request.signal), arguments};
        memory_->post(pe, number, record.header, sizeof record, payload, request, ends);
    }
    void give_kernel(int pe, std::uint32_t kernel, const remote_bytes& arguments, const host_payload* payload,
                     const remote_request& request, bool ends) {
        memory_->refuse_kernel(kernel);
        remote_record<remote_bytes> record{remote_header::of(request.signal, {}, kernel), arguments};
        memory_->post(pe, kernel_kind, record.header, sizeof record, payload, request, ends);
    }

    std::shared_ptr<remote_memory> memory_;
    task_types<Types...> types_;
};

template <class... Types>
remote_queue(machine&, const remote_queue_options&, const Types&...) -> remote_queue<Types...>;
template <class... Types>
remote_queue(machine&, const Types&...) -> remote_queue<Types...>;

/// Arguments of a kernel, from any trivially copyable value of at most remote_bytes::most bytes.
template <class T>
LANEWAY_FN remote_bytes bytes_of_arguments(const T& value) {
    static_assert(trivially_copyable<T> && sizeof(T) <= remote_bytes::most, "arguments of a kernel take 64 bytes");
    remote_bytes made;
    made.size = sizeof(T);
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    for (std::size_t i = 0; i < sizeof(T); ++i) made.data[i] = from[i];
    return made;
}

}  // namespace laneway
