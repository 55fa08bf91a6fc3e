// PageRank on one core, and numbers from which ranks are made.
#pragma once

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "laneway/graph/read.hpp"
#include "pagerank/pagerank.hpp"
#include "unit/apps/sample_graphs.hpp"

namespace laneway::test {

/// Parts of 1 in proportion to `given`, or equal ones.
inline std::vector<double> parts_of_one(const std::vector<double>& given, std::uint64_t vertices) {
    if (given.empty()) return std::vector<double>(vertices, 1 / static_cast<double>(vertices));
    const double sum = std::accumulate(given.begin(), given.end(), 0.0);
    std::vector<double> parts;
    for (const double part : given) parts.push_back(part / sum);
    return parts;
}

struct plain_ranks {
    std::vector<double> rank;
    std::uint64_t rounds = 0;
    double residual = 0;
};

/// NetworkX's iteration in float64 on one core.
inline plain_ranks iterate_plainly(const graph::graph& graph, const apps::pagerank_options& o) {
    const auto& g = std::get<graph::csr32>(graph.arcs);
    const std::uint64_t n = g.vertices();
    const auto start = parts_of_one(o.personalization, n);
    const auto of_dangling = o.dangling.empty() ? start : parts_of_one(o.dangling, n);
    plain_ranks now{parts_of_one(o.nstart, n)};
    while (now.rounds < o.rounds.value_or(o.max_iter)) {
        std::vector<double> sum(n, 0);
        double dangling = 0;
        for (std::uint64_t v = 0; v < n; ++v) {
            const auto weight = [&](std::uint64_t arc) { return o.weighted ? g.weight(arc) : 1.0; };
            double outgoing = 0;
            for (std::uint64_t arc = g.offsets[v]; arc < g.offsets[v + 1]; ++arc) outgoing += weight(arc);
            if (outgoing == 0) dangling += now.rank[v];
            for (std::uint64_t arc = g.offsets[v]; outgoing > 0 && arc < g.offsets[v + 1]; ++arc) {
                sum[g.heads[arc]] += now.rank[v] * weight(arc) / outgoing;
            }
        }
        now.residual = 0;
        for (std::uint64_t v = 0; v < n; ++v) {
            const double next = (1 - o.alpha) * start[v] + o.alpha * (sum[v] + dangling * of_dangling[v]);
            now.residual += std::abs(next - now.rank[v]);
            now.rank[v] = next;
        }
        ++now.rounds;
        if (!o.rounds && now.residual < o.tol * static_cast<double>(n)) break;
    }
    return now;
}

/// Numbers from which parts of rank are made; some are 0.
inline std::vector<double> random_parts(std::uint64_t seed, std::uint64_t vertices) {
    std::mt19937_64 random(seed);
    std::vector<double> parts(vertices);
    for (double& part : parts) part = random() % 3 == 0 ? 0 : static_cast<double>(random() % 1000) / 7;
    parts[random() % vertices] += 1;
    return parts;
}

}  // namespace laneway::test
