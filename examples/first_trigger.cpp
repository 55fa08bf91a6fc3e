// The shortest program with a trigger: each PE writes squares, and the last one that is written sets off a transfer of
// all of them to the next PE.
//
// Usage: first_trigger [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

constexpr std::uint64_t n = 64;

/// What all lanes of all PEs run.
struct write_squares {
    lw::symmetric_ref<std::uint64_t> squares;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        for (std::uint64_t i = ctx.local_rank(); i < n; i += ctx.local_size()) {  // the lanes of this PE
            squares.local(ctx)[i] = i * i;
            (void)triggers.trigger(ctx, 0);  // one more is there; what fails ends the run
        }
    }
};

int main(int argc, char** argv) try {
    lw::runtime runtime({.devices = argc > 1 ? argv[1] : ""});
    const auto squares = runtime.allocate<std::uint64_t>(n), received = runtime.allocate<std::uint64_t>(n);
    auto triggers = runtime.triggers();
    for (int pe = 0; pe < runtime.n_pes(); ++pe) {  // when tag 0 of a PE has been triggered n times, a put
        const int next = (pe + 1) % runtime.n_pes();
        triggers.prepare(pe, 0, n, lw::trigger_operation::put(squares.ref(), 0, n, received.ref(), 0, next));
    }
    runtime.run(write_squares{squares.ref()}, triggers);  // returns when all has arrived
    std::cout << "PE 0 has received " << received.copy_out(0)[n - 1] << '\n';
} catch (const lw::error& e) {
    std::cerr << "first_trigger: " << e.what() << '\n';
    return 1;
}
