// kmer in Laneway's style: each lane posts its k-mers to their owners.
#include "styles/kmer/problem.hpp"

namespace laneway::styles {

namespace {

struct count_kmer {
    kmer_data data;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t kmer) const {
        data.count(ctx, ctx.pe(), kmer, scope::device);
    }
};

struct post_kmers {
    kmer_data data;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t stretch, Box& box) const {
        data.walk(ctx, stretch, [&](bool shown, std::uint64_t kmer) {
            if (shown) (void)box.post(ctx, data.owner(ctx, kmer), kmer);  // a failed post ends the run
        });
    }
};

}  // namespace

work kmer_laneway(launcher& on, const kmer_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(count_kmer{data});
    const auto stretches = on.indices(data.stretches(), {.max_rows = 1});
    return [=, &on] { on.runtime().for_each(*stretches, post_kmers{data}, box); };
}

}  // namespace laneway::styles
