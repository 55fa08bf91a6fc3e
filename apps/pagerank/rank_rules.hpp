// What ranks are made of, and the numbers that callers give for it: the host's part of both methods.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fixed_rank.hpp"
#include "laneway/base/error.hpp"
#include "laneway/graph/csr.hpp"
#include "pagerank.hpp"

namespace laneway::apps {

inline std::uint64_t to_rank(double value) { return static_cast<std::uint64_t>(std::ldexp(value, rank_bits)); }
inline double to_double(std::uint64_t rank) { return std::ldexp(static_cast<double>(rank), -rank_bits); }

inline bool uses_weights(const graph::graph& graph, const pagerank_options& options) {
    return options.weighted && graph.weighted();
}

/// The parts of 1 that `given` says, as whole ranks; equal ones where it is empty.
inline std::vector<std::uint64_t> parts_of_rank(const std::vector<double>& given, std::uint64_t vertices) {
    if (given.empty()) return std::vector<std::uint64_t>(vertices, whole_rank / vertices);
    double sum = 0;
    for (const double part : given) sum += part;
    std::vector<std::uint64_t> parts(vertices);
    std::transform(given.begin(), given.end(), parts.begin(), [&](double part) { return to_rank(part / sum); });
    return parts;
}

/// Throws usage_error unless `given` is empty or has a number for each vertex from which parts of rank can be made.
inline void require_parts_of_rank(const std::string& name, const std::vector<double>& given, std::uint64_t vertices) {
    if (given.empty()) return;
    if (given.size() != vertices) {
        throw usage_error(name + ": " + std::to_string(given.size()) + " numbers for " + std::to_string(vertices) +
                          " vertices");
    }
    double sum = 0;
    for (std::size_t v = 0; v < given.size(); ++v) {
        if (!(given[v] >= 0 && std::isfinite(given[v]))) {
            throw usage_error(name + ": entry " + std::to_string(v) + " is " + std::to_string(given[v]) +
                              ", not a finite number of 0 or more");
        }
        sum += given[v];
    }
    if (!(sum > 0 && std::isfinite(sum))) throw usage_error(name + ": the sum of all is " + std::to_string(sum));
}

}  // namespace laneway::apps
