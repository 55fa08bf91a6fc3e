// K-mer counts over many devices against a count of strings.
#pragma once

#include <map>
#include <random>
#include <span>

#include "kmer/kmer.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

/// The other strand of a sequence.
inline std::string reverse_complement(std::string text) {
    constexpr std::string_view bases = "ACGT";
    std::reverse(text.begin(), text.end());
    for (char& letter : text) letter = bases[3 - bases.find(letter)];
    return text;
}

/// Counts the k-mers of lines of letters: strings in a map, nothing packed.
inline std::map<std::string, std::uint64_t> count_strings(const std::vector<std::string>& lines, int k,
                                                          bool canonical) {
    std::map<std::string, std::uint64_t> counts;
    const auto length = static_cast<std::size_t>(k);
    for (const std::string& line : lines) {
        for (std::size_t at = 0; at + length <= line.size(); ++at) {
            std::string kmer = line.substr(at, length);
            for (char& letter : kmer) letter = static_cast<char>(std::toupper(letter));
            if (kmer.find_first_not_of("ACGT") != std::string::npos) continue;
            ++counts[canonical ? std::min(kmer, reverse_complement(kmer)) : kmer];
        }
    }
    return counts;
}

inline apps::packed_sequences pack(const std::vector<std::string>& lines) {
    constexpr std::string_view bases = "ACGTacgt";
    apps::packed_sequences sequences;
    for (const std::string& line : lines) {
        for (const char letter : line) {
            const std::size_t base = bases.find(letter);
            sequences.add(base == std::string_view::npos ? apps::gap : static_cast<unsigned>(base % 4));
        }
        sequences.end_sequence();
    }
    return sequences;
}

/// Lines of few letters, so that k-mers come again; some of them short, some with letters that are no base.
inline std::vector<std::string> random_lines(std::mt19937_64& random, std::size_t max_letters) {
    std::vector<std::string> lines(1 + random() % 4);
    const std::string source = random() % 2 == 0 ? "AACCGGTTacgtN" : "AAAAAAAATTC";
    for (std::string& line : lines) {
        line.resize(random() % max_letters);
        for (char& letter : line) letter = source[random() % source.size()];
    }
    return lines;
}

inline void meets_strings(const std::vector<std::string>& lines, const apps::kmer_options& o) {
    const auto expected = count_strings(lines, o.k, o.canonical);
    if (expected.empty()) {
        EXPECT_THROW(apps::kmer_counter(pack(lines), o), usage_error);
        return;
    }
    std::vector<std::uint64_t> histogram(o.greatest + 2);
    std::uint64_t total = 0;
    for (const auto& [kmer, count] : expected) {
        ++histogram[std::min(count, o.greatest + 1)];
        total += count;
    }
    const auto result = apps::kmer_counter(pack(lines), o).run();
    EXPECT_EQ(result.histogram, histogram);
    EXPECT_EQ(result.total, total);
    EXPECT_EQ(result.distinct, expected.size());
    EXPECT_EQ(result.report.posted, total);
    EXPECT_EQ(result.report.posted, result.report.direct + result.report.carried);
    EXPECT_EQ(result.report.carried, result.report.served);
}

class kmer_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] apps::kmer_options job(std::uint64_t round = 0) const {
        apps::kmer_options o;
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 60;
        o.job.ring_slots = 0;
        return o;
    }
};

TEST_P(kmer_test, RandomLinesMeetCountsOfStrings) {
    const std::size_t max_letters = is_checked(GetParam()) ? 100 : 1500;
    for (std::uint64_t round = 0; round < (rounds_of(GetParam()) + 1) / 2; ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        std::mt19937_64 random(round);
        apps::kmer_options o = job(round);
        o.k = 1 + static_cast<int>(round % 4 == 0 ? random() % 63 : random() % 12);
        o.canonical = round % 3 != 0;
        o.greatest = 1 + random() % 20;
        ASSERT_NO_THROW(meets_strings(random_lines(random, max_letters), o));
        if (HasFailure()) return;
    }
}

TEST_P(kmer_test, EveryLengthWorks) {
    std::mt19937_64 random(7);
    const auto lines = random_lines(random, 400);
    for (const int k : {1, 2, 20, 21, 22, 23, 30, 31, 32, 33, 42, 43, 44, 62, 63}) {
        SCOPED_TRACE("k " + std::to_string(k));
        apps::kmer_options o = job();
        o.k = k;
        meets_strings(lines, o);
    }
}

// All lanes fight for one slot of the table.
TEST_P(kmer_test, OneKmerManyTimes) {
    for (const int k : {15, 31, 63}) {
        apps::kmer_options o = job();
        o.k = k;
        meets_strings({std::string(700, 'T')}, o);
        o.canonical = false;
        meets_strings({std::string(700, 'T')}, o);
    }
}

TEST_P(kmer_test, RunsCountFromTheBeginning) {
    apps::kmer_options o = job();
    o.k = 9;
    std::mt19937_64 random(3);
    apps::kmer_counter counter(pack(random_lines(random, 500)), o);
    const auto first = counter.run();
    const auto second = counter.run();
    EXPECT_EQ(first.histogram, second.histogram);
    EXPECT_EQ(first.checksum, second.checksum);
    EXPECT_EQ(first.total, second.total);
}

/// Every k-mer that occurs, neighbours of them that do not, and both strands.
inline void looks_up_strings(const std::vector<std::string>& lines, const apps::kmer_options& o) {
    const auto expected = count_strings(lines, o.k, o.canonical);
    std::vector<std::string> asked;
    std::vector<std::uint64_t> counts;
    const auto ask = [&](std::string kmer) {
        const std::string key = o.canonical ? std::min(kmer, reverse_complement(kmer)) : kmer;
        const auto found = expected.find(key);
        counts.push_back(found == expected.end() ? 0 : found->second);
        for (char& letter : kmer) letter = static_cast<char>(asked.size() % 3 == 0 ? std::tolower(letter) : letter);
        asked.push_back(std::move(kmer));
    };
    for (const auto& [kmer, count] : expected) {
        ask(kmer);
        ask(reverse_complement(kmer));
        std::string other = kmer;
        other.back() = other.back() == 'A' ? 'G' : 'A';
        ask(other);
    }
    apps::kmer_counter counter(pack(lines), o);
    EXPECT_THROW((void)counter.counts_of(asked), usage_error) << "before a run";
    (void)counter.run();
    EXPECT_EQ(counter.counts_of({}), std::vector<std::uint64_t>{});
    EXPECT_EQ(counter.counts_of({asked[0]}), std::vector<std::uint64_t>{counts[0]});
    EXPECT_EQ(counter.counts_of(asked), counts);
    (void)counter.run();
    EXPECT_EQ(counter.counts_of(asked), counts);
}

TEST_P(kmer_test, CountsOfGivenKmers) {
    std::mt19937_64 random(11);
    std::vector<std::string> lines = random_lines(random, is_checked(GetParam()) ? 60 : 900);
    lines.push_back("ACCATGGTANNACCATGGTATT" + std::string(70, 'C'));
    for (const int k : {1, 4, 9, 31, 32, 63}) {
        for (const bool canonical : {true, false}) {
            SCOPED_TRACE("k " + std::to_string(k) + (canonical ? " canonical" : " raw"));
            apps::kmer_options o = job();
            o.k = k;
            o.canonical = canonical;
            looks_up_strings(lines, o);
        }
    }
}

TEST_P(kmer_test, WhatIsNoKmerIsNotLookedUp) {
    apps::kmer_options o = job();
    o.k = 4;
    apps::kmer_counter counter(pack({"ACGTACGT"}), o);
    (void)counter.run();
    const auto refusal = [&](const std::vector<std::string>& kmers) -> std::string {
        try {
            (void)counter.counts_of(kmers);
        } catch (const usage_error& e) {
            return e.what();
        }
        return "none";
    };
    EXPECT_EQ(refusal({"ACGT", "ACG"}), "k-mer 2: 3 bases, not 4");
    EXPECT_EQ(refusal({"ACGTA"}), "k-mer 1: 5 bases, not 4");
    EXPECT_EQ(refusal({"ACGT", "ACGT", "ACNT"}), "k-mer 3: 'N' is no base");
    EXPECT_EQ(refusal({"AC-T"}), "k-mer 1: '-' is no base");
    EXPECT_EQ(counter.counts_of({"acgt"}), std::vector<std::uint64_t>{2});
}

TEST_P(kmer_test, SimulatedReadsAreTheSameEverywhere) {
    const apps::simulated_reads reads({.genome_length = 300, .coverage = 4, .read_length = 50, .error_rate = 0.02});
    for (const int k : {11, 33}) {
        apps::kmer_options o = job();
        o.k = k;
        const auto made_there = apps::kmer_counter(reads, o).run();
        const auto expected = apps::count_kmers_by_sorting(reads.to_sequences(), o);
        EXPECT_EQ(made_there.histogram, expected.histogram);
        EXPECT_EQ(made_there.total, reads.kmers(k));
        EXPECT_EQ(made_there.total, expected.total);
        EXPECT_EQ(made_there.distinct, expected.distinct);
        EXPECT_EQ(made_there.checksum, apps::kmer_counter(reads.to_sequences(), o).run().checksum);
    }
}

/// What needs full tables: on one PE, as hashing fills no two tables evenly.
class kmer_table_test : public kmer_test {};

// 64 three-letter words and no other place: every probe but the first few finds its slot taken.
TEST_P(kmer_table_test, TablesFillToTheLastSlotAndNoFurther) {
    apps::kmer_options o = job();
    std::mt19937_64 random(5);
    std::string line(2000, 'A');
    for (char& letter : line) letter = "ACGT"[random() % 4];
    o.k = 3;
    o.canonical = false;
    o.table_bytes = 64 * 16;
    const auto full = apps::kmer_counter(pack({line}), o).run();
    EXPECT_EQ(full.distinct, 64u);
    EXPECT_EQ(full.slots, 64u);
    EXPECT_EQ(full.total, 1998u);
    apps::kmer_counter again(pack({line}), o);
    (void)again.run();
    EXPECT_EQ(again.counts_of({line.substr(5, 3)})[0], count_strings({line}, 3, false)[line.substr(5, 3)]);
    o.table_bytes = 63 * 16;
    try {
        apps::kmer_counter(pack({line}), o).run();
        FAIL() << "64 k-mers in 32 slots";
    } catch (const device_fault& e) {
        const std::string message = e.what();
        EXPECT_NE(message.find("PE 0"), std::string::npos) << message;
        EXPECT_NE(message.find("no room left while inserting"), std::string::npos) << message;
        EXPECT_NE(message.find("of 32 places none is free"), std::string::npos) << message;
    }
}

// Keys of two words that share one of them, in a table without a free slot: lanes find slots whose first word is theirs
// and whose second is another's.
TEST_P(kmer_table_test, WordsOfKeysAreNeverMixed) {
    std::mt19937_64 random(9);
    const std::string shared(40, 'C');
    std::vector<std::string> lines;
    for (int i = 0; i < 32; ++i) {
        std::string head(23, 'A');
        for (char& letter : head) letter = "ACGT"[random() % 4];
        for (int times = 0; times <= i % 5; ++times) lines.push_back(head + shared);
    }
    std::shuffle(lines.begin(), lines.end(), random);
    for (std::uint64_t round = 0; round < (rounds_within(GetParam()) + 3) / 4; ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        apps::kmer_options o = job(round);
        o.k = 63;
        o.canonical = false;
        o.table_bytes = 32 * 32;
        meets_strings(lines, o);
        if (HasFailure()) return;
    }
}

TEST_P(kmer_test, WrongOptionsAreRefused) {
    const auto refused = [&](auto change) {
        apps::kmer_options o = job();
        change(o);
        EXPECT_THROW(apps::kmer_counter(pack({std::string(100, 'A')}), o), usage_error);
    };
    refused([](auto& o) { o.k = 0; });
    refused([](auto& o) { o.k = 64; });
    refused([](auto& o) { o.greatest = 0; });
    refused([](auto& o) { o.table_bytes = 15; });
    refused([](auto& o) { o.job.devices = "cpu:0"; });
}

/// Checks against histograms that Jellyfish 2.3.0 wrote.
class kmer_references_test : public testing::TestWithParam<std::string> {
protected:
    struct kind {
        int k;
        bool canonical;
    };
    static constexpr kind all_kinds[] = {{15, true}, {15, false}, {21, true}, {21, false}, {31, true}, {31, false}};
    static constexpr kind some_kinds[] = {{15, true}, {21, false}, {31, true}};

    static void meets(const std::filesystem::path& file, const std::string& name, std::span<const kind> kinds) {
        const auto folder = file.parent_path() / "expected";
        apps::packed_sequences sequences;
        read_sequences(file, sequences);
        apps::kmer_options o;
        o.job.devices = GetParam();
        for (const auto [k, canonical] : kinds) {
            const std::string which = ".k" + std::to_string(k) + (canonical ? ".canon" : ".raw") + ".histo";
            SCOPED_TRACE(name + which);
            o.k = k;
            o.canonical = canonical;
            const auto histogram = apps::kmer_counter(sequences, o).run().histogram;
            std::string text;
            for (std::size_t m = 0; m < histogram.size(); ++m) {
                if (histogram[m] != 0) text += std::to_string(m) + ' ' + std::to_string(histogram[m]) + '\n';
            }
            std::ifstream expected(folder / (name + which));
            ASSERT_TRUE(expected);
            EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(expected), {}));
        }
    }
};

TEST_P(kmer_references_test, Genome) {
    LANEWAY_NEED_SHARED_DATA(file, "genomes/NC_008253.fna.gz");
    if (GetParam() == "cpu:1" && !is_long_run()) GTEST_SKIP() << "only in long runs; cpu:3 counts the genome";
    if (GetParam() == "cpu:3" && !is_long_run()) return meets(file, "NC_008253", some_kinds);  // reads in all of them
    meets(file, "NC_008253", all_kinds);
}

TEST_P(kmer_references_test, Reads) {
    LANEWAY_NEED_SHARED_DATA(file, "genomes/e_coli_10000snp.fq.gz");
    meets(file, "e_coli_10000snp_fq", all_kinds);
}

LANEWAY_ON_DEVICES(kmer_test, program_lists());
LANEWAY_ON_DEVICES(kmer_table_test, lone_device());
#if defined(__CUDACC__)
LANEWAY_ON_DEVICES(kmer_references_test, program_lists());
#else
LANEWAY_ON_DEVICES(kmer_references_test, (std::vector<std::string>{"cpu:1", "cpu:3"}));
#endif

}  // namespace laneway::test
