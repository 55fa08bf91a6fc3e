#include "laneway/task/remote_kernels.hpp"

#include <chrono>
#include <sstream>

#include "laneway/base/error.hpp"
#include "laneway/base/one_line.hpp"
#include "laneway/base/status.hpp"

namespace laneway {

namespace {

thread_local bool in_kernel = false;

struct kernel_mark {
    kernel_mark() { in_kernel = true; }
    ~kernel_mark() { in_kernel = false; }
    kernel_mark(const kernel_mark&) = delete;
    kernel_mark& operator=(const kernel_mark&) = delete;
};

}  // namespace

bool remote_kernels::runs_here() { return in_kernel; }

void launch_request::refuse_size(std::size_t wanted) const {
    if (wanted == arguments->size) return;
    throw usage_error("its arguments were posted as " + std::to_string(arguments->size) + " bytes, not " +
                      std::to_string(wanted));
}

remote_kernels::part::part(const std::shared_ptr<device>& device, const work_group_queue_shape& shape)
    : id(device->id()), queue(device, shape), pending(device, queue.layout().all_slots()), told(device, 1),
      taking(device, 1) {}

remote_kernels::remote_kernels(machine& machine, std::uint32_t slots) {
    const work_group_queue_shape shape{1, slots, 1};
    const work_group_layout layout = work_group_queue<remote_launch>::measure(shape);
    bytes_ = work_group_queue<remote_launch>::bytes(layout) + layout.all_slots() * sizeof(pending_launch) +
             sizeof(std::uint64_t) + sizeof(std::uint32_t);
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        parts_.push_back(std::make_unique<part>(machine.device(pe), shape));
        own_.push_back(machine.is_own(pe));
    }
}

std::uint32_t remote_kernels::add(std::string name, function called) {
    kernels_.push_back({one_line(std::move(name), ' '), std::move(called)});
    return size() - 1;
}

remote_launches_ref remote_kernels::ref(int pe) const {
    const part& p = *parts_[static_cast<std::size_t>(pe)];
    return {p.queue.sender(), p.pending.data(), p.told.data(), p.taking.data()};
}

std::uint64_t remote_kernels::launched() const {
    std::uint64_t sum = 0;
    for (const auto& p : parts_) sum += p->returned;
    return sum;
}

void remote_kernels::begin() {
    for (const auto& p : parts_) p->returned = 0;
}

void remote_kernels::open() {
    for (const auto& p : parts_) {
        p->queue.reset();
        p->pending.fill_bytes(0);
        p->told.fill_bytes(0);
        p->taking.fill_bytes(0);
        p->from = std::make_unique<work_group_receiver<remote_launch>>(p->queue.receiver(0));
        p->set({});
        p->slowest = nothing;
        p->slowest_seconds = 0;
    }
}

bool remote_kernels::turn(host_context& ctx, int thread) {
    const auto pe = static_cast<std::size_t>(thread);
    if (!own_[pe]) return false;
    part& mine = *parts_[pe];
    const auto batch = mine.from->peek(ctx);
    if (batch.empty()) return false;
    call(mine, thread, batch[0]);
    mine.from->release(ctx);
    return true;
}

void remote_kernels::part::set(const std::optional<launched_one>& launch) {
    const std::lock_guard lock(mutex);
    latest = launch;
}

std::optional<remote_kernels::launched_one> remote_kernels::part::last() const {
    const std::lock_guard lock(mutex);
    return latest;
}

void remote_kernels::call(part& mine, int pe, const remote_launch& launch) const {
    launched_one one{launch.kernel, mine.returned, launch.source};
    mine.set(one);
    const auto start = std::chrono::steady_clock::now();
    launch_request request{pe, launch.source, mine.id, &launch.arguments, launch.landed, launch.landed_bytes};
    try {
        const kernel_mark mark;
        kernels_[launch.kernel].called(request);
    } catch (...) {
        mine.set({});
        tell(pe, one);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds > mine.slowest_seconds) {
        mine.slowest_seconds = seconds;
        mine.slowest = launch.kernel;
    }
    one.returned = true;
    mine.set(one);
    ++mine.returned;
}

/// Throws what is being handled again, and says of which launch it is.
void remote_kernels::tell(int pe, const launched_one& launch) const {
    const std::string whose = title(launch.kernel) + " on PE " + std::to_string(pe) + origin(launch) + ": ";
    try {
        throw;
    } catch (const std::exception& thrown) {
        std::throw_with_nested(host_call_error(whose + one_line(thrown.what(), ' ')));
    } catch (const status code) {
        std::throw_with_nested(host_call_error(whose + to_string(code)));
    } catch (...) {
        std::throw_with_nested(host_call_error(whose + "unknown exception"));
    }
}

std::string remote_kernels::title(std::uint32_t number) const {
    return "kernel " + std::to_string(number) + " '" + name(number) + "'";
}

std::string remote_kernels::origin(const launched_one& launch) {
    return " (launch " + std::to_string(launch.number) + " there, posted by " +
           (launch.source < 0 ? "a host thread" : "PE " + std::to_string(launch.source)) + ")";
}

std::string remote_kernels::account() const {
    std::ostringstream text;
    text.precision(2);
    text << "; kernels of a remote queue: " << launched() << " returned";
    for (std::size_t pe = 0; pe < parts_.size(); ++pe) {
        const part& p = *parts_[pe];
        const auto last = p.last();
        const std::uint32_t slowest = p.slowest;
        if (last && !last->returned) text << ", PE " << pe << " runs " << title(last->kernel) << origin(*last);
        if (slowest == nothing) continue;
        text << ", PE " << pe << " ran " << title(slowest) << " for " << p.slowest_seconds << " s at most";
    }
    return text.str();
}

/// A function may return before its GPU has run what it launched there, so the last one counts although it has.
std::string remote_kernels::beside() const {
    std::string text;
    for (std::size_t pe = 0; pe < parts_.size(); ++pe) {
        const auto last = parts_[pe]->last();
        if (!last) continue;
        text += "; the last kernel of a remote queue that PE " + std::to_string(pe) + " ran: " + title(last->kernel) +
                origin(*last);
    }
    return text;
}

}  // namespace laneway
