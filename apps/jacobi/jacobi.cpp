#include "jacobi/jacobi.hpp"

#include "jacobi/membrane.hpp"

namespace laneway::apps {

std::uint64_t rows_a_pe(const jacobi_options& options, std::size_t pes) {
    if (options.rows == 0 || options.columns == 0 || options.rows % pes != 0) {
        throw usage_error("jacobi: " + std::to_string(options.rows) + " rows of " + std::to_string(options.columns) +
                          " cells cannot be shared out evenly by " + std::to_string(pes) + " PEs");
    }
    return options.rows / pes;
}

membrane::membrane(runtime& rt, const jacobi_options& options)
    : n_pes_(rt.n_pes()), rows_(rows_a_pe(options, static_cast<std::size_t>(n_pes_))), width_(options.columns + 2),
      a_(rt.allocate<double>((rows_ + 2) * width_)), b_(rt.allocate<double>((rows_ + 2) * width_)),
      clock_(rt.allocate<std::uint64_t>(1)) {
    for (int pe = 0; pe < n_pes_; ++pe) a_.copy_in(pe, first_rows(pe, rows_, options.rows, options.columns));
}

jacobi_result membrane::take(std::uint64_t steps) const {
    jacobi_result result;
    for (int pe = 0; pe < n_pes_; ++pe) {
        append_inner(result.values, (steps % 2 == 0 ? a_ : b_).copy_out(pe), rows_, width_);
        result.computing_seconds += seconds_of(clock_.copy_out(pe)[0]) / n_pes_;
    }
    return result;
}

jacobi_result jacobi(const jacobi_options& options) {
    require_common(options.style, "jacobi");
    if (options.style == communication_style::stream_triggered) return jacobi_by_streams(options);
    runtime rt(options.job);
    const membrane all(rt, options);
    served_run made;
    switch (options.style) {
        case communication_style::triggered: made.seconds = jacobi_by_triggers(rt, all, options.steps); break;
        case communication_style::service_warps: made = jacobi_by_service(rt, all, options.steps, false); break;
        case communication_style::service_host: made = jacobi_by_service(rt, all, options.steps, true); break;
        default: made.seconds = jacobi_by_host(rt, all, options.steps); break;
    }
    jacobi_result result = all.take(options.steps);
    result.seconds = made.seconds;
    result.requests = made.requests;
    return result;
}

}  // namespace laneway::apps
