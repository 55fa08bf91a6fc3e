// pagerank in Laneway's style: each lane posts the shares of its arcs to the owners of their heads.
#include "styles/pagerank/problem.hpp"

namespace laneway::styles {

namespace {

struct add_share {
    pagerank_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t message) const {
        data.add(ctx, ctx.pe(), message, scope::device);
    }
};

struct post_share {
    pagerank_data data;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t arc, Box& box) const {
        if (arc >= data.arcs(ctx)) return;                                  // another PE has more
        (void)box.post(ctx, data.owner(ctx, arc), data.message(ctx, arc));  // a failed post ends the run
    }
};

}  // namespace

work pagerank_laneway(launcher& on, const pagerank_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(add_share{data});
    const auto arcs = on.indices(data.tails.size(), {.max_rows = 16});
    return [=, &on] { on.runtime().for_each(*arcs, post_share{data}, box); };
}

}  // namespace laneway::styles
