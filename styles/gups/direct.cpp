// gups in the direct style: each lane updates remote words by atomics of its own.
#include "styles/gups/problem.hpp"

namespace laneway::styles {

namespace {

struct update_words {
    gups_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, data.updates.size(), [&](std::uint64_t i) {
            const std::uint64_t value = data.updates.local(ctx)[i];
            ctx.fetch_xor(data.word(ctx, value), value, order::relaxed, scope::system);
        });
    }
};

}  // namespace

work gups_direct(launcher& on, const gups_data& data) {
    return [=, &on] { on.launch(update_words{data}); };
}

}  // namespace laneway::styles
