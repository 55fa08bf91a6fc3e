// Pools of tasks: laneway.TaskPool is made of it.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "errors.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "strings.hpp"
#include "tasks/linkable_pool.hpp"
#include "tasks/task_service.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::built_in;
using apps::task_end;
using apps::task_service;

/// What comes back with the end of a task.
struct waiting_future {
    PyObject* future;  ///< owned
    char kind;         ///< of the result, as a NumPy array interface names kinds; 'A': an array also for one task
    bool is_batch;
};

std::uint64_t ticket_of(task_id id) { return std::uint64_t{id.generation} << 32 | id.record; }
task_id id_of(std::uint64_t ticket) {
    return {static_cast<std::uint32_t>(ticket), static_cast<std::uint32_t>(ticket >> 32)};
}

/// Bytes of any object that has them in one piece.
class byte_view {
public:
    explicit byte_view(nb::handle from) {
        if (PyObject_GetBuffer(from.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    ~byte_view() { PyBuffer_Release(&view_); }
    byte_view(const byte_view&) = delete;
    byte_view& operator=(const byte_view&) = delete;
    [[nodiscard]] std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

private:
    Py_buffer view_{};
};

template <class T>
T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

nb::object number_of(const std::byte* from, std::size_t bytes, bool is_signed) {
    if (is_signed) {
        const std::int64_t value = bytes == 1   ? read<std::int8_t>(from)
                                   : bytes == 2 ? read<std::int16_t>(from)
                                   : bytes == 4 ? read<std::int32_t>(from)
                                                : read<std::int64_t>(from);
        return nb::steal(PyLong_FromLongLong(value));
    }
    const std::uint64_t value = bytes == 1   ? read<std::uint8_t>(from)
                                : bytes == 2 ? read<std::uint16_t>(from)
                                : bytes == 4 ? read<std::uint32_t>(from)
                                             : read<std::uint64_t>(from);
    return nb::steal(PyLong_FromUnsignedLongLong(value));
}

/// The bytes of results as an array, which keeps them.
nb::object array_of(const task_end& end) {
    std::shared_ptr<const void> memory = end.memory;
    const std::byte* data = end.results;
    if (memory == nullptr) {  // they are the pool's
        const auto copy = std::make_shared<std::vector<std::byte>>(data, data + end.result_bytes);
        data = copy->data();
        memory = copy;
    }
    auto owned = std::make_unique<std::shared_ptr<const void>>(std::move(memory));
    const nb::capsule owner(owned.release(),
                            [](void* p) noexcept { delete static_cast<std::shared_ptr<const void>*>(p); });
    auto* const bytes = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(data));
    return nb::cast(vector_array<std::uint8_t>(bytes, {end.result_bytes}, owner));
}

nb::object result_of(const task_end& end, const waiting_future& waiting) {
    if (waiting.is_batch || waiting.kind == 'A') return array_of(end);
    const std::byte* const at = end.results;
    switch (waiting.kind) {
        case 'f': return nb::float_(end.result_bytes == 4 ? double{read<float>(at)} : read<double>(at));
        case 'i': return number_of(at, end.result_bytes, true);
        case 'u': return number_of(at, end.result_bytes, false);
        case 'b': return nb::bool_(read<bool>(at));
        default: return end.result_bytes == 0 ? nb::object(nb::none()) : nb::object(nb::bytes(at, end.result_bytes));
    }
}

/// Never raises: a task's end must not be lost.
nb::object failure_of(const task_end& end) {
    const std::string prefix = end.in_task ? "element " + std::to_string(end.failed_task) + ": " : "";
    try {
        return error_of(end.failure, prefix);
    } catch (const std::exception& other) {
        return nb::module_::import_("laneway.errors").attr("Error")(prefix + other.what());
    }
}

/// In a process that was forked off it does nothing, as its threads are the other process's.
class task_pool_core {
public:
    task_pool_core(const options& job, std::uint32_t capacity, std::uint32_t bundle_tasks, std::uint64_t batch_bytes,
                   std::uint64_t operand_bytes) {
        const interruptible released;
        apps::task_service_options made;
        made.job = job;
        made.pool.capacity = capacity;
        made.pool.bundle_tasks = bundle_tasks;
        made.pool.batch_bytes = batch_bytes;
        made.operand_bytes = operand_bytes;
        service_ = std::make_unique<task_service>(made);
    }
    ~task_pool_core() {
        if (getpid() != process_) {
            (void)service_.release();
            return;
        }
        const released_gil released;
        service_.reset();
    }
    task_pool_core(const task_pool_core&) = delete;
    task_pool_core& operator=(const task_pool_core&) = delete;

    [[nodiscard]] task_service& service() const { return *service_; }

    void link(const std::unordered_map<std::uint64_t, std::uint32_t>& numbers, const std::map<int, nb::bytes>& code) {
        apps::linked_bodies bodies{numbers, {}};
        for (const auto& [architecture, given] : code) {
            const auto* const first = static_cast<const std::byte*>(given.data());
            bodies.code.emplace(architecture, std::vector<std::byte>(first, first + given.size()));
        }
        const interruptible released;
        service_->link(bodies);
    }

    std::optional<std::uint64_t> submit(nb::handle future, std::uint32_t type, std::uint64_t setting, nb::handle inputs,
                                        std::uint64_t output_bytes, char kind, std::uint32_t count, int priority,
                                        const std::vector<std::uint64_t>& after, double timeout_seconds, bool wait) {
        const byte_view view(inputs);
        auto waiting = std::make_unique<waiting_future>(waiting_future{future.ptr(), kind, count != 0});
        apps::task_submission made;
        made.type = static_cast<built_in>(type);
        made.count = count;
        made.inputs = view.bytes();
        made.setting = setting;
        made.output_bytes = output_bytes;
        made.request.priority = priority;
        for (const std::uint64_t ticket : after) made.request.after.push_back(id_of(ticket));
        made.request.timeout_seconds = timeout_seconds;
        made.tag = waiting.get();
        // From here on the task may end at any time, and then its future is given back.
        future.inc_ref();
        try {
            const std::uint64_t ticket = ticket_of(pass_on(made, wait));
            (void)waiting.release();
            return ticket;
        } catch (const unknown_task&) {
            future.dec_ref();
            return std::nullopt;
        } catch (...) {
            future.dec_ref();
            throw;
        }
    }

    nb::tuple take_ended() {
        std::vector<task_end> ends;
        {
            const released_gil released;
            ends = service_->take_ended();
        }
        nb::list done, failed, cancelled;
        for (const task_end& end : ends) {
            const std::unique_ptr<waiting_future> waiting(static_cast<waiting_future*>(end.tag));
            const auto future = nb::steal(waiting->future);
            if (end.is_cancelled) {
                cancelled.append(future);
            } else if (end.failure == nullptr) {
                done.append(nb::make_tuple(future, result_of(end, *waiting)));
            } else {
                failed.append(nb::make_tuple(future, failure_of(end)));
            }
        }
        return nb::make_tuple(done, failed, cancelled);
    }

private:
    /// Most calls are over at once, and hold the interpreter's lock meanwhile; those that copy much or wait do not.
    task_id pass_on(apps::task_submission& made, bool wait) {
        if (made.count == 0) {
            made.request.wait = false;
            try {
                return service_->submit(made);
            } catch (const task_queue_full&) {
                if (!wait) throw;
            }
        }
        const interruptible released;
        made.request.wait = wait;
        return service_->submit(made);
    }

    const pid_t process_ = getpid();
    std::unique_ptr<task_service> service_;
};

void make_statistics(task_statistics* made, std::uint64_t submitted, std::uint64_t done, std::uint64_t failed,
                     const std::vector<std::uint64_t>& entries, std::uint64_t bundles, std::uint64_t workers) {
    new (made) task_statistics{submitted, done, failed, entries, bundles, workers};
}

std::string shown(const task_statistics& so_far) {
    std::string entries;
    for (const std::uint64_t device : so_far.entries) {
        entries += (entries.empty() ? "" : ", ") + std::to_string(device);
    }
    return "TaskStatistics(submitted=" + std::to_string(so_far.submitted) + ", done=" + std::to_string(so_far.done) +
           ", failed=" + std::to_string(so_far.failed) + ", entries=[" + entries +
           "], bundles=" + std::to_string(so_far.bundles) + ", workers=" + std::to_string(so_far.workers) + ")";
}

void register_statistics(nb::module_& module) {
    nb::class_<task_statistics>(module, "TaskStatistics", "What a pool of tasks has done so far.")
        .def("__init__", &make_statistics, "submitted"_a, "done"_a, "failed"_a, "entries"_a, "bundles"_a, "workers"_a)
        .def("__repr__", &shown)
        .def_ro("submitted", &task_statistics::submitted, "Tasks, those of batches included.")
        .def_ro("done", &task_statistics::done, "Of these, those that ended in any way.")
        .def_ro("failed", &task_statistics::failed, "Tasks and batches that did not end well.")
        .def_ro("entries", &task_statistics::entries, "By device: tasks and pieces of batches that it was given.")
        .def_ro("bundles", &task_statistics::bundles, "Times that tasks were shown to a device.")
        .def_ro("workers", &task_statistics::workers, "Of all devices.");
}

}  // namespace

void register_task_pool(nb::module_& module) {
    register_statistics(module);
    const nb::call_guard<released_gil> released;
    nb::class_<task_pool_core>(module, "TaskPoolCore", "A pool of tasks on its devices.")
        .def(nb::init<const options&, std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>(), "job"_a,
             "capacity"_a, "bundle_tasks"_a, "batch_bytes"_a, "operand_bytes"_a)
        .def("devices", [](const task_pool_core& core) { return core.service().devices(); })
        .def("has_gpus", [](const task_pool_core& core) { return core.service().has_gpus(); })
        .def("architectures", [](const task_pool_core& core) { return core.service().architectures(); })
        .def("link", &task_pool_core::link, "numbers"_a, "code"_a,
             "Bodies for GPUs, in the place of those before: their numbers by setting, and code by architecture.")
        .def("submit", &task_pool_core::submit, "future"_a, "type"_a, "setting"_a, "inputs"_a, "output_bytes"_a,
             "kind"_a, "count"_a, "priority"_a, "after"_a, "timeout_seconds"_a, "wait"_a,
             "The task's ticket; None where one that it is to follow has ended and been taken.")
        .def("take_ended", &task_pool_core::take_ended,
             "Waits for ends of tasks: those that ended well, with results; those that failed, with exceptions; those "
             "that\n"
             "were cancelled.")
        .def(
            "wake", [](const task_pool_core& core) { core.service().wake(); }, "Let take_ended return.")
        .def("open", [](const task_pool_core& core) { return core.service().open(); })
        .def(
            "cancel",
            [](const task_pool_core& core, std::uint64_t ticket) { return core.service().cancel(id_of(ticket)); },
            "ticket"_a)
        .def("cancel_all", [](const task_pool_core& core) { core.service().cancel_all(); })
        .def(
            "is_given",
            [](const task_pool_core& core, std::uint64_t ticket) { return core.service().is_given(id_of(ticket)); },
            "ticket"_a)
        .def("statistics", [](const task_pool_core& core) { return core.service().statistics(); })
        .def(
            "close", [](const task_pool_core& core) { core.service().close(); }, released)
        .def(
            "end", [](const task_pool_core& core) { core.service().end(); }, released);
    for (const auto& [name, type] :
         {std::pair{"adder", built_in::adder}, std::pair{"spin", built_in::spin}, std::pair{"matmul", built_in::matmul},
          std::pair{"mandelbrot", built_in::mandelbrot}, std::pair{"call_body", built_in::call_body},
          std::pair{"call_body_cpu", built_in::call_body_cpu}, std::pair{"call_body_gpu", built_in::call_body_gpu}}) {
        module.attr((std::string("task_") + name).c_str()) = static_cast<std::uint32_t>(type);
    }
    module.def(
        "linkable_pool",
        [] {
            const std::string_view text = apps::linkable_pool();
            return nb::bytes(text.data(), text.size());
        },
        "PTX of the pool's program, to which bodies are linked; empty in a build without CUDA.");
}

}  // namespace laneway::python
