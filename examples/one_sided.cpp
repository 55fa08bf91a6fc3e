// One-sided operations, and the same with messages: a histogram by remote adds, a token that lanes pass round by puts
// with signals, and a token that handlers pass on. The answers are the same on any devices. docs/guides/from_nvshmem.md
// shows the same program with NVSHMEM.
//
// Usage: one_sided [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

namespace example {

constexpr std::uint64_t bins = 1024;  // the longest Collatz sequence from below 100,000 takes 350 steps
constexpr std::uint64_t hops = 1000;

/// How many steps does the Collatz sequence take from i + 1? Bin b belongs to PE b mod n_pes.
struct count_lengths {
    lw::symmetric_ref<std::uint64_t> table;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i, Box& box) const {
        lw::one_sided remote(ctx, box);
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        std::uint64_t steps = 0;
        for (std::uint64_t x = i + 1; x != 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        (void)remote.add(table[steps / pes], static_cast<int>(steps % pes), 1);  // a failure ends the run
    }
};

/// A token goes round the PEs. Hop h is made by PE h mod n_pes.
struct pass_token {
    lw::symmetric_ref<std::uint64_t> token;
    lw::symmetric_ref<std::uint64_t> arrived;  ///< hops made before the token came

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.local_rank() != 0) return;  // one lane of each PE
        lw::one_sided remote(ctx, box);
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        for (auto hop = static_cast<std::uint64_t>(ctx.pe()); hop < hops; hop += pes) {
            if (remote.wait(arrived[0], lw::compare::equal, hop) != lw::status::ok) return;
            // An atomic load: nothing orders the store of the next signal's value behind this read.
            const std::uint64_t value = ctx.load(token.local(ctx), lw::order::relaxed, lw::scope::system) * 31 + hop;
            const int next = static_cast<int>((hop + 1) % pes);
            if (remote.put_signal(token[0], next, value, arrived[0], hop + 1) != lw::status::ok) return;
        }
    }
};

/// The same as a message: nobody waits, the handler of one hop posts the next.
struct token_message {
    std::uint64_t value;
    std::uint64_t hop;
};
struct hand_on {
    static constexpr bool forwards = true;
    lw::symmetric_ref<std::uint64_t> token;

    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const token_message& t, Forward& forward) const {
        if (t.hop == hops) {
            *token.local(ctx) = t.value;
        } else {
            const int next = static_cast<int>((t.hop + 1) % static_cast<std::uint64_t>(ctx.n_pes()));
            (void)forward.post(ctx, next, token_message{t.value * 31 + t.hop, t.hop + 1});  // a failure ends the run
        }
    }
};
struct start_token {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() == 0) (void)box.post(ctx, 0, token_message{0, 0});  // a failure ends the run
    }
};

void count(lw::runtime& runtime) {
    const auto table = runtime.allocate<std::uint64_t>(bins);
    runtime.for_each(99'999, count_lengths{table.ref()}, runtime.one_sided());  // returns when all adds are done
    const auto pes = static_cast<std::uint64_t>(runtime.n_pes());
    std::uint64_t counted = 0;
    std::uint64_t steps = 0;
    for (std::uint64_t pe = 0; pe < pes; ++pe) {
        const auto part = table.copy_out(static_cast<int>(pe));
        for (std::uint64_t i = 0; i < part.size(); ++i) {
            counted += part[i];
            steps += part[i] * (i * pes + pe);
        }
    }
    std::cout << counted << " numbers, " << steps << " steps\n";
}

void pass(lw::runtime& runtime) {
    const auto token = runtime.allocate<std::uint64_t>(1);
    const auto arrived = runtime.allocate<std::uint64_t>(1);
    const auto handed = runtime.allocate<std::uint64_t>(1);
    runtime.run(pass_token{token.ref(), arrived.ref()}, runtime.one_sided());
    runtime.run(start_token{}, runtime.mailbox<token_message>(hand_on{handed.ref()}));
    const int last = static_cast<int>(hops % static_cast<std::uint64_t>(runtime.n_pes()));
    std::cout << "token after " << hops << " hops: " << token.copy_out(last)[0] << " by signals, "
              << handed.copy_out(last)[0] << " by messages\n";
}

}  // namespace example

int main(int argc, char** argv) {
    try {
        for (const lw::path way : {lw::path::direct, lw::path::aggregated}) {
            lw::options options;
            if (argc > 1) options.devices = argv[1];
            options.path = way;
            lw::runtime runtime(options);
            example::count(runtime);
            example::pass(runtime);
        }
    } catch (const lw::error& error) {
        std::cerr << "one_sided: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
