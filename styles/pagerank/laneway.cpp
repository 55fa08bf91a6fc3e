// pagerank in Laneway's style: each lane posts the shares of its arcs to the owners of their heads.
#include "parallel/dynamic_for.hpp"
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

struct post_shares {
    static constexpr std::uint64_t rows = 16;  // of a warp, taken at once
    pagerank_data data;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        apps::dynamic_for(ctx, data.taken, data.arcs(ctx), rows, [&](std::uint64_t arc) {
            (void)box.post(ctx, data.owner(ctx, arc), data.message(ctx, arc));  // a failed post ends the run
        });
    }
};

}  // namespace

work pagerank_laneway(launcher& on, const pagerank_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(add_share{data});
    return [=, &on] { on.runtime().run(post_shares{data}, box); };
}

}  // namespace laneway::styles
