#include "training/training.hpp"

#include "training/network.hpp"

namespace laneway::apps {

network::network(runtime& rt, const training_options& options, const training_data& data)
    : shape_(options, rt.n_pes()), a_(rt.allocate<float>(shape_.weights)), b_(rt.allocate<float>(shape_.weights)),
      units_(rt.allocate<float>(std::uint64_t{shape_.max_samples()} * shape_.units)),
      deltas_(rt.allocate<float>(units_.size())),
      targets_(rt.allocate<float>(std::uint64_t{shape_.max_samples()} * options.widths.back())),
      rows_(rt.allocate<float>(static_cast<unsigned>(shape_.n_rows) * shape_.weights)),
      squares_(rt.allocate<double>(std::uint64_t{options.steps} * shape_.max_samples())),
      clock_(rt.allocate<std::uint64_t>(1)),
      updated_(rt.allocate<std::uint64_t>(static_cast<unsigned>(shape_.n_layers))) {
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const batch_share mine(shape_, data, pe);
        a_.copy_in(pe, data.weights);
        units_.copy_in(pe, mine.units);
        targets_.copy_in(pe, mine.targets);
    }
}

network_ref network::ref() const {
    return {shape_,      {a_.ref(), b_.ref()}, units_.ref(), deltas_.ref(), targets_.ref(),
            rows_.ref(), squares_.ref(),       clock_.ref(), updated_.ref()};
}

training_result network::take(std::uint32_t steps) const {
    training_result result;
    std::vector<std::vector<double>> squares(steps);
    for (int pe = 0; pe < shape_.n_pes; ++pe) {
        const auto mine = squares_.copy_out(pe);
        for (std::size_t step = 0; step < steps; ++step) {
            const auto first = mine.begin() + static_cast<std::ptrdiff_t>(step * shape_.max_samples());
            squares[step].insert(squares[step].end(), first, first + shape_.samples_of(pe));
        }
        result.computing_seconds += seconds_of(clock_.copy_out(pe)[0]) / shape_.n_pes;
    }
    for (const auto& of_step : squares) result.losses.push_back(loss_of(of_step));
    result.weights = (steps % 2 == 0 ? a_ : b_).copy_out(0);
    return result;
}

namespace {

training_result train_in_style(const training_options& options, const training_data& data) {
    if (options.style == communication_style::stream_triggered) return train_by_streams(options, data);
    runtime rt(options.job);
    const network net(rt, options, data);
    served_run made;
    switch (options.style) {
        case communication_style::triggered: made.seconds = train_by_triggers(rt, net, options.steps); break;
        case communication_style::service_warps: made = train_by_service(rt, net, options.steps, false); break;
        case communication_style::service_host: made = train_by_service(rt, net, options.steps, true); break;
        default: made.seconds = train_by_host(rt, net, options.steps); break;
    }
    training_result result = net.take(options.steps);
    result.seconds = made.seconds;
    result.requests = made.requests;
    return result;
}

}  // namespace

training_result training(const training_options& options, const training_data& data) {
    require_common(options.style, "training");
    require_fit(options, data);
    training_result result = train_in_style(options, data);
    require_finite(result.losses);
    return result;
}

}  // namespace laneway::apps
