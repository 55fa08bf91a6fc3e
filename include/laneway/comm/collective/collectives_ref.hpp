// What lanes know of the memory for collectives: the words that PEs write for each other, and those of the own PE.
//
// Members of a collective are the same part of each PE: one working warp, one working block, or the whole grid. Part
// number g of every PE forms group g, and each group has words of its own. For each peer a PE has two slots a group,
// for odd and even rounds. A slot holds tagged words (queue/tagged_words.hpp): half of each is data, half the number of
// the round. Behind the data stands the header of the round, one word that says which collective it is.
#pragma once

#include "laneway/transport/word_channel.hpp"

namespace laneway {

/// Which part of each PE is a member of a collective, and who calls it together, with the same arguments: all lanes of
/// one working warp, all working warps of one block, or all working warps of the PE. Working warps are those that run
/// the functor.
enum class group : std::uint32_t { warp, block, grid };

/// Working warps and blocks of a PE.
struct working_counts {
    std::uint32_t warps = 1;
    std::uint32_t blocks = 1;

    /// Groups of this kind that the PE is a member of; none where it has no blocks, as a PE of another team.
    [[nodiscard]] LANEWAY_FN std::uint32_t groups(group kind) const {
        return kind == group::warp ? warps : kind == group::block ? blocks : blocks != 0 ? 1 : 0;
    }
    friend bool operator==(const working_counts&, const working_counts&) = default;
};

/// Words of all groups of one kind that one PE writes for another.
struct group_words {
    std::uint64_t first = 0;                           ///< word of the first slot
    std::uint32_t groups = 0;                          ///< that have words: those with two members at least
    std::uint32_t data_words = 0;                      ///< of a slot, for 32 bits of data each; a power of two
    std::uint64_t two_shot_bytes = ~std::uint64_t{0};  ///< arrays of more bytes are reduced in two steps

    /// Large slots start where lines of memory do.
    [[nodiscard]] LANEWAY_FN std::uint64_t slot_words() const {
        const std::uint64_t unit = data_words >= 256 ? destructive_bytes / sizeof(std::uint64_t) : 2;
        return (data_words + unit) / unit * unit;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t all_words() const { return 2 * groups * slot_words(); }
    [[nodiscard]] LANEWAY_FN std::uint64_t slot(std::uint32_t group, std::uint64_t round) const {
        return first + (2 * std::uint64_t{group} + round % 2) * slot_words();
    }
    /// Elements of so many words that a round carries: each in one step, or a share of it in each of two.
    [[nodiscard]] LANEWAY_FN std::uint32_t one_shot_elements(std::uint32_t words) const { return data_words / words; }
    [[nodiscard]] LANEWAY_FN std::uint32_t two_shot_elements(std::uint32_t words, int members) const {
        return data_words / (2 * words) * static_cast<std::uint32_t>(members);
    }
};

/// Where the blocks of a PE meet; PE memory.
struct grid_words {
    /// Working warps that have come, in the upper 16 of 32 bits those that have returned; above them the signatures of
    /// the collectives that they called, added up.
    alignas(destructive_bytes) std::uint64_t arrived = 0;
    alignas(destructive_bytes) std::uint64_t opened[tagged_words<std::uint64_t>] = {};  ///< a value, tagged
};

/// Device view of one PE's part; trivially copyable.
struct collectives_ref {
    const word_sender* to = nullptr;         ///< n_pes, PE memory: where each other PE reads this one's words
    const word_receiver* from = nullptr;     ///< n_pes, PE memory: where each other PE writes them
    const working_counts* counts = nullptr;  ///< n_pes, PE memory, none of other teams; null: all are as `mine`
    working_counts mine;
    group_words words[3];             ///< by kind
    std::uint64_t max_bytes = 0;      ///< of an array
    std::uint64_t* rounds = nullptr;  ///< PE memory: rounds of each warp, then each block, the grid; its meetings
    std::uint64_t* values = nullptr;  ///< PE memory: what each block brings to a meeting of the grid, tagged
    grid_words* grid = nullptr;       ///< PE memory
    std::uint32_t max_warps = 1;      ///< that `rounds` has room for
    std::uint32_t max_blocks = 1;

    [[nodiscard]] LANEWAY_FN const group_words& words_of(group kind) const {
        return words[static_cast<std::uint32_t>(kind)];
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t* warp_rounds(std::uint32_t warp) const { return rounds + warp; }
    [[nodiscard]] LANEWAY_FN std::uint64_t* block_rounds(std::uint32_t block) const {
        return rounds + max_warps + block;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t* grid_rounds() const { return rounds + max_warps + max_blocks; }
    [[nodiscard]] LANEWAY_FN std::uint64_t* grid_meetings() const { return grid_rounds() + 1; }
    /// Whether a PE is a member of a group.
    [[nodiscard]] LANEWAY_FN bool takes_part(int pe, group kind, std::uint32_t number) const {
        return counts == nullptr || number < counts[pe].groups(kind);
    }
};

}  // namespace laneway
