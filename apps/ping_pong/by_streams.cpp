// Stream-triggered: kernels, copies and what they wait for are put into the devices' streams, and go off at the ends of
// kernels and copies; the host waits for none of them.
#include "ping_pong/stream_message.hpp"

namespace laneway::apps {

ping_pong_result pass_by_streams(const ping_pong_options& options) {
    flow::context ctx(options.job);
    std::vector<stream_message> all;
    for (const flow::endpoint& on : ctx.devices()) all.emplace_back(ctx, on, options.words);
    common_start start;
    event arrived = start.mark();
    for (std::uint64_t hops = 0; hops < options.rounds * all.size(); ++hops) {
        stream_message& pe = all[hops % all.size()];
        pe.stream().wait(arrived);
        pe.pass_on_after(hops);
        pe.copy_to(all[(hops + 1) % all.size()]);
        arrived = pe.stream().record();
    }
    const double seconds = start.seconds_until(ctx, {arrived}, "messages");
    ping_pong_result result;
    for (stream_message& pe : all) pe.collect(ctx, result, all.size());
    result.seconds = seconds;
    return result;
}

}  // namespace laneway::apps
