// What never changes of a communicator, in a block's shared memory: its view, where shards lie, and their rings; and of
// the PE where symmetric memory lies.
//
// What lies in memory, and a kernel's arguments where a function has them by reference, is read from the second level
// of cache again behind each acquire, as that empties the first: the view, the shard, its rings, and each pointer of
// one, a way to memory behind the other. Shared memory stays.
#pragma once

#include "laneway/comm/two_sided/two_sided_ref.hpp"

namespace laneway {

/// With the ends of the rings of the first PEs, of the first shard: the only one, where the program promises nothing.
/// In a block's shared memory; one lane fills it in before others use it.
struct ring_ends {
    static constexpr int max_pes = 8;
    static constexpr std::uint32_t max_shards = 4;

    pe_environment environment;
    two_sided_ref view;  ///< whose shards are those below, where these are all
    message_shard_ref shards[max_shards];
    chunk_sender to[max_pes];
    chunk_receiver from[max_pes];
    std::uint64_t tickets[max_pes];  ///< of each of `to`: which is next, as far as lanes of the block know
    std::uint32_t any_sources;       ///< receives from any source that have looked at rings

    LANEWAY_FN void fill(const two_sided_ref& of_pe, const pe_environment& env) {
        const int n_pes = env.n_pes;
        environment = env;
        any_sources = 0;
        for (int pe = 0; pe < n_pes && pe < max_pes; ++pe) {
            to[pe] = of_pe.shards[0].to[pe];
            from[pe] = of_pe.shards[0].from[pe];
            tickets[pe] = 0;
        }
        view = of_pe;
        if (of_pe.n_shards > max_shards) return;
        for (std::uint32_t i = 0; i < of_pe.n_shards; ++i) shards[i] = of_pe.shards[i];
        view.shards = shards;
        if (n_pes > max_pes) return;
        shards[0].to = to;
        shards[0].from = from;
    }
    [[nodiscard]] static LANEWAY_FN bool has(std::uint32_t shard, int pe) { return shard == 0 && pe < max_pes; }
    [[nodiscard]] LANEWAY_FN const chunk_sender* sender(const two_sided_ref& of_pe, std::uint32_t shard, int pe) const {
        return has(shard, pe) ? to + pe : of_pe.shards[shard].to + pe;
    }
    [[nodiscard]] LANEWAY_FN const chunk_receiver& receiver(const two_sided_ref& of_pe, std::uint32_t shard,
                                                            int pe) const {
        return has(shard, pe) ? from[pe] : of_pe.shards[shard].from[pe];
    }
};

}  // namespace laneway
