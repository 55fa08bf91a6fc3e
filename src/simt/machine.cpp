#include "laneway/simt/machine.hpp"

#include <algorithm>
#include <atomic>

#include "laneway/base/error.hpp"
#include "laneway/base/fault_text.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/run_watch.hpp"

namespace laneway {

namespace {

constexpr std::size_t faults_at = 256;
constexpr double grace_seconds = 1.0;  // from asking all lanes to stop to giving a kernel up

fault_record* record_of(const std::shared_ptr<std::byte>& host_visible, std::size_t pe) {
    return reinterpret_cast<fault_record*>(host_visible.get() + faults_at) + pe;
}

bool is_written(fault_record& record) {
    // Partner: the release store in fail().
    return std::atomic_ref<std::uint32_t>(record.written).load(std::memory_order_acquire) != 0;
}

}  // namespace

machine::machine(const std::string& devices, std::uint64_t seed, const checked_accesses& accesses)
    : seed_(seed), accesses_(accesses) {
    for (const auto& id : parse_devices(devices)) devices_.push_back(open_device(id));
    if (has_gpus()) {
        const std::string why = cuda_backend::refusal(n_pes());
        if (!why.empty()) throw usage_error(why);
    }
    connect_gpus(devices_);
    segments_ = std::make_shared<segment_table>(devices_);
    const std::size_t pes = devices_.size();
    host_visible_ = allocate_host_visible(faults_at + pes * sizeof(fault_record), has_gpus());
    for (std::size_t p = 0; p < pes; ++p) {
        controls_.emplace_back(devices_[p], 1);
        pe_environment env;
        env.pe = static_cast<int>(p);
        env.n_pes = static_cast<int>(pes);
        env.control = controls_[p].data();
        env.fault = record_of(host_visible_, p);
        if (!devices_[p]->is_gpu()) env.thrown = thrown_.get();
        env.host_stop = reinterpret_cast<const std::uint32_t*>(host_visible_.get());
        environments_.push_back(env);
    }
}

bool machine::has_gpus() const {
    for (const auto& d : devices_) {
        if (d->is_gpu()) return true;
    }
    return false;
}

bool machine::shares_memory(int pe, int other) const { return share_memory(*device(pe), *device(other)); }

std::vector<std::string> machine::names() const {
    std::vector<std::string> list;
    for (const auto& d : devices_) list.push_back(d->name());
    return list;
}

std::shared_ptr<const std::uint32_t> machine::add_segment(const std::vector<void*>& bases, std::uint64_t bytes) {
    return {new std::uint32_t(segments_->add(bases, bytes)), [table = segments_](const std::uint32_t* segment) {
                table->remove(*segment);
                delete segment;
            }};
}

void machine::throw_not_cuda() {
    throw usage_error("this program was compiled without CUDA and cannot run on a GPU; compile it with nvcc");
}

run_deadline machine::begin(double timeout_seconds) const {
    const bool in_threads = !has_gpus() && device(0)->id().kind != device_kind::checked;
    return in_threads ? run_deadline::from_now(timeout_seconds) : run_deadline(timeout_seconds);
}

void machine::prepare(const run_deadline& until) {
    if (abandoned_) throw usage_error("an earlier run on these devices did not end; open them in a new process");
    timeout_seconds_ = until.seconds();
    leaving_ = false;
    std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(host_visible_.get())).store(0);
    segments_->publish(environments_);
    thrown_->clear();
    const std::lock_guard lock(telling_);
    for (std::size_t p = 0; p < devices_.size(); ++p) {
        *record_of(host_visible_, p) = fault_record{};
        controls_[p].fill_bytes(0);
        environments_[p].timeout_ns = static_cast<std::uint64_t>(until.left() * 1e9);
    }
}

void machine::set_give_back(const std::function<laneway::device::hold()>& give_back) {
    if (give_back && shared_) throw usage_error("a session is open on these devices: stop it before you start another");
    shared_ = give_back != nullptr;
    for (const auto& d : devices_) d->set_give_back(give_back);
}

void machine::pass_deadline(double seconds) {
    timeout_seconds_ = seconds;
    tell_lanes(stop_word::deadline);
}

std::uint64_t machine::service_bytes(int pe) const {
    std::uint64_t bytes = 0;
    for (const auto& service : services_) {
        if (const auto alive = service.lock()) bytes += alive->buffer_bytes(pe);
    }
    return bytes;
}

std::vector<std::shared_ptr<host_service>> machine::attached() {
    std::erase_if(services_, [](const auto& service) { return service.expired(); });
    std::vector<std::shared_ptr<host_service>> all;
    for (const auto& service : services_) all.push_back(service.lock());
    return all;
}

bool machine::any_fault() const {
    for (std::size_t p = 0; p < devices_.size(); ++p) {
        if (is_written(*record_of(host_visible_, p))) return true;
    }
    return false;
}

void machine::stop_all() const { tell_lanes(stop_word::ends); }

void machine::tell_lanes(std::uint32_t word) const {
    const std::lock_guard lock(telling_);
    std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(host_visible_.get())).store(word);
    // A GPU's control warp passes it on. Where one thread has all roles it may be waiting for this very word.
    for (std::size_t p = 0; p < devices_.size(); ++p) {
        if (devices_[p]->is_gpu()) continue;
        const std::atomic_ref<std::uint32_t> stop(controls_[p].data()->stop);
        std::uint32_t before = stop.load();
        while (before != stop_word::ends && !stop.compare_exchange_weak(before, word)) {
        }
    }
}

void machine::watch(std::vector<std::unique_ptr<running>>& runs, service_run& services, double seconds_left) {
    using clock = std::chrono::steady_clock;
    const auto after = [](double seconds) {
        return clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
    };
    auto limit = after(seconds_left * 1.125 + grace_seconds);
    const run_watch watch{limit, after(grace_seconds) - clock::now(),
                          [&] {
                              interruption::poll();
                              return leaving_ || any_fault() || services.failed();
                          },
                          [&] {
                              stop_all();
                              limit = after(grace_seconds);
                          }};
    if (const auto late = watch.await(runs)) {
        throw timeout_error("PE " + std::to_string(*late) + " (" + devices_[*late]->name() +
                            "): its kernel did not end within the deadline, nor when it was told to stop" +
                            describe_end());
    }
    for (auto& r : runs) r->join();
    services.end();
    constexpr auto look = std::chrono::milliseconds(20);
    while (!services.returned(std::min(limit, clock::now() + look)) && clock::now() < limit) interruption::poll();
    if (services.join(limit)) return;
    abandon(runs);
    // Where a lane ran out of time as well, its own report says more.
    if (!any_fault()) throw timeout_error("a host thread did not return within the deadline" + services.account());
}

std::exception_ptr machine::reason_to_leave() {
    try {
        interruption::poll();
        return {};
    } catch (...) {
        return std::current_exception();
    }
}

void machine::end_all(std::vector<std::unique_ptr<running>>& runs, service_run& services) {
    stop_all();
    services.end();
    using clock = std::chrono::steady_clock;
    const auto limit =
        clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(grace_seconds));
    bool all_ended = true;
    for (auto& run : runs) run->start(0);
    for (auto& run : runs) {
        try {
            while (!run->done(std::chrono::microseconds(200)) && clock::now() < limit) {
            }
            if (run->done(std::chrono::microseconds(0))) {
                run->join();
            } else {
                all_ended = false;
            }
        } catch (...) {
            // The first exception is on its way to the caller; this run has ended as well.
        }
    }
    all_ended = services.join(limit) && all_ended;
    if (!all_ended) abandon(runs);
}

void machine::abandon(std::vector<std::unique_ptr<running>>& runs) {
    abandoned_ = true;
    for (auto& d : devices_) {
        d->abandon();
        d->set_running(false);  // what goes on uses nothing that the host can free
    }
    // Kernels may go on: what they see must outlive this object.
    keep_for_good(host_visible_);
    keep_for_good(thrown_);
    runs.clear();  // leaves threads and kernels to themselves
}

void machine::report_faults(const std::string& late, const std::function<std::string()>& ledger) const {
    if (!any_fault()) {
        if (late.empty()) return;
        throw timeout_error(late + ledger());
    }
    if (worst_record().code != status::timeout) throw device_fault(describe_worst() + ledger());
    // What a lane waited for follows from those that never came.
    throw timeout_error(describe_worst() + (late.empty() ? "" : "; " + late) + ledger());
}

const fault_record& machine::worst_record() const {
    // Every PE keeps its own first fault. An error beats a deadline, and a wait that names its cause beats those that
    // follow from it.
    const auto severity = [](const fault_record& record) {
        if (record.code != status::timeout) return 3;
        if (record.what == operation::reserve_slot || record.what == operation::host_slot ||
            record.what == operation::host_answer) {
            return 2;
        }
        return record.what == operation::run_to_end ? 0 : 1;
    };
    const fault_record* chosen = nullptr;
    for (std::size_t p = 0; p < devices_.size(); ++p) {
        fault_record& record = *record_of(host_visible_, p);
        if (!is_written(record)) continue;
        if (chosen == nullptr || severity(record) > severity(*chosen)) chosen = &record;
    }
    return *chosen;
}

std::string machine::describe_end() const {
    if (thrown_->any()) return "; " + thrown_->text(names());
    return any_fault() ? "; " + describe_worst() : std::string{};
}

std::string machine::describe_worst() const {
    const fault_record& record = worst_record();
    const auto p = static_cast<std::size_t>(record.pe);
    const bool checked = devices_[p]->id().kind == device_kind::checked;
    return describe(record,
                    {devices_[p]->name(), n_pes(), timeout_seconds_, checked ? checked::scheduler::step_ns : 0});
}

}  // namespace laneway
