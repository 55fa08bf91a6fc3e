// gups in the coprocessor style: a kernel writes updates for the host to exchange, another applies what has come.
#include <algorithm>

#include "styles/exchange.hpp"
#include "styles/gups/problem.hpp"

namespace laneway::styles {

namespace {

struct write_updates {
    gups_data data;
    exchange_ref messages;
    std::uint64_t first;
    std::uint64_t count;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, count, [&](std::uint64_t i) {
            const std::uint64_t value = data.updates.local(ctx)[first + i];
            messages.put(ctx, i, data.owner(value), value);
        });
    }
};

struct apply_arrived {
    gups_data data;
    exchange_ref messages;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, *messages.n_arrived.local(ctx), [&](std::uint64_t i) {
            const std::uint64_t value = messages.arrived.local(ctx)[i];
            ctx.fetch_xor(data.word(ctx, value), value, order::relaxed, scope::device);
        });
    }
};

}  // namespace

work gups_coprocessor(launcher& on, const gups_data& data) {
    const std::uint64_t updates = data.updates.size();
    const std::uint64_t round = std::min(updates, on.round_messages());
    const auto messages = std::make_shared<exchange>(on.runtime().machine(), round, on.timeout_seconds());
    return [=, &on] {
        for (std::uint64_t first = 0; first < updates; first += round) {
            const std::uint64_t count = std::min(round, updates - first);
            on.launch(write_updates{data, messages->ref(), first, count});
            messages->run(count);
            on.launch(apply_arrived{data, messages->ref()});
        }
    };
}

}  // namespace laneway::styles
