// What an application of the priority flow throws ends the run, whichever of its functions it is.
#include "laneway/flow/priority_flow.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "laneway/comm/grid.hpp"
#include "laneway/comm/post_office.hpp"
#include "laneway/flow/hub_shards_memory.hpp"
#include "laneway/flow/priority_worklist_memory.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

using key = std::uint32_t;
constexpr std::uint64_t vertices_of_a_pe = 8;

/// A ring of arcs, one from each vertex to the next; throws at vertex 5 of a PE.
struct throwing_ring {
    std::uint64_t first = 0;
    std::uint64_t vertices = 0;
    bool in_arcs = false;

    LANEWAY_FN arc_range arcs(std::uint32_t id) const {
        if (in_arcs && id == 5) throw std::out_of_range("vertex 5");
        return {first + id, 1};
    }
    template <class Ctx>
    LANEWAY_FN proposal<key> visit(Ctx&, std::uint64_t arc, key distance) const {
        if (!in_arcs && arc % vertices_of_a_pe == 5) throw std::out_of_range("arc 5");
        return {(arc + 1) % vertices, distance + 1};
    }
};

class priority_flow_test : public testing::TestWithParam<std::string> {};

void run(machine& machine, const options& o, bool in_arcs) {
    using program = priority_flow<key, throwing_ring>;
    const threshold_policy policy{100, 100, 0};
    const office_plan plan = plan_program<program>(outline_of<program>(machine), o);
    post_office office(machine, o, plan);
    const auto pes = static_cast<std::uint64_t>(machine.n_pes());
    std::vector<std::uint64_t> starts;
    for (std::uint64_t pe = 0; pe <= pes; ++pe) starts.push_back(pe * vertices_of_a_pe);
    const hub_shards hubs(machine.device(0), std::vector<std::uint64_t>(vertices_of_a_pe + 1));
    std::vector<priority_worklist<key>> lists;
    std::vector<buffer<key>> sent;
    std::vector<program> programs;
    std::vector<launch_shape> shapes;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const auto p = static_cast<std::size_t>(pe);
        lists.emplace_back(machine.device(pe), vertices_of_a_pe, plan.grids[p].worker_blocks());
        lists.back().reset(policy.first);
        const std::uint32_t first[] = {0};
        if (pe == 0) lists.back().start_with(first, 0);
        sent.emplace_back(machine.device(pe), starts.back());
        sent.back().fill_bytes(0xff);
        program made;
        made.links = office.links(pe);
        made.chunk_bytes = plan.chunk_bytes;
        made.waves = office.waves(pe, policy);
        made.handlers.routes = {{{lists.back().ref()}}};
        made.application = {starts[p], starts.back(), in_arcs};
        made.hubs = hubs.ref();
        made.ranges = {starts.data()};
        made.first = starts[p];
        made.count = vertices_of_a_pe;
        made.sent_keys = sent.back().data();
        made.server_blocks = plan.grids[p].server_blocks;
        programs.push_back(made);
        shapes.push_back(plan.grids[p].shape);
    }
    machine.run(programs, shapes, o.timeout_seconds, [&] { return office.ring_fills(); });
}

TEST_P(priority_flow_test, WhatArcsAndVisitThrowComesOutOfTheRun) {
    for (std::uint64_t seed = 1; seed <= (is_checked(GetParam()) ? 20 : 3); ++seed) {
        options o;
        o.devices = GetParam();
        o.seed = seed;
        machine machine(o.devices, seed);
        for (const bool in_arcs : {true, false}) {
            try {
                run(machine, o, in_arcs);
                ADD_FAILURE() << "the exception was lost";
            } catch (const lane_error& e) {
                const std::string what = e.what();
                const char* const where =
                    in_arcs ? "arcs of the priority flow: vertex 5" : "visit of the priority flow: arc 5";
                EXPECT_EQ(what.rfind("PE 0 (", 0), 0u) << what;
                EXPECT_NE(what.find(std::string(": exception in ") + where), std::string::npos) << what;
                EXPECT_THROW(std::rethrow_if_nested(e), std::out_of_range);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(devices, priority_flow_test, testing::Values("cpu:1", "cpu:2", "checked:1", "checked:2"),
                         name_of);

}  // namespace
}  // namespace laneway::test
