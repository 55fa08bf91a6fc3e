// DNA sequences as devices read them: five symbols, 21 of them in a word.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "laneway/base/config.hpp"

namespace laneway::apps {

// A symbol has three bits. A, C, G and T are 0 to 3, so that the complement of base b is 3 - b; a gap is 4: no k-mer
// spans it. Symbol i of a word stands in bits 3 i to 3 i + 2.
inline constexpr unsigned gap = 4;
inline constexpr unsigned symbol_bits = 3;
inline constexpr unsigned symbols_a_word = 21;
inline constexpr std::uint64_t gap_word = 0x4924924924924924;  ///< 21 gaps

/// Sequences one after another, with gaps between them. Host only.
class packed_sequences {
public:
    packed_sequences() = default;
    /// Takes words packed elsewhere, with the number of bases and of sequences in them.
    packed_sequences(std::vector<std::uint64_t> words, std::uint64_t bases, std::uint64_t sequences)
        : words_(std::move(words)), symbols_(words_.size() * symbols_a_word), bases_(bases), sequences_(sequences) {}

    /// Appends a base or a gap; gaps in a row are one.
    void add(unsigned symbol) {
        if (symbol == gap && (symbols_ == 0 || last_ == gap)) return;
        if (symbols_ % symbols_a_word == 0) words_.push_back(gap_word);
        words_.back() ^= std::uint64_t{symbol ^ gap} << symbols_ % symbols_a_word * symbol_bits;
        last_ = symbol;
        ++symbols_;
        bases_ += symbol != gap;
    }
    void end_sequence() {
        add(gap);
        ++sequences_;
    }

    /// Appends all of `more`, with gaps before and behind it, and leaves it empty.
    void append(packed_sequences&& more);

    /// The symbols; what is left of the last word is gaps.
    [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }
    [[nodiscard]] std::uint64_t bases() const { return bases_; }
    [[nodiscard]] std::uint64_t sequences() const { return sequences_; }

    /// Calls f(symbol) for every symbol in order; a gap may come several times.
    template <class F>
    void for_each_symbol(F&& f) const {
        for (std::uint64_t word : words_) {
            for (unsigned i = 0; i < symbols_a_word; ++i, word >>= symbol_bits) f(static_cast<unsigned>(word & 7));
        }
    }

    /// Number of k-mers: of places where `k` bases follow each other.
    [[nodiscard]] std::uint64_t kmers(int k) const;

private:
    std::vector<std::uint64_t> words_;
    std::uint64_t symbols_ = 0;
    std::uint64_t bases_ = 0;
    std::uint64_t sequences_ = 0;
    unsigned last_ = gap;
};

/// Appends the sequences of a FASTA or FASTQ file; plain, gzip or xz, told from the content. Letters other than ACGT,
/// of either case, are gaps, as are - . and *. Throws usage_error naming file and line: no header, bytes that belong in
/// no sequence, qualities that do not fit their sequence, a file that ends within a record; `sequences` are then as
/// they were.
void read_sequences(const std::filesystem::path& path, packed_sequences& sequences);

/// Appends a sequence from memory, by the same letters. Throws usage_error naming the sequence, by its number from 1,
/// and the letter that belongs in none; `sequences` are then as they were.
void add_sequence(std::string_view letters, packed_sequences& sequences);

/// The symbol of a letter: 0 to 3 for ACGT of either case, `gap` for one that ends a k-mer, more for one that belongs
/// in no sequence.
unsigned symbol_of(char letter);

}  // namespace laneway::apps
