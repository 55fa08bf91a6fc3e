// A graph of which programs keep on the devices what they need.
#pragma once

#include <optional>
#include <utility>

#include "graph/degrees.hpp"
#include "laneway/graph/csr.hpp"
#include "workspace/workspace.hpp"

namespace laneway::apps {

/// Programs that take it find the graph divided and copied by their earlier calls. Owns what they keep, which the
/// workspace may drop; neither owns the graph nor the workspace, which outlive it. The graph does not change meanwhile.
class resident_graph {
public:
    resident_graph(workspace& workspace, const graph::graph& graph) : workspace_(workspace), graph_(graph) {}
    ~resident_graph() { workspace_.forget(this); }
    resident_graph(const resident_graph&) = delete;
    resident_graph& operator=(const resident_graph&) = delete;

    [[nodiscard]] const graph::graph& host() const { return graph_; }
    /// Counted by the first call.
    [[nodiscard]] const apps::degrees& degrees() {
        if (!degrees_) degrees_ = degrees_of(graph_);
        return *degrees_;
    }
    /// PEs that programs divide it over. Opens the devices.
    [[nodiscard]] int n_pes() { return workspace_.n_pes(); }
    /// Whether something of it is on the devices.
    [[nodiscard]] bool kept() const { return workspace_.keeps(this); }

    /// As workspace::with; `Piece` and `variant` name the piece.
    template <class Piece, class Make, class Use>
    auto with(int variant, const std::vector<std::uint32_t>& parts, Make&& make, Use&& use) {
        return workspace_.with<Piece>(this, {typeid(Piece), variant, parts}, std::forward<Make>(make),
                                      std::forward<Use>(use));
    }

private:
    workspace& workspace_;
    const graph::graph& graph_;
    std::optional<apps::degrees> degrees_;
};

}  // namespace laneway::apps
