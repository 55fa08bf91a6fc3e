// The network that all styles train, in symmetric memory: what each PE has of it.
//
// A PE has all weights, twice, as a step reads one set while the next is written; its samples of the batch; and
// gradients as rows of all weights (network_shape.hpp).
#pragma once

#include "laneway/runtime.hpp"
#include "parallel/computing_time.hpp"
#include "parallel/served_run.hpp"
#include "training/data.hpp"
#include "training/network_view.hpp"

namespace laneway::apps {

/// Device view of a network in symmetric memory.
struct network_ref {
    network_shape shape;
    symmetric_ref<float> weights[2];
    symmetric_ref<float> units;
    symmetric_ref<float> deltas;
    symmetric_ref<float> targets;
    symmetric_ref<float> rows;
    symmetric_ref<double> squares;         ///< [step][sample]: of the errors
    symmetric_ref<std::uint64_t> clock;    ///< of computing_time
    symmetric_ref<std::uint64_t> updated;  ///< of each layer: pieces of weights that have come, of all steps

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN auto view(const Ctx& ctx, std::uint32_t step) const {
        using floats = decltype(rows.local(ctx));
        return network_view<floats>{
            shape,          weights[step % 2].local(ctx), units.local(ctx), deltas.local(ctx), targets.local(ctx),
            rows.local(ctx)};
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN auto squares_of(const Ctx& ctx, std::uint32_t step) const {
        return squares.local(ctx) + std::uint64_t{step} * shape.max_samples();
    }
    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, const computing_time& spent) const {
        spent.add_to(ctx, working_warp::of(ctx).warps, address(ctx, clock[0], ctx.pe()));
    }
    /// The forward pass of a step and the errors, within one run: each layer once all of its new weights have come, for
    /// which `agent` waits, of a component that raises signals. False where the run is ending.
    template <class Ctx, class Agent>
    LANEWAY_FN bool forward(Ctx& ctx, Agent& agent, std::uint32_t step, computing_time& spent) const {
        const auto net = view(ctx, step);
        const auto mine = working_warp::of(ctx);
        for (int layer = 0; layer < shape.n_layers; ++layer) {
            const std::uint64_t all_pieces = step * shape.layers[layer].pieces();
            if (!all_go_on(ctx, agent.wait_signal(ctx, updated[static_cast<unsigned>(layer)], all_pieces)))
                return false;
            spent.of(ctx, [&] { net.forward(ctx, mine, layer); });
        }
        spent.of(ctx, [&] { net.errors(ctx, mine, squares_of(ctx, step)); });
        return true;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t in_row(int row, std::uint64_t weight) const {
        return static_cast<std::uint64_t>(row) * shape.weights + weight;
    }
};

/// In symmetric memory, on the host.
class network {
public:
    network(runtime& rt, const training_options& options, const training_data& data);

    [[nodiscard]] network_ref ref() const;
    [[nodiscard]] const network_shape& shape() const { return shape_; }
    /// What came of it, but for the seconds of runs.
    [[nodiscard]] training_result take(std::uint32_t steps) const;

private:
    network_shape shape_;
    symmetric_array<float> a_;
    symmetric_array<float> b_;
    symmetric_array<float> units_;
    symmetric_array<float> deltas_;
    symmetric_array<float> targets_;
    symmetric_array<float> rows_;
    symmetric_array<double> squares_;
    symmetric_array<std::uint64_t> clock_;
    symmetric_array<std::uint64_t> updated_;
};

// One function a style. In symmetric memory each returns the seconds of its runs.
double train_by_host(runtime& rt, const network& net, std::uint32_t steps);
double train_by_triggers(runtime& rt, const network& net, std::uint32_t steps);
served_run train_by_service(runtime& rt, const network& net, std::uint32_t steps, bool by_host_threads);
training_result train_by_streams(const training_options& options, const training_data& data);

}  // namespace laneway::apps
