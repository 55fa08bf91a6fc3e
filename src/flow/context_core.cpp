#include "flow/context_core.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/run_deadline.hpp"
#include "laneway/simt/run_end.hpp"

namespace laneway::flow {

namespace {

constexpr auto slice = std::chrono::milliseconds(20);  // between two looks at errors and interruptions

using clock = std::chrono::steady_clock;

clock::time_point after(double seconds) {
    return clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
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

context_core::context_core(const options& o) : job(o) {
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
    }
    devices.push_back(open_host());
    const auto host = engine();
    engines_.push_back({host, host});
    later_ = host->add({});
    paths = std::make_unique<topology>(std::vector(devices.begin(), devices.end() - 1));
    host_endpoint = std::make_unique<endpoint>(make_endpoint(host_memory, "host"));
    for (std::size_t d = 0; d + 1 < devices.size(); ++d) {
        device_endpoints.push_back(make_endpoint(static_cast<int>(d), devices[d]->name()));
    }
}

context_core::~context_core() { close(); }

bool context_core::is_gpu(int device) const { return devices[place(device)]->is_gpu(); }

bool context_core::has_gpus() const {
    return std::any_of(devices.begin(), devices.end(), [](const auto& d) { return d->is_gpu(); });
}

void context_core::fail(const std::exception_ptr& why) {
    {
        const std::lock_guard lock(mutex_);
        if (failure_) return;
        failure_ = why;
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
    // Who gets it may free what operations use: none of them is being done any more, and none will be.
    for (const auto& e : engines_) {
        (void)e.kernels->wait_until_idle(job.timeout_seconds);
        (void)e.copies->wait_until_idle(job.timeout_seconds);
    }
    std::rethrow_exception(why);
}

std::string context_core::seconds() const {
    std::ostringstream text;
    text << job.timeout_seconds << " s";
    return text.str();
}

void context_core::wait(const event& mark, const std::function<std::string()>& describe) {
    const auto limit = after(job.timeout_seconds);
    while (!mark.wait_for(slice)) {
        check();
        interruption::poll();
        if (clock::now() > limit) fail(std::make_exception_ptr(timeout_error(describe())));
    }
    if (const auto why = mark.failure()) {
        check();  // which says more than what follows from it
        std::rethrow_exception(why);
    }
}

endpoint context_core::make_endpoint(int device, const std::string& name, std::shared_ptr<router_core> router) {
    const std::lock_guard lock(mutex_);
    return {next_id_++, device, name, std::move(router)};
}

device_stream context_core::make_stream(int device, const std::string& name, bool copies) {
    const auto& on = engines_[place(device)];
    const auto& opened = devices[place(device)];
    const auto on_failure = [weak = weak_from_this(), who = name](const std::exception_ptr& why) {
        if (const auto core = weak.lock()) core->fail(named_failure(why, who));
    };
    const stream_place where{opened, device == host_memory ? 0 : device, static_cast<int>(devices.size() - 1), job};
    return {copies ? on.copies : on.kernels, where, name, on_failure};
}

std::shared_ptr<std::byte> context_core::allocate(int device, std::size_t bytes) {
    if (device == host_memory) return allocate_host_visible(bytes, has_gpus());
    const auto& owner = devices[place(device)];
    return {static_cast<std::byte*>(owner->allocate(bytes)),
            [owner, bytes](std::byte* memory) { owner->release(memory, bytes); }};
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

void context_core::call_later(std::function<void()> call) {
    engines_.back().copies->push(later_, {{}, [call = std::move(call)](const std::exception_ptr&) { call(); }});
}

void context_core::start_worker(const endpoint& of, std::function<void(device_stream&)> work) {
    if (of.is_router()) throw usage_error("a worker runs at a device or the host, not at " + of.name());
    const auto started = std::make_shared<worker>();
    started->name = "worker of " + of.name();
    const auto body = [core = shared_from_this(), started, of, work = std::move(work)]() mutable {
        try {
            device_stream stream = core->make_stream(of.device(), started->name, false);
            work(stream);
        } catch (...) {
            core->fail(named_failure(std::current_exception(), started->name));
        }
        work = nullptr;  // what it holds, links for one, goes before the worker is over
        const std::lock_guard lock(core->mutex_);
        started->done = true;
        core->changed_.notify_all();
    };
    const std::lock_guard lock(mutex_);
    try {
        started->thread = std::thread(body);
    } catch (const std::system_error& refused) {
        throw system_error(started->name + ": its thread could not be started: " + refused.code().message());
    }
    workers_.push_back(started);
}

void context_core::join() {
    const auto limit = after(job.timeout_seconds);
    for (;;) {
        check();
        interruption::poll();
        std::unique_lock lock(mutex_);
        const auto late = std::find_if(workers_.begin(), workers_.end(), [](const auto& w) { return !w->done; });
        if (late == workers_.end()) break;
        if (clock::now() > limit) {
            const std::string text = (*late)->name + " did not return within " + seconds();
            lock.unlock();
            fail(std::make_exception_ptr(timeout_error(text)));
            continue;
        }
        if (!failure_) changed_.wait_for(lock, slice);
    }
    {
        const std::lock_guard lock(mutex_);
        for (const auto& ended : std::exchange(workers_, {})) ended->thread.join();
    }
    check();  // the last of them may have failed
}

void context_core::close() {
    fail(std::make_exception_ptr(usage_error("the context of the dataflow has been closed")));
    std::vector<std::shared_ptr<worker>> all;
    {
        std::unique_lock lock(mutex_);
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
    for (std::size_t d = 0; d < engines_.size(); ++d) {
        const bool ended = engines_[d].kernels->stop() && engines_[d].copies->stop();
        if (!ended) devices[d]->abandon();
    }
}

}  // namespace laneway::flow
