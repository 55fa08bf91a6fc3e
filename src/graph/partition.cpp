#include "laneway/graph/partition.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway::graph {
namespace {

// total * part / n_parts without overflow, for n_parts below 2^32.
std::uint64_t share(std::uint64_t total, std::uint64_t part, std::uint64_t n_parts) {
    return total / n_parts * part + total % n_parts * part / n_parts;
}

std::vector<std::uint64_t> starts_of(std::vector<std::uint64_t> counts) {
    std::uint64_t total = 0;
    for (std::uint64_t& entry : counts) {
        const std::uint64_t count = entry;
        entry = total;
        total += count;
    }
    return counts;
}

}  // namespace

template <class Vertex>
std::vector<std::uint64_t> equal_arc_ranges(const basic_csr<Vertex>& graph, std::uint64_t n_parts) {
    if (n_parts == 0 || n_parts > std::numeric_limits<std::uint32_t>::max())
        throw usage_error("a graph cannot be divided into " + std::to_string(n_parts) + " parts");
    const std::uint64_t n = graph.vertices(), m = graph.arcs();
    std::vector<std::uint64_t> ranges(n_parts + 1, 0);
    ranges[n_parts] = n;
    for (std::uint64_t part = 1; part < n_parts; ++part) {
        if (m == 0) {
            ranges[part] = share(n, part, n_parts);
            continue;
        }
        const std::uint64_t wanted = share(m, part, n_parts);
        auto cut = std::lower_bound(graph.offsets.begin(), graph.offsets.end(), wanted);
        if (cut != graph.offsets.begin() && wanted - cut[-1] < *cut - wanted) --cut;
        ranges[part] = static_cast<std::uint64_t>(cut - graph.offsets.begin());
    }
    return ranges;
}

template <class Vertex>
std::vector<std::uint32_t> dealt_parts(const basic_csr<Vertex>& graph, std::uint64_t n_parts) {
    const std::vector<std::uint64_t> pieces = equal_arc_ranges(graph, dealt_pieces * n_parts);
    std::vector<std::uint32_t> parts(graph.vertices());
    for (std::uint64_t piece = 0; piece < dealt_pieces * n_parts; ++piece) {
        std::fill(parts.begin() + static_cast<std::ptrdiff_t>(pieces[piece]),
                  parts.begin() + static_cast<std::ptrdiff_t>(pieces[piece + 1]),
                  static_cast<std::uint32_t>(piece % n_parts));
    }
    return parts;
}

template <class Vertex>
part_order<Vertex> order_by_part(std::span<const std::uint32_t> parts, std::uint64_t n_parts) {
    std::vector<std::uint64_t> counts(n_parts + 1, 0);
    for (std::size_t v = 0; v < parts.size(); ++v) {
        if (parts[v] >= n_parts)
            throw usage_error("part " + std::to_string(parts[v]) + " of vertex " + std::to_string(v) +
                              " is not below the number of parts, " + std::to_string(n_parts));
        ++counts[parts[v]];
    }
    part_order<Vertex> order;
    order.ranges = starts_of(std::move(counts));
    order.new_id.resize(parts.size());
    std::vector<std::uint64_t> next = order.ranges;
    for (std::size_t v = 0; v < parts.size(); ++v) order.new_id[v] = static_cast<Vertex>(next[parts[v]]++);
    return order;
}

template <class Vertex>
basic_csr<Vertex> relabel(const basic_csr<Vertex>& graph, std::span<const Vertex> new_id) {
    const std::uint64_t n = graph.vertices();
    if (new_id.size() != n)
        throw usage_error(std::to_string(new_id.size()) + " new ids for " + std::to_string(n) + " vertices");
    constexpr std::uint64_t unset = std::numeric_limits<std::uint64_t>::max();
    std::vector<std::uint64_t> old_id(n, unset);
    for (std::uint64_t v = 0; v < n; ++v) {
        if (new_id[v] >= n || old_id[new_id[v]] != unset)
            throw usage_error("new id " + std::to_string(new_id[v]) + " of vertex " + std::to_string(v) +
                              " is out of range or taken twice");
        old_id[new_id[v]] = v;
    }
    basic_csr<Vertex> result;
    result.offsets.reserve(n + 1);
    result.heads.reserve(graph.arcs());
    result.weights.reserve(graph.weights.size());
    interruption_counter leave;
    for (const std::uint64_t v : old_id) {
        leave.poll();
        for (std::uint64_t arc = graph.offsets[v]; arc < graph.offsets[v + 1]; ++arc) {
            result.heads.push_back(new_id[graph.heads[arc]]);
            if (graph.weighted()) result.weights.push_back(graph.weights[arc]);
        }
        result.offsets.push_back(result.heads.size());
    }
    return result;
}

template std::vector<std::uint64_t> equal_arc_ranges(const csr32&, std::uint64_t);
template std::vector<std::uint64_t> equal_arc_ranges(const csr64&, std::uint64_t);
template std::vector<std::uint32_t> dealt_parts(const csr32&, std::uint64_t);
template std::vector<std::uint32_t> dealt_parts(const csr64&, std::uint64_t);
template part_order<std::uint32_t> order_by_part(std::span<const std::uint32_t>, std::uint64_t);
template part_order<std::uint64_t> order_by_part(std::span<const std::uint32_t>, std::uint64_t);
template csr32 relabel(const csr32&, std::span<const std::uint32_t>);
template csr64 relabel(const csr64&, std::span<const std::uint64_t>);

}  // namespace laneway::graph
