#include "kmer/simulated_reads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "kmer/kmer.hpp"
#include "laneway/base/error.hpp"

namespace laneway::test {
namespace {

std::vector<std::string> reads_of(const apps::simulation& wanted) {
    std::vector<std::string> reads(1);
    apps::simulated_reads(wanted).to_sequences().for_each_symbol([&](unsigned symbol) {
        if (symbol != apps::gap) {
            reads.back() += "ACGT"[symbol];
        } else if (!reads.back().empty()) {
            reads.emplace_back();
        }
    });
    reads.pop_back();
    return reads;
}

std::string other_strand(std::string text) {
    std::reverse(text.begin(), text.end());
    for (char& letter : text) letter = letter == 'A' ? 'T' : letter == 'T' ? 'A' : letter == 'C' ? 'G' : 'C';
    return text;
}

TEST(simulated_reads_test, ReadsOfTheWholeGenomeShowBothStrands) {
    const auto reads = reads_of({.genome_length = 500, .coverage = 40, .read_length = 500});
    ASSERT_EQ(reads.size(), 40u);
    std::map<std::string, int> found;
    for (const auto& read : reads) ++found[read];
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found.begin()->first, other_strand(found.rbegin()->first));
    EXPECT_GT(found.begin()->second, 8);
    EXPECT_GT(found.rbegin()->second, 8);
    for (const char base : {'A', 'C', 'G', 'T'}) {
        EXPECT_NEAR(static_cast<double>(std::count(reads[0].begin(), reads[0].end(), base)), 125, 45);
    }
}

TEST(simulated_reads_test, ReadsLieInTheGenomeAndCoverIt) {
    apps::simulation wanted{.genome_length = 1000, .coverage = 20, .read_length = 70};
    const auto reads = reads_of(wanted);
    EXPECT_EQ(reads.size(), 286u) << "20 000 bases in reads of 70, rounded up";
    wanted.read_length = 1000;
    const std::string genome = reads_of(wanted)[0];
    const std::string both = genome + "|" + other_strand(genome);
    std::set<std::size_t> starts;
    for (const auto& read : reads) {
        ASSERT_EQ(read.size(), 70u);
        starts.insert(both.find(read));
    }
    EXPECT_EQ(starts.count(std::string::npos), 0u);
    EXPECT_GT(starts.size(), 220u);
}

TEST(simulated_reads_test, ErrorsComeAtTheirRateAndAsAnyOtherBase) {
    apps::simulation wanted{.genome_length = 20'000, .coverage = 2, .read_length = 100};
    const auto right = reads_of(wanted);
    wanted.error_rate = 0.05;
    const auto wrong = reads_of(wanted);
    ASSERT_EQ(right.size(), wrong.size());
    std::map<int, int> shifts;
    for (std::size_t r = 0; r < right.size(); ++r) {
        for (std::size_t i = 0; i < right[r].size(); ++i) {
            const auto place = [](char base) { return static_cast<int>(std::string_view("ACGT").find(base)); };
            ++shifts[(place(wrong[r][i]) - place(right[r][i]) + 4) % 4];
        }
    }
    for (const int shift : {1, 2, 3}) EXPECT_NEAR(shifts[shift], 40'000 * 0.05 / 3, 120) << shift;
}

TEST(simulated_reads_test, TheSeedDecides) {
    const apps::simulation wanted{.genome_length = 3000, .coverage = 1, .error_rate = 0.01};
    apps::simulation other = wanted;
    other.seed = 2;
    const auto words = apps::simulated_reads(wanted).to_sequences().words();
    EXPECT_EQ(words, apps::simulated_reads(wanted).to_sequences().words());
    EXPECT_NE(words, apps::simulated_reads(other).to_sequences().words());
    // Literals: other compilers and devices must make the same reads.
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words) sum = apps::mix(sum ^ word);
    EXPECT_EQ(sum, 489'843'676'583'684'524u);
}

TEST(simulated_reads_test, CountsAndBoundsHold) {
    const apps::simulated_reads reads({.genome_length = 5000, .coverage = 30, .read_length = 80, .error_rate = 0.01});
    const auto sequences = reads.to_sequences();
    EXPECT_EQ(sequences.sequences(), reads.reads());
    EXPECT_EQ(sequences.bases(), reads.bases());
    for (const int k : {1, 21, 80, 81}) EXPECT_EQ(sequences.kmers(k), reads.kmers(k)) << k;
    for (const bool canonical : {true, false}) {
        apps::kmer_options options;
        options.canonical = canonical;
        const auto counted = apps::count_kmers_by_sorting(sequences, options);
        EXPECT_LE(counted.distinct, reads.max_distinct(21, canonical));
        EXPECT_GE(counted.distinct * 2, reads.max_distinct(21, canonical)) << "no wild guess";
    }
}

TEST(simulated_reads_test, ImpossibleSimulationsAreRefused) {
    for (const apps::simulation& wrong :
         {apps::simulation{.read_length = 0}, apps::simulation{.genome_length = 50},
          apps::simulation{.genome_length = 0}, apps::simulation{.coverage = 0}, apps::simulation{.coverage = -1},
          apps::simulation{.coverage = std::numeric_limits<double>::quiet_NaN()}, apps::simulation{.coverage = 1e12},
          apps::simulation{.error_rate = -0.1}, apps::simulation{.error_rate = 1.1}})
        EXPECT_THROW(apps::simulated_reads{wrong}, usage_error);
}

}  // namespace
}  // namespace laneway::test
