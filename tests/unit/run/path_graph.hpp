// A graph for worklists whose keys are easily told.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "laneway/flow/hub_shards_memory.hpp"
#include "laneway/flow/worklist.hpp"
#include "laneway/runtime.hpp"

namespace laneway::test {
namespace {

/// A path of arcs of weight 1 over all PEs.
struct path_arcs {
    std::uint64_t first = 0;
    std::uint64_t vertices = 0;

    LANEWAY_FN arc_range arcs(std::uint32_t id) const { return {first + id, first + id + 1 < vertices ? 1u : 0u}; }
    template <class Ctx>
    LANEWAY_FN proposal<std::uint32_t> visit(Ctx&, std::uint64_t arc, std::uint32_t key) const {
        return {arc + 1, key + 1};
    }
};
constexpr std::uint64_t path_of_a_pe = 20;

/// The graph of a worklist, whose vertices are divided evenly.
struct path_graph {
    explicit path_graph(runtime& rt) : vertices(static_cast<std::uint64_t>(rt.n_pes()) * path_of_a_pe) {
        std::vector<std::uint64_t> ends;
        for (std::uint64_t first = 0; first <= vertices; first += path_of_a_pe) ends.push_back(first);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto& device = rt.machine().device(pe);
            starts.emplace_back(device, ends.size());
            starts.back().copy_in(ends);
            hubs.emplace_back(device, std::vector<std::uint64_t>(path_of_a_pe + 1));
            const std::uint64_t first = ends[static_cast<std::size_t>(pe)];
            shares.push_back({{first, vertices}, {starts.back().data()}, first, path_of_a_pe, hubs.back().ref(), 0});
        }
    }
    [[nodiscard]] worklist<std::uint32_t, path_arcs> list(const machine& machine) const {
        return {machine, shares, vertices, {4, 4, 1}};
    }

    std::uint64_t vertices;
    std::vector<buffer<std::uint64_t>> starts;  // one a PE
    std::vector<hub_shards> hubs;
    std::vector<worklist_share<path_arcs>> shares;
};

/// Keys of a path's vertices by all proposals so far.
class path_keys {
public:
    explicit path_keys(std::uint64_t vertices) : keys_(vertices, worklist_word<std::uint32_t>::unreached) {}
    void propose(std::uint64_t vertex, std::uint32_t key) {
        for (; vertex < keys_.size(); ++vertex, ++key) keys_[vertex] = std::min(keys_[vertex], key);
    }
    void expect(const runtime& rt, const worklist<std::uint32_t, path_arcs>& list) const {
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(static_cast<unsigned>(pe) * path_of_a_pe);
            EXPECT_EQ(list.keys(pe), std::vector(first, first + path_of_a_pe)) << "PE " << pe;
        }
    }

private:
    std::vector<std::uint32_t> keys_;
};

}  // namespace
}  // namespace laneway::test
