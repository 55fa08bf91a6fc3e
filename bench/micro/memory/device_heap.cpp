// Allocations and frees a second by all lanes of a device, of the device heap beside malloc (on GPUs CUDA's own, of
// device code), and how much of the heap's memory pages keep from other sizes meanwhile.
//
//   bench_device_heap --devices "cuda:0" --patterns "same;phases;mixed;passed" --bytes "16;64;256;1024" --json FILE
//
// Each lane holds `live` pieces. `same`: a step frees one of them and allocates another one of the same size, all lanes
// of a warp in step. `phases`: all lanes allocate all of theirs, then free all. `mixed`: as `same`, with sizes drawn at
// random from 16 bytes up to --bytes, whose logarithms are spread evenly. `passed`: as `mixed`, and a piece is freed by
// a lane of another warp. A lane's clock of the slowest lane counts, from the first step to the last. The first word of
// each piece says whose it is, and is looked at before it is freed. With the pieces of the last step live, `slack` is
// the part of the pages in which something is live that no piece has, and `peak` the bytes of pages, most at once, for
// each byte that was asked for.
#include <cstdlib>
#include <exception>

#include "bench_support.hpp"
#include "laneway/memory/device_heap.hpp"
#include "laneway/simt/machine.hpp"
#if LANEWAY_HAS_CUDA
#include "laneway/simt/cuda/check.hpp"
#endif

namespace {

using namespace laneway;

struct by_heap {
    device_heap_ref heap;
    template <class Ctx>
    LANEWAY_FN void* allocate(Ctx& ctx, std::size_t bytes) const {
        return heap.allocate(ctx, bytes);
    }
    template <class Ctx>
    LANEWAY_FN bool free(Ctx& ctx, void* piece) const {
        return heap.deallocate(ctx, piece);
    }
};
struct by_malloc {
    template <class Ctx>
    LANEWAY_FN void* allocate(Ctx&, std::size_t bytes) const {
        return ::malloc(bytes);
    }
    template <class Ctx>
    LANEWAY_FN bool free(Ctx&, void* piece) const {
        ::free(piece);
        return true;
    }
};

enum class pattern : std::uint32_t { same, phases, mixed, passed };

/// What lanes leave behind: the pieces of the last step, and their clocks.
struct account {
    std::uint64_t* pieces;  ///< `live` for each lane: addresses
    std::uint64_t* sizes;   ///< of these, as asked for
    std::uint64_t* times;   ///< of each lane, in ns
    std::uint64_t* wrong;   ///< pieces that were refused, not freed, overwritten
};

template <class Allocator>
struct churn {
    static constexpr int cuda_warps = 8;

    Allocator memory;
    pattern how;
    std::uint64_t bytes, live, steps;
    bool clears;  ///< frees what is live, and does nothing else
    account kept;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto lanes = static_cast<std::uint64_t>(ctx.n_blocks() * ctx.n_warps() * Ctx::warp_lanes);
        const auto me =
            static_cast<std::uint64_t>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        std::uint64_t random = (me + 1) * 0x9e3779b97f4a7c15u;
        failures failed;
        const std::uint64_t start = ctx.now_ns();
        for (std::uint64_t step = 0; step < (clears ? live : steps); ++step) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Neighbours are the same slots of neighbouring lanes: so warps read whole lines.
            const std::uint64_t whose = how == pattern::passed ? (me + step % 61 * 32) % lanes : me;
            replace(ctx, step % live * lanes + whose, clears ? 0 : size(step, random), failed);
        }
        kept.times[me] = ctx.now_ns() - start;
        const std::uint64_t found[] = {failed.refused, failed.not_freed, failed.overwritten};
        for (int i = 0; i < 3; ++i) {
            if (found[i] != 0) ctx.fetch_add(kept.wrong + i, found[i], order::relaxed, scope::device);
        }
    }

private:
    struct failures {
        std::uint64_t refused = 0, not_freed = 0, overwritten = 0;
    };

    /// 0 in steps that only free.
    LANEWAY_FN std::uint64_t size(std::uint64_t step, std::uint64_t random) const {
        if (how == pattern::phases && step / live % 2 != 0) return 0;
        if (how == pattern::same || how == pattern::phases) return bytes;
        std::uint64_t most = bytes;
        while (most > 16 && random % 64 < 16) {
            most /= 2;
            random /= 64;
        }
        return most > 16 ? most / 2 + 1 + random % (most / 2) : 16;
    }
    /// What a slot holds makes way for a piece of so many bytes. Lanes of `passed` meet in slots.
    template <class Ctx>
    LANEWAY_FN void replace(Ctx& ctx, std::uint64_t slot, std::uint64_t wanted, failures& failed) const {
        const std::uint64_t before = swap(ctx, slot, 0);
        if (before != 0) {
            auto* const piece = reinterpret_cast<std::uint64_t*>(before);
            if (*piece != slot) ++failed.overwritten;
            if (!memory.free(ctx, piece)) ++failed.not_freed;
        }
        if (wanted == 0) return;
        auto* const piece = static_cast<std::uint64_t*>(memory.allocate(ctx, wanted));
        if (piece == nullptr) {
            ++failed.refused;
            return;
        }
        *piece = slot;
        kept.sizes[slot] = wanted;
        const std::uint64_t other = swap(ctx, slot, reinterpret_cast<std::uint64_t>(piece));
        if (other != 0 && !memory.free(ctx, reinterpret_cast<void*>(other))) ++failed.not_freed;
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t swap(Ctx& ctx, std::uint64_t slot, std::uint64_t piece) const {
        // Partner: itself, by the lane that gets the piece.
        if (how == pattern::passed) return ctx.exchange(kept.pieces + slot, piece, order::acq_rel, scope::device);
        const std::uint64_t before = kept.pieces[slot];
        kept.pieces[slot] = piece;
        return before;
    }
};

struct setting {
    std::string devices, pattern_name;
    pattern how = pattern::same;
    std::uint64_t bytes = 0, live = 0, steps = 0, runs = 0;
    std::size_t heap_bytes = 0;
    double timeout = 0;
};

struct outcome {
    bench::spread per_second;  ///< allocations and frees
    std::uint64_t lanes = 0;
    double slack = 0, peak = 0;
};

template <class Allocator>
launch_shape grid(const machine& machine) {
    const auto& device = machine.device(0);
    launch_shape shape{device->is_gpu() ? device->multiprocessors() * 8 : 4,
                       device->is_gpu() ? churn<Allocator>::cuda_warps : 1, 16};
    shape.blocks = std::min(shape.blocks, machine.resident_blocks<churn<Allocator>>(0, shape));
    return shape;
}

template <class Allocator>
outcome measure(machine& machine, const Allocator& memory, const setting& s, const device_heap* heap) {
    const auto& device = machine.device(0);
    const launch_shape shape = grid<Allocator>(machine);
    outcome found;
    found.lanes = static_cast<std::uint64_t>(shape.blocks * shape.warps_per_block) * (device->is_gpu() ? 32 : 1);
    const buffer<std::uint64_t> pieces(device, found.lanes * s.live), sizes(device, found.lanes * s.live);
    const buffer<std::uint64_t> times(device, found.lanes), wrong(device, 3);
    churn<Allocator> loop{
        memory, s.how, s.bytes, s.live, s.steps, false, {pieces.data(), sizes.data(), times.data(), wrong.data()}};
    const auto run = [&](bool clears) {
        loop.clears = clears;
        machine.run(std::vector{pe_program::of(loop)}, {shape}, run_deadline(s.timeout), [] { return std::string{}; });
    };
    std::vector<double> rates;
    for (std::uint64_t i = 0; i <= s.runs; ++i) {
        run(false);
        const auto taken = times.copy_out();
        const auto slowest = static_cast<double>(*std::max_element(taken.begin(), taken.end()));
        // Each step allocates once, and frees once sooner or later; in phases it does one of both.
        const double each = s.how == pattern::phases ? 1 : 2;
        if (i > 0) rates.push_back(each * static_cast<double>(found.lanes * s.steps) / slowest * 1e9);
    }
    found.per_second = bench::spread_of(rates);
    if (heap != nullptr) {
        const auto now = heap->statistics();
        double asked = 0;
        const auto held = pieces.copy_out(), wanted = sizes.copy_out();
        for (std::size_t i = 0; i < held.size(); ++i) asked += held[i] != 0 ? static_cast<double>(wanted[i]) : 0;
        const auto reach = static_cast<double>(now.capacity_bytes - now.free_pages * now.page_bytes);
        found.slack = reach == 0 ? 0 : 1 - static_cast<double>(now.used_bytes) / reach;
        found.peak = asked == 0 ? 0 : static_cast<double>(now.peak_bytes) / asked;
    }
    run(true);
    const auto failed = wrong.copy_out();
    if (failed[0] + failed[1] + failed[2] != 0) {
        throw device_fault(std::to_string(failed[0]) + " pieces were refused, " + std::to_string(failed[1]) +
                           " not freed, " + std::to_string(failed[2]) + " overwritten");
    }
    return found;
}

void tell(const setting& s, const char* allocator, const outcome& found, bench::json_lines& json) {
    std::printf("%-10s %-12s %-7s %6llu B  %8llu lanes  %10.3f M a second (%.3f to %.3f)", s.devices.c_str(), allocator,
                s.pattern_name.c_str(), static_cast<unsigned long long>(s.bytes),
                static_cast<unsigned long long>(found.lanes), found.per_second.median * 1e-6,
                found.per_second.least * 1e-6, found.per_second.most * 1e-6);
    if (found.peak > 0) std::printf("  slack %.3f, peak %.2f", found.slack, found.peak);
    std::printf("\n");
    json.write(
        {{"benchmark", "device_heap"}, {"devices", s.devices}, {"allocator", allocator}, {"pattern", s.pattern_name}},
        {{"bytes", static_cast<double>(s.bytes)},
         {"live", static_cast<double>(s.live)},
         {"lanes", static_cast<double>(found.lanes)},
         {"steps", static_cast<double>(s.steps)},
         {"per_second_least", found.per_second.least},
         {"per_second", found.per_second.median},
         {"per_second_most", found.per_second.most},
         {"slack", found.slack},
         {"peak", found.peak}});
}

pattern pattern_of(const std::string& name) {
    constexpr const char* names[] = {"same", "phases", "mixed", "passed"};
    for (std::uint32_t i = 0; i < 4; ++i) {
        if (name == names[i]) return static_cast<pattern>(i);
    }
    throw usage_error("patterns: same, phases, mixed or passed, not " + name);
}

/// CUDA's heap has a size of its own, which is set before the first kernel that uses it.
void set_malloc_heap([[maybe_unused]] const machine& machine, [[maybe_unused]] std::size_t bytes) {
#if LANEWAY_HAS_CUDA
    if (!machine.device(0)->is_gpu()) return;
    cuda_backend::check(cudaSetDevice(machine.device(0)->id().index), "cudaSetDevice");
    cuda_backend::check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes), "cudaDeviceSetLimit");
#endif
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1"},
                                     {"patterns", "same;phases;mixed;passed"},
                                     {"bytes", "16;64;256;1024"},
                                     {"live", "4"},
                                     {"steps", "400"},
                                     {"malloc-steps", "40"},
                                     {"heap-mib", "2048"},
                                     {"runs", "5"},
                                     {"timeout", "120"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            machine machine(devices);
            setting s;
            s.devices = devices;
            s.live = args.number("live");
            s.runs = args.number("runs");
            s.heap_bytes = args.number("heap-mib") << 20;
            s.timeout = args.real("timeout");
            if (s.live == 0 || s.runs == 0) throw usage_error("live and runs: 1 at least");
            set_malloc_heap(machine, s.heap_bytes);
            for (const auto& name : args.list("patterns")) {
                s.pattern_name = name;
                s.how = pattern_of(name);
                for (const auto& bytes : args.list("bytes")) {
                    s.bytes = std::stoull(bytes);
                    if (s.bytes < 16) throw usage_error("bytes: 16 at least");
                    s.steps = args.number("steps");
                    const device_heap heap(machine.device(0), {.bytes = s.heap_bytes});
                    tell(s, "device_heap", measure(machine, by_heap{heap.ref()}, s, &heap), json);
                    s.steps = args.number("malloc-steps");
                    if (s.steps > 0) tell(s, "malloc", measure(machine, by_malloc{}, s, nullptr), json);
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_device_heap: %s\n", e.what());
        return 1;
    }
}
