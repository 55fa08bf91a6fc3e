// kmer in the direct style: each lane probes remote tables and counts in them by atomics of its own.
#include "styles/kmer/problem.hpp"

namespace laneway::styles {

namespace {

struct count_remotely {
    kmer_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for_each_index(ctx, data.stretches(), [&](std::uint64_t i) {
            data.walk(ctx, i, [&](bool shown, std::uint64_t kmer) {
                if (shown) data.count(ctx, data.owner(ctx, kmer), kmer, scope::system);
            });
        });
    }
};

}  // namespace

work kmer_direct(launcher& on, const kmer_data& data) {
    return [=, &on] { on.launch(count_remotely{data}); };
}

}  // namespace laneway::styles
