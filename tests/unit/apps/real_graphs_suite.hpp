// Shortest paths on real graphs, against the answers that their publishers or independent programs gave.
#pragma once

#include <fstream>

#include "laneway/graph/read.hpp"
#include "sssp/shortest_paths.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

struct totals {
    std::uint64_t reached = 0, max = 0, sum = 0, checksum = 0;
    friend bool operator==(const totals&, const totals&) = default;
    friend std::ostream& operator<<(std::ostream& out, const totals& t) {
        return out << "reached " << t.reached << ", max " << t.max << ", sum " << t.sum << ", checksum " << t.checksum;
    }
};

inline totals totals_of(const std::vector<std::int64_t>& distance) {
    constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
    totals t;
    for (std::size_t i = 0; i < distance.size(); ++i) {
        if (distance[i] < 0) continue;
        const auto d = static_cast<std::uint64_t>(distance[i]);
        ++t.reached;
        t.max = std::max(t.max, d);
        t.sum += d;
        t.checksum = (t.checksum + (i + 1) * d % prime) % prime;
    }
    return t;
}

inline const graph::graph& new_york() {
    static const graph::graph g = graph::read_graph(LANEWAY_SOURCE_DIR "/data/USA-road-d.NY.gr.gz");
    return g;
}

class real_graphs_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::shortest_paths_options job() const {
        apps::shortest_paths_options o;
        o.job.devices = GetParam();
        return o;
    }
};

TEST_P(real_graphs_test, NewYork) {
    apps::shortest_paths_solver solver(new_york(), job());
    EXPECT_EQ(totals_of(solver.run(0).distance), (totals{264346, 1440081, 186686642878, 22798374856756248}));
    EXPECT_EQ(totals_of(solver.run(99'999).distance), (totals{264346, 1142706, 130800329807, 19241141234772346}));
}

TEST_P(real_graphs_test, NewYorkLevels) {
    apps::shortest_paths_options o = job();
    o.unit_weights = true;
    const totals t = totals_of(apps::shortest_paths(new_york(), 0, o).distance);
    EXPECT_EQ(t.reached, 264346u);
    EXPECT_EQ(t.max, 619u);
    EXPECT_EQ(t.sum, 90771609u);
}

TEST_P(real_graphs_test, NewYorkInScatteredParts) {
    apps::shortest_paths_options o = job();
    const auto pes = static_cast<std::uint32_t>(machine(GetParam()).n_pes());
    for (std::uint32_t v = 0; v < new_york().vertices(); ++v) o.parts.push_back((v / 1000 * 2654435761u >> 7) % pes);
    EXPECT_EQ(totals_of(apps::shortest_paths(new_york(), 0, o).distance),
              (totals{264346, 1440081, 186686642878, 22798374856756248}));
}

/// Distances as a reference file lists them; unreachable ones as infinity or a huge number.
inline void expect_reference(const std::filesystem::path& pair, const std::filesystem::path& reference,
                             std::uint64_t source, const apps::shortest_paths_options& o) {
    SCOPED_TRACE(reference.filename().string());
    const graph::graph g = graph::read_graph(pair);
    const auto distance = apps::shortest_paths(g, g.ids.index_of(source), o).distance;
    const double scale = o.unit_weights ? 1 : static_cast<double>(g.weight_scale);
    std::ifstream lines(reference);
    std::uint64_t id = 0, count = 0;
    for (std::string value; lines >> id >> value; ++count) {
        const std::int64_t found = distance[g.ids.index_of(id)];
        const double expected = value[0] == 'i' ? 1e301 : std::stod(value);
        if (expected > 1e18) {
            ASSERT_EQ(found, -1) << "vertex " << id;
        } else {
            ASSERT_NEAR(static_cast<double>(found) / scale, expected, 1e-9) << "vertex " << id;
        }
    }
    EXPECT_EQ(count, g.vertices());
}

TEST_P(real_graphs_test, LdbcReferences) {
    LANEWAY_NEED_SHARED_DATA(archive, "references/ldbc_graphalytics.tar.xz");
    const scratch_directory files;
    files.unpack(archive);
    const auto folder = files / "ldbc_graphalytics/example-data-sets";
    apps::shortest_paths_options o = job();
    expect_reference(folder / "example-directed.e", folder / "example-directed-SSSP", 1, o);
    expect_reference(folder / "example-undirected.e", folder / "example-undirected-SSSP", 2, o);
    expect_reference(folder / "test-sssp-directed.e", folder / "test-sssp-directed-SSSP", 1, o);
    expect_reference(folder / "test-sssp-undirected.e", folder / "test-sssp-undirected-SSSP", 1, o);
    o.unit_weights = true;
    expect_reference(folder / "example-directed.e", folder / "example-directed-BFS", 1, o);
    expect_reference(folder / "example-undirected.e", folder / "example-undirected-BFS", 2, o);
    expect_reference(folder / "test-bfs-directed.e", folder / "test-bfs-directed-BFS", 1, o);
    expect_reference(folder / "test-bfs-undirected.e", folder / "test-bfs-undirected-BFS", 1, o);
}

TEST_P(real_graphs_test, GnutellaReferences) {
    LANEWAY_NEED_SHARED_DATA(archive, "references/p2p-31.tar.xz");
    const scratch_directory files;
    files.unpack(archive);
    apps::shortest_paths_options o = job();
    expect_reference(files / "p2p/p2p-31.e", files / "p2p/p2p-31-SSSP", 6, o);
    o.unit_weights = true;
    expect_reference(files / "p2p/p2p-31.e", files / "p2p/p2p-31-BFS", 6, o);
}

#if defined(__CUDACC__)
LANEWAY_ON_DEVICES(real_graphs_test, program_lists());
#else
LANEWAY_ON_DEVICES(real_graphs_test, (std::vector<std::string>{"cpu:1", "cpu:2", "cpu:7"}));
#endif

}  // namespace laneway::test
