// Time of a free and an allocation of the sub-allocator, beside those of malloc and, where a GPU is there, of CUDA's
// stream-ordered allocator and cudaMalloc, while so many pieces are live.
//
//   bench_sub_allocator --benchmark_repetitions=5 --benchmark_out=FILE --benchmark_out_format=json
//
// Each step frees a live piece chosen at random and allocates another one, of a random size up to 4 KiB. A region of
// the sub-allocator is addresses without memory behind them: the library must not touch it. malloc writes into its
// pieces' neighbourhood and has memory for them. CUDA's allocator gives from a pool that keeps all of its memory, in a
// stream of its own that nobody waits for. At the end all pieces that an allocator holds are looked at: they must lie
// apart.
#include <benchmark/benchmark.h>
#if LANEWAY_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "laneway/memory/sub_allocator.hpp"

namespace {

constexpr std::size_t max_bytes = 4096;

struct by_malloc {
    void* allocate(std::size_t bytes) { return std::malloc(bytes); }
    void deallocate(void* piece) { std::free(piece); }
};

struct by_sub_allocator {
    void* allocate(std::size_t bytes) { return pieces.try_allocate(bytes); }
    void deallocate(void* piece) { pieces.deallocate(piece); }
    laneway::sub_allocator pieces{reinterpret_cast<void*>(std::uintptr_t{1} << 60), std::size_t{1} << 30};
};

#if LANEWAY_HAS_CUDA
/// Null where a call fails, which the look at all pieces tells.
struct by_stream {
    by_stream() {
        std::uint64_t all = ~std::uint64_t{0};
        (void)cudaDeviceGetDefaultMemPool(&pool, 0);
        (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
        (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    }
    ~by_stream() { (void)cudaStreamDestroy(stream); }
    by_stream(const by_stream&) = delete;
    by_stream& operator=(const by_stream&) = delete;

    void* allocate(std::size_t bytes) {
        void* made = nullptr;
        return cudaMallocAsync(&made, bytes, stream) == cudaSuccess ? made : nullptr;
    }
    void deallocate(void* piece) { (void)cudaFreeAsync(piece, stream); }
    cudaMemPool_t pool = nullptr;
    cudaStream_t stream = nullptr;
};

struct by_driver {
    void* allocate(std::size_t bytes) {
        void* made = nullptr;
        return cudaMalloc(&made, bytes) == cudaSuccess ? made : nullptr;
    }
    void deallocate(void* piece) { (void)cudaFree(piece); }
};
#endif

struct held_piece {
    char* address = nullptr;
    std::size_t bytes = 0;
};

bool lie_apart(std::vector<held_piece> held) {
    std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    for (std::size_t i = 0; i + 1 < held.size(); ++i) {
        if (held[i].address == nullptr || held[i].address + held[i].bytes > held[i + 1].address) return false;
    }
    return true;
}

template <class Allocator>
void replace_pieces(benchmark::State& state) {
    Allocator allocator;
    std::mt19937_64 random(1);
    std::vector<held_piece> held(static_cast<std::size_t>(state.range(0)));
    const auto allocate = [&](held_piece& one, std::size_t bytes) {
        one = {static_cast<char*>(allocator.allocate(bytes)), bytes};
    };
    for (held_piece& one : held) allocate(one, 1 + random() % max_bytes);
    // Drawn before, so that the loop holds little but the two calls.
    struct step {
        std::uint32_t piece;
        std::uint32_t bytes;
    };
    std::vector<step> steps(std::size_t{1} << 20);
    for (step& one : steps) {
        one = {static_cast<std::uint32_t>(random() % held.size()),
               static_cast<std::uint32_t>(1 + random() % max_bytes)};
    }
    std::size_t at = 0;
    for ([[maybe_unused]] auto turn : state) {
        const step& now = steps[at++ % steps.size()];
        allocator.deallocate(held[now.piece].address);
        allocate(held[now.piece], now.bytes);
    }
    state.SetItemsProcessed(state.iterations());
    if (!lie_apart(held)) state.SkipWithError("two live pieces overlap");
    for (const held_piece& one : held) allocator.deallocate(one.address);
}

BENCHMARK(replace_pieces<by_sub_allocator>)->Arg(100)->Arg(10'000)->Arg(100'000);
BENCHMARK(replace_pieces<by_malloc>)->Arg(100)->Arg(10'000)->Arg(100'000);

}  // namespace

int main(int argc, char** argv) {
#if LANEWAY_HAS_CUDA
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0) {
        BENCHMARK(replace_pieces<by_stream>)->Arg(100)->Arg(10'000);
        BENCHMARK(replace_pieces<by_driver>)->Arg(100);
    }
#endif
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
