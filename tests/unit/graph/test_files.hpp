// What the tests of the graph layer share.
#pragma once

#include <string>

#include "laneway/graph/csr.hpp"
#include "unit/test_files.hpp"

namespace laneway::graph::test {

using namespace laneway::test;

/// Arcs as text, `tail>head:weight` in CSR order: what a small test compares.
template <class Vertex>
std::string arcs_of(const basic_csr<Vertex>& csr) {
    std::string text;
    for (std::uint64_t v = 0; v < csr.vertices(); ++v) {
        for (std::uint64_t arc = csr.offsets[v]; arc < csr.offsets[v + 1]; ++arc)
            text += (text.empty() ? "" : " ") + std::to_string(v) + ">" + std::to_string(csr.heads[arc]) +
                    (csr.weighted() ? ":" + std::to_string(csr.weight(arc)) : "");
    }
    return text;
}

inline std::string arcs_of(const graph& g) {
    return std::visit([](const auto& csr) { return arcs_of(csr); }, g.arcs);
}

}  // namespace laneway::graph::test
