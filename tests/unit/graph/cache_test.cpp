#include "laneway/graph/cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "test_files.hpp"

namespace laneway::graph {
namespace {

using test::arcs_of;
namespace fs = std::filesystem;

class cache_test : public testing::Test {
protected:
    test::scratch_directory files_;
    fs::path source_ = files_.write("a.wel", "0 1 2.5\n1 2 7\n");
    fs::path cache_ = files_ / "made/cache";

    graph cached(const read_options& options = {}) { return read_graph_cached(source_, options, cache_); }
    std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(cache_), fs::directory_iterator()));
    }
    // Puts another graph into the source's entry: only a reader that does not parse gives it.
    void plant() {
        graph other;
        other.arcs = csr32{{0, 0, 1}, {0}, {9}};
        other.ids.vertices = 2;
        write_cache(other, cache_entry(source_, {}, cache_));
    }
};

constexpr const char* parsed = "0>1:25 1>2:70";
constexpr const char* planted = "1>0:9";

TEST_F(cache_test, SecondReadDoesNotParse) {
    EXPECT_EQ(arcs_of(cached()), parsed);
    const graph again = cached();
    EXPECT_EQ(arcs_of(again), parsed);
    EXPECT_EQ(again.weight_scale, 10u);
    EXPECT_EQ(again.ids.vertices, 3u);
    plant();
    EXPECT_EQ(arcs_of(cached()), planted);
    EXPECT_EQ(entries(), 1u) << "no temporary file stays";
}

TEST_F(cache_test, ChangedSourceIsReadAgain) {
    (void)cached();
    fs::last_write_time(source_, fs::last_write_time(source_) + std::chrono::seconds(3));
    plant();
    EXPECT_EQ(arcs_of(cached()), planted);
    fs::last_write_time(source_, fs::last_write_time(source_) + std::chrono::seconds(3));
    EXPECT_EQ(arcs_of(cached()), parsed);
    files_.write("a.wel", "0 1 2\n");
    EXPECT_EQ(arcs_of(cached()), "0>1:2");
}

TEST_F(cache_test, ChangesOfEqualSizeAndTimeAreSeen) {
    const auto time = fs::last_write_time(source_);
    for (int change = 0; change < 40; ++change) {
        const std::string weight = std::to_string(change % 10);
        files_.write("a.wel", "0 1 " + weight + "\n");
        fs::last_write_time(source_, time);
        ASSERT_EQ(arcs_of(cached()), "0>1:" + weight) << "change " << change;
    }
}

TEST_F(cache_test, AnotherFileOfTheSameNameSizeAndTimeIsReadAgain) {
    (void)cached();
    const fs::path entry = cache_entry(source_, {}, cache_);
    const fs::path other = files_.write("b.wel", "0 2 2.5\n1 2 7\n");
    fs::last_write_time(other, fs::last_write_time(source_));
    fs::rename(other, source_);
    EXPECT_NE(cache_entry(source_, {}, cache_), entry);
    EXPECT_EQ(arcs_of(cached()), "0>2:25 1>2:70");
}

TEST_F(cache_test, OptionsHaveEntriesOfTheirOwn) {
    (void)cached();
    EXPECT_EQ(arcs_of(cached({.directed = false})), "0>1:25 1>0:25 1>2:70 2>1:70");
    EXPECT_TRUE(std::holds_alternative<csr64>(cached({.ids = id_width::bits64}).arcs));
    EXPECT_TRUE(std::holds_alternative<csr64>(cached({.ids = id_width::bits64}).arcs));
    EXPECT_EQ(arcs_of(cached({.format = file_format::snap})), parsed);
    EXPECT_EQ(arcs_of(cached({.unweighted = true})), "0>1 1>2");
    EXPECT_EQ(entries(), 5u);
}

TEST_F(cache_test, EveryPartOfAGraphComesBack) {
    graph g;
    csr64 csr;
    csr.offsets = {0, 1, 3};
    csr.heads = {1, 0, 1};
    g.arcs = csr;
    g.ids.first = 5;
    g.ids.labels = {5, 1'000'000'000'000};
    g.ids.vertices = 2;
    g.weights_rounded = true;
    const auto file = files_ / "one";
    write_cache(g, file);
    const auto back = read_cache(file);
    ASSERT_TRUE(back);
    EXPECT_EQ(arcs_of(*back), "0>1 1>0 1>1");
    EXPECT_EQ(back->ids.labels, g.ids.labels);
    EXPECT_EQ(back->ids.first, 5u);
    EXPECT_FALSE(back->weighted());
    EXPECT_TRUE(back->weights_rounded);
}

TEST_F(cache_test, EntryWithAnyByteAlteredOrCutIsRewritten) {
    (void)cached();
    const fs::path entry = cache_entry(source_, {}, cache_);
    plant();
    const auto size = fs::file_size(entry);
    for (std::uintmax_t at = 0; at < size; ++at) {
        std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(at));
        const char byte = static_cast<char>(file.get() ^ 0x40);
        file.seekp(static_cast<std::streamoff>(at));
        file.put(byte);
        file.close();
        ASSERT_FALSE(read_cache(entry)) << "byte " << at;
        ASSERT_EQ(arcs_of(cached()), parsed);
        ASSERT_TRUE(read_cache(entry)) << "byte " << at;
        plant();
    }
    for (const std::uintmax_t keep : {size - 1, size / 2, std::uintmax_t{71}, std::uintmax_t{0}}) {
        fs::resize_file(entry, keep);
        ASSERT_FALSE(read_cache(entry)) << keep << " bytes kept";
        ASSERT_EQ(arcs_of(cached()), parsed);
        plant();
    }
}

// Entries with right checksums that no program of ours wrote: what walks through such arrays would leave them.
TEST_F(cache_test, ForgedEntriesAreNoGraphs) {
    const fs::path file = files_ / "forged";
    const auto readable = [&](const graph& g) {
        write_cache(g, file);
        return read_cache(file).has_value();
    };
    graph honest;
    honest.arcs = csr32{{0, 1, 1, 3}, {2, 0, 1}, {}};
    honest.ids.vertices = 3;
    ASSERT_TRUE(readable(honest));
    const auto forged = [&](auto change) {
        graph g = honest;
        change(g, std::get<csr32>(g.arcs));
        return g;
    };
    EXPECT_FALSE(readable(forged([](graph&, csr32& csr) { csr.offsets = {0, 7, 1, 3}; })));
    EXPECT_FALSE(readable(forged([](graph&, csr32& csr) { csr.offsets = {0, 2, 1, 3}; })));
    EXPECT_FALSE(readable(forged([](graph&, csr32& csr) { csr.offsets = {1, 1, 1, 3}; })));
    EXPECT_FALSE(readable(forged([](graph&, csr32& csr) { csr.offsets = {0, 1, 1, 4}; })));
    EXPECT_FALSE(readable(forged([](graph&, csr32& csr) { csr.offsets = {0, 1, 1, 2}; })));
    EXPECT_FALSE(readable(forged([](graph&, csr32& csr) { csr.heads[1] = 3; })));
    EXPECT_FALSE(readable(forged([](graph& g, csr32&) { g.ids.labels = {4, 9}; })));
    EXPECT_FALSE(readable(forged([](graph& g, csr32&) { g.ids.labels = {4, 4, 9}; })));
    EXPECT_FALSE(readable(forged([](graph& g, csr32&) { g.ids.labels = {4, 9, 8}; })));
    EXPECT_FALSE(readable(forged([](graph& g, csr32&) { g.ids.first = ~std::uint64_t{0} - 1; })));
    EXPECT_FALSE(readable(forged([](graph& g, csr32&) { g.weight_scale = 0; })));
    EXPECT_FALSE(readable(forged([](graph& g, csr32&) { g.weight_scale = 20; })));
    EXPECT_TRUE(readable(forged([](graph& g, csr32&) { g.ids.labels = {4, 8, 9}; })));
    EXPECT_TRUE(readable(forged([](graph& g, csr32&) { g.weight_scale = 1000; })));
}

TEST_F(cache_test, WritersOfOneEntryDoNotMeet) {
    graph big;
    big.arcs = csr32{std::vector<std::uint64_t>(100'001, 0), {}, {}};
    big.ids.vertices = 100'000;
    const fs::path entry = files_ / "entry";
    std::atomic<int> failures{0};
    {
        std::vector<std::jthread> writers;
        for (int writer = 0; writer < 4; ++writer) {
            writers.emplace_back([&] {
                for (int time = 0; time < 50; ++time) {
                    write_cache(big, entry);
                    const auto back = read_cache(entry);
                    if (!back || back->vertices() != 100'000) ++failures;
                }
            });
        }
    }
    EXPECT_EQ(failures, 0);
}

TEST_F(cache_test, AnInterruptionLeavesNoPartOfAnEntry) {
    const graph g = cached();
    const interruption leave([] { throw interrupted("enough"); });
    EXPECT_THROW(write_cache(g, cache_ / "left"), interrupted);
    EXPECT_EQ(entries(), 1u);
}

TEST_F(cache_test, LdbcEntryKnowsAllItsFiles) {
    files_.write("x.v", "1\n2\n");
    source_ = files_.write("x.e", "1 2 4\n");
    EXPECT_EQ(arcs_of(cached()), "0>1:4 1>0:4");
    files_.write("x.properties", "graph.x.directed = true\n");
    EXPECT_EQ(arcs_of(cached()), "0>1:4");
    files_.write("x.v", "1\n2\n3\n");
    EXPECT_EQ(cached().vertices(), 3u);
}

TEST_F(cache_test, AGraphWhoseEntryCannotBeWrittenIsThereAllTheSame) {
    const std::string read_first = arcs_of(cached());
    const fs::path entry = cache_entry(source_, {}, cache_);
    fs::remove(entry);
    fs::create_directory(entry);
    std::vector<std::string> told;
    const auto tell = [&](const std::string& line) { told.push_back(line); };
    EXPECT_EQ(arcs_of(read_graph_cached(source_, {}, cache_, tell)), read_first);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0],
              "the graph is not kept for the next run: " + entry.string() + ": cannot be written: it is a directory");
    EXPECT_EQ(arcs_of(cached()), read_first) << "untold";
}

TEST_F(cache_test, UnwritableDirectoryAndMissingSourceAreErrors) {
    cache_ = files_.write("file", "x");
    EXPECT_THROW((void)cached(), usage_error);
    EXPECT_THROW((void)read_graph_cached(files_ / "none.gr", {}, files_.path()), usage_error);
    cache_.clear();
    EXPECT_THROW((void)cached(), usage_error);
}

}  // namespace
}  // namespace laneway::graph
