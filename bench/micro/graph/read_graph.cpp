// Times loading a graph on one core: a given file, or a generated DIMACS text beside fscanf on the same text.
//
//   bench_read_graph --graph FILE --runs 5 --json FILE
//   bench_read_graph --arcs 4000000 --runs 5 --json FILE
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>

#include "../../bench_support.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/read.hpp"

namespace {

using namespace laneway;
namespace fs = std::filesystem;

struct file_closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, file_closer>;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// A random graph as DIMACS text; returns the sum of its weights, which every reader must find.
std::uint64_t write_dimacs(const fs::path& path, std::uint64_t arcs) {
    graph::kronecker_options options;
    options.scale = 18;
    options.arcs = arcs;
    const graph::graph g = graph::generate_kronecker(options);
    const auto& csr = std::get<graph::csr32>(g.arcs);
    const file_handle file(std::fopen(path.c_str(), "w"));
    if (!file) throw usage_error(path.string() + ": cannot be written");
    std::fprintf(file.get(), "p sp %lu %lu\n", csr.vertices(), csr.arcs());
    std::uint64_t sum = 0;
    for (std::uint64_t v = 0; v < csr.vertices(); ++v) {
        for (std::uint64_t arc = csr.offsets[v]; arc < csr.offsets[v + 1]; ++arc) {
            std::fprintf(file.get(), "a %lu %u %u\n", v + 1, csr.heads[arc] + 1, csr.weights[arc]);
            sum += csr.weights[arc];
        }
    }
    return sum;
}

std::uint64_t weight_sum(const graph::graph& g) {
    std::uint64_t sum = 0;
    std::visit(
        [&](const auto& csr) {
            for (std::uint64_t i = 0; i < csr.arcs(); ++i) sum += csr.weight(i);
        },
        g.arcs);
    return sum;
}

std::uint64_t sum_by_fscanf(const fs::path& path) {
    const file_handle file(std::fopen(path.c_str(), "r"));
    unsigned long tail = 0, head = 0, weight = 0, sum = 0;
    if (std::fscanf(file.get(), "p sp %lu %lu ", &tail, &head) != 2) return 0;
    while (std::fscanf(file.get(), "a %lu %lu %lu ", &tail, &head, &weight) == 3) sum += weight;
    return sum;
}

template <class F>
void measure(const std::string& reader, const fs::path& path, const bench::arguments& args, std::uint64_t expected,
             bench::json_lines& json, F read) {
    std::vector<double> samples;
    for (std::uint64_t run = 0; run <= args.number("runs"); ++run) {  // the first warms the page cache
        const auto start = std::chrono::steady_clock::now();
        const std::uint64_t sum = read();
        if (run > 0) samples.push_back(milliseconds_since(start));
        if (expected != 0 && sum != expected) throw error(reader + " lost arcs of " + path.string());
    }
    const auto time = bench::spread_of(samples);
    const double megabytes = static_cast<double>(fs::file_size(path)) / 1e6;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%-10s %8.1f ms (%.1f to %.1f), %6.0f MB/s of the file, process peak %ld MiB\n", reader.c_str(),
                time.median, time.least, time.most, megabytes / time.median * 1e3, usage.ru_maxrss / 1024);
    json.write({{"benchmark", "read_graph"}, {"reader", reader}, {"file", path.filename().string()}},
               {{"median_ms", time.median}, {"min_ms", time.least}, {"max_ms", time.most}, {"megabytes", megabytes}});
}

void run(const bench::arguments& args) {
    bench::json_lines json(args.text("json"));
    const auto load = [](const fs::path& path) { return [path] { return weight_sum(graph::read_graph(path)); }; };
    if (const std::string& given = args.text("graph"); !given.empty())
        return measure("read_graph", given, args, 0, json, load(given));
    const fs::path text = fs::temp_directory_path() / ("laneway-bench-" + std::to_string(::getpid()) + ".gr");
    const std::unique_ptr<const fs::path, void (*)(const fs::path*)> removed(&text, [](const fs::path* file) {
        std::error_code ignored;
        fs::remove(*file, ignored);
    });
    const std::uint64_t sum = write_dimacs(text, args.number("arcs"));
    measure("read_graph", text, args, sum, json, load(text));
    measure("fscanf", text, args, sum, json, [&] { return sum_by_fscanf(text); });
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(bench::arguments(argc, argv, {{"graph", ""}, {"arcs", "4000000"}, {"runs", "5"}, {"json", ""}}));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_read_graph: %s\n", e.what());
        return 1;
    }
}
