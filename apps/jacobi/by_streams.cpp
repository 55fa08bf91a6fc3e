// Stream-triggered: kernels, copies of the borders and what they wait for are put into the devices' streams,
// and go off at the ends of kernels; the host waits for none of them.
#include "jacobi/membrane.hpp"
#include "parallel/stream_job.hpp"

namespace laneway::apps {

namespace {

struct stream_step {
    membrane_step<double*> rows;
    std::uint64_t* clock;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        computing_time spent;
        spent.of(ctx, [&] { rows.compute(ctx.rank(), ctx.size()); });
        spent.add_to(ctx, working_warp::of(ctx).warps, clock);
    }
};

/// A device's rows.
class stream_rows {
public:
    stream_rows(flow::context& ctx, const flow::endpoint& on, const jacobi_options& options)
        : pe_(on.device()), rows_(rows_a_pe(options, ctx.devices().size())),
          width_(options.columns + 2), values_{ctx.allocate<double>(on, (rows_ + 2) * width_),
                                               ctx.allocate<double>(on, (rows_ + 2) * width_)},
          clock_(ctx.allocate<std::uint64_t>(on, 1)), stream_(ctx.make_stream(on, "steps")),
          blocks_(resident_grid<stream_step>(stream_)) {
        const auto first = first_rows(pe_, rows_, options.rows, options.columns);
        const std::vector<double> second(first.size());  // fixed edges are 0 in both
        const std::vector<std::uint64_t> zeros(1);
        stream_.copy(values_[0].get(), first.data(), first.size() * sizeof(double));
        stream_.copy(values_[1].get(), second.data(), second.size() * sizeof(double));
        stream_.copy(clock_.get(), zeros.data(), sizeof(std::uint64_t));
        ctx.wait(stream_.record(), "copying to a device");
    }

    [[nodiscard]] device_stream& stream() { return stream_; }

    /// When the halo has come, which is when both neighbours' borders of the step before have been copied.
    void compute(std::uint64_t step, const std::vector<stream_rows>& all) {
        each_neighbour(all, [&](const stream_rows& other) { stream_.wait(other.copied_); });
        stream_.run(stream_step{{values_[step % 2].get(), values_[(step + 1) % 2].get(), rows_, width_}, clock_.get()},
                    blocks_);
    }
    void copy_borders(std::uint64_t step, const std::vector<stream_rows>& all) {
        const double* const mine = values_[(step + 1) % 2].get();
        each_neighbour(all, [&](const stream_rows& other) {
            const std::uint64_t from = other.pe_ < pe_ ? 1 : rows_, to = other.pe_ < pe_ ? rows_ + 1 : 0;
            stream_.copy(other.values_[(step + 1) % 2].get() + to * width_, mine + from * width_,
                         width_ * sizeof(double));
        });
        copied_ = stream_.record();
    }
    void collect(flow::context& ctx, jacobi_result& result, std::uint64_t steps, std::size_t pes) {
        std::vector<double> mine((rows_ + 2) * width_);
        std::vector<std::uint64_t> clock(1);
        stream_.copy(mine.data(), values_[steps % 2].get(), mine.size() * sizeof(double));
        stream_.copy(clock.data(), clock_.get(), sizeof(std::uint64_t));
        ctx.wait(stream_.record(), "copying to the host");
        append_inner(result.values, mine, rows_, width_);
        result.computing_seconds += seconds_of(clock[0]) / static_cast<double>(pes);
    }

private:
    template <class Use>
    void each_neighbour(const std::vector<stream_rows>& all, Use&& use) const {
        const auto pe = static_cast<std::size_t>(pe_);
        if (pe > 0) use(all[pe - 1]);
        if (pe + 1 < all.size()) use(all[pe + 1]);
    }

    int pe_;
    std::uint64_t rows_;
    std::uint64_t width_;
    std::shared_ptr<double> values_[2];
    std::shared_ptr<std::uint64_t> clock_;
    device_stream stream_;
    int blocks_;
    event copied_;  ///< of the step that was put into the stream last
};

}  // namespace

jacobi_result jacobi_by_streams(const jacobi_options& options) {
    flow::context ctx(options.job);
    std::vector<stream_rows> all;
    for (const flow::endpoint& on : ctx.devices()) all.emplace_back(ctx, on, options);
    common_start start;
    for (stream_rows& pe : all) pe.stream().wait(start.mark());
    for (std::uint64_t step = 0; step < options.steps; ++step) {
        for (stream_rows& pe : all) pe.compute(step, all);
        for (stream_rows& pe : all) pe.copy_borders(step, all);
    }
    std::vector<event> ends;
    for (stream_rows& pe : all) ends.push_back(pe.stream().record());
    const double seconds = start.seconds_until(ctx, ends, "steps");
    jacobi_result result;
    for (stream_rows& pe : all) pe.collect(ctx, result, options.steps, all.size());
    result.seconds = seconds;
    return result;
}

}  // namespace laneway::apps
