// Uses the installed library as a stranger would: lanes post to all PEs, and linked code of another layer is called.
#include <iostream>

#include "laneway/graph/generate.hpp"
#include "laneway/runtime.hpp"

struct add_up {
    lw::symmetric_ref<std::uint64_t> sum;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t value) const {
        lw::atomic_add(ctx, sum[0], value);
    }
};

struct post_numbers {
    std::uint64_t numbers;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        for (std::uint64_t n = ctx.rank(); n < numbers; n += ctx.size()) {
            if (box.post(ctx, static_cast<int>(n % pes), n) != lw::status::ok) return;
        }
    }
};

int main(int count, char** arguments) {
    const auto graph = lw::graph::generate_grid({.width = 4, .height = 3, .keep = 1.0});
    lw::runtime runtime({.devices = count > 1 ? arguments[1] : "cpu:2"});
    const auto sum = runtime.allocate<std::uint64_t>(1);
    runtime.run(post_numbers{1000}, runtime.mailbox<std::uint64_t>(add_up{sum.ref()}));
    std::uint64_t total = 0;
    for (int pe = 0; pe < runtime.n_pes(); ++pe) total += sum.copy_out(pe)[0];
    std::cout << graph.vertices() << " vertices, sum " << total << '\n';
    return graph.vertices() == 12 && total == 499500 ? 0 : 1;
}
