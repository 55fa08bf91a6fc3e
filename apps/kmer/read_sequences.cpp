#include <array>
#include <string>
#include <string_view>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/input/text_source.hpp"
#include "sequences.hpp"

namespace laneway::apps {

namespace {

constexpr unsigned refused = 5;

/// The symbol of each byte of a sequence.
constexpr std::array<std::uint8_t, 256> symbol_table = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(refused);
    for (unsigned letter = 'A'; letter <= 'Z'; ++letter) table[letter] = table[letter + 'a' - 'A'] = gap;
    for (const unsigned mark : {'-', '.', '*'}) table[mark] = gap;
    const std::string_view bases = "ACGTacgt";
    for (unsigned i = 0; i < bases.size(); ++i) table[static_cast<unsigned char>(bases[i])] = i % 4;
    return table;
}();

class sequence_reader {
public:
    sequence_reader(const std::filesystem::path& path, packed_sequences& sequences)
        : source_(path), sequences_(sequences) {}

    void read() {
        if (!next_filled_line()) source_.fail("holds no sequence, only blank lines");
        if (line_[0] == '>') {
            read_fasta();
        } else if (line_[0] == '@') {
            while (read_fastq_record()) {
            }
        } else {
            source_.fail("expected a line that starts with > (FASTA) or @ (FASTQ), not " + shown(line_));
        }
    }

private:
    /// The next line without blanks at its end; false at the end of the file.
    bool next_line() {
        if (!source_.next_line(line_)) return false;
        line_ = line_.substr(0, line_.find_last_not_of(" \t") + 1);
        return true;
    }

    bool next_filled_line() {
        while (next_line()) {
            if (!line_.empty()) return true;
        }
        return false;
    }

    /// From the first header to the end of the file.
    void read_fasta() {
        while (next_filled_line()) {
            if (line_[0] == '>') {
                sequences_.end_sequence();
            } else {
                add_bases();
            }
        }
        sequences_.end_sequence();
    }

    /// One record of four lines or more, whose header is the current line; returns whether another one begins.
    /// A folded sequence ends with the + line, its qualities, which may be folded as well, with its length.
    bool read_fastq_record() {
        if (line_[0] != '@') source_.fail("expected a line that starts with @, not " + shown(line_));
        std::uint64_t length = 0;
        std::uint64_t lines = 0;
        for (require_line("its + line"); !line_.starts_with('+'); require_line("its + line")) {
            add_bases();
            length += line_.size();
            ++lines;
        }
        sequences_.end_sequence();
        read_qualities(length, lines > 1);
        return next_filled_line();
    }

    void read_qualities(std::uint64_t length, bool folded) {
        std::uint64_t qualities = 0;
        while (qualities < length) {
            require_line("its qualities");
            check_qualities();
            qualities += line_.size();
            if (qualities > length || (qualities < length && !folded)) {
                source_.fail(std::to_string(qualities) + " qualities for a sequence of " + std::to_string(length));
            }
        }
    }

    void require_line(const char* missing) {
        if (next_line()) return;
        std::string why = "the file ends within a record, before ";
        why += missing;
        source_.fail(why);
    }

    void add_bases() {
        for (const char letter : line_) {
            const unsigned symbol = symbol_of(letter);
            if (symbol == refused) source_.fail(shown({&letter, 1}) + " belongs in no sequence");
            sequences_.add(symbol);
        }
    }

    void check_qualities() {
        if (line_.empty()) source_.fail("a blank line where qualities should be");
        for (const char letter : line_) {
            if (letter < '!' || letter > '~') source_.fail(shown({&letter, 1}) + " is no quality");
        }
    }

    text_source source_;
    packed_sequences& sequences_;
    std::string_view line_;
};

constexpr std::size_t worth_leaving = 1 << 20;  ///< letters that take longer to pack than a wait for it may be

void pack(std::string_view letters, packed_sequences& to) {
    interruption_counter leave;
    for (const char letter : letters) {
        if (letters.size() >= worth_leaving) leave.poll();
        to.add(symbol_of(letter));
    }
    to.end_sequence();
}

}  // namespace

unsigned symbol_of(char letter) { return symbol_table[static_cast<unsigned char>(letter)]; }

void add_sequence(std::string_view letters, packed_sequences& sequences) {
    interruption_counter leave;
    for (std::size_t i = 0; i < letters.size(); ++i) {
        leave.poll();
        if (symbol_of(letters[i]) != refused) continue;
        throw usage_error("sequence " + std::to_string(sequences.sequences() + 1) + ", letter " +
                          std::to_string(i + 1) + ": " + shown(letters.substr(i, 1)) + " belongs in no sequence");
    }
    if (letters.size() < worth_leaving) {
        pack(letters, sequences);
    } else {  // all or nothing, also where the call is left
        packed_sequences whole;
        pack(letters, whole);
        sequences.append(std::move(whole));
    }
}

void read_sequences(const std::filesystem::path& path, packed_sequences& sequences) {
    packed_sequences file;
    sequence_reader(path, file).read();
    sequences.append(std::move(file));
}

void packed_sequences::append(packed_sequences&& more) {
    add(gap);
    more.add(gap);
    if (words_.empty()) {
        words_ = std::move(more.words_);
    } else {
        words_.insert(words_.end(), more.words_.begin(), more.words_.end());
    }
    symbols_ = words_.size() * symbols_a_word;  // what is left of a word is gaps
    bases_ += more.bases_;
    sequences_ += more.sequences_;
    more = {};
}

std::uint64_t packed_sequences::kmers(int k) const {
    std::uint64_t count = 0;
    int length = 0;
    interruption_counter leave;
    for_each_symbol([&](unsigned symbol) {
        leave.poll();
        length = symbol == gap ? 0 : length + (length < k);
        count += length == k;
    });
    return count;
}

}  // namespace laneway::apps
