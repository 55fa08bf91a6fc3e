// What tests of collectives share: a program that has lanes call a body with the agent, on grids with a control warp as
// those of the library's own programs, and its memory.
#pragma once

#include <atomic>
#include <functional>

#include "laneway/comm/collective/collectives.hpp"
#include "laneway/comm/collective/collectives_memory.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/simt/wait.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Does what control warps do: passes the host's stop word on to the PE's lanes, and ends the run behind its deadline.
template <class Ctx>
LANEWAY_FN void watch_run(Ctx& ctx) {
    const auto& env = ctx.environment();
    if (ctx.lane() != 0) return;
    if (ctx.load(env.host_stop, order::relaxed, scope::system) != 0) {
        ctx.store(&env.control->stop, 1u, order::relaxed, scope::device);
    }
    if (ctx.is_late(time_for_cause_ns<Ctx>(env.timeout_ns))) {
        (void)fail(ctx, status::timeout, operation::run_to_end);
    }
}

/// Where a warp's member of a group stands among the PE's members of its kind.
LANEWAY_FN std::uint32_t number_of_member(group kind, const group_position& position) {
    return static_cast<std::uint32_t>(kind == group::warp    ? position.pe_warp
                                      : kind == group::block ? position.block
                                                             : 0);
}

/// Every working warp calls `body(ctx, sums, position)` once.
template <class Body>
struct collectives_program {
    static constexpr int cuda_warps = 8;

    collectives_ref ref;
    std::uint32_t* ended = nullptr;  ///< PE memory: working warps
    Body body;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const roles mine(ctx, 0);
        const auto idle = [&] {
            if constexpr (Ctx::warp_lanes == 1) watch_run(ctx);
        };
        const group_position position{mine.team_number, mine.team_index, mine.team_warps, mine.worker_index};
        collectives<Ctx, decltype(idle)> sums(ref, position, ctx.shared(), idle);
        if (mine.works) sums.open(ctx);
        ctx.sync_block();
        if (mine.works) {
            body(ctx, sums, position);
            sums.leave(ctx);
            if (ctx.lane() == 0) ctx.fetch_add(ended, 1u, order::relaxed, scope::device);
        } else {
            control(ctx);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void control(Ctx& ctx) const {
        while (ctx.lane() == 0 && ctx.load(ended, order::relaxed, scope::device) < ref.mine.warps) {
            watch_run(ctx);
            ctx.pause(4);
        }
        ctx.sync(full_warp<Ctx>);
    }
};

/// The PEs of a job with memory for collectives, and the grids that they get.
class collectives_job {
public:
    explicit collectives_job(const options& o, const collective_options& sizes = {},
                             const std::function<int(int pe)>& blocks_of = {})
        : machine(o.devices, o.seed, {}, nullptr, o.transport), timeout_seconds(o.timeout_seconds) {
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            launch_shape shape = shape_of(o, pe);
            if (blocks_of) shape.blocks = blocks_of(pe);
            shapes.push_back(shape);
            const bool one_lane = machine.device(pe)->id().kind == device_kind::cpu;
            const int warps = roles::count_workers(shape.blocks, shape.warps_per_block, 0, one_lane);
            counts.push_back({static_cast<std::uint32_t>(warps), static_cast<std::uint32_t>(shape.blocks)});
            ended_.emplace_back(machine.device(pe), 1);
        }
        memory.emplace(machine, collectives_plan(sizes, counts));
    }

    /// Lanes of a warp of a PE.
    [[nodiscard]] int lanes(int pe) const { return warp_lanes_of(*machine.device(pe)); }
    /// Groups of a kind that all PEs are members of.
    [[nodiscard]] std::uint32_t common_groups(group kind) const {
        std::uint32_t least = ~0u;
        for (const auto& pe : counts) least = std::min(least, pe.groups(kind));
        return least;
    }

    /// Runs a body on every working warp; `make(pe)` gives each PE's.
    template <class Make>
    void run(Make&& make) {
        using program = collectives_program<decltype(make(0))>;
        memory->begin(counts);
        std::vector<program> programs;
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            auto& ended = ended_[static_cast<std::size_t>(pe)];
            ended.fill_bytes(0);
            programs.push_back({memory->ref(pe), ended.data(), make(pe)});
            machine.resident_blocks<program>(pe, shapes[static_cast<std::size_t>(pe)]);
        }
        machine.run(programs, shapes, timeout_seconds, [] { return std::string{}; });
        memory->end();
    }

    laneway::machine machine;
    double timeout_seconds;
    std::vector<launch_shape> shapes;
    std::vector<working_counts> counts;
    std::optional<collectives_memory> memory;

private:
    [[nodiscard]] launch_shape shape_of(const options& o, int pe) const {
        launch_shape shape;
        shape.shared_bytes = sizeof(collective_state);
        switch (machine.device(pe)->id().kind) {
            case device_kind::cpu: shape.blocks = o.cpu_threads; break;
            case device_kind::checked:
                shape.blocks = o.checked_blocks;
                shape.warps_per_block = o.checked_warps;
                break;
            default: shape.blocks = o.gpu_blocks; shape.warps_per_block = 8;
        }
        return shape;
    }

    std::vector<buffer<std::uint32_t>> ended_;
};

/// Lists of PEs of the same kind, one to three.
inline std::vector<std::string> equal_devices() {
    std::vector<std::string> lists = device_lists();
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}
/// The same, one to five.
inline std::vector<std::string> equal_devices_to_five() {
    std::vector<std::string> lists = equal_devices();
#if !defined(__CUDACC__)
    for (const char* more : {"cpu:4", "checked:4", "cpu:5", "checked:5"}) lists.emplace_back(more);
#endif
    return lists;
}
/// Lists of one to five PEs, also of a GPU and a CPU device.
inline std::vector<std::string> device_lists_to_five() {
    std::vector<std::string> lists = device_lists();
#if !defined(__CUDACC__)
    for (const char* more : {"cpu:4", "checked:4", "cpu:5", "checked:5"}) lists.emplace_back(more);
#endif
    return lists;
}

}  // namespace laneway::test
