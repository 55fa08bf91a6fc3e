// pagerank in the coprocessor style: a kernel writes shares for the host to exchange, another adds what has come.
#include <algorithm>

#include "styles/exchange.hpp"
#include "styles/pagerank/problem.hpp"

namespace laneway::styles {

namespace {

struct write_shares {
    pagerank_data data;
    exchange_ref messages;
    std::uint64_t first;
    std::uint64_t count;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, count, [&](std::uint64_t i) {
            const std::uint64_t arc = first + i;
            if (arc < data.arcs(ctx)) {
                messages.put(ctx, i, data.owner(ctx, arc), data.message(ctx, arc));
            } else {
                messages.skip(ctx, i);
            }
        });
    }
};

struct add_arrived {
    pagerank_data data;
    exchange_ref messages;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, *messages.n_arrived.local(ctx), [&](std::uint64_t i) {
            data.add(ctx, ctx.pe(), messages.arrived.local(ctx)[i], scope::device);
        });
    }
};

}  // namespace

work pagerank_coprocessor(launcher& on, const pagerank_data& data) {
    const std::uint64_t max_arcs = data.heads.size();
    const std::uint64_t round = std::min(max_arcs, on.round_messages());
    const auto messages = std::make_shared<exchange>(on.runtime().machine(), round, on.timeout_seconds());
    return [=, &on] {
        for (std::uint64_t first = 0; first < max_arcs; first += round) {
            const std::uint64_t count = std::min(round, max_arcs - first);
            on.launch(write_shares{data, messages->ref(), first, count});
            messages->run(count);
            on.launch(add_arrived{data, messages->ref()});
        }
    };
}

}  // namespace laneway::styles
