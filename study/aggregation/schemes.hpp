// All schemes by name, on one functor.
#pragma once

#include <string>

#include "study.hpp"

namespace laneway::study {

/// `library`: the mailbox as it is; `warp`, `block`: SIMT-direct at warp and work-group width into aggregation buffers
/// in PE memory; `device`, `host`: indirect through aggregating warps and through host threads; `hierarchy`: two hops.
inline const std::vector<std::string>& scheme_names() {
    static const std::vector<std::string> names{"library", "warp", "block", "device", "host", "hierarchy"};
    return names;
}

/// What the library's own way needs: aggregation buffers in the shared memory of each working block.
template <class Message>
study_result library_result(runtime& runtime, const study_options& options, run_report report) {
    study_result result;
    const machine& machine = runtime.machine();
    const auto pes = static_cast<std::size_t>(machine.n_pes());
    const std::uint32_t chunk_bytes =
        chunk_sizes(message_traits::of<routes<route<Message, std::nullptr_t>>>(), pes, machine.has_gpus(), options.job)
            .front();
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const device& d = *machine.device(pe);
        int blocks = d.is_gpu() ? d.multiprocessors() : options.job.cpu_threads;
        if (d.id().kind == device_kind::checked) blocks = options.job.checked_blocks;
        const std::size_t bins = chunk_shape<Message>::fitting(chunk_bytes).shared_bytes(machine.n_pes());
        result.buffer_bytes = std::max(result.buffer_bytes, static_cast<std::size_t>(blocks) * bins);
    }
    result.chunks = report.chunks();
    result.report = std::move(report);
    return result;
}

/// run_study with the scheme of this name; throws usage_error for another.
template <class Message, class Handler, class Functor>
study_result run_scheme(const std::string& name, runtime& runtime, const study_options& options, const Handler& handler,
                        const Functor& functor) {
    if (name == "warp") return run_study<warp_direct, Message>(runtime, options, handler, functor);
    if (name == "block") return run_study<block_direct, Message>(runtime, options, handler, functor);
    if (name == "device") return run_study<device_indirect, Message>(runtime, options, handler, functor);
    if (name == "host") return run_study<host_indirect, Message>(runtime, options, handler, functor);
    if (name == "hierarchy") return run_study<hierarchical, Message>(runtime, options, handler, functor);
    if (name == "library") {
        return library_result<Message>(runtime, options, runtime.run(functor, runtime.mailbox<Message>(handler)));
    }
    throw usage_error("unknown scheme of aggregation: " + name);
}

/// Destinations that a PE has sent to, at most over the PEs: the buffers that fill.
inline int buffers_used(const run_report& report) {
    const std::size_t n = report.devices.size();
    int most = 0;
    for (std::size_t from = 0; from < n; ++from) {
        int used = 0;
        for (std::size_t to = 0; to < n; ++to) used += report.traffic_matrix[from * n + to].messages > 0 ? 1 : 0;
        most = std::max(most, used);
    }
    return most;
}

}  // namespace laneway::study
