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

}  // namespace laneway
