// Random 8-byte updates with NVSHMEM: every lane applies its part of the stream by remote atomics. The same table,
// stream, number of updates and replay as bench_gups; to be read beside its modes raw and free.
//
//   nvshmem_updates --pes "1;2;4" --table-log2 29 --updates-log2 31 --runs 5 --json FILE
// table-log2: words a PE; updates-log2: updates a PE.
#include "nvshmem_process.cuh"
#include "updates_job.cuh"

namespace {

using namespace laneway;

__global__ void update(bench::updates_job job, std::uint64_t* table, std::uint64_t first_thread,
                       std::uint64_t threads) {
    const std::uint64_t me = first_thread + bench::thread_number();
    const std::uint64_t end = job.begin(me + 1, threads);
    std::uint64_t i = job.begin(me, threads);
    for (std::uint64_t value = job.stream.at(i); i < end; ++i) {
        value = apps::random_stream::after(value);
        const std::uint64_t index = job.map.index(value);
        nvshmem_uint64_atomic_xor(table + job.map.place(index), value, job.map.owner(index));
    }
    nvshmem_quiet();
}

void run_pe(bench::team& pes, const bench::arguments& args) {
    const std::uint64_t words = std::uint64_t{1} << args.number("table-log2");
    const bench::nvshmem_process nvshmem(pes, words * 8);
    const bench::symmetric_words table(words);
    const auto blocks = static_cast<unsigned>(bench::full_grid(update, bench::update_threads));
    const std::uint64_t threads = std::uint64_t{blocks} * bench::update_threads;
    const auto rank = static_cast<std::uint64_t>(pes.rank());
    const auto n = static_cast<std::uint64_t>(pes.size());
    bench::measure_updates(pes, args, table.data(), "nvshmem atomic_xor",
                           [&](const bench::updates_job& job, std::uint64_t* words_of_pe) {
                               update<<<blocks, bench::update_threads>>>(job, words_of_pe, rank * threads, n * threads);
                               bench::check(cudaDeviceSynchronize(), "updating");
                           });
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv, bench::update_arguments());
        bench::for_each_size(args, [&](bench::team& pes) { run_pe(pes, args); });
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nvshmem_updates: %s\n", failure.what());
        return 1;
    }
}
