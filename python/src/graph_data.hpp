// What a Graph of Python is made of.
#pragma once

#include <optional>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/graph/csr.hpp"

namespace laneway::python {

/// A new graph on its way to the Graph that Python sees, which takes it out: the class there has more than this one.
class graph_data {
public:
    explicit graph_data(graph::graph&& made) : graph_(std::move(made)) {}

    /// Throws usage_error the second time.
    graph::graph take() {
        if (!graph_) throw usage_error("the graph has been taken out of this already");
        return *std::exchange(graph_, std::nullopt);
    }

private:
    std::optional<graph::graph> graph_;
};

}  // namespace laneway::python
