#include "build.hpp"

#include <string>
#include <utility>

#include "laneway/base/interruption.hpp"

namespace laneway::graph {
namespace {

bool fits_32_bits(std::uint64_t vertices) { return vertices <= std::numeric_limits<std::uint32_t>::max(); }

// `offsets` serves as the cursors while arcs are scattered: each row's start moves to its end, which is the next
// row's start, so one shift restores it.
template <class Vertex>
basic_csr<Vertex> sort_arcs(arc_buffer& arcs, std::uint64_t vertices, bool mirrored) {
    basic_csr<Vertex> csr;
    csr.offsets.assign(vertices + 1, 0);
    auto& offsets = csr.offsets;
    interruption_counter leave;
    arcs.for_each([&](std::uint64_t tail, std::uint64_t head, std::uint32_t) {
        leave.poll();
        ++offsets[tail];
        if (mirrored && tail != head) ++offsets[head];
    });
    std::uint64_t total = 0;
    for (std::uint64_t& entry : offsets) total += std::exchange(entry, total);
    csr.heads.resize(total);
    const bool weighted = arcs.weighted();
    if (weighted) csr.weights.resize(total);
    arcs.consume([&](std::uint64_t tail, std::uint64_t head, std::uint32_t weight) {
        leave.poll();
        const auto place = [&](std::uint64_t from, std::uint64_t to) {
            const std::uint64_t at = offsets[from]++;
            csr.heads[at] = static_cast<Vertex>(to);
            if (weighted) csr.weights[at] = weight;
        };
        place(tail, head);
        if (mirrored && tail != head) place(head, tail);
    });
    std::uint64_t start = 0;
    for (std::uint64_t& entry : offsets) start = std::exchange(entry, start);
    return csr;
}

}  // namespace

void check_width(const text_source& source, const vertex_claim& claim, id_width width) {
    if (width == id_width::bits32 && !fits_32_bits(claim.vertices))
        source.fail_at(claim.line, std::to_string(claim.vertices) + " vertices do not fit in 32-bit ids");
}

void check_vertices(const text_source& source, const vertex_claim& claim, std::uint64_t arcs, id_width width) {
    if (claim.vertices > vertex_limit(arcs))
        source.fail_at(claim.line, std::to_string(claim.vertices) + " vertices for " + std::to_string(arcs) +
                                       " arcs: over the limit of " + std::to_string(vertex_limit(arcs)));
    check_width(source, claim, width);
}

graph build_graph(arc_buffer& arcs, numbering ids, bool mirrored, id_width width) {
    const bool wide = !fits_32_bits(ids.vertices) || width == id_width::bits64;
    return sort_into_graph(arcs, std::move(ids), mirrored, wide);
}

graph sort_into_graph(arc_buffer& arcs, numbering ids, bool mirrored, bool wide) {
    graph result;
    if (wide) {
        result.arcs = sort_arcs<std::uint64_t>(arcs, ids.vertices, mirrored);
    } else {
        result.arcs = sort_arcs<std::uint32_t>(arcs, ids.vertices, mirrored);
    }
    result.ids = std::move(ids);
    return result;
}

}  // namespace laneway::graph
