// Stream-triggered: kernels, copies and what they wait for are put into the devices' streams, and go off at the ends of
// kernels. No host thread takes part but the one that hands operations on to a GPU.
#include "parallel/stream_job.hpp"
#include "training/network.hpp"

namespace laneway::apps {

namespace {

/// What a PE has, in its own memory.
struct pe_memory {
    float* weights[2];
    float* units;
    float* deltas;
    float* targets;
    float* rows;
    double* squares;
    std::uint64_t* clock;
};

/// What the kernels of a step share.
struct stream_step {
    network_shape shape;
    pe_memory memory;
    std::uint32_t step;

    [[nodiscard]] LANEWAY_FN network_view<float*> view() const {
        return {shape, memory.weights[step % 2], memory.units, memory.deltas, memory.targets, memory.rows};
    }
    template <class Ctx, class Work>
    LANEWAY_FN void measured(Ctx& ctx, Work&& work) const {
        const auto mine = working_warp::of(ctx);
        computing_time spent;
        spent.of(ctx, [&] { work(view(), mine); });
        spent.add_to(ctx, mine.warps, memory.clock);
    }
};

struct stream_forward {
    stream_step all;
    int layer;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        all.measured(ctx, [&](const network_view<float*>& net, const working_warp& mine) {
            net.forward(ctx, mine, layer);
            if (layer + 1 < all.shape.n_layers) return;
            net.errors(ctx, mine, all.memory.squares + std::uint64_t{all.step} * all.shape.max_samples());
        });
    }
};

struct stream_backward {
    stream_step all;
    int layer;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        all.measured(ctx, [&](const network_view<float*>& net, const working_warp& mine) {
            for (std::uint64_t p = mine.number; p < all.shape.layers[layer].pieces(); p += mine.warps) {
                net.gradient(ctx, layer, p);
            }
            if (layer > 0) net.backward(ctx, mine, layer);
        });
    }
};

/// Leaves the new weights of the PE's own pieces in the first row.
struct stream_update {
    stream_step all;
    int layer;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto mine = working_warp::of(ctx);
        const std::uint64_t end = all.shape.first_piece(layer, ctx.pe() + 1);
        for (std::uint64_t p = all.shape.first_piece(layer, ctx.pe()) + mine.number; p < end; p += mine.warps) {
            all.view().update(ctx, layer, p,
                              [&](std::uint64_t weight, float value) { all.memory.rows[weight] = value; });
        }
    }
};

/// A device's memory and streams.
class stream_pe {
public:
    stream_pe(flow::context& ctx, const flow::endpoint& on, const network_shape& shape, const training_data& data,
              std::uint32_t steps)
        : shape_(shape), on_(on), computing_(ctx.make_stream(on, "computing")),
          sending_(ctx.make_stream(on, "sending")), updating_(ctx.make_stream(on, "updating")),
          written_(static_cast<unsigned>(shape.n_layers)), sent_(written_.size()), given_(written_.size()),
          blocks_(resident_grid<stream_forward, stream_backward>(computing_)) {
        const batch_share mine(shape, data, pe());
        memory_.weights[0] = place(ctx, data.weights);
        memory_.weights[1] = place(ctx, data.weights);
        memory_.units = place(ctx, mine.units);
        memory_.deltas = place(ctx, mine.units);
        memory_.targets = place(ctx, mine.targets);
        memory_.rows = place(ctx, std::vector<float>(static_cast<unsigned>(shape.n_rows) * shape.weights));
        memory_.squares =
            place(ctx, std::vector<double>(std::max<std::size_t>(std::size_t{steps} * shape.max_samples(), 1)));
        memory_.clock = place(ctx, std::vector<std::uint64_t>(1));
    }

    [[nodiscard]] int pe() const { return on_.device(); }
    [[nodiscard]] const pe_memory& memory() const { return memory_; }
    void start_after(const event& mark) { computing_.wait(mark); }
    [[nodiscard]] event end() { return when_all({computing_.record(), sending_.record(), updating_.record()}); }

    void forward(std::uint32_t step, int layer, const std::vector<stream_pe>& all) {
        for (const stream_pe& owner : all) computing_.wait(owner.given_[index(layer)]);
        computing_.run(stream_forward{{shape_, memory_, step}, layer}, blocks_);
    }
    void backward(std::uint32_t step, int layer) {
        computing_.run(stream_backward{{shape_, memory_, step}, layer}, blocks_);
        written_[index(layer)] = computing_.record();
    }
    /// Copies the PE's rows of a layer to the owners of its pieces.
    void send(int layer, const std::vector<stream_pe>& all) {
        sending_.wait(written_[index(layer)]);
        for (const stream_pe& owner : all) {
            if (owner.pe() == pe()) continue;
            for (int row = 0; row < shape_.n_rows; ++row) {
                if (shape_.rows[row].pe != pe()) continue;
                const std::uint64_t first = owner.first_of(layer) + static_cast<unsigned>(row) * shape_.weights;
                sending_.copy(owner.memory_.rows + first, memory_.rows + first, owner.bytes_of(layer));
            }
        }
        sent_[index(layer)] = sending_.record();
    }
    /// Adds up the rows of the PE's own pieces of a layer, and copies the new weights to all.
    void update(std::uint32_t step, int layer, const std::vector<stream_pe>& all) {
        for (const stream_pe& sender : all) updating_.wait(sender.sent_[index(layer)]);
        updating_.run(stream_update{{shape_, memory_, step}, layer});
        for (const stream_pe& to : all) {
            updating_.copy(to.memory_.weights[(step + 1) % 2] + first_of(layer), memory_.rows + first_of(layer),
                           bytes_of(layer));
        }
        given_[index(layer)] = updating_.record();
    }

    template <class T>
    [[nodiscard]] std::vector<T> fetch(flow::context& ctx, const T* from, std::size_t count) {
        std::vector<T> values(count);
        computing_.copy(values.data(), from, count * sizeof(T));
        ctx.wait(computing_.record(), "copying to the host");
        return values;
    }

private:
    static std::size_t index(int layer) { return static_cast<std::size_t>(layer); }
    [[nodiscard]] std::uint64_t first_of(int layer) const {
        return shape_.layers[layer].piece_begin(shape_.first_piece(layer, pe()));
    }
    [[nodiscard]] std::size_t bytes_of(int layer) const {
        const std::uint64_t end = shape_.layers[layer].piece_begin(shape_.first_piece(layer, pe() + 1));
        return (end - first_of(layer)) * sizeof(float);
    }
    template <class T>
    T* place(flow::context& ctx, const std::vector<T>& values) {
        const auto made = ctx.allocate<T>(on_, values.size());
        computing_.copy(made.get(), values.data(), values.size() * sizeof(T));
        ctx.wait(computing_.record(), "copying to a device");
        held_.push_back(made);
        return made.get();
    }

    network_shape shape_;
    flow::endpoint on_;
    device_stream computing_;
    device_stream sending_;
    device_stream updating_;
    // Of each layer, in the step that was put into the streams last.
    std::vector<event> written_;
    std::vector<event> sent_;
    std::vector<event> given_;
    int blocks_;
    std::vector<std::shared_ptr<void>> held_;
    pe_memory memory_{};
};

void put_step(std::vector<stream_pe>& all, std::uint32_t step, int n_layers) {
    for (int layer = 0; layer < n_layers; ++layer) {
        for (stream_pe& pe : all) pe.forward(step, layer, all);
    }
    for (int layer = n_layers - 1; layer >= 0; --layer) {
        for (stream_pe& pe : all) pe.backward(step, layer);
        for (stream_pe& pe : all) pe.send(layer, all);
        for (stream_pe& pe : all) pe.update(step, layer, all);
    }
}

training_result collect(flow::context& ctx, std::vector<stream_pe>& all, const network_shape& shape,
                        std::uint32_t steps) {
    training_result result;
    std::vector<std::vector<double>> squares(steps);
    for (stream_pe& pe : all) {
        const auto mine = pe.fetch(ctx, pe.memory().squares, std::size_t{steps} * shape.max_samples());
        for (std::size_t step = 0; step < steps; ++step) {
            const auto first = mine.begin() + static_cast<std::ptrdiff_t>(step * shape.max_samples());
            squares[step].insert(squares[step].end(), first, first + shape.samples_of(pe.pe()));
        }
        result.computing_seconds += seconds_of(pe.fetch(ctx, pe.memory().clock, 1)[0]) / shape.n_pes;
    }
    for (const auto& of_step : squares) result.losses.push_back(loss_of(of_step));
    result.weights = all[0].fetch(ctx, all[0].memory().weights[steps % 2], shape.weights);
    return result;
}

}  // namespace

training_result train_by_streams(const training_options& options, const training_data& data) {
    flow::context ctx(options.job);
    const network_shape shape(options, static_cast<int>(ctx.devices().size()));
    std::vector<stream_pe> all;
    for (const flow::endpoint& on : ctx.devices()) all.emplace_back(ctx, on, shape, data, options.steps);
    common_start start;
    for (stream_pe& pe : all) pe.start_after(start.mark());
    for (std::uint32_t step = 0; step < options.steps; ++step) put_step(all, step, shape.n_layers);
    std::vector<event> ends;
    for (stream_pe& pe : all) ends.push_back(pe.end());
    const double seconds = start.seconds_until(ctx, ends, "training");
    training_result result = collect(ctx, all, shape, options.steps);
    result.seconds = seconds;
    return result;
}

}  // namespace laneway::apps
