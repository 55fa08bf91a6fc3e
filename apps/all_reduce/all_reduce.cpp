#include "all_reduce/all_reduce.hpp"

#include "all_reduce/shared_array.hpp"

namespace laneway::apps {

all_reduce_result shared_array::take() const {
    all_reduce_result result;
    const auto pes = static_cast<int>(shape_.n_pes);
    for (int pe = 0; pe < pes; ++pe) add_to(result, values_.copy_out(pe), account_.copy_out(pe), pes);
    return result;
}

void add_to(all_reduce_result& result, std::vector<float> values, const std::vector<std::uint64_t>& account, int pes) {
    result.values.push_back(std::move(values));
    result.computing_seconds += seconds_of(account[0]) / pes;
    result.wrong += account[1];
}

all_reduce_result all_reduce(const all_reduce_options& options) {
    if (options.elements == 0) throw usage_error("all_reduce: an array of no elements");
    if (options.style == communication_style::host_driven) return reduce_by_host(options);
    if (options.style == communication_style::stream_triggered) return reduce_by_streams(options);
    runtime rt(options.job);
    const shared_array array(rt, options.elements);
    served_run made;
    switch (options.style) {
        case communication_style::triggered: made.seconds = reduce_by_triggers(rt, array, options.rounds); break;
        case communication_style::service_warps: made = reduce_by_service(rt, array, options.rounds, false); break;
        case communication_style::service_host: made = reduce_by_service(rt, array, options.rounds, true); break;
        default: made.seconds = reduce_by_collective(rt, array, options.rounds); break;
    }
    all_reduce_result result = array.take();
    result.seconds = made.seconds;
    result.requests = made.requests;
    return result;
}

}  // namespace laneway::apps
