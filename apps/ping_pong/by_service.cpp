// By a service: a lane of the warp that has written the message asks for it to be copied to the next PE.
#include "parallel/copying_service.hpp"
#include "ping_pong/message.hpp"

namespace laneway::apps {

namespace {

struct pass_with_service {
    message_ref all;

    template <class Ctx, class Service>
    LANEWAY_FN void operator()(Ctx& ctx, Service& served) const {
        const auto send = [&] {
            if (ctx.lane() != 0) return status::ok;
            const int next = (ctx.pe() + 1) % ctx.n_pes();
            return served.copy(ctx, all.out[0], all.out.size(), all.in[0], next, all.arrived[0]);
        };
        all.pass_all(
            ctx, [&](auto signal, std::uint64_t value) { return served.wait_signal(ctx, signal, value); }, send);
    }
};

}  // namespace

served_run pass_by_service(runtime& rt, const message& all, bool by_host_threads) {
    service served(rt.machine(), copying_service(by_host_threads));
    const double seconds = rt.run(pass_with_service{all.ref()}, served).run_seconds;
    return {seconds, served.statistics().requests};
}

}  // namespace laneway::apps
