// pagerank in the direct style: each lane adds shares to remote sums by atomics of its own.
#include "styles/pagerank/problem.hpp"

namespace laneway::styles {

namespace {

struct add_remotely {
    pagerank_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, data.arcs(ctx), [&](std::uint64_t arc) {
            data.add(ctx, data.owner(ctx, arc), data.message(ctx, arc), scope::system);
        });
    }
};

}  // namespace

work pagerank_direct(launcher& on, const pagerank_data& data) {
    return [=, &on] { on.launch(add_remotely{data}); };
}

}  // namespace laneway::styles
