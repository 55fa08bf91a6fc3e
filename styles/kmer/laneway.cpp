// kmer in Laneway's style: each lane posts its k-mers to their owners.
#include "parallel/dynamic_for.hpp"
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
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        apps::dynamic_for(ctx, data.taken, data.stretches(), 1, [&](std::uint64_t i) {
            data.walk(ctx, i, [&](bool shown, std::uint64_t kmer) {
                if (shown) (void)box.post(ctx, data.owner(ctx, kmer), kmer);  // a failed post ends the run
            });
        });
    }
};

}  // namespace

work kmer_laneway(launcher& on, const kmer_data& data) {
    const auto box = on.runtime().mailbox<std::uint64_t>(count_kmer{data});
    return [=, &on] { on.runtime().run(post_kmers{data}, box); };
}

}  // namespace laneway::styles
