// Random updates as bench_gups does them: the stream, the table, and the replay that finds every wrong word.
#pragma once

#include <algorithm>
#include <cmath>

#include "bench_support.hpp"
#include "gpu.cuh"
#include "gups/stream.hpp"
#include "gups/table_map.hpp"
#include "processes.hpp"

namespace laneway::bench {

constexpr int update_threads = 256;

/// The updates of all PEs. Those of part k of n are begin(k, n) to begin(k + 1, n).
struct updates_job {
    apps::random_stream stream;
    apps::table_map map;
    std::uint64_t updates;

    [[nodiscard]] __host__ __device__ std::uint64_t begin(std::uint64_t k, std::uint64_t n) const {
        return updates / n * k + (k < updates % n ? k : updates % n);
    }
};

__device__ inline std::uint64_t thread_number() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::uint64_t thread_count() { return std::uint64_t{gridDim.x} * blockDim.x; }
__device__ inline void apply_xor(std::uint64_t* word, std::uint64_t value) {
    atomicXor(reinterpret_cast<unsigned long long*>(word), value);
}

/// Sets every word of a PE to its number.
__global__ void number_words(updates_job job, std::uint64_t* table, int pe) {
    const std::uint64_t end = job.map.first(pe + 1);
    for (std::uint64_t i = job.map.first(pe) + thread_number(); i < end; i += thread_count()) {
        table[job.map.place(i)] = i;
    }
}

/// Applies the updates of a PE's words, of all that there are, once more: that undoes them.
__global__ void undo_updates(updates_job job, std::uint64_t* table, int pe) {
    const std::uint64_t end = job.begin(thread_number() + 1, thread_count());
    std::uint64_t i = job.begin(thread_number(), thread_count());
    for (std::uint64_t value = job.stream.at(i); i < end; ++i) {
        value = apps::random_stream::after(value);
        const std::uint64_t index = job.map.index(value);
        if (job.map.owner(index) == pe) apply_xor(table + job.map.place(index), value);
    }
}

/// Counts the words of a PE that do not hold their number.
__global__ void count_errors(updates_job job, const std::uint64_t* table, int pe, std::uint64_t* errors) {
    const std::uint64_t end = job.map.first(pe + 1);
    for (std::uint64_t i = job.map.first(pe) + thread_number(); i < end; i += thread_count()) {
        if (table[job.map.place(i)] != i) atomicAdd(reinterpret_cast<unsigned long long*>(errors), 1ull);
    }
}

/// One PE's part of a benchmark of random updates. `run(job, table)` applies all updates and returns when the own ones
/// are done.
template <class Run>
void measure_updates(team& pes, const arguments& args, std::uint64_t* table, const std::string& style, Run run) {
    const auto n = static_cast<std::uint64_t>(pes.size());
    const auto log2_pes = static_cast<unsigned>(std::log2(pes.size()));
    const updates_job job{{},
                          {static_cast<unsigned>(args.number("table-log2")) + log2_pes, pes.size()},
                          n << args.number("updates-log2")};
    std::vector<double> seconds;
    for (std::uint64_t i = 0; i <= args.number("runs"); ++i) {
        number_words<<<full_grid(number_words, update_threads), update_threads>>>(job, table, pes.rank());
        check(cudaDeviceSynchronize(), "numbering the words");
        pes.meet();
        const double start = now_seconds();
        run(job, table);
        const std::vector<double> starts = pes.gather(start);
        const std::vector<double> ends = pes.gather(now_seconds());
        const double took = *std::ranges::max_element(ends) - *std::ranges::min_element(starts);
        if (i > 0) seconds.push_back(took);  // the first run warms up
    }
    device_words errors(1);
    undo_updates<<<full_grid(undo_updates, update_threads), update_threads>>>(job, table, pes.rank());
    count_errors<<<full_grid(count_errors, update_threads), update_threads>>>(job, table, pes.rank(), errors.data());
    for (const std::uint64_t wrong : pes.gather(errors.read(0))) {
        if (wrong != 0) throw device_fault(style + ": " + std::to_string(wrong) + " words of a PE are wrong");
    }
    if (pes.rank() != 0) return;
    const spread time = spread_of(seconds);
    const auto rate = [&](double s) { return static_cast<double>(job.updates) / s / 1e9; };
    std::printf("%-10s %-20s %8.2f G updates/s (%.2f to %.2f)\n", gpu_names(pes.size()).c_str(), style.c_str(),
                rate(time.median), rate(time.most), rate(time.least));
    json_lines(args.text("json"))
        .write({{"bench", "random updates"}, {"devices", gpu_names(pes.size())}, {"style", style}},
               {{"g_updates_per_s", rate(time.median)},
                {"updates", static_cast<double>(job.updates)},
                {"table_bytes_per_pe", static_cast<double>(job.map.places() * 8)},
                {"median_s", time.median},
                {"min_s", time.least},
                {"max_s", time.most}});
}

/// Arguments of the programs for random updates, with their defaults; `more` are added.
inline std::map<std::string, std::string> update_arguments(std::map<std::string, std::string> more = {}) {
    more.merge(std::map<std::string, std::string>{
        {"pes", "1"}, {"table-log2", "20"}, {"updates-log2", "22"}, {"runs", "5"}, {"timeout", "120"}, {"json", ""}});
    return more;
}

/// Runs `one_pe(team)` for each number of PEs in the arguments, which must be powers of two.
template <class OnePe>
void for_each_size(const arguments& args, OnePe one_pe) {
    for (const std::uint64_t number : args.numbers("pes", ';', 1, team::most)) {
        const int pes = static_cast<int>(number);
        if ((pes & (pes - 1)) != 0) throw usage_error("pes must be a power of two, not " + std::to_string(pes));
        run_processes(pes, args.real("timeout"), one_pe);
    }
}

}  // namespace laneway::bench
