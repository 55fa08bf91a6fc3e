// Memory of one PE whose content somebody who is no lane carries into memory of another one.
#pragma once

#include <cstddef>

namespace laneway::checked {

/// What lanes write behind `staging` others read behind `landing`, whenever it has been carried: for the histories of
/// lanes both are one place.
struct carried_memory {
    const std::byte* staging = nullptr;
    const std::byte* landing = nullptr;
    std::size_t bytes = 0;
};

}  // namespace laneway::checked
