// Who owns which vertices of a graph: contiguous ranges, one a PE.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

struct vertex_ranges {
    const std::uint64_t* starts = nullptr;  ///< n_pes + 1; PE memory

    template <class Ctx>
    LANEWAY_FN int owner(const Ctx& ctx, std::uint64_t vertex) const {
        const std::uint64_t vertices[] = {vertex};
        int found[1];
        owners(ctx, vertices, found);
        return found[0];
    }

    /// The owners of several vertices, looked for together: none of them is waited for before all have been asked for.
    template <class Ctx, class Vertex, int N>
    LANEWAY_FN void owners(const Ctx& ctx, const Vertex (&vertices)[N], int (&found)[N]) const {
        const int pes = ctx.n_pes();
        int step = 1;
        while (2 * step < pes) step *= 2;
        for (int& pe : found) pe = 0;
        for (; step > 0; step /= 2) {
            for (int k = 0; k < N; ++k) {
                const int next = found[k] + step;
                if (next < pes && starts[next] <= vertices[k]) found[k] = next;
            }
        }
    }
};

}  // namespace laneway
