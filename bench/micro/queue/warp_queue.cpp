// Values of 8 bytes a second through the warp-parallel queue: in a PE's memory, one queue for all warps, and in shared
// memory, one a block; put in and taken out by whole warps, or by each lane for itself.
//
//   bench_warp_queue --devices "cuda:0" --blocks 132 --warps 32 --values-log2 28 --json FILE
// Every warp puts values in and takes as many out, its own or others', turn by turn; a value counts once. The sum of
// what has come out is checked. Blocks: 0 for all multiprocessors of a GPU, or two of a CPU device.
#include <bit>
#include <cstdio>
#include <exception>

#include "laneway/queue/warp_queue.hpp"
#include "queue_passing.hpp"

namespace {

using namespace laneway;

template <scope Scope>
struct pass_values {
    static constexpr int cuda_warps = 32;

    warp_queue_words* words;  ///< of queues in PE memory
    std::uint64_t* entries;
    std::uint64_t* sum;  ///< of what has come out
    std::uint64_t each;  ///< values of a lane
    std::uint32_t capacity;
    std::uint32_t by_warps;  ///< 0: each lane by itself

    static std::size_t shared_bytes(std::uint32_t capacity) {
        return Scope == scope::block ? sizeof(warp_queue_words) + std::size_t{capacity} * 16 : 16;
    }

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        auto* my_words = words;
        auto* my_entries = entries;
        if constexpr (Scope == scope::block) {
            my_words = reinterpret_cast<warp_queue_words*>(ctx.shared());
            my_entries = reinterpret_cast<std::uint64_t*>(ctx.shared() + sizeof(warp_queue_words));
            const auto lanes = static_cast<std::uint32_t>(ctx.n_warps() * Ctx::warp_lanes);
            const auto mine = static_cast<std::uint32_t>(ctx.warp() * Ctx::warp_lanes + ctx.lane());
            if (mine == 0) *my_words = {};
            for (std::uint32_t i = mine; i < capacity * 2; i += lanes) my_entries[i] = 0;
        }
        ctx.sync_block();
        const warp_queue_ref<std::uint64_t, Scope> queue(my_words, my_entries, capacity);
        const auto lane =
            static_cast<std::uint64_t>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        const lane_mask mask = by_warps != 0 ? full_warp<Ctx> : lane_mask{1} << ctx.lane();
        std::uint64_t taken = 0;
        for (std::uint64_t i = 0; i < each; ++i) {
            if (queue.push(ctx, mask, lane * each + i + 1, order::relaxed, [] {}) != status::ok) return;
            if (!take(ctx, queue, mask, taken)) return;
        }
        const std::uint64_t all = warp_sum(ctx, taken);
        if (ctx.lane() == 0) ctx.fetch_add(sum, all, order::relaxed, scope::device);
    }

private:
    /// As many values as the group has put in.
    template <class Ctx, class Queue>
    LANEWAY_FN bool take(Ctx& ctx, const Queue& queue, lane_mask mask, std::uint64_t& taken) const {
        bounded_spin spin(2);
        for (auto left = static_cast<std::uint32_t>(Ctx::count_lanes(mask)); left != 0;) {
            std::uint64_t value = 0;
            const bool got = queue.pop(ctx, mask, left, value, order::relaxed);
            if (got) taken += value;
            const auto n = static_cast<std::uint32_t>(Ctx::count_lanes(ctx.ballot(mask, got)));
            left -= n;
            const bool ends = n == 0 && spin.next(ctx, {operation::user_code}) != status::ok;
            if (ctx.ballot(mask, ends) != 0) return false;
        }
        return true;
    }
};

template <scope Scope>
double seconds_of(machine& machine, const bench::passing_job& job, const bench::arguments& args, bool by_warps) {
    const std::uint64_t lanes =
        Scope == scope::block ? job.lanes / static_cast<std::uint64_t>(job.shape.blocks) : job.lanes;
    const auto capacity = static_cast<std::uint32_t>(std::bit_ceil(lanes));  // so that nobody waits for room
    launch_shape shape = job.shape;
    shape.shared_bytes = pass_values<Scope>::shared_bytes(capacity);
    const buffer<warp_queue_words> words(machine.device(0), 1);
    const buffer<std::uint64_t> entries(machine.device(0), std::uint64_t{capacity} * 2), sum(machine.device(0), 1);
    const pass_values<Scope> program{words.data(), entries.data(), sum.data(), job.each, capacity, by_warps ? 1u : 0u};
    const double seconds = bench::run_passing(machine, program, shape, args.real("timeout"));
    if (sum.copy_out()[0] != job.sum()) throw device_fault("other values have come out than were put in");
    return seconds;
}

void measure(const bench::arguments& args, const std::string& devices, const std::string& memory,
             const std::string& group, bench::json_lines& json) {
    if (memory != "device" && memory != "shared") throw usage_error("memory: device or shared, not " + memory);
    const bool by_warps = bench::passes_by_warps(group);
    machine machine(devices);
    const bench::passing_job job = bench::passing_job_for(args, machine);
    const auto run = [&] {
        return memory == "shared" ? seconds_of<scope::block>(machine, job, args, by_warps)
                                  : seconds_of<scope::device>(machine, job, args, by_warps);
    };
    bench::report_passing(args, job,
                          {{"benchmark", "warp queue"}, {"devices", devices}, {"memory", memory}, {"groups", group}},
                          json, run);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        auto defaults = bench::passing_defaults();
        defaults["memory"] = "device;shared";
        const bench::arguments args(argc, argv, defaults);
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& memory : args.list("memory")) {
                for (const auto& group : args.list("groups")) measure(args, devices, memory, group, json);
            }
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_warp_queue: %s\n", failure.what());
        return 1;
    }
    return 0;
}
