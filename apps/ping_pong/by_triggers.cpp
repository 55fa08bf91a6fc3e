// Triggered: each PE's copy to the next one is prepared once, and goes off when its warp has written the message.
#include "laneway/run/triggers.hpp"
#include "ping_pong/message.hpp"

namespace laneway::apps {

namespace {

constexpr std::uint32_t written = 0;  ///< tag

struct pass_with_triggers {
    message_ref all;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        all.pass_all(
            ctx, [&](auto signal, std::uint64_t value) { return triggers.wait_signal(ctx, signal, value); },
            [&] { return triggers.trigger_warp(ctx, written); });
    }
};

}  // namespace

double pass_by_triggers(runtime& rt, const message& all) {
    const message_ref ref = all.ref();
    auto tags = rt.triggers({.tags = 1});
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const int next = (pe + 1) % rt.n_pes();
        tags.prepare(pe, written, 1,
                     trigger_operation::put(ref.out, 0, ref.out.size(), ref.in, 0, next).signal(ref.arrived[0]),
                     firing::each_round);
    }
    return rt.run(pass_with_triggers{ref}, tags).run_seconds;
}

}  // namespace laneway::apps
