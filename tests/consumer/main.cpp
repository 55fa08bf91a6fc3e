// Uses the installed library as a stranger would: headers and linked code of two layers.
#include <iostream>

#include "laneway/graph/generate.hpp"
#include "laneway/simt/device_list.hpp"

int main() {
    const auto graph = laneway::graph::generate_grid({.width = 4, .height = 3, .keep = 1.0});
    const auto devices = laneway::parse_devices("cpu:2");
    std::cout << graph.vertices() << " vertices, " << graph.arc_count() << " arcs, " << devices.size() << " devices\n";
    return graph.vertices() == 12 && graph.arc_count() == 34 && devices.size() == 2 ? 0 : 1;
}
