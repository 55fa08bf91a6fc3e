// Host-driven: the host starts a PE's kernel, waits for its end, copies the message, waits for that, and goes on with
// the next PE.
#include "ping_pong/stream_message.hpp"

namespace laneway::apps {

ping_pong_result pass_by_host(const ping_pong_options& options) {
    flow::context ctx(options.job);
    std::vector<stream_message> all;
    for (const flow::endpoint& on : ctx.devices()) all.emplace_back(ctx, on, options.words);
    const double seconds = wall_seconds([&] {
        for (std::uint64_t hops = 0; hops < options.rounds * all.size(); ++hops) {
            stream_message& pe = all[hops % all.size()];
            pe.pass_on_after(hops);
            ctx.wait(pe.stream().record(), "a kernel");
            pe.copy_to(all[(hops + 1) % all.size()]);
            ctx.wait(pe.stream().record(), "a copy");
        }
    });
    ping_pong_result result;
    for (stream_message& pe : all) pe.collect(ctx, result, all.size());
    result.seconds = seconds;
    return result;
}

}  // namespace laneway::apps
