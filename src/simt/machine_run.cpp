// Running a program on all PEs of a machine: launch, watch, end, and what is said of it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "laneway/base/error.hpp"
#include "laneway/base/fault_text.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/simt/checked/launch.hpp"
#include "laneway/simt/cpu/context.hpp"
#include "laneway/simt/cpu/launch.hpp"
#include "laneway/simt/cuda/profiler_range.hpp"
#include "laneway/simt/machine.hpp"
#include "laneway/simt/run_limits.hpp"
#include "laneway/simt/run_recorder.hpp"
#include "laneway/simt/run_watch.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

namespace {

bool is_written(fault_record& record) {
    // Partner: the release store in fail().
    return std::atomic_ref<std::uint32_t>(record.written).load(std::memory_order_acquire) != 0;
}

template <class Call>
std::exception_ptr thrown_by(Call&& call) {
    try {
        call();
        return {};
    } catch (...) {
        return std::current_exception();
    }
}

/// Marks the devices for as long as a run goes on.
class running_mark {
public:
    explicit running_mark(const std::vector<std::shared_ptr<laneway::device>>& devices) : devices_(devices) {
        for (const auto& d : devices_) d->set_running(true);
    }
    ~running_mark() { end(); }
    running_mark(const running_mark&) = delete;
    running_mark& operator=(const running_mark&) = delete;
    void end() {
        for (const auto& d : devices_) d->set_running(false);
    }

private:
    const std::vector<std::shared_ptr<laneway::device>>& devices_;
};

}  // namespace

void machine::prepare(const run_deadline& until) {
    if (abandoned_) throw usage_error("an earlier run on these devices did not end; open them in a new process");
    timeout_seconds_ = until.seconds();
    leaving_ = false;
    std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(host_visible_.get())).store(0);
    segments_->publish(environments_);
    thrown_->clear();
    const std::lock_guard lock(telling_);
    for (std::size_t p = 0; p < devices_.size(); ++p) {
        *record_of(p) = fault_record{};
        if (told_ || !ended_well_) controls_[p].fill_bytes(0);
        environments_[p].timeout_ns = static_cast<std::uint64_t>(until.left() * 1e9);
    }
    told_ = ended_well_ = false;
}

double machine::run(const std::vector<pe_program>& programs, const std::vector<launch_shape>& shapes,
                    const run_deadline& until, const std::function<std::string()>& account, const run_label& label) {
    for (const auto& device : devices_) programs.front().require(device->id().kind);
    const auto mine = refuse_during_run();
    service_run services = group_->alone([&] {
        prepare(until);
        if (recorder_) recorder_->begin(label);
        return service_run(attached());
    });
    begin_together(programs.front().name(), shapes, label.given);
    const profiler_range range(label.name);
    running_mark mark(devices_);
    const auto start = std::chrono::steady_clock::now();
    const bool checked = device(0)->id().kind == device_kind::checked;
    outcome ended = checked ? run_checked(programs, shapes, until, services)
                            : run_at_once(programs, shapes, until.untold(), services);
    ended.left = services.reason(ended.left);
    const run_end all = end_together(ended, until.seconds());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    mark.end();
    if (recorder_) recorder_->end(ended.left || any_fault() || thrown_->any() || !ended.late.empty(), abandoned_);
    if (ended.left) std::rethrow_exception(ended.left);
    thrown_->rethrow(names());
    report_faults(all, ended.late, [&] { return account() + services.account(); });
    audit_together(services);
    ended_well_ = true;
    return elapsed.count();
}

machine::outcome machine::run_checked(const std::vector<pe_program>& programs, const std::vector<launch_shape>& shapes,
                                      const run_deadline& until, service_run& services) {
    checked::fiber_launch launch(seed_, until.left(), accesses_, services.carries());
    for (std::size_t p = 0; p < programs.size(); ++p) launch.add(environments_[p], shapes[p], programs[p]);
    for (auto& body : services.bodies()) launch.add_host(std::move(body));
    outcome ended;
    try {
        launch.run([&] {
            if (!ended.left) ended.left = thrown_by([] { interruption::poll(); });
            if (ended.left || leaving_ || any_fault() || services.failed() || thrown_->any()) {
                stop_all();
                launch.end_soon();
            }
            if (launch.lanes() == 0) services.end();
        });
    } catch (const checked::out_of_steps& endless) {
        ended.late = endless.what();
    }
    if (!launch.lost().empty()) ended.late = launch.lost();
    if (!launch.endless().empty()) ended.late += "; " + launch.endless();
    return ended;
}

machine::outcome machine::run_at_once(const std::vector<pe_program>& programs, const std::vector<launch_shape>& shapes,
                                      const run_deadline& until, service_run& services) {
    outcome ended;
    std::vector<std::unique_ptr<running>> runs;
    try {
        services.start_due();
        for (const std::size_t p : own_) {
            runs.push_back(launch_one(static_cast<int>(p), shapes[p], programs[p]));
            (void)until.left();
        }
        const double seconds = until.left();
        for (auto& launched : runs) launched->start(static_cast<std::uint64_t>(std::ceil(seconds * 1e9)));
        watch(runs, services, seconds);
    } catch (...) {
        ended.left = std::current_exception();
        end_all(runs, services);  // nothing that a launched PE uses may be freed before it has ended
    }
    return ended;
}

std::unique_ptr<running> machine::launch_one(int pe, const launch_shape& shape, const pe_program& program) {
    const auto& env = environments_[static_cast<std::size_t>(pe)];
    if (!device(pe)->is_gpu()) return cpu::launch(env, shape, program);
    const void* const kernel = kernel_for(static_cast<std::size_t>(pe), shape, program);
    return cuda_backend::launch(device(pe)->id().index, env, shape, kernel, program.data());
}

const void* machine::kernel_for(std::size_t pe, const launch_shape& shape, const pe_program& program) {
    kernel_place& place = kernels_[pe];
    place.asked = program.kernel();
    place.shape = shape;
    return place.asked == place.replaced ? place.by.get() : place.asked;
}

/// No lane starts before all processes have prepared the memory of their PEs for the same program, with the same
/// values, on the same grids.
void machine::begin_together(const char* program, const std::vector<launch_shape>& shapes, const std::string& given) {
    if (n_processes() == 1) return;
    std::string grids;
    for (const auto& shape : shapes) {
        grids += " " + std::to_string(shape.blocks) + "x" + std::to_string(shape.warps_per_block) + "x" +
                 std::to_string(shape.shared_bytes);
    }
    const auto all = group_->meet("running a program on grids" + grids + given, {program, {}});
    for (int other = 0; other < n_processes(); ++other) {
        if (all[static_cast<std::size_t>(other)].bytes == program) continue;
        group_->refuse("process " + std::to_string(other) + " is running another program than process " +
                       std::to_string(process()));
    }
}

/// No process goes on before all lanes everywhere have ended; each learns what the others' PEs have reported.
run_end machine::end_together(outcome& ended, double seconds) {
    if (n_processes() == 1) return {};
    if (ended.left || any_fault() || thrown_->any())
        group_->alert();  // lanes may have ended before the host has looked
    run_end mine;
    for (const std::size_t p : own_) mine.records.push_back(*record_of(p));
    mine.thrown = thrown_->text(names());
    mine.left = reason_of(ended.left);
    mine.abandoned = abandoned_;
    run_end all;
    try {
        // Others may take as long as this process may: until the deadline, and to be given up after it.
        const auto ends = group_->meet("ending a run", {mine.to_bytes(), {}},
                                       seconds * 1.125 + wait_limit::seconds(time_to_give_up + time_to_leave).count());
        std::size_t p = 0;
        for (int process = 0; process < n_processes(); ++process) {
            const auto pes = static_cast<std::size_t>(std::count(owners_.begin(), owners_.end(), process));
            const run_end end = run_end::from_bytes(ends[static_cast<std::size_t>(process)].bytes, pes);
            for (const auto& record : end.records) *record_of(p++) = record;
            if (process == this->process()) continue;
            if (end.abandoned) abandon_devices();
            if (all.thrown.empty()) all.thrown = end.thrown;
            if (all.left.empty() && !end.left.empty()) {
                all.left = "process " + std::to_string(process) + " has left the run: " + end.left;
            }
        }
    } catch (const error& missing) {
        if (!ended.left && !any_fault()) throw;
        // The first cause says more, unless it is a deadline: then that process may be what the lanes waited for.
        ended.late += (ended.late.empty() ? "" : "; ") + std::string(missing.what());
    }
    return all;
}

/// After a run that has ended well in all processes.
void machine::audit_together(const service_run& services) {
    if (n_processes() == 1 || services.empty()) return services.audit();
    const std::exception_ptr lost = thrown_by([&] { services.audit(); });
    const auto found = group_->meet("auditing a run", {reason_of(lost), {}});
    if (lost) std::rethrow_exception(lost);
    for (int other = 0; other < n_processes(); ++other) {
        const std::string& told = found[static_cast<std::size_t>(other)].bytes;
        if (!told.empty()) throw process_error("process " + std::to_string(other) + ": " + told);
    }
}

void machine::pass_deadline(double seconds) {
    timeout_seconds_ = seconds;
    tell_lanes(stop_word::deadline);
}

bool machine::any_fault() const {
    for (std::size_t p = 0; p < devices_.size(); ++p) {
        if (is_written(*record_of(p))) return true;
    }
    return false;
}

void machine::stop_all() const {
    tell_lanes(stop_word::ends);
    group_->alert();
}

void machine::tell_lanes(std::uint32_t word) const {
    const std::lock_guard lock(telling_);
    told_ = true;
    const auto tell = [word](std::uint32_t& where) {
        const std::atomic_ref<std::uint32_t> stop(where);
        std::uint32_t before = stop.load();
        while (before != stop_word::ends && !stop.compare_exchange_weak(before, word)) {
        }
    };
    tell(*reinterpret_cast<std::uint32_t*>(host_visible_.get()));
    // A GPU's control warp passes it on. Where one thread has all roles it may be waiting for this very word.
    for (std::size_t p = 0; p < devices_.size(); ++p) {
        if (!devices_[p]->is_gpu() && is_own(static_cast<int>(p))) tell(controls_[p].data()->stop);
    }
}

void machine::watch(std::vector<std::unique_ptr<running>>& runs, service_run& services, double seconds_left) {
    bool told_late = false;
    // Behind control warps, which name what they know of the cause.
    constexpr auto behind_causes = 2 * time_to_leave;
    static_assert(std::chrono::nanoseconds(time_for_cause_ns<cpu::context>(0)) < behind_causes);
    wait_limit limit(wait_limit::seconds(seconds_left * 1.125) + behind_causes);
    const run_watch watch{time_to_leave,
                          [&] {
                              interruption::poll();
                              services.start_due();
                              return leaving_ || any_fault() || services.failed() || group_->alerted();
                          },
                          [&] { stop_all(); },
                          [&] {
                              told_late = true;
                              tell_lanes(stop_word::deadline);
                          }};
    if (const auto late = watch.await(runs, limit)) {
        const std::size_t pe = own_[*late];
        throw timeout_error("PE " + std::to_string(pe) + " (" + devices_[pe]->name() +
                            "): its kernel did not end within the deadline, nor when it was told to stop" +
                            describe_end());
    }
    for (auto& r : runs) r->join();
    // Lanes may have ended before the host has looked, and a request that a host thread carries out looks at the word.
    if (any_fault()) tell_lanes(stop_word::ends);
    services.end();
    services.serve_unstarted();
    constexpr auto look = std::chrono::milliseconds(20);
    const wait_limit last(time_to_return);
    while (!services.returned(look) && !(limit.is_over() && last.is_over())) interruption::poll();
    if (services.join()) {
        if (!told_late || any_fault()) return;
        throw timeout_error("the lanes went on past the deadline, until they were told" + services.account());
    }
    abandon(runs);
    // Where a lane ran out of time as well, its own report says more.
    if (!any_fault()) throw timeout_error("a host thread did not return within the deadline" + services.account());
}

void machine::end_all(std::vector<std::unique_ptr<running>>& runs, service_run& services) {
    stop_all();
    services.end();
    constexpr auto look = std::chrono::microseconds(200);
    const wait_limit limit(time_to_leave);
    bool all_ended = true;
    for (auto& run : runs) {
        run->start(0);
        (void)run->had_its_chance();  // so that the time of all begins now
    }
    for (auto& run : runs) {
        try {
            while (!run->done(look) && !(limit.is_over() && run->had_its_chance())) {
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
    const wait_limit last(time_to_return);
    while (!services.returned(look) && !last.is_over()) {
    }
    all_ended = services.join() && all_ended;
    if (!all_ended) abandon(runs);
}

void machine::abandon(std::vector<std::unique_ptr<running>>& runs) {
    abandon_devices();
    // Kernels may go on: what they see must outlive this object.
    keep_for_good(host_visible_);
    keep_for_good(thrown_);
    for (const kernel_place& place : kernels_) keep_for_good(std::const_pointer_cast<void>(place.by));
    runs.clear();  // leaves threads and kernels to themselves
}

void machine::abandon_devices() {
    abandoned_ = true;
    for (auto& d : devices_) {
        d->abandon();
        d->set_running(false);  // what goes on uses nothing that the host can free
    }
}

void machine::report_faults(const run_end& others, const std::string& late,
                            const std::function<std::string()>& read_account) const {
    const auto account = [&] {
        const std::string read = read_account();
        group_->forget_accesses();  // where this process alone has read
        return read;
    };
    if (!others.thrown.empty()) throw lane_error(others.thrown);
    if (!any_fault()) {
        if (!others.left.empty()) throw process_error(others.left);
        if (late.empty()) return;
        throw timeout_error(late + account());
    }
    const fault_record& worst = worst_record();
    if (worst.code == status::no_room && worst.what == operation::put_item) {
        throw full_worklist(describe_worst() + account());
    }
    if (worst.code != status::timeout) throw device_fault(describe_worst() + account());
    // What a lane waited for follows from those that never came.
    throw timeout_error(describe_worst() + (late.empty() ? "" : "; " + late) + account());
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
        fault_record& record = *record_of(p);
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
