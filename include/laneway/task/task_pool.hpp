// A pool of tasks: many small independent functions, given by host threads to workers that stay on the devices.
//
//   lw::task_pool pool(square{}, smooth{image.ref()});
//   auto session = runtime.start(pool);
//   auto future = pool.submit<square>(3.0);
//   double result = future.get();
//
// Follows GeMTC (Krieder and others, Design and Evaluation of the GeMTC Framework, HPDC 2014): a program on each device
// whose warps are workers, queues in both directions, tasks of several types at once.
#pragma once

#include "laneway/task/task_future.hpp"
#include "laneway/task/task_starter.hpp"

namespace laneway {

/// A pool for tasks of these types (task_type.hpp). A handle: copies are the same pool. It serves one session at a
/// time; any thread may submit while that lasts. Or one run, in which triggered operations submit tasks.
template <class... Types>
class task_pool {
    static_assert((task_type<Types> && ...),
                  "a task type has `using arguments`, `using result` and is, as these are, trivially copyable; none is "
                  "aligned to more than 16 bytes");
    static_assert(sizeof...(Types) > 0, "a pool has one type of task at least");
    static_assert(((devices_of<Types> != task_devices::none) && ...), "a task type runs on devices of some kind");
    static_assert(!((spawns_tasks<Types> && width_of<Types> == task_width::lane) || ...),
                  "tasks that a lane runs by itself spawn none: leave their width away");

public:
    using ref_type = task_pool_ref<Types...>;
    using session_ref_type = task_session_ref<Types...>;

    explicit task_pool(const Types&... types) : task_pool(task_pool_options{}, types...) {}
    task_pool(const task_pool_options& options, const Types&... types)
        : queue_(std::make_shared<task_queue>(
              std::vector<task_shape>{
                  {sizeof(typename Types::arguments), result_bytes_of<typename Types::result>, devices_of<Types>}...},
              task_nodes_use{(spawns_tasks<Types> || ...), (from_lanes<Types> || ...)}, options)),
          types_(task_types_of(types...)) {}

    /// Submits a task, and returns at once; waits while the pool is full, if `request` says nothing else. Throws
    /// usage_error for a request that cannot be, task_queue_full, and what ended the session.
    template <class Type>
    task_future<typename Type::result> submit(const typename Type::arguments& arguments,
                                              const task_request& request = {}) {
        return {queue_, queue_->submit(number<Type>(), &arguments, request)};
    }
    template <class Type>
    requires std::is_same_v<typename Type::arguments, no_arguments> task_future<typename Type::result> submit() {
        return submit<Type>(no_arguments{});
    }
    /// Submits one task for each of the arguments, as one entry: millions a second cost little. Throws the same, and
    /// task_queue_full where the batch is larger than task_pool_options::batch_bytes leave room for.
    template <class Type>
    batch_future<typename Type::result> submit_many(std::span<const typename Type::arguments> arguments,
                                                    const task_request& request = {}) {
        if (arguments.size() > ~std::uint32_t{0}) throw usage_error("a batch has less than 2^32 tasks");
        const auto count = static_cast<std::uint32_t>(arguments.size());
        return {queue_, queue_->submit_batch(number<Type>(), arguments.data(), count, request), count};
    }
    /// The same for `count` tasks that have the same arguments: worker.index() tells them apart.
    template <class Type>
    batch_future<typename Type::result> submit_many(std::uint32_t count, const typename Type::arguments& arguments,
                                                    const task_request& request = {}) {
        return {queue_, queue_->submit_batch(number<Type>(), &arguments, count, request, true), count};
    }
    /// Waits for all of the futures, of any types, and calls `visit(position)` for each as it is done, in that order.
    template <class Futures, class Visit>
    void as_completed(const Futures& futures, Visit&& visit) {
        queue_->wait_each(ids_of(futures), std::forward<Visit>(visit));
    }
    /// Does not wait: the positions of those futures that are done, in the order in which they came to be. Looks at
    /// each of them.
    template <class Futures>
    [[nodiscard]] std::vector<std::size_t> poll(const Futures& futures) {
        return queue_->poll(ids_of(futures));
    }
    /// Waits until one of the futures is done, well or not; the position of the one that was first. Throws usage_error
    /// where there are none, and what ended the session.
    template <class Futures>
    std::size_t wait_any(const Futures& futures) {
        return queue_->wait_any(ids_of(futures));
    }
    /// Waits until all of them are done, well or not: get() tells. Throws what ended the session.
    template <class Futures>
    void wait_all(const Futures& futures) {
        queue_->wait_each(ids_of(futures), [](std::size_t) {});
    }
    [[nodiscard]] task_statistics statistics() const { return queue_->statistics(); }

    // As a component, see run/component.hpp.
    [[nodiscard]] ref_type ref(int pe) const {
        const task_rings& rings = queue_->rings(pe);
        ref_type made{rings.ref(), rings.nodes(), &queue_->failures(), types_, {}};
        if constexpr ((from_lanes<Types> || ...)) made.tags = *triggered_by_;
        return made;
    }
    [[nodiscard]] session_ref_type session_ref(int pe) const { return {ref(pe)}; }
    [[nodiscard]] const std::shared_ptr<task_queue>& feed() const { return queue_; }
    void begin(machine& machine, const comm_plan& plan, const run_deadline&) const { queue_->begin_run(machine, plan); }
    void end(const run_report&) const { queue_->end_run(); }

    // For triggers that submit its tasks.
    using starter_type = task_starter<Types...>;
    [[nodiscard]] starter_type starter(int pe) const { return {queue_->rings(pe).nodes()}; }
    /// Throws usage_error the second time.
    void trigger_by(const trigger_ref& tags) const {
        if (triggered_by_->tags() != 0)
            throw usage_error("a pool of tasks belongs to one component of triggers: with()");
        *triggered_by_ = tags;
    }

private:
    template <class Futures>
    static std::vector<task_id> ids_of(const Futures& futures) {
        std::vector<task_id> ids;
        for (const auto& future : futures) ids.push_back(future.id());
        return ids;
    }
    template <class Type>
    static constexpr std::uint32_t number() {
        constexpr std::uint32_t found = number_of_type<Type, Types...>();
        static_assert(found < sizeof...(Types), "the pool has no task type of this name: give it to task_pool()");
        return found;
    }

    std::shared_ptr<task_queue> queue_;
    task_types<Types...> types_;
    std::shared_ptr<trigger_ref> triggered_by_ = std::make_shared<trigger_ref>();
};

template <class... Types>
task_pool(const task_pool_options&, const Types&...) -> task_pool<Types...>;
template <class... Types>
task_pool(const Types&...) -> task_pool<Types...>;

}  // namespace laneway
