#include "flow/context_core.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sstream>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/base/timeline.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/run_deadline.hpp"
#include "laneway/simt/run_end.hpp"
#include "laneway/simt/run_limits.hpp"

namespace laneway::flow {

namespace {

constexpr auto slice = std::chrono::milliseconds(20);  // between two looks at errors and interruptions

std::uint64_t next_number() {
    static std::atomic<std::uint64_t> contexts = 0;
    return ++contexts;
}

std::vector<std::string> names_of(const std::vector<std::shared_ptr<device>>& devices) {
    std::vector<std::string> names;
    for (const auto& d : devices) names.push_back(d->name());
    return names;
}

}  // namespace

std::exception_ptr named_failure(const std::exception_ptr& why, const std::string& who) {
    const std::string text = who + ": " + reason_of(why);
    try {
        try {
            std::rethrow_exception(why);
        } catch (const interrupted&) {
            return why;
        } catch (const usage_error&) {
            std::throw_with_nested(usage_error(text));
        } catch (const timeout_error&) {
            std::throw_with_nested(timeout_error(text));
        } catch (const device_fault&) {
            std::throw_with_nested(device_fault(text));
        } catch (const cuda_error&) {
            std::throw_with_nested(cuda_error(text));
        } catch (const system_error&) {
            std::throw_with_nested(system_error(text));
        } catch (...) {
            std::throw_with_nested(lane_error(text));
        }
    } catch (...) {
        return std::current_exception();
    }
}

context_core::context_core(const options& o) : job(o), number_(next_number()) {
    (void)run_deadline(job.timeout_seconds);  // throws for seconds that cannot be
    const auto ids = parse_devices(job.devices);
    for (const auto& id : ids) devices.push_back(open_device(id));
    const bool checked = ids.front().kind == device_kind::checked;
    // One thread that draws the order of all operations from the seed, or threads that go on side by side.
    const auto shared = checked ? std::make_shared<stream_engine>(job.seed) : nullptr;
    const auto engine = [&] { return checked ? shared : std::make_shared<stream_engine>(); };
    for (const auto& d : devices) {
        const auto kernels = engine();
        engines_.push_back({kernels, d->is_gpu() ? kernels : engine()});
        if (d->is_gpu()) pools_.push_back(cuda_backend::keep_stream_pool(d));
    }
    if (!job.timeline) job.timeline = timeline::of_environment(-1);
    if (job.timeline) job_number_ = job.timeline->enter(names_of(devices));
    devices.push_back(open_host());
    const auto host = engine();
    engines_.push_back({host, host});
    loads_ = std::vector<device_load>(devices.size());
    paths = std::make_unique<topology>(std::vector(devices.begin(), devices.end() - 1));
    host_endpoint = std::make_unique<endpoint>(make_endpoint(host_memory, "host"));
    for (std::size_t d = 0; d + 1 < devices.size(); ++d) {
        device_endpoints.push_back(make_endpoint(static_cast<int>(d), devices[d]->name()));
    }
}

context_core::~context_core() {
    close();
    if (job.timeline) job.timeline->leave(job_number_);
}

bool context_core::is_gpu(int device) const { return devices[place(device)]->is_gpu(); }

bool context_core::has_gpus() const {
    return std::any_of(devices.begin(), devices.end(), [](const auto& d) { return d->is_gpu(); });
}

void context_core::fail(const std::exception_ptr& why) {
    {
        const std::lock_guard lock(mutex_);
        if (failure_) return;
        failure_ = why;
        drained_by_ = wait_limit(wait_limit::seconds(job.timeout_seconds) + time_to_give_up);
    }
    for (const auto& e : engines_) {
        e.kernels->fail(why);
        e.copies->fail(why);
    }
    changed_.notify_all();
}

void context_core::check() const {
    std::exception_ptr why;
    {
        const std::lock_guard lock(mutex_);
        why = failure_;
    }
    if (!why) return;
    drain();  // who gets it may free what operations use
    std::rethrow_exception(why);
}

void context_core::drain() const {
    const auto own = [](const engines& e) { return e.kernels->is_own_thread() || e.copies->is_own_thread(); };
    if (std::any_of(engines_.begin(), engines_.end(), own)) return;
    bool idle = true;
    for (const auto& e : engines_) {
        idle = e.kernels->wait_until_idle(drained_by_) && idle;
        idle = e.copies->wait_until_idle(drained_by_) && idle;
    }
    // A stream that has left a kernel behind is idle, and its device alone refuses further work.
    const bool any_left = std::any_of(devices.begin(), devices.end(), [](const auto& d) { return d->abandoned(); });
    if (!idle || any_left) abandon();
}

void context_core::abandon() const {
    for (const auto& each : devices) each->abandon();
}

std::string context_core::seconds() const {
    std::ostringstream text;
    text << job.timeout_seconds << " s";
    return text.str();
}

void context_core::wait(const event& mark, const std::function<std::string()>& describe) {
    const wait_limit limit{wait_limit::seconds(job.timeout_seconds)};
    while (!mark.wait_for(slice)) {
        check();
        interruption::poll();
        if (limit.is_over()) fail(std::make_exception_ptr(timeout_error(describe())));
    }
    if (const auto why = mark.failure()) {
        check();  // which says more than what follows from it
        std::rethrow_exception(why);
    }
}

void context_core::require_own(const endpoint& one) const {
    if (one.context() == number_) return;
    throw usage_error(one.name() + " is an endpoint of another context");
}

endpoint context_core::make_endpoint(int device, const std::string& name, std::shared_ptr<router_core> router) {
    const std::lock_guard lock(mutex_);
    return {number_, next_id_++, device, name, std::move(router)};
}

device_stream context_core::make_stream(int device, const std::string& name, bool copies) {
    const auto& on = engines_[place(device)];
    const auto& opened = devices[place(device)];
    const auto on_failure = [weak = weak_from_this(), who = name](const std::exception_ptr& why) {
        if (const auto core = weak.lock()) core->fail(named_failure(why, who));
    };
    const stream_place where{opened, device == host_memory ? 0 : device, static_cast<int>(devices.size() - 1), job,
                             log_of(device)};
    return {copies ? on.copies : on.kernels, where, name, on_failure};
}

std::shared_ptr<std::byte> context_core::allocate(int device, std::size_t bytes) {
    const auto& owner = devices[place(device)];
    if (device == host_memory) {
        auto memory = allocate_host_visible(bytes, has_gpus());
        std::byte* const first = memory.get();
        return {first, [owner, kept = std::move(memory)](std::byte*) mutable {
                    if (owner->abandoned()) keep_for_good(std::move(kept));
                }};
    }
    return {static_cast<std::byte*>(owner->allocate(bytes)),
            [owner, bytes](std::byte* memory) { owner->release(memory, bytes); }};
}

std::shared_ptr<run_table> context_core::take_run_table(int device) {
    run_table taken;
    {
        const std::lock_guard lock(unused_mutex_);
        auto& unused = tables_[device];
        if (!unused.empty()) {
            taken = std::move(unused.back());
            unused.pop_back();
        }
    }
    const auto made = [&](int on) {
        auto bytes = allocate(on, run_table::runs * sizeof(layout_run));
        return std::shared_ptr<layout_run>(bytes, reinterpret_cast<layout_run*>(bytes.get()));
    };
    if (!taken.host) taken = {made(host_memory), made(device)};
    return {new run_table(std::move(taken)), [weak = weak_from_this(), device](run_table* used) {
                const std::unique_ptr<run_table> owned(used);
                const auto core = weak.lock();
                if (!core) return;
                const std::lock_guard lock(core->unused_mutex_);
                core->tables_[device].push_back(std::move(*owned));
            }};
}

std::shared_ptr<std::byte> context_core::take_buffer(int device, std::size_t bytes) {
    const auto unused = [&]() -> std::shared_ptr<std::byte> {
        const std::lock_guard lock(unused_mutex_);
        auto& some = buffers_[{device, bytes}];
        if (some.empty()) return {};
        auto taken = std::move(some.back());
        some.pop_back();
        return taken;
    };
    const auto made = [&] {
        try {
            return allocate(device, bytes);
        } catch (const error&) {  // there may be enough where buffers of other sizes go
            decltype(buffers_) others;
            const std::lock_guard lock(unused_mutex_);
            others.swap(buffers_);
        }
        return allocate(device, bytes);
    };
    auto kept = unused();
    if (!kept) kept = made();
    std::byte* const first = kept.get();
    return {first, [weak = weak_from_this(), device, bytes, kept = std::move(kept)](std::byte*) mutable {
                const auto core = weak.lock();
                if (!core) return;
                const std::lock_guard lock(core->unused_mutex_);
                core->buffers_[{device, bytes}].push_back(std::move(kept));
            }};
}

bool context_core::lanes_reach(int device, const endpoint& from, const void* there, const endpoint& to,
                               const void* here) const {
    if (device == host_memory) return false;
    if (!is_gpu(device)) return !is_gpu(from.device()) && !is_gpu(to.device());
    const int index = devices[place(device)]->id().index;
    return cuda_backend::lanes_reach(index, there) && cuda_backend::lanes_reach(index, here);
}

void context_core::add_link(const endpoint& source, const endpoint& destination, const std::string& name,
                            const std::shared_ptr<void>& link) {
    const std::lock_guard lock(mutex_);
    std::erase_if(links_, [](const auto& gone) { return gone.second.expired(); });
    auto& known = links_[{source.id(), destination.id()}];
    if (!known.expired()) {
        throw usage_error(name +
                          ": there is a link between these two already; another endpoint of the same device "
                          "(context::add_endpoint) can have one of its own");
    }
    known = link;
}

std::shared_ptr<context_core::worker> context_core::start_worker(const endpoint& of,
                                                                 std::function<void(device_stream&)> work) {
    require_own(of);
    if (of.is_router()) throw usage_error("a worker runs at a device or the host, not at " + of.name());
    check();
    const auto started = std::make_shared<worker>();
    started->name = "worker of " + of.name();
    const auto body = [core = shared_from_this(), started, of, work = std::move(work)]() mutable {
        try {
            core->call_worker(*started, of, work);
        } catch (...) {
            core->fail(named_failure(std::current_exception(), started->name));
        }
        work = nullptr;  // what it holds, links for one, goes before the worker is over
        const std::lock_guard lock(core->mutex_);
        started->done = true;
        core->changed_.notify_all();
    };
    const std::lock_guard lock(mutex_);
    if (closed_) std::rethrow_exception(failure_);
    try {
        started->thread = std::thread(body);
    } catch (const std::system_error& refused) {
        throw system_error(started->name + ": its thread could not be started: " + refused.code().message());
    }
    workers_.push_back(started);
    return started;
}

/// What it has given its stream belongs to the worker: it is over when that is done, and fails where that does.
void context_core::call_worker(worker& one, const endpoint& of, const std::function<void(device_stream&)>& work) {
    device_stream stream = make_stream(of.device(), one.name, false);
    work(stream);
    wait(stream.record(), [&] { return "what it gave its stream did not end within " + seconds(); });
}

context_core::workers context_core::running() const {
    const std::lock_guard lock(mutex_);
    return workers_;
}

void context_core::join(const workers& some) {
    const wait_limit limit{wait_limit::seconds(job.timeout_seconds)};
    for (;;) {
        check();
        interruption::poll();
        std::unique_lock lock(mutex_);
        const auto late = std::find_if(some.begin(), some.end(), [](const auto& w) { return !w->done; });
        if (late == some.end()) break;
        if (limit.is_over()) {
            const std::string text = (*late)->name + " did not return within " + seconds();
            lock.unlock();
            fail(std::make_exception_ptr(timeout_error(text)));
            continue;
        }
        if (!failure_) changed_.wait_for(lock, slice);
    }
    workers over;
    {
        const std::lock_guard lock(mutex_);
        const auto end =
            std::stable_partition(workers_.begin(), workers_.end(), [](const auto& w) { return !w->done; });
        over.assign(end, workers_.end());
        workers_.erase(end, workers_.end());
    }
    for (const auto& each : over) each->thread.join();
    check();  // the last of them may have failed
}

void context_core::close() {
    fail(std::make_exception_ptr(usage_error("the context of the dataflow has been closed")));
    drain();
    workers all;
    {
        std::unique_lock lock(mutex_);
        closed_ = true;
        all.swap(workers_);
        const auto ended = [&] { return std::all_of(all.begin(), all.end(), [](const auto& w) { return w->done; }); };
        changed_.wait_for(lock, std::chrono::seconds(1), ended);
    }
    for (const auto& each : all) {
        std::unique_lock lock(mutex_);
        const bool done = each->done && each->thread.get_id() != std::this_thread::get_id();
        lock.unlock();
        if (done) {
            each->thread.join();
        } else {
            each->thread.detach();
        }
    }
    // The engines' threads have little to do now, or stay with what does not end.
    const wait_limit limit(time_to_leave);
    bool ended = true;
    for (const auto& e : engines_) {
        ended = e.kernels->stop(limit) && ended;
        ended = e.copies->stop(limit) && ended;
    }
    if (!ended) abandon();
}

}  // namespace laneway::flow
