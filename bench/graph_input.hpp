// The graph that a benchmark works on, and where its searches start.
#pragma once

#include "bench_support.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"

namespace laneway::bench {

/// A file's name, kronecker:SCALE:ARCS, uniform:SCALE:ARCS, both with 2^SCALE vertices, or grid:WIDTH:HEIGHT:ARCS.
inline graph::graph graph_of(const std::string& text) {
    const std::string kind = text.substr(0, text.find(':'));
    if (kind != "kronecker" && kind != "uniform" && kind != "grid") return graph::read_graph(text);
    const std::string behind = kind.size() < text.size() ? text.substr(kind.size() + 1) : "";
    const arguments given(0, nullptr, {{text, behind}});
    const auto numbers = given.numbers(text, ':', 0, std::uint64_t{1} << 40);
    if (numbers.size() != (kind == "grid" ? 3u : 2u)) {
        throw usage_error(text + ": kronecker:SCALE:ARCS, uniform:SCALE:ARCS, grid:WIDTH:HEIGHT:ARCS or a file");
    }
    if (kind == "grid") return graph::generate_grid({.width = numbers[0], .height = numbers[1], .arcs = numbers[2]});
    if (numbers[0] > 31) throw usage_error(text + ": the scale is at most 31");
    if (kind == "uniform") {
        return graph::generate_uniform({.vertices = std::uint64_t{1} << numbers[0], .arcs = numbers[1]});
    }
    return graph::generate_kronecker({.scale = static_cast<unsigned>(numbers[0]), .arcs = numbers[1]});
}

/// A vertex by its number, or "busiest": the one with the most arcs, never an isolated one.
inline std::uint64_t source_of(const arguments& args, const graph::graph& g) {
    if (args.text("source") != "busiest") return args.number("source", 0, g.vertices() - 1);
    return std::visit(
        [](const auto& csr) {
            std::uint64_t best = 0;
            for (std::uint64_t v = 0; v < csr.vertices(); ++v) {
                if (csr.offsets[v + 1] - csr.offsets[v] > csr.offsets[best + 1] - csr.offsets[best]) best = v;
            }
            return best;
        },
        g.arcs);
}

}  // namespace laneway::bench
