// The machine: the PEs of a job, and running one program on all of them under a deadline.
#pragma once

#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "laneway/base/cuda_setting.hpp"
#include "laneway/simt/checked/launch.hpp"
#include "laneway/simt/cpu/launch.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/run_deadline.hpp"
#include "laneway/simt/segment_table.hpp"
#include "laneway/simt/service_run.hpp"
#include "laneway/simt/thrown_log.hpp"
#if defined(__CUDACC__)
#include "laneway/simt/cuda/launch.cuh"
#endif

namespace laneway {

#if defined(__CUDACC__)
inline constexpr bool compiled_with_cuda = true;
#else
inline constexpr bool compiled_with_cuda = false;
namespace cuda_backend {  // named below, used only where the GPU's launch is compiled in
template <class Program>
int resident_blocks(int device_index, const launch_shape& shape);
template <class Program>
class kernel_run;
}  // namespace cuda_backend
#endif

/// Stays where it was made: rings, queues and services refer to it.
class machine {
public:
    /// Opens the devices of a list as parse_devices reads it. `seed` steers checked devices, which look at accesses as
    /// `accesses` says.
    explicit machine(const std::string& devices, std::uint64_t seed = 1, const checked_accesses& accesses = {});
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    [[nodiscard]] int n_pes() const { return static_cast<int>(devices_.size()); }
    [[nodiscard]] const std::shared_ptr<laneway::device>& device(int pe) const {
        return devices_[static_cast<std::size_t>(pe)];
    }
    [[nodiscard]] bool has_gpus() const;
    /// Whether lanes of one PE can load and store in the other's memory.
    [[nodiscard]] bool shares_memory(int pe, int other) const;
    [[nodiscard]] std::vector<std::string> names() const;

    /// Symmetric segments: registers one base address a PE, `bytes` behind each; returns the segment's number, which
    /// names nothing any more when its last owner is gone. See memory/symmetric.hpp.
    [[nodiscard]] std::shared_ptr<const std::uint32_t> add_segment(const std::vector<void*>& bases,
                                                                   std::uint64_t bytes);

    /// Throws usage_error while a run goes on: for what a host function or a lane must not do meanwhile. Any thread.
    [[nodiscard]] laneway::device::hold refuse_during_run() const { return devices_[0]->refuse_during_run(); }

    /// As device::set_give_back, for all devices. Throws usage_error where something stays there already.
    void set_give_back(const std::function<laneway::device::hold()>& give_back);
    /// For a run that another thread has started: its lanes learn that a deadline of so many seconds has passed, and
    /// those that wait for something end the run with timeout_error. Any thread. A run that is just being launched may
    /// miss it, and the next: whoever means it says it again until the run has ended.
    void pass_deadline(double seconds);
    /// The same: ends the run.
    void end_soon() { leaving_ = true; }

    /// From now on the service runs next to every run, for as long as it exists.
    void attach(const std::shared_ptr<host_service>& service) { services_.push_back(service); }
    /// What the buffers of attached services take for a PE.
    [[nodiscard]] std::uint64_t service_bytes(int pe) const;

    /// Blocks of the program that this PE can hold at once: the size of a persistent grid on a GPU, else `wanted`.
    template <class Program, bool with_cuda = compiled_with_cuda>
    int resident_blocks(int pe, const launch_shape& wanted) const {
        if constexpr (with_cuda) {
            if (device(pe)->is_gpu()) {
                return cuda_backend::resident_blocks<Program>(device(pe)->id().index, wanted);
            }
        }
        return wanted.blocks;
    }

    /// The deadline of a run that is about to be set up. On CPU devices it counts from now. On a GPU it counts from the
    /// launch, as loading CUDA and the kernels takes seconds, once; on checked devices too, whose time is virtual.
    [[nodiscard]] run_deadline begin(double timeout_seconds) const;

    /// Runs `programs[p]` on PE p, all at once, and waits for all. `ledger` adds to a fault's message what the host can
    /// read of the rings. Returns the seconds from launch to the last end, of attached services as well. Throws
    /// timeout_error or device_fault naming PE, block, operation and what it waited for, lane_error where an
    /// application threw on a CPU device, what a service threw, or, once all PEs have been told to stop, what an
    /// `interruption` of this thread throws. After a kernel or service that does not even stop within a second, the
    /// machine is abandoned: its memory is kept, and further runs throw.
    template <class Program, bool with_cuda = compiled_with_cuda>
    double run(const std::vector<Program>& programs, const std::vector<launch_shape>& shapes, const run_deadline& until,
               const std::function<std::string()>& ledger) {
        if (!with_cuda && has_gpus()) throw_not_cuda();
        const auto mine = refuse_during_run();
        prepare(until);
        service_run services(attached());
        std::string late;  // of lanes that did not end by themselves
        running_mark mark(devices_);
        const auto start = std::chrono::steady_clock::now();
        if (device(0)->id().kind == device_kind::checked) {
            checked::fiber_launch launch(seed_, until.left(), accesses_);
            for (std::size_t p = 0; p < programs.size(); ++p) launch.add(environments_[p], shapes[p], programs[p]);
            for (auto& body : services.bodies()) launch.add_host(std::move(body));
            std::exception_ptr left;  // why the caller leaves the run, which ends in order
            try {
                launch.run([&] {
                    if (!left) left = reason_to_leave();
                    if (left || leaving_ || any_fault() || services.failed() || thrown_->any()) {
                        stop_all();
                        launch.end_soon();
                    }
                    if (launch.lanes() == 0) services.end();
                });
            } catch (const checked::out_of_steps& endless) {
                late = endless.what();
            }
            if (left) std::rethrow_exception(left);
            if (!launch.lost().empty()) late = launch.lost();
            if (!launch.endless().empty()) late += "; " + launch.endless();
        } else {
            std::vector<std::unique_ptr<running>> runs;
            try {
                services.start();
                for (std::size_t p = 0; p < programs.size(); ++p) {
                    runs.push_back(launch_one<Program, with_cuda>(static_cast<int>(p), shapes[p], programs[p]));
                    (void)until.left();
                }
                const double left = until.left();
                for (auto& launched : runs) launched->start(static_cast<std::uint64_t>(std::ceil(left * 1e9)));
                watch(runs, services, left);
            } catch (...) {
                end_all(runs, services);  // nothing that a launched PE uses may be freed before it has ended
                throw;
            }
        }
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        mark.end();
        services.rethrow();
        thrown_->rethrow(names());
        report_faults(late, [&] { return ledger() + services.account(); });
        services.audit();
        return elapsed.count();
    }

private:
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

    template <class Program, bool with_cuda>
    std::unique_ptr<running> launch_one(int pe, const launch_shape& shape, const Program& program) {
        const auto& env = environments_[static_cast<std::size_t>(pe)];
        if (!device(pe)->is_gpu()) return std::make_unique<cpu::thread_run<Program>>(env, shape, program);
        if constexpr (with_cuda) {
            return std::make_unique<cuda_backend::kernel_run<Program>>(device(pe)->id().index, env, shape, program);
        } else {
            throw_not_cuda();
        }
    }

    [[noreturn]] static void throw_not_cuda();
    void prepare(const run_deadline& until);
    void watch(std::vector<std::unique_ptr<running>>& runs, service_run& services, double seconds_left);
    [[nodiscard]] static std::exception_ptr reason_to_leave();
    void end_all(std::vector<std::unique_ptr<running>>& runs, service_run& services);
    void abandon(std::vector<std::unique_ptr<running>>& runs);
    [[nodiscard]] std::vector<std::shared_ptr<host_service>> attached();
    [[nodiscard]] bool any_fault() const;
    void stop_all() const;
    void tell_lanes(std::uint32_t word) const;
    [[nodiscard]] const fault_record& worst_record() const;
    [[nodiscard]] std::string describe_worst() const;
    [[nodiscard]] std::string describe_end() const;
    void report_faults(const std::string& late, const std::function<std::string()>& ledger) const;

    std::vector<std::shared_ptr<laneway::device>> devices_;
    std::uint64_t seed_;
    checked_accesses accesses_;
    std::vector<pe_environment> environments_;
    std::vector<buffer<pe_control>> controls_;
    std::shared_ptr<segment_table> segments_;  ///< arrays may outlive the machine
    std::vector<std::weak_ptr<host_service>> services_;
    std::shared_ptr<thrown_log> thrown_ = std::make_shared<thrown_log>();
    std::shared_ptr<std::byte> host_visible_;  ///< the stop word, then one fault record a PE
    std::atomic<double> timeout_seconds_ = 0;  ///< of the last run
    mutable std::mutex telling_;               ///< held by who clears or sets the lanes' stop words
    std::atomic<bool> leaving_ = false;        ///< the run that goes on has been told to end
    bool abandoned_ = false;
    bool shared_ = false;  ///< with a program that stays on the devices
};

}  // namespace laneway
