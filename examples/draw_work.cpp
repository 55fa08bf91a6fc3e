// Which number below 100,000 has the longest Collatz sequence? Lanes draw portions of numbers from a counter on PE 0
// by calls, which bring a value back. A PE keeps the best of what its lanes find, and passes on what beats it to PE 0.
//
// Usage: draw_work [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

constexpr std::uint64_t numbers = 100'000, portion = 64;

struct draw {};
struct hand_out {
    using answer = std::uint64_t;  // what the handler returns goes back to the lane that called
    lw::symmetric_ref<std::uint64_t> next;

    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const draw&) const {
        return lw::atomic_add(ctx, next[0], portion);
    }
};

struct found {
    std::uint64_t rank;  // steps << 32 | numbers - number: of equally long ones the first is best
};
struct keep_longest {
    static constexpr bool forwards = true;
    lw::symmetric_ref<std::uint64_t> best;

    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const found& f, Forward& forward) const {
        const std::uint64_t before = ctx.fetch_max(best.local(ctx), f.rank, lw::order::relaxed, lw::scope::device);
        if (before < f.rank && ctx.pe() != 0) (void)forward.post(ctx, 0, f);  // a failure ends the run
    }
};

struct search {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (;;) {
            const auto first = box.call(ctx, 0, draw{});
            if (!first || first.value >= numbers) return;  // without an answer: the run is ending
            for (std::uint64_t n = first.value + 1; n < numbers && n <= first.value + portion; ++n) {
                std::uint64_t steps = 0;
                for (std::uint64_t x = n; x != 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
                if (box.post(ctx, ctx.pe(), found{steps << 32 | (numbers - n)}) != lw::status::ok) return;
            }
        }
    }
};

int main(int argc, char** argv) try {
    lw::options options;
    if (argc > 1) options.devices = argv[1];
    lw::runtime runtime(options);
    const auto next = runtime.allocate<std::uint64_t>(1), best = runtime.allocate<std::uint64_t>(1);
    runtime.run(search{}, runtime.mailbox<draw, found>(hand_out{next.ref()}, keep_longest{best.ref()}));
    const std::uint64_t longest = best.copy_out(0)[0];
    std::cout << numbers - (longest & 0xffffffff) << " takes " << (longest >> 32) << " steps\n";
} catch (const lw::error& error) {
    std::cerr << "draw_work: " << error.what() << '\n';
    return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
}
