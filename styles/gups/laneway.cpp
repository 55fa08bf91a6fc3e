// gups in Laneway's style: each lane posts its updates to their owners.
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

struct post_update {
    gups_data data;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i, Box& box) const {
        const std::uint64_t value = data.updates.local(ctx)[i];
        (void)box.post(ctx, data.owner(value), value);  // a failed post ends the run
    }
};

}  // namespace

work gups_laneway(launcher& on, const gups_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(apply_update{data});
    const auto updates = on.indices(data.updates.size(), {.max_rows = 16});
    return [=, &on] { on.runtime().for_each(*updates, post_update{data}, box); };
}

}  // namespace laneway::styles
