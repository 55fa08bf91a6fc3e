#include "laneway/runtime.hpp"

#include <chrono>

#include "laneway/run/communicator.hpp"
#include "laneway/simt/timeline_part.hpp"

namespace laneway {

runtime::runtime(options options)
    : options_(std::move(options)),
      machine_(options_.devices, options_.seed, options_.checked_accesses, options_.processes, options_.transport) {
    const int process = machine_.n_processes() > 1 ? machine_.process() : -1;
    if (!options_.timeline) options_.timeline = timeline::of_environment(process);
    if (options_.timeline) machine_.record(options_.timeline);
}

runtime::~runtime() = default;

std::uint64_t runtime::held_bytes() const {
    if (gets_ == nullptr) return 0;
    return gets_->counters.size() * sizeof(lane_gets) + gets_->values.size() * sizeof(std::uint64_t);
}

device_memory runtime::device_memory(const device_heap_options& options) {
    const laneway::device_memory made(machine_, options);
    std::erase_if(memories_, [](const auto& memory) { return memory.expired(); });
    memories_.push_back(made.heaps());
    return made;
}

communicator runtime::communicator() { return communicator(communicator_options{}); }

communicator runtime::communicator(const communicator_options& options) {
    return {machine_, options, n_communicators_++};
}

device_stream runtime::stream(int pe, const std::string& name) {
    if (pe < 0 || pe >= n_pes() || !machine_.is_own(pe)) {
        throw usage_error("stream \"" + name + "\": no PE " + std::to_string(pe) +
                          " in this process; the runtime has " + std::to_string(n_pes()));
    }
    const auto mine = machine_.refuse_during_run();
    if (!streams_) streams_ = std::make_shared<stream_engine>();
    options job = options_;
    job.gpu_blocks = 0;  // that is how much a run takes
    device_stream made(streams_, {machine_.device(pe), pe, n_pes(), job}, name, [](const auto&) {});
    // Opens it: to make one can wait for kernels, and some may stay soon.
    const event opened = made.record();
    const std::chrono::duration<double> seconds(run_deadline(options_.timeout_seconds).seconds());
    if (!opened.wait_for(std::chrono::duration_cast<std::chrono::milliseconds>(seconds))) {
        throw timeout_error("stream \"" + name + "\": " + machine_.device(pe)->name() + " has not opened it in time");
    }
    if (const std::exception_ptr why = opened.failure()) std::rethrow_exception(why);
    return made;
}

std::string runtime::memory_account() const {
    std::string text;
    for (const auto& memory : memories_) {
        if (const auto heaps = memory.lock()) text += heaps->account();
    }
    return text;
}

comm_resources& runtime::resources_for(const comm_plan& plan, const run_deadline& until) {
    if (!resources_ || !resources_->suits(plan)) {
        const timeline_part part(options_.timeline, "making buffers and rings");
        resources_.reset();
        resources_ = std::make_unique<comm_resources>(machine_, options_, plan, until);
    } else if (!ended_well_) {
        resources_->clear();
    }
    if (!ended_well_ && gets_ != nullptr) gets_->counters.clear();
    ended_well_ = true;
    return *resources_;
}

run_report runtime::run_programs(comm_resources& resources, const comm_plan& plan,
                                 const std::vector<pe_program>& programs, const run_deadline& until,
                                 const std::function<std::string()>& account, const run_label& label) {
    ended_well_ = false;
    const double seconds = machine_.run(
        programs, plan.shapes(), until, [&] { return resources.ring_fills() + account() + memory_account(); }, label);
    run_report report = resources.report(seconds);
    ended_well_ = true;
    for (const auto& memory : memories_) {
        if (const auto heaps = memory.lock()) {
            const auto held = heaps->held();
            report.memory.insert(report.memory.end(), held.begin(), held.end());
        }
    }
    machine_.record_totals(report);
    return report;
}

}  // namespace laneway
