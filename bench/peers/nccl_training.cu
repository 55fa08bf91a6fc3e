// The training step of apps/training as a coprocessor program does it: kernels compute, NCCL adds up the gradient of
// each layer over all PEs as it appears, and a kernel of every PE updates the weights. Arithmetic, data and checks are
// those of bench_communication_styles.
//
//   nccl_training --pes "1;2;4" --widths "256,1024,1024,256" --samples 256 --steps 10 --runs 5 --json FILE
#include <bit>
#include <cmath>

#include "nccl_process.cuh"
#include "style_times.hpp"
#include "training/data.hpp"
#include "training_arguments.hpp"
#include "training_kernels.cuh"

namespace {

using namespace laneway;

enum class nccl_style {
    host_driven,  ///< the host waits for each kernel and each all-reduce
    stream,       ///< all are put into one stream; the host waits for the last
    overlapped,   ///< all-reduces are put into a second stream, beside the backward pass of the layers in front
};

constexpr nccl_style nccl_styles[] = {nccl_style::host_driven, nccl_style::stream, nccl_style::overlapped};

constexpr const char* to_string(nccl_style style) {
    switch (style) {
        case nccl_style::host_driven: return "nccl, host_driven";
        case nccl_style::stream: return "nccl, stream";
        default: return "nccl, overlapped";
    }
}

/// The network as the kernels of a PE see it: of the rows of gradients only its own, which is a single one where the
/// number of PEs is a power of two.
apps::network_shape shape_of(const apps::training_options& options, const bench::team& pes) {
    apps::network_shape shape(options, pes.size());
    shape.rows[0] = shape.rows[pes.rank()];
    shape.n_rows = 1;
    return shape;
}

/// Values in device memory.
template <class T>
class device_values {
public:
    explicit device_values(std::size_t count) : count_(count), words_((count * sizeof(T) + 7) / 8) {}
    explicit device_values(const std::vector<T>& values) : device_values(values.size()) { set(values); }

    void set(const std::vector<T>& values) {
        bench::check(cudaMemcpy(data(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "copying in");
    }
    [[nodiscard]] std::vector<T> get() const {
        std::vector<T> values(count_);
        bench::check(cudaMemcpy(values.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost), "copying out");
        return values;
    }
    [[nodiscard]] T* data() const { return reinterpret_cast<T*>(words_.data()); }

private:
    std::size_t count_;
    bench::device_words words_;
};

class gpu_stream {
public:
    /// `urgent`: of kernels that could start, its own come first.
    explicit gpu_stream(bool urgent) {
        int least = 0, greatest = 0;
        bench::check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities of streams");
        bench::check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? greatest : least),
                     "stream");
    }
    gpu_stream(const gpu_stream&) = delete;
    gpu_stream& operator=(const gpu_stream&) = delete;
    ~gpu_stream() { (void)cudaStreamDestroy(stream_); }  // a failure shows at the next call

    [[nodiscard]] cudaStream_t get() const { return stream_; }
    void wait() const { bench::check(cudaStreamSynchronize(stream_), "waiting for a stream"); }

private:
    cudaStream_t stream_ = nullptr;
};

/// A place in a stream, for which another stream waits.
class stream_mark {
public:
    stream_mark() { bench::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "event"); }
    stream_mark(const stream_mark&) = delete;
    stream_mark& operator=(const stream_mark&) = delete;
    ~stream_mark() { (void)cudaEventDestroy(event_); }  // a failure shows at the next call

    void set_in(const gpu_stream& stream) { bench::check(cudaEventRecord(event_, stream.get()), "event"); }
    void hold(const gpu_stream& stream) const { bench::check(cudaStreamWaitEvent(stream.get(), event_), "event"); }

private:
    cudaEvent_t event_ = nullptr;
};

/// The network of one PE, which all PEs train together.
class trained_network {
public:
    trained_network(bench::team& pes, ncclComm_t nccl, const apps::training_options& options,
                    const apps::training_data& data)
        : trained_network(pes, nccl, options, data, apps::batch_share({options, pes.size()}, data, pes.rank())) {}

    /// All steps once, from the weights that networks begin with.
    bench::timed_run run(nccl_style style) {
        weights_[0].set(first_weights_);
        clock_.set({0});
        bench::check(cudaDeviceSynchronize(), "setting weights");
        pes_.meet();
        const double start = bench::now_seconds();
        for (std::uint32_t step = 0; step < steps_; ++step) put_step(step, style);
        computing_.wait();
        const std::vector<double> ends = pes_.gather(bench::now_seconds()), starts = pes_.gather(start);
        double computing = 0;
        for (const double seconds : pes_.gather(apps::seconds_of(clock_.get()[0]))) computing += seconds / pes_.size();
        return {*std::ranges::max_element(ends) - *std::ranges::min_element(starts), computing};
    }
    /// Of the last run. Collective.
    [[nodiscard]] std::vector<double> losses() {
        const std::size_t samples = shape_.max_samples(), count = steps_ * samples;
        bench::check(ncclAllGather(squares_.data(), all_squares_.data(), count, ncclDouble, nccl_, computing_.get()),
                     "all-gather");
        computing_.wait();
        const std::vector<double> all = all_squares_.get();
        std::vector<double> made;
        for (std::size_t step = 0; step < steps_; ++step) {
            std::vector<double> squares;
            for (std::size_t pe = 0; pe < static_cast<std::size_t>(pes_.size()); ++pe) {
                const auto first = all.begin() + static_cast<std::ptrdiff_t>(pe * count + step * samples);
                squares.insert(squares.end(), first, first + static_cast<std::ptrdiff_t>(samples));
            }
            made.push_back(apps::loss_of(squares));
        }
        return made;
    }
    /// After the last run.
    [[nodiscard]] std::vector<float> weights() const { return weights_[steps_ % 2].get(); }

private:
    trained_network(bench::team& pes, ncclComm_t nccl, const apps::training_options& options,
                    const apps::training_data& data, const apps::batch_share& share)
        : pes_(pes), nccl_(nccl), first_weights_(data.weights), steps_(options.steps),
          shape_(shape_of(options, pes)), weights_{device_values<float>(data.weights),
                                                   device_values<float>(data.weights)},
          units_(share.units), deltas_(share.units.size()), targets_(share.targets), gradient_(data.weights.size()),
          squares_(std::size_t{steps_} * shape_.max_samples()),
          all_squares_(static_cast<std::size_t>(pes.size()) * steps_ * shape_.max_samples()), clock_(1),
          written_(static_cast<std::size_t>(shape_.n_layers)), reduced_(written_.size()) {}

    void put_step(std::uint32_t step, nccl_style style) {
        const bench::training_step all{shape_, memory(), pes_.rank(), step};
        const auto finish = [&] {
            if (style == nccl_style::host_driven) computing_.wait();
        };
        bench::forward_pass<<<forward_blocks_, bench::training_threads, 0, computing_.get()>>>(all);
        finish();
        for (int layer = shape_.n_layers - 1; layer >= 0; --layer) {
            bench::backward_pass<<<backward_blocks_, bench::training_threads, 0, computing_.get()>>>(all, layer);
            finish();
            if (style == nccl_style::overlapped) {
                reduce_beside(layer);
                continue;
            }
            reduce(layer, computing_);
            finish();
            update(all, layer);
            finish();
        }
        if (style == nccl_style::overlapped) update_as_reduced(all);
        bench::check(cudaGetLastError(), "launching a step");
    }
    void update(const bench::training_step& all, int layer) {
        bench::update_weights<<<update_blocks_, bench::training_threads, 0, computing_.get()>>>(all, layer);
    }
    void reduce(int layer, const gpu_stream& stream) {
        float* const gradient = gradient_.data() + shape_.layers[layer].first_weight;
        bench::check(
            ncclAllReduce(gradient, gradient, shape_.layers[layer].weights(), ncclFloat, ncclSum, nccl_, stream.get()),
            "all-reduce");
    }
    void reduce_beside(int layer) {
        const auto index = static_cast<std::size_t>(layer);
        written_[index].set_in(computing_);
        written_[index].hold(reducing_);
        reduce(layer, reducing_);
        reduced_[index].set_in(reducing_);
    }
    void update_as_reduced(const bench::training_step& all) {
        for (int layer = shape_.n_layers - 1; layer >= 0; --layer) {
            reduced_[static_cast<std::size_t>(layer)].hold(computing_);
            update(all, layer);
        }
    }
    [[nodiscard]] bench::pe_memory memory() const {
        return {{weights_[0].data(), weights_[1].data()},
                units_.data(),
                deltas_.data(),
                targets_.data(),
                gradient_.data(),
                squares_.data(),
                clock_.data()};
    }

    bench::team& pes_;
    ncclComm_t nccl_;
    const std::vector<float>& first_weights_;
    std::uint32_t steps_;
    apps::network_shape shape_;
    device_values<float> weights_[2];
    device_values<float> units_;
    device_values<float> deltas_;
    device_values<float> targets_;
    device_values<float> gradient_;
    device_values<double> squares_;
    device_values<double> all_squares_;  ///< [PE][step][sample]
    device_values<std::uint64_t> clock_;
    gpu_stream computing_{false};
    gpu_stream reducing_{true};
    // Of each layer, in the step that was put into the streams last.
    std::vector<stream_mark> written_;
    std::vector<stream_mark> reduced_;
    int forward_blocks_ = bench::full_grid(bench::forward_pass, bench::training_threads);
    int backward_blocks_ = bench::full_grid(bench::backward_pass, bench::training_threads);
    int update_blocks_ = bench::full_grid(bench::update_weights, bench::training_threads);
};

/// A sum of two PEs' gradients is the same in either order. Those of more NCCL adds up in an order of its own: then
/// losses are as near as floats are.
void require_right(trained_network& network, const apps::training_result& one, int pes, nccl_style style) {
    const std::vector<double> losses = network.losses();
    const auto near = [](double given, double wanted) { return std::abs(given - wanted) <= 1e-4 * wanted; };
    const bool right = pes <= 2 ? losses == one.losses && network.weights() == one.weights
                                : std::ranges::equal(losses, one.losses, near);
    if (!right) throw device_fault(std::string(to_string(style)) + ": not what one thread gives");
}

void run_pe(bench::team& pes, const bench::arguments& args, const apps::training_options& options,
            const apps::training_data& data, const apps::training_result& one) {
    const ncclComm_t nccl = bench::start_nccl(pes);
    {
        trained_network network(pes, nccl, options, data);
        for (const nccl_style style : nccl_styles) {
            const auto times = bench::times_of(args.number("runs"), options.steps, [&] {
                const bench::timed_run made = network.run(style);
                require_right(network, one, pes.size(), style);
                return made;
            });
            if (pes.rank() != 0) continue;
            bench::json_lines json(args.text("json"));
            times.show("training", bench::gpu_names(pes.size()), to_string(style),
                       {{"samples", options.samples},
                        {"weights", static_cast<double>(one.weights.size())},
                        {"steps", options.steps}},
                       json);
        }
    }
    bench::check(ncclCommDestroy(nccl), "end");
}

std::vector<std::uint64_t> numbers_of_pes(const bench::arguments& args) {
    const auto listed = args.numbers("pes", ';', 1, apps::network_shape::n_shards);
    for (const std::uint64_t pes : listed) {
        if (!std::has_single_bit(pes)) throw usage_error("pes: powers of two, as each then has one row of gradients");
    }
    return listed;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"pes", "1"},
                                     {"widths", "256,1024,1024,256"},
                                     {"samples", "256"},
                                     {"rate", ""},
                                     {"steps", "10"},
                                     {"runs", "5"},
                                     {"timeout", "120"},
                                     {"json", ""}});
        (void)args.number("runs", 1, 1000);
        const auto listed = numbers_of_pes(args);
        const apps::training_options options = bench::training_options_of(args);
        const apps::training_data data(options);
        const auto one = apps::training_by_one(options, data);
        for (const std::uint64_t pes : listed) {
            bench::run_processes(static_cast<int>(pes), args.real("timeout"),
                                 [&](bench::team& team) { run_pe(team, args, options, data, one); });
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_training: %s\n", failure.what());
        return 1;
    }
}
