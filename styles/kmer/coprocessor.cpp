// kmer in the coprocessor style: a kernel writes k-mers for the host to exchange, another counts what has come.
#include <algorithm>

#include "styles/exchange.hpp"
#include "styles/kmer/problem.hpp"

namespace laneway::styles {

namespace {

struct write_kmers {
    kmer_data data;
    exchange_ref messages;
    std::uint64_t first;
    std::uint64_t stretches;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, stretches, [&](std::uint64_t i) {
            std::uint64_t place = i;
            data.walk(ctx, first + i, [&](bool shown, std::uint64_t kmer) {
                if (shown) {
                    messages.put(ctx, place, data.owner(ctx, kmer), kmer);
                } else {
                    messages.skip(ctx, place);
                }
                place += stretches;  // so that neighbouring lanes write to neighbouring places
            });
        });
    }
};

struct count_arrived {
    kmer_data data;
    exchange_ref messages;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, *messages.n_arrived.local(ctx), [&](std::uint64_t i) {
            data.count(ctx, ctx.pe(), messages.arrived.local(ctx)[i], scope::device);
        });
    }
};

}  // namespace

work kmer_coprocessor(launcher& on, const kmer_data& data) {
    const std::uint64_t stretches = data.stretches();
    const std::uint64_t round = std::min(stretches, stretches_within(on.round_messages()));
    const auto messages =
        std::make_shared<exchange>(on.runtime().machine(), round * kmer_data::stretch_steps, on.timeout_seconds());
    return [=, &on] {
        for (std::uint64_t first = 0; first < stretches; first += round) {
            const std::uint64_t count = std::min(round, stretches - first);
            on.launch(write_kmers{data, messages->ref(), first, count});
            messages->run(count * kmer_data::stretch_steps);
            on.launch(count_arrived{data, messages->ref()});
        }
    };
}

}  // namespace laneway::styles
