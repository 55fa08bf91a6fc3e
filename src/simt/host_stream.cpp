#include "simt/host_stream.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/fault_text.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/simt/checked/launch.hpp"
#include "laneway/simt/cpu/launch.hpp"
#include "laneway/simt/run_limits.hpp"
#include "laneway/simt/thrown_log.hpp"

namespace laneway {

/// What the lanes of the stream's kernels look at; kept by those that do not end.
struct host_stream::scene {
    pe_control control;
    fault_record fault;
    thrown_log thrown;
    pe_environment env;
};

host_stream::host_stream(const stream_place& place) : place_(place), scene_(std::make_shared<scene>()) {
    pe_environment& env = scene_->env;
    env.pe = place.pe;
    env.n_pes = place.n_pes;
    env.timeout_ns = static_cast<std::uint64_t>(place.job.timeout_seconds * 1e9);
    env.control = &scene_->control;
    env.fault = &scene_->fault;
    env.host_stop = &scene_->control.stop;
    env.thrown = &scene_->thrown;
}

void host_stream::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
}

void host_stream::copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                            std::size_t row_bytes, std::size_t rows) {
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    for (std::size_t row = 0; row < rows; ++row) copy(target + row * to_pitch, source + row * from_pitch, row_bytes);
}

void host_stream::write_value(std::uint64_t* word, std::uint64_t value) {
    // Partner: whoever acquires the word, a lane or a stream.
    std::atomic_ref(*word).store(value, std::memory_order_release);
}

void host_stream::launch(const pe_program& program, const launch_shape& shape) {
    if (place_.device->id().kind == device_kind::checked) {
        run_fibers(program, shape);
    } else {
        run_threads(program, shape);
    }
    std::vector<std::string> names(static_cast<std::size_t>(place_.n_pes));
    names[static_cast<std::size_t>(place_.pe)] = place_.device->name();
    scene_->thrown.rethrow(names);
    const fault_record& fault = scene_->fault;
    if (std::atomic_ref(scene_->fault.written).load(std::memory_order_acquire) == 0) return;
    const bool checked = place_.device->id().kind == device_kind::checked;
    const std::string text = describe(fault, {place_.device->name(), place_.n_pes, place_.job.timeout_seconds,
                                              checked ? checked::scheduler::step_ns : 0});
    if (fault.code == status::timeout) throw timeout_error(text);
    throw device_fault(text);
}

void host_stream::run_threads(const pe_program& program, const launch_shape& shape) {
    const auto run = cpu::launch(scene_->env, shape, program);
    run->start(scene_->env.timeout_ns);
    wait_limit limit{wait_limit::seconds(place_.job.timeout_seconds)};
    bool told = false;
    while (!run->done(std::chrono::milliseconds(20))) {
        if (!limit.is_over()) continue;
        if (!std::exchange(told, true)) {
            std::atomic_ref(scene_->control.stop).store(stop_word::deadline);
            limit.renew(time_to_leave);
            continue;
        }
        if (!run->had_its_chance()) continue;
        place_.device->abandon();
        keep_for_good(scene_);
        throw timeout_error(place_.device->name() + ": a kernel did not end within the deadline");
    }
    run->join();
}

void host_stream::run_fibers(const pe_program& program, const launch_shape& shape) {
    checked::fiber_launch launch(place_.job.seed + ++launches_, place_.job.timeout_seconds,
                                 place_.job.checked_accesses);
    launch.add(scene_->env, shape, program);
    bool told = false;
    try {
        launch.run([&] {
            const bool over = scene_->thrown.any() || std::atomic_ref(scene_->fault.written).load() != 0;
            if (!over || told) return;
            told = true;
            std::atomic_ref(scene_->control.stop).store(stop_word::ends);
            launch.end_soon();
        });
    } catch (const checked::out_of_steps& endless) {
        if (!scene_->thrown.any()) throw timeout_error(place_.device->name() + ": " + endless.what());
    }
    // Where a lane has thrown, its mates wait in vain for that alone.
    if (!launch.lost().empty() && !scene_->thrown.any()) throw timeout_error(launch.lost());
}

}  // namespace laneway
