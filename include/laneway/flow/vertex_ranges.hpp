// Who owns which vertices of a graph: contiguous ranges, one a PE.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

struct vertex_ranges {
    const std::uint64_t* starts = nullptr;  ///< n_pes + 1; PE memory

    template <class Ctx>
    LANEWAY_FN int owner(const Ctx& ctx, std::uint64_t vertex) const {
        int low = 0;
        int high = ctx.n_pes() - 1;
        while (low < high) {
            const int middle = (low + high + 1) / 2;
            if (starts[middle] <= vertex) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }
};

}  // namespace laneway
