// gups in Laneway's style: each lane posts its updates to their owners.
#include "parallel/dynamic_for.hpp"
#include "styles/gups/problem.hpp"

namespace laneway::styles {

namespace {

struct apply_update {
    gups_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t value) const {
        ctx.fetch_xor(data.word(ctx, value), value, order::relaxed, scope::device);
    }
};

struct post_updates {
    static constexpr std::uint64_t rows = 16;  // of a warp, taken at once
    gups_data data;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        apps::dynamic_for(ctx, data.taken, data.updates.size(), rows, [&](std::uint64_t i) {
            const std::uint64_t value = data.updates.local(ctx)[i];
            (void)box.post(ctx, data.owner(value), value);  // a failed post ends the run
        });
    }
};

}  // namespace

work gups_laneway(launcher& on, const gups_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(apply_update{data});
    return [=, &on] { on.runtime().run(post_updates{data}, box); };
}

}  // namespace laneway::styles
