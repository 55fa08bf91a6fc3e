// Allocations and frees a second by all lanes of a device, of the device heap beside malloc (on GPUs CUDA's own, of
// device code), and how much of the heap's memory pages keep from other sizes meanwhile.
//
//   bench_device_heap --devices "cuda:0" --patterns "same;phases;mixed;passed;fill" --bytes "16;64;1024" --json FILE
//
// Each lane holds `live` pieces. `same`: a step frees one of them and allocates another one of the same size, all
// lanes of a warp in step. `phases`: all lanes allocate all of theirs, then free all. `mixed`: as `same`, with sizes
// drawn at random from 16 bytes up to --bytes, of which a quarter are at most half as long, and so on. `passed`: as
// `mixed`, and a piece is freed by a lane of another warp. A lane's clock of the slowest lane counts, from the first
// step to the last. The first word of each piece says whose it is, and is looked at before it is freed. With the
// pieces of the last step live, `slack` is the part of the pages in which something is live that no piece has, and
// `peak` the bytes of pages, most at once, for each byte that was asked for. `fill` tells what one can get out of a
// heap of --heap-mib: lanes allocate sizes as those of `mixed` until the first is refused, free each piece with a
// chance of a half, and do it again. `served` and `served again` are the parts of the heap's bytes that were asked
// for and live at these refusals.
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
        return heap.insist(ctx, bytes).address;
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

enum class pattern : std::uint32_t { same, phases, mixed, passed, fill };

LANEWAY_FN std::uint64_t next_random(std::uint64_t& random) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
}
/// From 16 bytes up to `bytes`.
LANEWAY_FN std::uint64_t mixed_size(std::uint64_t bytes, std::uint64_t random) {
    std::uint64_t most = bytes;
    while (most > 16 && random % 64 < 16) {
        most /= 2;
        random /= 64;
    }
    return most > 16 ? most / 2 + 1 + random % (most / 2) : 16;
}

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
    static constexpr int cuda_blocks = 2;  ///< a multiprocessor: with more than 128 registers a lane there is one

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
            next_random(random);
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
        return mixed_size(bytes, random);
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

/// A lane's pieces hang in a chain: each has the address of the one before, and the bytes that were asked for.
template <class Allocator>
struct filling {
    static constexpr int cuda_warps = 8;
    static constexpr int cuda_blocks = 2;  ///< as above
    enum action { fills, frees_half, frees_all };

    Allocator memory;
    action what;
    std::uint64_t bytes, seed;
    std::uint64_t* last;    ///< of each lane: address
    std::uint64_t* totals;  ///< bytes that are live, pieces that were refused, not freed

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto me =
            static_cast<std::uint64_t>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        std::uint64_t random = (seed << 32 | (me + 1)) * 0x9e3779b97f4a7c15u;
        const std::uint64_t more = what == fills ? fill(ctx, last[me], random) : free(ctx, last[me], random);
        ctx.fetch_add(totals, more, order::relaxed, scope::device);
    }

private:
    template <class Ctx>
    LANEWAY_FN std::uint64_t fill(Ctx& ctx, std::uint64_t& first, std::uint64_t random) const {
        std::uint64_t asked = 0;
        while (ctx.load(totals + 1, order::relaxed, scope::device) == 0) {
            const std::uint64_t wanted = mixed_size(bytes, next_random(random));
            auto* const piece = static_cast<std::uint64_t*>(memory.allocate(ctx, wanted));
            if (piece == nullptr) ctx.fetch_add(totals + 1, 1, order::relaxed, scope::device);
            if (piece == nullptr) break;
            piece[0] = first;
            piece[1] = wanted;
            first = reinterpret_cast<std::uint64_t>(piece);
            asked += wanted;
        }
        return asked;
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t free(Ctx& ctx, std::uint64_t& first, std::uint64_t random) const {
        std::uint64_t less = 0, kept = 0;
        for (std::uint64_t at = first; at != 0;) {
            auto* const piece = reinterpret_cast<std::uint64_t*>(at);
            at = piece[0];
            if (what == frees_half && next_random(random) % 2 == 0) {
                piece[0] = kept;
                kept = reinterpret_cast<std::uint64_t>(piece);
                continue;
            }
            less += piece[1];
            if (!memory.free(ctx, piece)) ctx.fetch_add(totals + 2, 1, order::relaxed, scope::device);
        }
        first = kept;
        return 0 - less;
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
    double served = 0, served_again = 0;
};

template <class Program>
launch_shape grid(const machine& machine) {
    const auto& device = machine.device(0);
    launch_shape shape{device->is_gpu() ? device->multiprocessors() * 8 : 4, device->is_gpu() ? Program::cuda_warps : 1,
                       16};
    shape.blocks = std::min(shape.blocks, machine.resident_blocks<Program>(0, shape));
    return shape;
}
std::uint64_t lanes_of(const machine& machine, const launch_shape& shape) {
    const device_kind kind = machine.device(0)->id().kind;
    const int lanes = kind == device_kind::cuda ? 32 : kind == device_kind::checked ? 4 : 1;
    return static_cast<std::uint64_t>(shape.blocks * shape.warps_per_block * lanes);
}

template <class Allocator>
outcome measure(machine& machine, const Allocator& memory, const setting& s, const device_heap* heap) {
    const auto& device = machine.device(0);
    const launch_shape shape = grid<churn<Allocator>>(machine);
    outcome found;
    found.lanes = lanes_of(machine, shape);
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

template <class Allocator>
outcome measure_filling(machine& machine, const Allocator& memory, const setting& s) {
    using program = filling<Allocator>;
    const launch_shape shape = grid<program>(machine);
    outcome found;
    found.lanes = lanes_of(machine, shape);
    const buffer<std::uint64_t> last(machine.device(0), found.lanes);
    buffer<std::uint64_t> totals(machine.device(0), 3);
    const auto run = [&](typename program::action what, std::uint64_t seed) {
        const auto before = totals.copy_out();
        totals.copy_in({before[0], 0, before[2]});
        const program loop{memory, what, s.bytes, seed, last.data(), totals.data()};
        machine.run(std::vector{pe_program::of(loop)}, {shape}, run_deadline(s.timeout), [] { return std::string{}; });
        return static_cast<double>(totals.copy_out()[0]) / static_cast<double>(s.heap_bytes);
    };
    found.served = run(program::fills, 1);
    (void)run(program::frees_half, 2);
    found.served_again = run(program::fills, 3);
    (void)run(program::frees_all, 4);
    const auto left = totals.copy_out();
    if (left[0] + left[2] == 0) return found;
    throw device_fault(std::to_string(left[0]) + " bytes left, " + std::to_string(left[2]) + " pieces not freed");
}

template <class Allocator>
outcome measure_one(machine& machine, const Allocator& memory, const setting& s, const device_heap* heap) {
    return s.how == pattern::fill ? measure_filling(machine, memory, s) : measure(machine, memory, s, heap);
}

void tell(const setting& s, const char* allocator, const outcome& found, bench::json_lines& json) {
    std::printf("%-10s %-12s %-7s %6llu B  %8llu lanes", s.devices.c_str(), allocator, s.pattern_name.c_str(),
                static_cast<unsigned long long>(s.bytes), static_cast<unsigned long long>(found.lanes));
    if (s.how == pattern::fill) {
        std::printf("  served %.3f, served again %.3f", found.served, found.served_again);
    } else {
        std::printf("  %10.3f M a second (%.3f to %.3f)", found.per_second.median * 1e-6, found.per_second.least * 1e-6,
                    found.per_second.most * 1e-6);
    }
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
         {"peak", found.peak},
         {"served", found.served},
         {"served_again", found.served_again}});
}

pattern pattern_of(const std::string& name) {
    constexpr const char* names[] = {"same", "phases", "mixed", "passed", "fill"};
    for (std::uint32_t i = 0; i < 5; ++i) {
        if (name == names[i]) return static_cast<pattern>(i);
    }
    throw usage_error("patterns: same, phases, mixed, passed or fill, not " + name);
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
                                     {"patterns", "same;phases;mixed;passed;fill"},
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
                    tell(s, "device_heap", measure_one(machine, by_heap{heap.ref()}, s, &heap), json);
                    s.steps = args.number("malloc-steps");
                    const bool bounded = s.how != pattern::fill || machine.device(0)->is_gpu();  // the host's is not
                    if (s.steps > 0 && bounded) tell(s, "malloc", measure_one(machine, by_malloc{}, s, nullptr), json);
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_device_heap: %s\n", e.what());
        return 1;
    }
}
