// What random accesses to a GPU's own memory cost its multiprocessors.
//
//   bench_random_access --table-mib "32;4096;16384" --multiprocessors "8;26;66;132" --json FILE
// One block of 1,024 lanes runs on each of so many multiprocessors; every lane goes through a table at random. A
// request is one lane's access in one instruction. Tables of 32 MiB fit the L2 cache and what translates addresses near
// the multiprocessors; the others fit neither.
#include <exception>

#include "bench_support.hpp"
#include "kmer/hash.hpp"
#include "laneway/simt/cuda/check.hpp"

namespace {

using namespace laneway;
using word = unsigned long long;

__device__ word load(const word* at) {
    word value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at));
    return value;
}

/// What a lane does at a random place of a table. Returns what the next place may depend on.
struct one_load {
    static constexpr const char* name = "load";
    static constexpr int requests = 1;
    __device__ static word at(word* table, word mask, word place) { return load(table + (place & mask)); }
};
struct four_loads {
    static constexpr const char* name = "4 loads in flight";
    static constexpr int requests = 4;
    __device__ static word at(word* table, word mask, word place) {
        word sum = 0;
        for (word i = 0; i < requests; ++i) sum += load(table + (apps::mix(place + i) & mask));
        return sum;
    }
};
struct same_sector {
    static constexpr const char* name = "2 loads of a sector";
    static constexpr int requests = 2;
    __device__ static word at(word* table, word mask, word place) {
        word* const sector = table + (place & mask & ~word{3});  // 32 bytes
        return load(sector + 1 + (load(sector) >> 63));
    }
};
struct addition {
    static constexpr const char* name = "add";
    static constexpr int requests = 1;
    __device__ static word at(word* table, word mask, word place) {
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], 2;" ::"l"(table + (place & mask)));
        return 0;
    }
};
struct failed_swap {
    static constexpr const char* name = "compare-and-swap";
    static constexpr int requests = 1;
    __device__ static word at(word* table, word mask, word place) {
        word seen;
        asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], 1, 2;" : "=l"(seen) : "l"(table + (place & mask)));
        return seen;
    }
};

template <class Operation>
__global__ void __launch_bounds__(1024, 1) access(word* table, word mask, int times, word* sink) {
    const word lane = blockIdx.x * 1024ull + threadIdx.x;
    word sum = 0;
    for (int i = 0; i < times; ++i) {
        sum += Operation::at(table, mask, apps::mix((lane << 32) + static_cast<word>(i) + (sum >> 63)));
    }
    if (sum == 1) *sink = sum;  // never: the loads must not be left out
}

struct setting {
    word* table;
    std::uint64_t mib;
    int multiprocessors;
};

template <class Operation>
void measure(const setting& s, word* sink, bench::json_lines& json) {
    constexpr int times = 1000 / Operation::requests;
    const word mask = (s.mib << 17) - 1;
    cudaEvent_t begin, end;
    cuda_backend::check(cudaEventCreate(&begin), "cudaEventCreate");
    cuda_backend::check(cudaEventCreate(&end), "cudaEventCreate");
    access<Operation><<<s.multiprocessors, 1024>>>(s.table, mask, times / 10, sink);
    cudaEventRecord(begin);
    access<Operation><<<s.multiprocessors, 1024>>>(s.table, mask, times, sink);
    cudaEventRecord(end);
    cuda_backend::check(cudaEventSynchronize(end), "random accesses");
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    const double requests = 1024.0 * s.multiprocessors * times * Operation::requests;
    const double giga = requests / ms / 1e6;
    std::printf("%6llu MiB  %-20s %4d multiprocessors  %7.2f G requests/s, %5.0f M each\n",
                static_cast<unsigned long long>(s.mib), Operation::name, s.multiprocessors, giga,
                giga * 1e3 / s.multiprocessors);
    json.write({{"bench", "random_access"}, {"operation", Operation::name}}, {{"table_mib", static_cast<double>(s.mib)},
                                                                              {"multiprocessors", s.multiprocessors},
                                                                              {"g_requests_per_s", giga}});
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
}

void run(const bench::arguments& args) {
    bench::json_lines json(args.text("json"));
    word* sink = nullptr;
    cuda_backend::check(cudaMalloc(&sink, sizeof(word)), "cudaMalloc");
    for (const auto& mib : args.list("table-mib")) {
        setting s{nullptr, std::stoull(mib), 0};
        if (s.mib == 0 || (s.mib & (s.mib - 1)) != 0) throw usage_error("table-mib: a power of two");
        cuda_backend::check(cudaMalloc(&s.table, s.mib << 20), "cudaMalloc");
        cuda_backend::check(cudaMemset(s.table, 0, s.mib << 20), "cudaMemset");
        for (const auto& n : args.list("multiprocessors")) {
            s.multiprocessors = std::stoi(n);
            measure<one_load>(s, sink, json);
            measure<four_loads>(s, sink, json);
            measure<same_sector>(s, sink, json);
            measure<addition>(s, sink, json);
            measure<failed_swap>(s, sink, json);
        }
        cudaFree(s.table);
    }
    cudaFree(sink);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(bench::arguments(argc, argv,
                             {{"table-mib", "32;4096;16384"}, {"multiprocessors", "8;26;66;132"}, {"json", ""}}));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_random_access: %s\n", e.what());
        return 1;
    }
    return 0;
}
