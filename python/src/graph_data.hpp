// What a Graph of Python is made of.
#pragma once

#include "laneway/graph/csr.hpp"

namespace laneway::python {

/// A new graph on its way to the Graph that Python sees, which takes it out: the class there has more than this one.
struct graph_data {
    graph::graph graph;
};

}  // namespace laneway::python
