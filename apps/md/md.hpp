// Molecular dynamics of many universes over many devices, with replica exchange: the host's view.
#pragma once

#include <cstdint>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "packing.hpp"

namespace laneway {
class runtime;
}

namespace laneway::apps {

struct md_options {
    options job;  ///< devices, deadline, seed, and the library's other knobs
    /// As universe.hpp has it. Energies are sampled at each multiple of `model.sample_steps`, which is 1 at least, and
    /// after the last step.
    md_model model{.sample_steps = 10};
    std::uint64_t steps = 0;
    /// One a universe: velocities are scaled to it before the first step. Empty: they stay.
    std::vector<double> temperatures;
    /// Universes whose temperatures are neighbours may trade them after each so many steps, but not after the last one;
    /// 0: never.
    std::uint64_t exchange_steps = 0;
    std::uint64_t exchange_seed = 1;  ///< of what is drawn for that
    double spent_seconds = 0;         ///< of the deadline, by whoever prepared the universes
    /// Of a worker's lanes so many share a universe, at most, and the others do nothing: for studies. 0: all.
    std::uint32_t lanes = 0;
};

struct md_result {
    std::vector<md_outcome> universes;
    /// Place of each universe's temperature among all, from the lowest, a row of one a universe: before the first step,
    /// and after each exchange. Empty where there is none.
    std::vector<std::uint32_t> rungs;
    std::uint64_t pairs = 0;     ///< that might have traded their temperatures
    std::uint64_t accepted = 0;  ///< of these, those that have
    std::uint64_t workers = 0;   ///< of the devices, warps or threads of a CPU device
    run_report report;
};

/// Advances each universe by `steps`, one task a universe and exchange. Energies and positions are the same, to the
/// bit, on all CPU devices, whatever tasks run beside each other; on all GPUs too.
///
/// `job.timeout_seconds` is the deadline of the whole call, setting up included. Throws usage_error for no universes,
/// those that shape_of refuses, temperatures of another number, not above 0, or that do not rise where they are traded;
/// device_fault where an atom is lost or has too many neighbours, naming universe and step; timeout_error.
md_result md(const std::vector<md_atoms>& universes, const md_options& options);
/// On devices that the caller has opened; `options.job` is the runtime's but for its deadline.
md_result md(runtime& runtime, const std::vector<md_atoms>& universes, const md_options& options);

}  // namespace laneway::apps
