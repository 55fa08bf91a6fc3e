#include "laneway/runtime.hpp"

namespace laneway {

runtime::runtime(options options)
    : options_(std::move(options)),
      machine_(options_.devices, options_.seed, options_.checked_accesses, options_.processes) {}

runtime::~runtime() = default;

std::uint64_t runtime::held_bytes() const { return gets_ == nullptr ? 0 : gets_->size() * sizeof(lane_gets); }

comm_resources& runtime::resources_for(const comm_plan& plan, const run_deadline& until) {
    if (!resources_ || !resources_->suits(plan)) {
        resources_.reset();
        resources_ = std::make_unique<comm_resources>(machine_, options_, plan, until);
    }
    return *resources_;
}

run_report runtime::run_programs(comm_resources& resources, const comm_plan& plan,
                                 const std::vector<pe_program>& programs, const run_deadline& until,
                                 const std::function<std::string()>& account) {
    resources.reset();
    if (gets_ != nullptr) gets_->clear();
    return resources.report(
        machine_.run(programs, plan.shapes(), until, [&] { return resources.ring_fills() + account(); }));
}

}  // namespace laneway
