// The NVSHMEM half of docs/guides/from_nvshmem.md: the program of examples/one_sided.cpp, with the same answers.
//
// Usage: nvshmem_one_sided [PES]
#include <iostream>

#include "nvshmem_process.cuh"

namespace {

using namespace laneway;

constexpr std::uint64_t bins = 1024;
constexpr std::uint64_t hops = 1000;

/// How many steps does the Collatz sequence take from each number? Bin b belongs to PE b mod n_pes.
__global__ void count_lengths(std::uint64_t numbers, std::uint64_t* table) {
    const std::uint64_t pe = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), lanes = gridDim.x * blockDim.x;
    const std::uint64_t rank = pe * lanes + blockIdx.x * blockDim.x + threadIdx.x;
    for (std::uint64_t n = rank + 1; n < numbers; n += n_pes * lanes) {
        std::uint64_t steps = 0;
        for (std::uint64_t x = n; x != 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        nvshmem_uint64_atomic_add(&table[steps / n_pes], 1, static_cast<int>(steps % n_pes));
    }
    nvshmem_quiet();
}

/// A token goes round the PEs. Hop h is made by PE h mod n_pes.
__global__ void pass_token(std::uint64_t* token, std::uint64_t* arrived, std::uint64_t* source) {
    const std::uint64_t n_pes = nvshmem_n_pes();
    for (std::uint64_t hop = nvshmem_my_pe(); hop < hops; hop += n_pes) {
        nvshmem_signal_wait_until(arrived, NVSHMEM_CMP_EQ, hop);
        *source = *static_cast<volatile std::uint64_t*>(token) * 31 + hop;
        nvshmem_uint64_put_signal(token, source, 1, arrived, hop + 1, NVSHMEM_SIGNAL_SET,
                                  static_cast<int>((hop + 1) % n_pes));
    }
}

struct sums {
    std::uint64_t counted = 0;
    std::uint64_t steps = 0;
};

void run_pe(bench::team& pes) {
    const bench::nvshmem_process nvshmem(pes, 1 << 20);
    const bench::symmetric_words table(bins), words(3);
    count_lengths<<<264, 256>>>(100'000, table.data());
    nvshmemx_barrier_all_on_stream(nullptr);  // the adds of all PEs are done

    std::uint64_t* token = words.data();
    std::uint64_t* arrived = token + 1;
    std::uint64_t* source = token + 2;
    void* arguments[] = {&token, &arrived, &source};
    // Kernels that wait for each other must run at the same time.
    if (nvshmemx_collective_launch(reinterpret_cast<const void*>(pass_token), 1, 1, arguments, 0, nullptr) != 0) {
        throw system_error("NVSHMEM cannot launch");
    }
    nvshmemx_barrier_all_on_stream(nullptr);
    bench::check(cudaDeviceSynchronize(), "running");

    std::uint64_t part[bins], last_token = 0;
    bench::check(cudaMemcpy(part, table.data(), sizeof part, cudaMemcpyDeviceToHost), "table");
    bench::check(cudaMemcpy(&last_token, token, sizeof last_token, cudaMemcpyDeviceToHost), "token");
    const auto n = static_cast<std::uint64_t>(pes.size());
    sums mine;
    for (std::uint64_t i = 0; i < bins; ++i) {
        mine.counted += part[i];
        mine.steps += part[i] * (i * n + static_cast<std::uint64_t>(pes.rank()));
    }
    sums all;
    for (const sums& of_pe : pes.gather(mine)) {
        all.counted += of_pe.counted;
        all.steps += of_pe.steps;
    }
    const std::uint64_t final_token = pes.gather(last_token)[hops % n];
    if (pes.rank() != 0) return;
    std::cout << all.counted << " numbers, " << all.steps << " steps\n";
    std::cout << "token after " << hops << " hops: " << final_token << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    try {
        bench::run_processes(argc > 1 ? std::stoi(argv[1]) : 1, 60, run_pe);
    } catch (const std::exception& failure) {
        std::cerr << "nvshmem_one_sided: " << failure.what() << '\n';
        return 1;
    }
}
