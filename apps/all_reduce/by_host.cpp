// Host-driven: kernels end, the host waits for them, and has a dataflow's group reduce, whose calls return when all is
// done.
#include "all_reduce/stream_array.hpp"
#include "laneway/flow/group.hpp"

namespace laneway::apps {

all_reduce_result reduce_by_host(const all_reduce_options& options) {
    flow::context ctx(options.job);
    std::vector<stream_array> all;
    std::vector<float*> buffers;
    for (const flow::endpoint& on : ctx.devices()) {
        all.emplace_back(ctx, on, options.elements);
        buffers.push_back(all.back().values());
    }
    flow::group together(ctx, ctx.devices());
    const auto wait_for_all = [&] {
        std::vector<event> ends;
        for (stream_array& pe : all) ends.push_back(pe.computing().record());
        ctx.wait(when_all(ends), "kernels");
    };
    const double seconds = wall_seconds([&] {
        for (std::uint32_t round = 0; round < options.rounds; ++round) {
            for (stream_array& pe : all) pe.write(round);
            wait_for_all();
            together.all_reduce<float>(buffers, options.elements, flow::plus{});
            for (stream_array& pe : all) pe.verify(round);
            wait_for_all();
        }
    });
    all_reduce_result result;
    for (stream_array& pe : all) pe.collect(ctx, result);
    result.seconds = seconds;
    return result;
}

}  // namespace laneway::apps
