// Elements of 8 bytes a second through the queue of one channel (talloc, enq, deq, tfree), without what channels have
// around it: elements are reserved, published and freed by whole warps, with one atomic operation each, or by each lane
// for itself, as in figure 4-15 of Orr's thesis; warps consume in both.
//
//   bench_channel_queue --devices "cuda:0" --blocks 132 --warps 32 --values-log2 20 --json FILE
// Every warp produces elements and consumes as many, its own or others', turn by turn; an element counts once. The sum
// of what was consumed is checked. Blocks: 0 for all multiprocessors of a GPU, or two of a CPU device, whose warps are
// single lanes; those of checked devices have several.
#include <bit>
#include <cstdio>
#include <exception>

#include "laneway/queue/channel_queue.hpp"
#include "laneway/simt/wait.hpp"
#include "queue_passing.hpp"

namespace {

using namespace laneway;

struct pass_elements {
    static constexpr int cuda_warps = 32;

    channel_queue_ref queue;
    std::uint64_t* sum;      ///< of what was consumed
    std::uint64_t each;      ///< elements of a lane
    std::uint32_t by_warps;  ///< 0: each lane by itself

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto lane =
            static_cast<std::uint64_t>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        const std::uint64_t all_of_warp = each * static_cast<std::uint64_t>(Ctx::warp_lanes);
        std::uint64_t produced = 0, consumed = 0, taken = 0;
        // A lane that finds no space goes on to consume: what it waits for may be an element that its warp has to take.
        for (bounded_spin spin; consumed < all_of_warp || ctx.ballot(full_warp<Ctx>, produced < each) != 0;) {
            const bool may = produced < each;
            const lane_mask producers = by_warps != 0 ? ctx.ballot(full_warp<Ctx>, may) : lane_mask{1} << ctx.lane();
            const bool made = may && produce(ctx, producers, lane * each + produced + 1);
            if (made) ++produced;
            const std::uint32_t count = consume(ctx, all_of_warp - consumed, taken);
            consumed += count;
            const bool went_on = count != 0 || ctx.ballot(full_warp<Ctx>, made) != 0;
            const bool ends = !went_on && spin.next(ctx, {operation::user_code}) != status::ok;
            if (ctx.ballot(full_warp<Ctx>, ends) != 0) return;
            if (went_on) spin = bounded_spin{};
        }
        const std::uint64_t all = warp_sum(ctx, taken);
        if (ctx.lane() == 0) ctx.fetch_add(sum, all, order::relaxed, scope::device);
    }

private:
    /// Whether there was space. Called by exactly the lanes of the mask, together.
    template <class Ctx>
    LANEWAY_FN bool produce(Ctx& ctx, lane_mask mask, std::uint64_t value) const {
        std::uint64_t position = 0;
        const bool fits = queue.reserve(ctx, mask, 1, position);
        const lane_mask writers = ctx.ballot(mask, fits);
        if (!fits) return false;
        *reinterpret_cast<std::uint64_t*>(queue.element(queue.place_of(position))) = value;
        queue.publish(ctx, writers, position, 1);
        return true;
    }

    /// Consumes elements that are ready, at most `limit`; how many. A whole warp, together.
    template <class Ctx>
    LANEWAY_FN std::uint32_t consume(Ctx& ctx, std::uint64_t limit, std::uint64_t& taken) const {
        const auto most = static_cast<std::uint32_t>(limit < Ctx::warp_lanes ? limit : Ctx::warp_lanes);
        std::uint32_t place = 0;
        const auto count = static_cast<std::uint32_t>(queue.claim(ctx, most, place));
        if (static_cast<std::uint32_t>(ctx.lane()) < count) {
            taken += *reinterpret_cast<const std::uint64_t*>(queue.element(place));
            const lane_mask consumers = (lane_mask{1} << (count - 1) << 1) - 1;
            // Of an element that is freed twice the run ends with a fault, which the next wait sees.
            const auto freed = queue.release(ctx, by_warps != 0 ? consumers : lane_mask{1} << ctx.lane(), place);
            static_cast<void>(freed);
        }
        return count;
    }
};

double seconds_of(machine& machine, const bench::passing_job& job, const bench::arguments& args, bool by_warps) {
    const auto& owner = machine.device(0);
    const auto width = static_cast<std::uint32_t>(std::bit_ceil(job.lanes));  // so that nobody waits for space for long
    const buffer<channel_words> words(owner, 1);
    const buffer<std::uint64_t> data(owner, width), sum(owner, 1);
    const buffer<std::uint32_t> control(owner, width), done(owner, channel_queue_ref::done_words(width));
    const channel_queue_ref queue(words.data(), reinterpret_cast<std::byte*>(data.data()), control.data(), done.data(),
                                  width, sizeof(std::uint64_t), 0, 0);
    const pass_elements program{queue, sum.data(), job.each, by_warps ? 1u : 0u};
    const double seconds = bench::run_passing(machine, program, job.shape, args.real("timeout"));
    if (sum.copy_out()[0] != job.sum()) throw device_fault("other elements were consumed than were produced");
    return seconds;
}

void measure(const bench::arguments& args, const std::string& devices, const std::string& group,
             bench::json_lines& json) {
    const bool by_warps = bench::passes_by_warps(group);
    machine machine(devices);
    const bench::passing_job job = bench::passing_job_for(args, machine);
    bench::report_passing(args, job, {{"benchmark", "channel queue"}, {"devices", devices}, {"groups", group}}, json,
                          [&] { return seconds_of(machine, job, args, by_warps); });
}

}  // namespace

int main(int argc, char** argv) {
    try {
        auto defaults = bench::passing_defaults();
        defaults["values-log2"] = "20";  // all warps of a GPU, and the more so single lanes, meet at a few words
        const bench::arguments args(argc, argv, defaults);
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& group : args.list("groups")) measure(args, devices, group, json);
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_channel_queue: %s\n", failure.what());
        return 1;
    }
    return 0;
}
