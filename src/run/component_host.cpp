#include "laneway/run/component_host.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"

namespace laneway {

void refuse_twice(std::vector<const void*> components) {
    std::sort(components.begin(), components.end());
    if (std::adjacent_find(components.begin(), components.end()) != components.end()) {
        throw usage_error("a component may be given to a run once only");
    }
}

void refuse_apart(const machine& machine, const std::string& whose) {
    for (int pe = 1; pe < machine.n_pes(); ++pe) {
        if (machine.shares_memory(0, pe)) continue;
        throw usage_error(whose + ": PE 0 (" + machine.device(0)->name() + ") and PE " + std::to_string(pe) + " (" +
                          machine.device(pe)->name() + ") cannot store into each other's memory");
    }
}

}  // namespace laneway
