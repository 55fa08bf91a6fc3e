#include "kmer/sequences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kmer/kmer.hpp"
#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {
namespace {

/// All symbols as letters, with one - for gaps in a row and none at the end.
std::string letters_of(const apps::packed_sequences& sequences) {
    std::string text;
    sequences.for_each_symbol([&](unsigned symbol) {
        if (symbol != apps::gap || !text.ends_with('-')) text += "ACGT-"[symbol];
    });
    return text.substr(0, text.find_last_not_of('-') + 1);
}

class read_sequences_test : public testing::Test {
protected:
    apps::packed_sequences read(std::string_view content) {
        apps::packed_sequences sequences;
        apps::read_sequences(files_.write("a", content), sequences);
        return sequences;
    }
    std::string letters(std::string_view content) { return letters_of(read(content)); }

    /// What follows the path in the complaint.
    std::string rejection(std::string_view content) {
        try {
            (void)read(content);
        } catch (const usage_error& e) {
            return std::string(e.what()).substr((files_ / "a").string().size());
        }
        return "not rejected";
    }
    scratch_directory files_;
};

TEST_F(read_sequences_test, FastaLinesAreJoinedAndRecordsAreNot) {
    const auto sequences = read(">one\nACG\nTTT\n>two\r\nGATTACA\r\n\n>empty\n>four\nC");
    EXPECT_EQ(letters_of(sequences), "ACGTTT-GATTACA-C");
    EXPECT_EQ(sequences.sequences(), 4u);
    EXPECT_EQ(sequences.bases(), 14u);
}

TEST_F(read_sequences_test, CaseDoesNotMatterAndOtherLettersAreGaps) {
    EXPECT_EQ(letters(">x\nacgtNNNNACGTRykA-C.G*T\n"), "ACGT-ACGT-A-C-G-T");
    EXPECT_EQ(letters(">x\nNNNN\nNN\nA\n"), "A");
    EXPECT_EQ(letters("\n\n>x\nAC  \n\t\nGT\t\n"), "ACGT") << "blanks at the ends of lines and blank lines";
}

TEST_F(read_sequences_test, FastqKeepsSequencesOnly) {
    const auto sequences = read("@r0\nACGT\n+\nIIII\n@r1 more\nTTNAA\n+r1\n@@@>+\n\n");
    EXPECT_EQ(letters_of(sequences), "ACGT-TT-AA");
    EXPECT_EQ(sequences.sequences(), 2u);
}

TEST_F(read_sequences_test, FastqMayBeFoldedAndHaveEmptyReads) {
    EXPECT_EQ(letters("@r0\nACG\nT\n+\nII\n@I\n@r1\nGG\n+\nII\n"), "ACGT-GG");
    EXPECT_EQ(letters("@r0\n\n+\n\n@r1\nGG\n+\nII\n"), "GG");
}

TEST_F(read_sequences_test, WordsHold21Symbols) {
    for (const std::size_t length : {20, 21, 22, 42, 43, 1000}) {
        std::string text(length, 'A');
        for (std::size_t i = 0; i < length; ++i) text[i] = "ACGT"[i * i % 11 % 4];
        const auto sequences = read(">x\n" + text);
        EXPECT_EQ(letters_of(sequences), text);
        EXPECT_EQ(sequences.words().size(), (length + 1 + 20) / 21) << "one gap ends the sequence";
        EXPECT_EQ(sequences.kmers(5), length - 4);
        EXPECT_EQ(sequences.kmers(static_cast<int>(std::min<std::size_t>(length + 1, 1001))), 0u);
    }
}

TEST_F(read_sequences_test, SeveralFilesFollowEachOther) {
    apps::packed_sequences sequences;
    apps::read_sequences(files_.write("a", ">x\nAC"), sequences);
    apps::read_sequences(files_.write("b", "@y\nGT\n+\nII\n"), sequences);
    EXPECT_EQ(letters_of(sequences), "AC-GT");
    EXPECT_EQ(sequences.kmers(2), 2u);
}

TEST_F(read_sequences_test, ARefusedFileLeavesNothing) {
    apps::packed_sequences sequences;
    const auto whole = files_.write("a", ">x\nACGTAC\n");
    apps::read_sequences(whole, sequences);
    EXPECT_THROW(apps::read_sequences(files_.write("b", ">y\nTTT\n>z\nGG1\n"), sequences), usage_error);
    EXPECT_THROW(apps::read_sequences(files_.write("c", "@y\nTTTT\n+\nII\n"), sequences), usage_error);
    EXPECT_EQ(letters_of(sequences), "ACGTAC");
    EXPECT_EQ(sequences.sequences(), 1u);
    EXPECT_EQ(sequences.bases(), 6u);
    apps::read_sequences(whole, sequences);
    EXPECT_EQ(letters_of(sequences), "ACGTAC-ACGTAC");
    EXPECT_EQ(sequences.kmers(6), 2u);
}

TEST_F(read_sequences_test, AppendedSequencesDoNotJoinTheirNeighbours) {
    for (const int length : {0, 1, 20, 21, 22, 42}) {
        const auto run = [&](unsigned base) {
            apps::packed_sequences open;
            for (int i = 0; i < length; ++i) open.add(base);
            return open;
        };
        apps::packed_sequences all = run(0);
        for (const unsigned base : {1u, 2u}) {
            apps::packed_sequences more = run(base);
            all.append(std::move(more));
        }
        all.add(3);
        const auto n = static_cast<std::size_t>(length);
        const std::string joined = std::string(n, 'A') + '-' + std::string(n, 'C') + '-' + std::string(n, 'G') + "-T";
        EXPECT_EQ(letters_of(all), n == 0 ? "T" : joined);
        EXPECT_EQ(all.bases(), 3 * n + 1);
    }
}

TEST_F(read_sequences_test, BrokenFilesEndInOneLine) {
    EXPECT_EQ(rejection(""), ": the file is empty");
    EXPECT_EQ(rejection("\n\n"), ":2: holds no sequence, only blank lines");
    EXPECT_EQ(rejection("ACGT\n>x\nACGT\n"), ":1: expected a line that starts with > (FASTA) or @ (FASTQ), not 'ACGT'");
    EXPECT_EQ(rejection(std::string("\x7f\x45\x4c\x46\x00\x01", 6)), ": is neither text nor gzip nor xz");
    EXPECT_EQ(rejection(">x\nAC1GT\n"), ":2: '1' belongs in no sequence");
    EXPECT_EQ(rejection(">x\nACGT\n@y\nAC\n"), ":3: '@' belongs in no sequence");
    EXPECT_EQ(rejection("@x\nACGT\n+\nIII\n"), ":4: 3 qualities for a sequence of 4");
    EXPECT_EQ(rejection("@x\nACGT\n+\nIIIII\n"), ":4: 5 qualities for a sequence of 4");
    EXPECT_EQ(rejection("@x\nAC\nGT\n+\nII\nIII\n"), ":6: 5 qualities for a sequence of 4");
    EXPECT_EQ(rejection("@x\nACGT\n+\nII I\n"), ":4: ' ' is no quality");
    EXPECT_EQ(rejection("@x\nACGT\n+\n\n"), ":4: a blank line where qualities should be");
    EXPECT_EQ(rejection("@x\nACGT\n"), ":2: the file ends within a record, before its + line");
    EXPECT_EQ(rejection("@x\nACGT\n+\n"), ":3: the file ends within a record, before its qualities");
    EXPECT_EQ(rejection("@x\nACGT\n+\nIIII\n>y\nACGT\n"), ":5: expected a line that starts with @, not '>y'");
}

TEST(AddSequence, LettersAreThoseOfFiles) {
    apps::packed_sequences sequences;
    apps::add_sequence("ACgt", sequences);
    apps::add_sequence("", sequences);
    apps::add_sequence("NNTTxA-C.*", sequences);
    EXPECT_EQ(letters_of(sequences), "ACGT-TT-A-C");
    EXPECT_EQ(sequences.sequences(), 3u);
    EXPECT_EQ(sequences.bases(), 8u);
}

TEST(AddSequence, WhatBelongsInNoneIsNamedAndNothingIsAdded) {
    apps::packed_sequences sequences;
    apps::add_sequence("ACGT", sequences);
    for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
             {"AC/GT", "sequence 2, letter 3: '/' belongs in no sequence"},
             {"ACGT\n", "sequence 2, letter 5: '?' belongs in no sequence"},
             {std::string("\0", 1), "sequence 2, letter 1: '?' belongs in no sequence"}}) {
        try {
            apps::add_sequence(text, sequences);
            FAIL() << text;
        } catch (const usage_error& e) {
            EXPECT_EQ(e.what(), message);
        }
    }
    EXPECT_EQ(letters_of(sequences), "ACGT");
    EXPECT_EQ(sequences.sequences(), 1u);
}

struct left : std::exception {};

TEST(PackedSequences, CallsCanBeLeftAndNothingIsAdded) {
    apps::packed_sequences sequences;
    const std::string text(10'000, 'C');
    apps::add_sequence(text, sequences);
    const auto expect_left = [](auto call) {
        const interruption leave([] { throw left(); });
        EXPECT_THROW(call(), left);
    };
    expect_left([&] { apps::add_sequence(text, sequences); });
    expect_left([&] { (void)sequences.kmers(21); });
    expect_left([&] { (void)apps::count_kmers_by_sorting(sequences, {}); });
    EXPECT_EQ(sequences.sequences(), 1u);
    EXPECT_EQ(sequences.kmers(21), 9'980u);
}

TEST(PackedSequences, PackingALongOneCanBeLeft) {
    const std::string text(3 << 20, 'G');
    apps::packed_sequences sequences;
    apps::add_sequence("ACG", sequences);
    std::size_t asked = 0;
    {
        const interruption leave([&] { ++asked; });
        apps::add_sequence(text, sequences);
        EXPECT_GE(asked, 1u);
    }
    EXPECT_EQ(sequences.sequences(), 2u);
    EXPECT_EQ(sequences.bases(), 3 + text.size());
    EXPECT_EQ(letters_of(sequences), "ACG-" + text);
    for (std::size_t answers = 0; answers < asked; ++answers) {  // wherever it is asked, all or nothing
        std::size_t left_over = answers;
        const interruption leave([&] {
            if (left_over-- == 0) throw left();
        });
        apps::packed_sequences part;
        try {
            apps::add_sequence(text, part);
        } catch (const left&) {
            EXPECT_EQ(part.bases() + part.sequences(), 0u);
        }
    }
}

}  // namespace
}  // namespace laneway::test
