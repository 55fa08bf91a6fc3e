// The machine: the PEs of a job, and running one program on all of them under a deadline.
//
// Where a job has several processes, each has a machine with all PEs and runs those of its own devices. All processes
// make the same calls in the same order: allocations, copies and runs are done together.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "laneway/base/cuda_setting.hpp"
#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/pe_program.hpp"
#include "laneway/simt/process_group.hpp"
#include "laneway/simt/run_deadline.hpp"
#include "laneway/simt/run_end.hpp"
#include "laneway/simt/run_label.hpp"
#include "laneway/simt/running.hpp"
#include "laneway/simt/segment_table.hpp"
#include "laneway/simt/service_run.hpp"
#include "laneway/simt/thrown_log.hpp"

namespace laneway {

class run_recorder;

/// Stays where it was made: rings, queues and services refer to it.
class machine {
public:
    /// Opens the devices of a list as parse_devices reads it. `seed` steers checked devices, which look at accesses as
    /// `accesses` says. `processes`: of the job, as options::processes; PEs are numbered by process, then by place in
    /// its list. Several processes have GPUs or CPU devices, all of one kind. `transport`: as options::transport.
    explicit machine(const std::string& devices, std::uint64_t seed = 1, const checked_accesses& accesses = {},
                     std::shared_ptr<bootstrap> processes = nullptr,
                     transport_model transport = transport_model::mapped);
    ~machine();
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    [[nodiscard]] int n_pes() const { return static_cast<int>(devices_.size()); }
    [[nodiscard]] const std::shared_ptr<laneway::device>& device(int pe) const {
        return devices_[static_cast<std::size_t>(pe)];
    }
    [[nodiscard]] bool has_gpus() const;
    [[nodiscard]] int n_processes() const { return group_->size(); }
    [[nodiscard]] int process() const { return group_->rank(); }
    /// Whether this process runs the PE.
    [[nodiscard]] bool is_own(int pe) const { return owners_[static_cast<std::size_t>(pe)] == group_->rank(); }
    /// How its PEs reach each other.
    [[nodiscard]] transport_model transport() const { return transport_; }
    /// Whether lanes of one PE can load and store in the other's memory.
    [[nodiscard]] bool shares_memory(int pe, int other) const;
    [[nodiscard]] std::vector<std::string> names() const;
    /// What lanes of a PE know of the job; its pointers are valid on the PE. Stays where it is.
    [[nodiscard]] const pe_environment& environment(int pe) const {
        return environments_[static_cast<std::size_t>(pe)];
    }

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

    /// From now on the program that this PE, a GPU of this process, has run last is launched as the kernel of the same
    /// name in this machine code. Throws usage_error where the PE has run none, and as cuda_backend::load_kernel, and
    /// then all stays as it was.
    void replace_kernel(int pe, std::span<const std::byte> code);

    /// What the message of the last run is about, of the faults that PEs have reported; null: there were none. Between
    /// runs.
    [[nodiscard]] const fault_record* fault() const { return any_fault() ? &worst_record() : nullptr; }
    /// Whether a run did not end: no other can be started.
    [[nodiscard]] bool abandoned() const { return abandoned_; }
    /// Numbers that add_segment can still give.
    [[nodiscard]] std::uint64_t segments_left() const;
    /// Bytes of a segment on a PE; 0 of one that has been freed or never given. Any thread.
    [[nodiscard]] std::uint64_t segment_size(std::uint32_t segment) const { return segments_->size(segment); }
    /// The same of each. Any thread.
    [[nodiscard]] std::vector<std::uint64_t> segment_sizes() const { return segments_->sizes(); }
    /// Where a segment lies on a PE, in that device's memory; null where there is none. Any thread.
    [[nodiscard]] void* segment_base(std::uint32_t segment, int pe) const { return segments_->base(segment, pe); }

    /// From now on the service runs next to every run, for as long as it exists. Any thread, also during a run.
    void attach(const std::shared_ptr<host_service>& service) {
        const std::lock_guard lock(attaching_);
        services_.push_back(service);
    }
    /// What the buffers of attached services take for a PE.
    [[nodiscard]] std::uint64_t service_bytes(int pe) const;

    /// Blocks of the program that this PE can hold at once: the size of a persistent grid on a GPU, else `wanted`.
    template <class Program, bool with_cuda = compiled_with_cuda>
    int resident_blocks(int pe, const launch_shape& wanted) const {
        if constexpr (with_cuda) {
            if (device(pe)->is_gpu()) {
                const auto own = [&] {
                    return cuda_backend::resident_blocks(device(pe)->id().index, wanted,
                                                         cuda_backend::kernel_of<Program>());
                };
                return told_by_owner(pe, is_own(pe) ? group_->alone(own) : 0);
            }
        }
        return wanted.blocks;
    }

    /// From now on the timeline takes what runs do.
    void record(std::shared_ptr<timeline> kept_in);
    /// Adds to the timeline, if there is one, what the last run's report says.
    void record_totals(const run_report& report);

    /// The deadline of a run that is about to be set up. On CPU devices it counts from now. On a GPU it counts from the
    /// launch, as loading CUDA and the kernels takes seconds, once; on checked devices too, whose time is virtual.
    [[nodiscard]] run_deadline begin(double timeout_seconds) const;

    /// Runs `programs[p]` on PE p, all at once, and waits for all. `account` adds to a fault's message what the host
    /// can read of the rings. Returns the seconds from launch to the last end, of attached services as well. Throws
    /// timeout_error or device_fault naming PE, block, operation and what it waited for, lane_error where an
    /// application threw on a CPU device, what a service threw, or, once all PEs have been told to stop, what an
    /// `interruption` of this thread throws. The first fault is told in all processes of the job; process_error where
    /// another one has ended, runs another program, or has left the run. After a kernel or service that does not even
    /// stop in time, the machine is abandoned, in all processes: its memory is kept, and further runs throw.
    template <class Program, bool with_cuda = compiled_with_cuda>
    double run(const std::vector<Program>& programs, const std::vector<launch_shape>& shapes, const run_deadline& until,
               const std::function<std::string()>& account) {
        std::vector<pe_program> erased;
        for (const Program& program : programs) erased.push_back(pe_program::of<Program, with_cuda>(program));
        return run(erased, shapes, until, account);
    }
    double run(const std::vector<pe_program>& programs, const std::vector<launch_shape>& shapes,
               const run_deadline& until, const std::function<std::string()>& account, const run_label& label = {});

private:
    /// How the lanes of this process have ended.
    struct outcome {
        std::string late;         ///< of lanes that did not end by themselves
        std::exception_ptr left;  ///< why this process leaves the run, which ends in order
    };
    outcome run_checked(const std::vector<pe_program>& programs, const std::vector<launch_shape>& shapes,
                        const run_deadline& until, service_run& services);
    outcome run_at_once(const std::vector<pe_program>& programs, const std::vector<launch_shape>& shapes,
                        const run_deadline& until, service_run& services);
    [[nodiscard]] std::unique_ptr<running> launch_one(int pe, const launch_shape& shape, const pe_program& program);
    [[nodiscard]] const void* kernel_for(std::size_t pe, const launch_shape& shape, const pe_program& program);
    void open_devices(const std::string& list);
    [[nodiscard]] int told_by_owner(int pe, int own) const;
    void begin_together(const char* program, const std::vector<launch_shape>& shapes, const std::string& given);
    run_end end_together(outcome& ended, double seconds);
    void audit_together(const service_run& services);
    void prepare(const run_deadline& until);
    void watch(std::vector<std::unique_ptr<running>>& runs, service_run& services, double seconds_left);
    void end_all(std::vector<std::unique_ptr<running>>& runs, service_run& services);
    void abandon(std::vector<std::unique_ptr<running>>& runs);
    void abandon_devices();
    [[nodiscard]] std::vector<std::shared_ptr<host_service>> attached();
    [[nodiscard]] fault_record* record_of(std::size_t pe) const {
        return reinterpret_cast<fault_record*>(host_visible_.get() + faults_at) + pe;
    }
    [[nodiscard]] bool any_fault() const;
    void stop_all() const;
    void tell_lanes(std::uint32_t word) const;
    [[nodiscard]] const fault_record& worst_record() const;
    [[nodiscard]] std::string describe_worst() const;
    [[nodiscard]] std::string describe_end() const;
    void report_faults(const run_end& others, const std::string& late,
                       const std::function<std::string()>& account) const;

    static constexpr std::size_t faults_at = 256;  ///< in host_visible_

    std::shared_ptr<process_group> group_;
    std::vector<std::shared_ptr<laneway::device>> devices_;
    std::vector<int> owners_;       ///< by PE: the process that runs it
    std::vector<std::size_t> own_;  ///< PEs that this process runs
    std::uint64_t seed_;
    checked_accesses accesses_;
    std::vector<pe_environment> environments_;
    std::vector<buffer<pe_control>> controls_;
    /// The kernel that a GPU has been asked to run last, on which grid, and what takes its place; null: nothing does.
    struct kernel_place {
        const void* asked = nullptr;
        launch_shape shape;
        const void* replaced = nullptr;
        std::shared_ptr<const void> by;
    };
    std::vector<kernel_place> kernels_;
    std::shared_ptr<segment_table> segments_;  ///< arrays may outlive the machine
    mutable std::mutex attaching_;
    std::vector<std::weak_ptr<host_service>> services_;
    std::shared_ptr<thrown_log> thrown_ = std::make_shared<thrown_log>();
    std::shared_ptr<std::byte> host_visible_;  ///< the stop word, then one fault record a PE
    std::atomic<double> timeout_seconds_ = 0;  ///< of the last run
    bool ended_well_ = true;                   ///< the last run: lanes have written nothing into controls_
    mutable bool told_ = false;                ///< the host has, since they were cleared
    mutable std::mutex telling_;               ///< held by who clears or sets the lanes' stop words
    std::atomic<bool> leaving_ = false;        ///< the run that goes on has been told to end
    std::unique_ptr<run_recorder> recorder_;   ///< null: there is no timeline
    bool abandoned_ = false;
    std::atomic<bool> shared_ = false;  ///< with a program that stays on the devices
    transport_model transport_;
};

}  // namespace laneway
