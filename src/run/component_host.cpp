#include "laneway/run/component_host.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/support.hpp"

namespace laneway {

void refuse_twice(std::vector<const void*> components) {
    std::sort(components.begin(), components.end());
    if (std::adjacent_find(components.begin(), components.end()) != components.end()) {
        throw usage_error("a component may be given to a run once only");
    }
}

void refuse_thresholds(int with_threshold) {
    if (with_threshold <= 1) return;
    throw usage_error(std::to_string(with_threshold) +
                      " components with thresholds in one run or session: one may have " +
                      "a threshold; of the others all work runs at once (threshold_policy::first, "
                      "item_worklist_options::priorities)");
}

void refuse_apart(const machine& machine, const std::string& whose) {
    for (int pe = 1; pe < machine.n_pes(); ++pe) {
        if (machine.shares_memory(0, pe)) continue;
        throw usage_error(whose + ": PE 0 (" + machine.device(0)->name() + ") and PE " + std::to_string(pe) + " (" +
                          machine.device(pe)->name() + ") cannot store into each other's memory" +
                          (machine.transport() == transport_model::proxied ? ", as proxies carry between them" : ""));
    }
}

void refuse_without_atomics(const machine& machine, const std::string& whose) {
    refuse_apart(machine, whose);
    for (int from = 0; from < machine.n_pes(); ++from) {
        for (int to = 0; to < machine.n_pes(); ++to) {
            const device_id a = machine.device(from)->id(), b = machine.device(to)->id();
            if (a.kind != device_kind::cuda || b.kind != device_kind::cuda || a == b) continue;
            if (cuda_backend::has_peer_atomics(a.index, b.index)) continue;
            throw usage_error(whose + ": lanes of " + machine.device(from)->name() +
                              " cannot do atomics in the memory of " + machine.device(to)->name() +
                              ", as its signals need");
        }
    }
}

}  // namespace laneway
