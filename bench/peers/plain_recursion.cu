// What the programs of apps/recursion compute, as plain CUDA does it on one GPU: without tasks, channels or recursion.
// Counted as bench_channels counts, and verified.
//
//   plain_recursion --programs "fib;queens;sort;product" --fib 40 --queens 17 --keys 67108864 --rows 4096 --json FILE
#include <chrono>

#include "bench_support.hpp"
#include "plain_fibonacci.cuh"
#include "plain_product.cuh"
#include "plain_queens.cuh"
#include "plain_sort.cuh"

namespace {

using namespace laneway;

/// Runs a program, verifies it, and tells of its runs from launch to end; the first one warms up.
template <class Program>
void measure(Program&& program, const bench::arguments& args, bench::json_lines& json) {
    std::vector<double> seconds, rates;
    for (std::uint64_t run = 0; run <= args.number("runs", 1, 1000); ++run) {
        bench::check(cudaDeviceSynchronize(), "before a run");
        const auto start = std::chrono::steady_clock::now();
        program.run();
        bench::check(cudaDeviceSynchronize(), "a run");
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (run == 0) continue;
        seconds.push_back(took);
        rates.push_back(program.count() / took / 1e6);
    }
    program.verify();
    const std::string devices = bench::gpu_names(1), name = program.name();
    const bench::spread all = bench::spread_of(rates), times = bench::spread_of(seconds);
    std::printf("%-12s %-28s million a second %10.4g  (%.4g to %.4g)   median %.4g ms\n", devices.c_str(), name.c_str(),
                all.median, all.least, all.most, 1e3 * times.median);
    json.write({{"benchmark", "channels"}, {"devices", devices}, {"what", name}, {"unit", "million_per_second"}},
               {{"median", all.median}, {"least", all.least}, {"most", all.most}, {"median_seconds", times.median}});
}

void measure_named(const std::string& program, const bench::arguments& args, bench::json_lines& json) {
    if (program == "fib") {
        measure(bench::plain_fibonacci(static_cast<std::uint32_t>(args.number("fib", 2, 90))), args, json);
    } else if (program == "queens") {
        measure(bench::plain_queens(static_cast<std::uint32_t>(args.number("queens", 4, 24))), args, json);
    } else if (program == "sort") {
        const std::uint64_t keys = args.number("keys", 1, (std::uint64_t{1} << 31) - 1);
        for (const auto kind : {bench::plain_sort_kind::radix, bench::plain_sort_kind::merge}) {
            measure(bench::plain_sort(kind, keys), args, json);
        }
    } else if (program == "product") {
        const std::uint64_t rows = args.number("rows", bench::plain_product::tile, 1 << 16);
        if (rows % bench::plain_product::tile != 0)
            throw usage_error("rows: a multiple of 128, not " + args.text("rows"));
        measure(bench::plain_product(static_cast<std::uint32_t>(rows)), args, json);
    } else {
        throw usage_error("programs: fib, queens, sort and product, not \"" + program + "\"");
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"programs", "fib;queens;sort;product"},
                                     {"fib", "40"},
                                     {"queens", "17"},
                                     {"keys", "67108864"},
                                     {"rows", "4096"},
                                     {"runs", "5"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const std::string& program : args.list("programs")) measure_named(program, args, json);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "plain_recursion: %s\n", failure.what());
        return 1;
    }
}
