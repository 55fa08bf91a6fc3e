#include "laneway/simt/device_stream.hpp"

#include <atomic>
#include <optional>
#include <sstream>
#include <utility>

#include "laneway/base/timeline.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/simt/cuda/profiler_range.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "simt/host_stream.hpp"

namespace laneway {

std::string value_wait::late(const std::string& device, double seconds) const {
    std::ostringstream text;
    text << device << ": the stream \"" << stream << "\" waited in vain for a word to become " << value
         << ": the deadline is " << seconds << " s";
    return text.str();
}

std::shared_ptr<stream_backend> open_stream_backend(const stream_place& place) {
    if (place.device->is_gpu()) return cuda_backend::open_stream(place);
    return std::make_shared<host_stream>(place);
}

/// Opens the backend when the first operation has its turn, on the engine's thread: nobody waits for CUDA who makes a
/// stream.
struct device_stream::opening {
    opening(const stream_place& p, std::string stream) : place(p), name(std::move(stream)) {
        if (p.log.kept_in) recorder = std::make_shared<stream_recorder>(p.log, name);
    }
    stream_backend& get() {
        if (!backend) backend = open_stream_backend(place);
        return *backend;
    }
    /// Carries out an operation, or hands it to the GPU: a range of profilers.
    template <class Work>
    void carry_out(const Work& work) {
        const profiler_range range(name.c_str());
        work(get());
    }
    stream_place place;
    std::string name;
    std::shared_ptr<stream_backend> backend;
    std::shared_ptr<stream_recorder> recorder;  ///< null where no timeline is kept
};

void stream_backend::stamp(std::function<void(std::uint64_t ns)> seen) { seen(timeline::now_ns()); }

device_stream::device_stream(std::shared_ptr<stream_engine> engine, const stream_place& place, std::string name,
                             std::function<void(std::exception_ptr)> on_failure)
    : engine_(std::move(engine)), place_(place), name_(std::move(name)),
      opening_(std::make_shared<opening>(place, name_)) {
    std::function<stream_engine::outlook(bool)> look;
    if (place_.device->is_gpu()) {  // keeps the backend until nothing of it goes on any more
        look = [open = opening_](bool again) {
            return open->backend ? open->backend->look(again) : stream_engine::outlook{};
        };
    }
    queue_ = engine_->add(std::move(on_failure), std::move(look));
}

void device_stream::push(stream_work kind, std::size_t bytes, std::function<void(stream_backend&)> work) {
    if (!is_recorded()) {
        return engine_->push(queue_, {{}, [work = std::move(work), open = opening_](const std::exception_ptr& failed) {
                                          if (!failed) open->carry_out(work);
                                      }});
    }
    engine_->push(
        queue_,
        {{}, [kind, bytes, work = std::move(work), label = label_, open = opening_](const std::exception_ptr& failed) {
             if (failed) return;
             (void)open->get();  // which takes long the first time
             const std::uint64_t begin_ns = timeline::now_ns();
             open->carry_out(work);
             open->recorder->note(open->get(), kind, begin_ns, label, bytes);
         }});
}

void device_stream::copy(void* to, const void* from, std::size_t bytes) {
    push(stream_work::copy, bytes, [=](stream_backend& backend) { backend.copy(to, from, bytes); });
}

void device_stream::copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t row_bytes, std::size_t rows) {
    push(stream_work::copy, row_bytes * rows,
         [=](stream_backend& backend) { backend.copy_rows(to, to_pitch, from, from_pitch, row_bytes, rows); });
}

void device_stream::copies(std::size_t bytes, std::function<void(stream_backend& by)> calls) {
    push(stream_work::copy, bytes, std::move(calls));
}

void device_stream::wait(const event& mark) {
    if (mark.done() && !mark.failure()) return;
    // A GPU takes an event that is in a GPU's queue; else the engine's thread goes on with other streams until then.
    const auto ready = [mark, on_gpu = place_.device->is_gpu()] { return mark.done() || (on_gpu && mark.native()); };
    const std::uint64_t begin_ns = is_recorded() ? timeline::now_ns() : 0;
    const auto run = [mark, open = opening_, begin_ns, label = label_](const std::exception_ptr& failed) {
        if (failed) return;
        const bool done = mark.done();  // before its failure is looked at: it may fail in between
        if (const auto why = mark.failure()) std::rethrow_exception(why);
        if (!done) open->get().wait(mark);
        if (open->recorder) open->recorder->note(open->get(), stream_work::wait, begin_ns, label, 0);
    };
    if (!ready()) mark.watch(engine_->waker());  // first: what the engine's thread has found not ready must wake it
    engine_->push(queue_, {ready, run});
}

void device_stream::write_value(std::uint64_t* word, std::uint64_t value) {
    push(stream_work::copy, sizeof value, [=](stream_backend& backend) { backend.write_value(word, value); });
}

void device_stream::wait_value(const std::uint64_t* word, std::uint64_t value) {
    const value_wait wait{word, value, name_};
    if (place_.device->is_gpu()) {
        return push(stream_work::wait, 0, [wait](stream_backend& backend) { backend.wait_value(wait); });
    }
    // The engine's thread asks, and goes on with other streams meanwhile.
    const double seconds = place_.job.timeout_seconds;
    const auto over = [wait] {
        return wait.is_over(std::atomic_ref(*const_cast<std::uint64_t*>(wait.word)).load(std::memory_order_acquire));
    };
    const auto ready = [over, seconds, limit = std::optional<wait_limit>()]() mutable {
        if (over()) return true;
        if (!limit) limit.emplace(wait_limit::seconds(seconds));
        return limit->is_over();
    };
    const std::uint64_t begin_ns = is_recorded() ? timeline::now_ns() : 0;
    const auto run = [wait, over, seconds, device = place_.device->name(), open = opening_, begin_ns,
                      label = label_](const std::exception_ptr& failed) {
        if (failed) return;
        if (!over()) throw timeout_error(wait.late(device, seconds));
        if (open->recorder) open->recorder->note(open->get(), stream_work::wait, begin_ns, label, 0);
    };
    engine_->push(queue_, {ready, run, true});
}

event device_stream::record() {
    const event mark = event::pending();
    engine_->push(queue_, {{}, [mark, open = opening_](const std::exception_ptr& failed) {
                               if (failed && !open->backend) return mark.fail(failed);
                               try {
                                   open->get().record(mark, failed);
                               } catch (...) {
                                   mark.fail(std::current_exception());
                                   throw;
                               }
                           }});
    return mark;
}

void device_stream::call(std::function<void(void* native)> call) {
    push(stream_work::call, 0, [call = std::move(call)](stream_backend& backend) { backend.call(call); });
}

void device_stream::launch(pe_program program, const launch_shape& shape) {
    program.require(place_.device->id().kind);
    push(stream_work::kernel, 0,
         [program = std::move(program), shape](stream_backend& backend) { backend.launch(program, shape); });
}

launch_shape device_stream::shape(int cuda_warps, int blocks) const {
    const options& job = place_.job;
    launch_shape made;
    switch (place_.device->id().kind) {
        case device_kind::cuda:
            made.blocks = job.gpu_blocks > 0 ? job.gpu_blocks : 4 * place_.device->multiprocessors();
            made.warps_per_block = cuda_warps;
            break;
        case device_kind::checked:
            made.blocks = job.checked_blocks;
            made.warps_per_block = job.checked_warps;
            break;
        default: made.blocks = job.cpu_threads;
    }
    if (blocks > 0) made.blocks = blocks;
    return made;
}

std::uint64_t device_stream::warps(int blocks) const {
    const launch_shape grid = shape(stream_program<int>::cuda_warps, blocks);
    return static_cast<std::uint64_t>(grid.blocks) * static_cast<unsigned>(grid.warps_per_block);
}

}  // namespace laneway
