#include "filter.hpp"

#include <chrono>

#include "condition.hpp"
#include "laneway/flow/filter.hpp"
#include "parallel/packet_size.hpp"
#include "workspace/workspace.hpp"

namespace laneway::apps {

filter_policy parse_filter_policy(const std::string& text) {
    if (text == "available") return filter_policy::available;
    if (text == "even") return filter_policy::even;
    throw usage_error("policy must be available or even, not " + text);
}

namespace {

/// What went to a device and back.
traffic traffic_of(const flow::filter_share& share, std::size_t element_bytes) {
    const std::uint64_t elements = share.elements + share.kept;
    return {elements, 2 * share.packets, elements * element_bytes};
}

template <class T>
filter_result<T> filter_on(flow::context& ctx, const T* values, std::size_t count, const filter_options& options) {
    const auto holds = parse_condition<T>(options.condition);
    if (options.buffers < 1) throw usage_error("buffers must be above 0");
    const std::uint64_t held = static_cast<std::uint64_t>(options.buffers) + 2;
    const std::size_t packet =
        packet_size(options.packet_bytes, held, count * sizeof(T), ctx.devices().size(), options.job);
    filter_result<T> result;
    flow::filter_options how{packet, options.buffers, {}};
    if (options.policy == filter_policy::even) how.policy = flow::even_split();
    const auto start = std::chrono::steady_clock::now();
    const auto pinned = ctx.pin(values, count * sizeof(T));
    const auto shares = flow::filter_into(ctx, values, count, holds, how, [&](const T* kept, std::size_t more) {
        result.kept.insert(result.kept.end(), kept, kept + more);
    });
    run_report& report = result.report;
    report.run_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.traffic_matrix.resize(shares.size() * shares.size());
    for (std::size_t d = 0; d < shares.size(); ++d) {
        const traffic moved = traffic_of(shares[d], sizeof(T));
        report.devices.push_back(ctx.devices()[d].name());
        report.traffic_matrix[d * (shares.size() + 1)] = moved;
        report.posted += moved.messages;
        report.buffer_bytes.push_back(packet * held);
        report.device_bytes.push_back(ctx.peak_bytes(ctx.devices()[d]));
        result.elements.push_back(shares[d].elements);
        result.packets.push_back(shares[d].packets);
    }
    report.carried = report.served = report.posted;
    return result;
}

}  // namespace

template <class T>
filter_result<T> filter(const T* values, std::size_t count, const filter_options& options) {
    flow::context ctx(options.job);
    return filter_on(ctx, values, count, options);
}

template <class T>
filter_result<T> filter(workspace& devices, const T* values, std::size_t count, filter_options options) {
    options.job = devices.job();
    return devices.stream([&](flow::context& ctx) { return filter_on(ctx, values, count, options); });
}

#define LANEWAY_FILTER(T)                                                              \
    template filter_result<T> filter<T>(const T*, std::size_t, const filter_options&); \
    template filter_result<T> filter<T>(workspace&, const T*, std::size_t, filter_options);
LANEWAY_FILTER(std::int8_t)
LANEWAY_FILTER(std::uint8_t)
LANEWAY_FILTER(std::int16_t)
LANEWAY_FILTER(std::uint16_t)
LANEWAY_FILTER(std::int32_t)
LANEWAY_FILTER(std::uint32_t)
LANEWAY_FILTER(std::int64_t)
LANEWAY_FILTER(std::uint64_t)
LANEWAY_FILTER(float)
LANEWAY_FILTER(double)
#undef LANEWAY_FILTER

}  // namespace laneway::apps
