// Moving words by lanes: stored over what is there, or combined with it.
#pragma once

#include "laneway/memory/copy_bytes.hpp"

namespace laneway {

/// What an operation makes of a word of its target: for a put, the word of its source.
struct overwrite {
    static constexpr bool reads = false;  ///< whether it needs what the target has

    template <class Word>
    LANEWAY_FN void operator()(Word& target, const Word& source) const {
        target = source;
    }
};

/// This lane's share of `words` words. Several loads are on their way at once:
/// what a lane waits for is one latency a batch.
template <class Word, class Become>
LANEWAY_FN void move_words(Word* to, const Word* from, std::uint64_t words, copy_share mine, const Become& become) {
    constexpr unsigned batch = 4;
    std::uint64_t i = mine.first;
    for (; i + (batch - 1) * mine.step < words; i += batch * mine.step) {
        Word target[batch], source[batch];
        for (unsigned k = 0; k < batch; ++k) source[k] = from[i + k * mine.step];
        if constexpr (Become::reads) {
            for (unsigned k = 0; k < batch; ++k) target[k] = to[i + k * mine.step];
        }
        for (unsigned k = 0; k < batch; ++k) become(target[k], source[k]);
        for (unsigned k = 0; k < batch; ++k) to[i + k * mine.step] = target[k];
    }
    LANEWAY_NOT_UNROLLED
    for (; i < words; i += mine.step) become(to[i], from[i]);
}

/// The same for `count` words, whatever they are aligned to: in `Wide` ones of 16 bytes where both sides allow it.
template <class Wide, class Word, class Become>
LANEWAY_FN void move_wide(Word* to, const Word* from, std::uint64_t count, copy_share mine, const Become& become) {
    constexpr std::uint64_t words_each = sizeof(Wide) / sizeof(Word);
    const auto alignment = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    std::uint64_t moved = 0;
    if (alignment % sizeof(Wide) == 0) {
        move_words(reinterpret_cast<Wide*>(to), reinterpret_cast<const Wide*>(from), count / words_each, mine, become);
        moved = count / words_each * words_each;
    }
    move_words(to + moved, from + moved, count - moved, mine, become);
}

/// Stores this lane's share of `bytes`, a multiple of 4, as both addresses are.
LANEWAY_FN void store_range(std::byte* to, const std::byte* from, std::uint64_t bytes, copy_share mine) {
    move_wide<byte_word<16>>(reinterpret_cast<byte_word<4>*>(to), reinterpret_cast<const byte_word<4>*>(from),
                             bytes / 4, mine, overwrite{});
}

}  // namespace laneway
