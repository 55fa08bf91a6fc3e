#include "laneway/graph/cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "laneway/base/error.hpp"
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
    // Changes what the source says, but neither its size nor its time: only a reader that does not parse misses it.
    void change_behind_the_cache() {
        const auto time = fs::last_write_time(source_);
        files_.write("a.wel", "0 2 2.5\n1 2 7\n");
        fs::last_write_time(source_, time);
    }
};

constexpr const char* before = "0>1:25 1>2:70";
constexpr const char* after = "0>2:25 1>2:70";

TEST_F(cache_test, SecondReadDoesNotParse) {
    EXPECT_EQ(arcs_of(cached()), before);
    change_behind_the_cache();
    const graph g = cached();
    EXPECT_EQ(arcs_of(g), before);
    EXPECT_EQ(g.weight_scale, 10u);
    EXPECT_EQ(g.ids.vertices, 3u);
    EXPECT_EQ(entries(), 1u) << "no temporary file stays";
}

TEST_F(cache_test, ChangedSourceIsReadAgain) {
    (void)cached();
    change_behind_the_cache();
    fs::last_write_time(source_, fs::last_write_time(source_) + std::chrono::seconds(3));
    EXPECT_EQ(arcs_of(cached()), after);
    files_.write("a.wel", "0 1 2\n");
    EXPECT_EQ(arcs_of(cached()), "0>1:2");
}

TEST_F(cache_test, OptionsHaveEntriesOfTheirOwn) {
    (void)cached();
    EXPECT_EQ(arcs_of(cached({.directed = false})), "0>1:25 1>0:25 1>2:70 2>1:70");
    EXPECT_TRUE(std::holds_alternative<csr64>(cached({.ids = id_width::bits64}).arcs));
    EXPECT_TRUE(std::holds_alternative<csr64>(cached({.ids = id_width::bits64}).arcs));
    EXPECT_EQ(arcs_of(cached({.format = file_format::snap})), before);
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
    const auto size = fs::file_size(entry);
    change_behind_the_cache();
    for (std::uintmax_t at = 0; at < size; ++at) {
        std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(at));
        const char byte = static_cast<char>(file.get() ^ 0x40);
        file.seekp(static_cast<std::streamoff>(at));
        file.put(byte);
        file.close();
        ASSERT_FALSE(read_cache(entry)) << "byte " << at;
        ASSERT_EQ(arcs_of(cached()), after);
        ASSERT_TRUE(read_cache(entry)) << "byte " << at;
    }
    for (const std::uintmax_t keep : {size - 1, size / 2, std::uintmax_t{71}, std::uintmax_t{0}}) {
        fs::resize_file(entry, keep);
        ASSERT_FALSE(read_cache(entry)) << keep << " bytes kept";
        ASSERT_EQ(arcs_of(cached()), after);
    }
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

TEST_F(cache_test, UnwritableDirectoryAndMissingSourceAreErrors) {
    cache_ = files_.write("file", "x");
    EXPECT_THROW((void)cached(), usage_error);
    EXPECT_THROW((void)read_graph_cached(files_ / "none.gr", {}, files_.path()), usage_error);
}

}  // namespace
}  // namespace laneway::graph
