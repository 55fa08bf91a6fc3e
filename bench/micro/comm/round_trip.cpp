// Times of lone operations between two PEs: a flag by store and load, a call carried as a message and answered,
// messages at light load that only their age sends, and barriers.
//
//   bench_round_trip --devices "cuda:0-1" --rounds 2000 --json FILE
// Times are a lane's own clock from before the operation to after it, in ns; on GPUs the clock's step is 32 ns. That of
// a message at light load ends when its lane sees what the handler has stored in the lane's own memory, so a store's
// way back is in it.
#include <exception>
#include <numeric>

#include "bench_support.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

constexpr std::uint64_t step_ns = 32;
constexpr std::uint64_t steps = 1 << 16;

/// Counts times by steps; PE memory.
struct time_counts {
    symmetric_ref<std::uint64_t> counts;

    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, std::uint64_t ns) const {
        const std::uint64_t step = ns / step_ns;
        (void)atomic_add(ctx, counts[step < steps ? step : steps - 1], 1);
    }
};

struct question {
    std::uint64_t asked_ns;
};
struct serve_question {
    using answer = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN std::uint64_t operator()(Ctx&, const question& q) const {
        return q.asked_ns;
    }
};

/// Asks the handler to store `asked_ns` into the flag of a lane.
struct notice {
    std::uint64_t asked_ns;
    std::int32_t pe;
    std::uint32_t slot;
};
struct serve_notice {
    symmetric_ref<std::uint64_t> flags;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const notice& n) const {
        ctx.store(flags.at(ctx, n.pe) + n.slot, n.asked_ns, order::relaxed, scope::system);
    }
};

enum class what : std::uint32_t { flag, call, age, barrier };

/// One lane of PE 0 times flags and calls, one lane of each warp posts at light load, all warps meet at barriers.
struct time_operations {
    what kind;
    std::uint64_t rounds;
    time_counts times;
    symmetric_ref<std::uint64_t> flags;
    std::uint64_t pause_ns;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (kind == what::flag) pass_flag(ctx);
        if (kind == what::call && ctx.rank() == 0) call(ctx, box);
        if (kind == what::age && ctx.lane() == 0) post_slowly(ctx, box);
        if (kind == what::barrier) meet(ctx, box);
    }

private:
    template <class Ctx>
    LANEWAY_FN void pass_flag(Ctx& ctx) const {
        const int last = ctx.n_pes() - 1;
        const bool mine = ctx.local_rank() == 0 && (ctx.pe() == 0 || ctx.pe() == last);
        std::uint64_t* const there = flags.at(ctx, ctx.pe() == 0 ? last : 0);
        if (there == nullptr) return;
        for (std::uint64_t round = 1; mine && round <= rounds; ++round) {
            const std::uint64_t start = ctx.now_ns();
            if (ctx.pe() == 0) ctx.store(there, round, order::relaxed, scope::system);
            const std::uint64_t* flag = flags.local(ctx);
            // Without pauses: this is what the hardware can do.
            while (ctx.load(flag, order::relaxed, scope::system) < round && !stopped(ctx)) {
            }
            if (ctx.pe() == last) ctx.store(there, round, order::relaxed, scope::system);
            if (ctx.pe() == 0) times.add(ctx, ctx.now_ns() - start);
        }
    }

    template <class Ctx, class Box>
    LANEWAY_FN void call(Ctx& ctx, Box& box) const {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const std::uint64_t start = ctx.now_ns();
            const auto got = box.call(ctx, ctx.n_pes() - 1, question{start});
            if (got.code != status::ok) return;
            times.add(ctx, ctx.now_ns() - got.value);
        }
    }

    template <class Ctx, class Box>
    LANEWAY_FN void post_slowly(Ctx& ctx, Box& box) const {
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const auto other = (static_cast<std::uint64_t>(ctx.pe()) + 1 + (ctx.rank() + round) % (pes - 1)) % pes;
            const std::uint64_t* const flag = flags.local(ctx) + ctx.local_rank();
            const std::uint64_t start = ctx.now_ns();
            if (box.post(ctx, static_cast<int>(other),
                         notice{start, ctx.pe(), static_cast<std::uint32_t>(ctx.local_rank())}) != status::ok)
                return;
            while (ctx.load(flag, order::relaxed, scope::system) != start && !stopped(ctx)) ctx.pause(1);
            times.add(ctx, ctx.now_ns() - start);
            while (ctx.now_ns() < start + pause_ns) ctx.pause(4);
        }
    }

    template <class Ctx, class Box>
    LANEWAY_FN void meet(Ctx& ctx, Box& box) const {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const std::uint64_t start = ctx.now_ns();
            if (box.barrier(ctx) != status::ok) return;
            if (ctx.rank() == 0) times.add(ctx, ctx.now_ns() - start);
        }
    }
};

void measure(const bench::arguments& args, const std::string& devices, what kind, const std::string& name,
             bench::json_lines& json) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    o.age_ns = args.number("age-ns");
    runtime rt(o);
    if (rt.n_pes() < 2) throw usage_error("devices: at least two are needed");
    auto counts = rt.allocate<std::uint64_t>(steps);
    auto flags = rt.allocate<std::uint64_t>(max_lanes(rt.machine(), o));
    const time_counts times{counts.ref()};
    const std::uint64_t rounds = args.number("rounds");
    const time_operations program{kind, rounds, times, flags.ref(), args.number("pause-ns")};
    rt.run(program, rt.mailbox<question, notice>(serve_question{}, serve_notice{flags.ref()}));
    std::vector<std::uint64_t> all(steps);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto part = counts.copy_out(pe);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] += part[i];
    }
    const auto total = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
    if (total == 0) throw device_fault(name + ": nothing was timed");
    const auto quantile = [&](double share) {
        auto rest = static_cast<std::uint64_t>(share * static_cast<double>(total));
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (rest < all[i]) return static_cast<double>((i + 1) * step_ns);
            rest -= all[i];
        }
        return static_cast<double>(steps * step_ns);
    };
    std::printf("%-10s %-8s %9llu times   median %8.0f ns   99 %% %8.0f ns   99.9 %% %8.0f ns\n", devices.c_str(),
                name.c_str(), static_cast<unsigned long long>(total), quantile(0.5), quantile(0.99), quantile(0.999));
    json.write({{"benchmark", "round_trip"}, {"devices", devices}, {"operation", name}},
               {{"times", static_cast<double>(total)},
                {"median_ns", quantile(0.5)},
                {"p99_ns", quantile(0.99)},
                {"p999_ns", quantile(0.999)},
                {"age_ns", static_cast<double>(o.age_ns)},
                {"pause_ns", static_cast<double>(program.pause_ns)}});
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"rounds", "2000"},
                                     {"pause-ns", "50000"},
                                     {"age-ns", std::to_string(options{}.age_ns)},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            measure(args, devices, what::flag, "flag", json);
            measure(args, devices, what::call, "call", json);
            measure(args, devices, what::age, "age", json);
            measure(args, devices, what::barrier, "barrier", json);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_round_trip: %s\n", e.what());
        return 1;
    }
}
