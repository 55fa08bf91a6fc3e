// Loading streams: at no moment does it hold more than three times the graph that results.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "graph/random.hpp"
#include "laneway/graph/read.hpp"
#include "test_files.hpp"

namespace {

std::atomic<std::size_t> held_bytes{0}, peak_bytes{0};

void* counted(std::size_t size) {
    void* memory = std::malloc(size);
    if (!memory) throw std::bad_alloc();
    const std::size_t now = held_bytes += malloc_usable_size(memory);
    if (now > peak_bytes) peak_bytes = now;
    return memory;
}

void uncounted(void* memory) {
    held_bytes -= malloc_usable_size(memory);
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete[](void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, std::size_t) noexcept { uncounted(memory); }

namespace laneway::graph {
namespace {

constexpr std::uint64_t vertices = 100'000, arcs = 800'000;

struct text_shape {
    const char* file;
    const char* header;
    std::uint64_t id_step;
    const char* values[2];  // behind all lines but the last, and behind the last
    bool letter;
};

void PrintTo(const text_shape& shape, std::ostream* out) { *out << shape.file; }

class read_memory_test : public testing::TestWithParam<text_shape> {};

TEST_P(read_memory_test, PeakIsAtMostThreeTimesTheGraph) {
    const auto& [file, header, id_step, values, letter] = GetParam();
    const test::scratch_directory files;
    std::string text = header;
    random_sequence random(1);
    for (std::uint64_t i = 0; i < arcs; ++i) {
        text += letter ? "a " : "";
        text += std::to_string((random.below(vertices) + 1) * id_step) + " ";
        text += std::to_string((random.below(vertices) + 1) * id_step) + values[i == arcs - 1] + "\n";
    }
    const auto path = files.write(file, text);
    text = {};
    const std::size_t before = held_bytes;
    peak_bytes = before;
    const graph g = read_graph(path);
    const std::size_t peak = peak_bytes - before, result = held_bytes - before;
    ASSERT_GE(g.arc_count(), arcs);
    EXPECT_GE(result, arcs * 4);
    EXPECT_LE(peak, 3 * result) << static_cast<double>(peak) / static_cast<double>(result) << " times the graph";
}

INSTANTIATE_TEST_SUITE_P(shapes, read_memory_test,
                         testing::Values(text_shape{"a.gr", "p sp 100000 800000\n", 1, {" 7", " 7"}, true},
                                         text_shape{"pace.gr", "p tw 100000 800000\n", 1, {"", ""}, false},
                                         text_shape{"no_problem_line.gr", "", 1, {" 7", " 7"}, true},
                                         text_shape{"dense.txt", "# ids\n", 3, {"", ""}, false},
                                         text_shape{"sparse.txt", "# ids\n", 20'011, {"", ""}, false},
                                         text_shape{"wide.txt", "# ids\n", 30'000'000'011, {"", ""}, false},
                                         text_shape{"fractions.wel", "", 1, {" 0.5", " 0.125"}, false},
                                         text_shape{
                                             "one_fraction.mtx",
                                             "%%MatrixMarket matrix coordinate real general\n100000 100000 800000\n",
                                             1,
                                             {" 2", " 2.5"},
                                             false}));

}  // namespace
}  // namespace laneway::graph
