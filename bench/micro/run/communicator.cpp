// Two-sided messages: time of a message from a lane of PE 0 to one of the last PE, of another block where there is one
// PE alone, and back, against a plain store and a flag; and messages a second that all lanes together send and receive.
//
//   bench_communicator --devices "cuda:0-1" --rounds 2000 --bytes "8;1024;65536" --engines "1;64" --json FILE
// Times are a lane's own clock around a ping and its pong, in ns; on GPUs the clock's step is 32 ns. `direct`: the lane
// stores the words, a fence and a flag into the other's memory, which polls it. `message`: send and recv. `rate`: every
// lane sends to its mate on the next PE and receives as many, with promises that let `engines` share them, under tags
// of its own, with each of --team-loads (0: warps never match together); `unordered`: and with the promise that no
// order is kept. `--requests`, a power of two: a lane has a receive, and a send where its ring is full, so two for
// each; an H200 has 67,584 lanes in such a run, 16 warps a multiprocessor. Each engine has room for that many receives,
// some 90 bytes each. `--ring-slots`: messages that may be on their way from one PE to another, by each engine, in
// `rate` and `unordered`. All data is checked.
#include <exception>
#include <vector>

#include "bench_support.hpp"
#include "laneway/run/communicator.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

/// One lane of PE 0 and one of the last PE pass a buffer there and back. Where there is one PE, these are lanes of two
/// blocks, with a part of the arrays each.
struct pass_buffer {
    bool by_messages;
    std::uint64_t rounds;
    std::uint64_t words;
    symmetric_ref<std::uint64_t> data;   ///< of a side: what goes, then what comes
    symmetric_ref<std::uint64_t> flag;   ///< one a side
    symmetric_ref<std::uint64_t> times;  ///< one a round

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int last = ctx.n_pes() - 1;
        const std::uint64_t mine = ctx.local_rank();
        const auto next_warp = static_cast<std::uint64_t>(Ctx::warp_lanes);
        const std::uint64_t side = last == 0 ? mine / next_warp : ctx.pe() == 0 ? 0 : 1;
        if (mine % next_warp != 0 || (last != 0 && (mine != 0 || (ctx.pe() != 0 && ctx.pe() != last)))) return;
        if (side > 1) return;
        const int other = side == 0 ? last : 0;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            const std::uint64_t start = ctx.now_ns();
            if (side == 0) {
                data.local(ctx)[0] = round;
                if (!send(ctx, world, side, 0, other, round)) return;
            }
            if (!receive(ctx, world, side, other, round)) return;
            if (side == 1 && !send(ctx, world, side, words, other, round)) return;  // what has come goes back
            if (side == 0) times.local(ctx)[round - 1] = ctx.now_ns() - start;
        }
    }

private:
    /// The first word of a side's part.
    [[nodiscard]] LANEWAY_FN std::uint64_t first(std::uint64_t side) const { return side * 2 * words; }
    template <class Ctx, class World>
    LANEWAY_FN bool send(Ctx& ctx, World& world, std::uint64_t side, std::uint64_t from, int to,
                         std::uint64_t round) const {
        const auto tag = static_cast<std::int64_t>(side);
        if (by_messages) return world.send(ctx, data[first(side) + from], words, to, tag) == status::ok;
        const std::uint64_t* const mine = address(ctx, data[first(side) + from], ctx.pe());
        std::uint64_t* const there = address(ctx, data[first(1 - side) + words], to);
        for (std::uint64_t i = 0; i < words; ++i) there[i] = mine[i];
        ctx.fence(scope::system);  // Partner: the acquire load in receive.
        ctx.store(address(ctx, flag[1 - side], to), round, order::relaxed, scope::system);
        return true;
    }
    template <class Ctx, class World>
    LANEWAY_FN bool receive(Ctx& ctx, World& world, std::uint64_t side, int from, std::uint64_t round) const {
        const auto tag = static_cast<std::int64_t>(1 - side);
        if (by_messages) return world.recv(ctx, data[first(side) + words], words, from, tag) == status::ok;
        const std::uint64_t* const word = address(ctx, flag[side], ctx.pe());
        return wait_until(ctx, {operation::signal, from, round},
                          [&] { return ctx.load(word, order::acquire, scope::system) >= round; }) == status::ok;
    }
};

/// Every lane sends to its mate on the next PE, and receives as many.
struct send_all {
    std::uint32_t messages;  ///< of a lane
    symmetric_ref<std::uint64_t> wrong;
    symmetric_ref<std::uint64_t> lanes;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t of_pe = ctx.local_size(), mine = ctx.local_rank();
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        for (std::uint64_t i = 0; i < messages; ++i) {
            // Also without an order it is known; and neighbours' tags are next to each other.
            const auto tag = static_cast<std::int64_t>(i * of_pe + mine);
            const std::uint64_t value = mine << 32 | i;
            std::uint64_t got = 0;
            if (world.sendrecv(ctx, &value, 1, next, tag, &got, 1, before, tag) != status::ok) return;
            if (got != value) atomic_add(ctx, wrong[0], 1);
        }
        if (mine == 0) atomic_add(ctx, lanes[0], of_pe);
    }
};

options options_for(const bench::arguments& args, const std::string& devices) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    return o;
}

void measure_trips(const bench::arguments& args, const std::string& devices, bool by_messages, std::uint64_t bytes,
                   bench::json_lines& json) {
    runtime rt(options_for(args, devices));
    const std::uint64_t rounds = args.number("rounds"), words = bytes / sizeof(std::uint64_t);
    if (words == 0 || rounds == 0) throw usage_error("rounds and bytes: 1 and 8 at least");
    const auto data = rt.allocate<std::uint64_t>(4 * words);
    const auto flag = rt.allocate<std::uint64_t>(2), times = rt.allocate<std::uint64_t>(rounds);
    auto world = rt.communicator();
    rt.run(pass_buffer{by_messages, rounds, words, data.ref(), flag.ref(), times.ref()}, world);
    if (data.copy_out(0)[words] != rounds) throw device_fault("the last round's data has not come back");
    std::vector<double> ns;
    for (const std::uint64_t time : times.copy_out(0)) ns.push_back(static_cast<double>(time));
    const auto spread = bench::spread_of(ns);
    const std::string name = by_messages ? "message" : "direct";
    std::printf("%-10s %-8s %8llu B   there and back: least %8.0f ns   median %8.0f ns   most %8.0f ns\n",
                devices.c_str(), name.c_str(), static_cast<unsigned long long>(bytes), spread.least, spread.median,
                spread.most);
    json.write({{"benchmark", "communicator"}, {"devices", devices}, {"operation", name}},
               {{"bytes", static_cast<double>(bytes)},
                {"rounds", static_cast<double>(rounds)},
                {"least_ns", spread.least},
                {"median_ns", spread.median},
                {"most_ns", spread.most}});
}

void measure_rate(const bench::arguments& args, const std::string& devices, std::uint32_t engines, bool unordered,
                  std::uint32_t team_load, bench::json_lines& json) {
    options o = options_for(args, devices);
    o.buffer_bytes = std::size_t{64} << 30;  // a bound; many engines with many requests take tens of GiB
    runtime rt(o);
    const auto wrong = rt.allocate<std::uint64_t>(1);
    auto lanes = rt.allocate<std::uint64_t>(1);
    communicator_options how;
    how.requests = static_cast<std::uint32_t>(args.number("requests"));
    how.engines = engines;
    how.ring_slots = static_cast<std::uint32_t>(args.number("ring-slots"));
    how.team_load = team_load;
    how.rules.no_any_source = how.rules.no_any_tag = engines > 1 || unordered;
    how.rules.allow_overtaking = unordered;
    auto world = rt.communicator(how);
    const auto messages = static_cast<std::uint32_t>(args.number("messages"));
    const send_all program{messages, wrong.ref(), lanes.ref()};
    rt.run(program, world);  // loads the kernel, and takes the communicator's memory
    lanes.clear();
    double sent = 0;
    std::uint64_t turns = 0, team_turns = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        turns -= world.statistics(pe).turns;
        team_turns -= world.statistics(pe).team_turns;
    }
    const run_report report = rt.run(program, world);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        if (wrong.copy_out(pe)[0] != 0) throw device_fault("a message brought something else");
        sent += static_cast<double>(lanes.copy_out(pe)[0]) * messages;
        turns += world.statistics(pe).turns;
        team_turns += world.statistics(pe).team_turns;
    }
    const double rate = sent / report.run_seconds / rt.n_pes();
    const std::string name = unordered ? "unordered" : "rate";
    std::printf(
        "%-10s %-10s %6u engines   team load %4u   %10.0f messages   %8.3f M/s a PE   %llu turns, %llu by teams\n",
        devices.c_str(), name.c_str(), engines, team_load, sent, rate * 1e-6, static_cast<unsigned long long>(turns),
        static_cast<unsigned long long>(team_turns));
    json.write({{"benchmark", "communicator"}, {"devices", devices}, {"operation", name}},
               {{"engines", static_cast<double>(engines)},
                {"ring_slots", static_cast<double>(how.ring_slots)},
                {"team_load", static_cast<double>(team_load)},
                {"turns", static_cast<double>(turns)},
                {"team_turns", static_cast<double>(team_turns)},
                {"messages", sent},
                {"seconds", report.run_seconds},
                {"messages_a_second_a_pe", rate}});
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"rounds", "2000"},
                                     {"bytes", "8;1024;65536"},
                                     {"engines", "1;16"},
                                     {"messages", "200"},
                                     {"requests", "131072"},
                                     {"ring-slots", "64"},
                                     {"team-loads", "0;128"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& bytes : args.list("bytes")) {
                measure_trips(args, devices, false, std::stoull(bytes), json);
                measure_trips(args, devices, true, std::stoull(bytes), json);
            }
            for (const auto& engines : args.list("engines")) {
                const auto shared_by = static_cast<std::uint32_t>(std::stoul(engines));
                for (const auto& load : args.list("team-loads")) {
                    measure_rate(args, devices, shared_by, false, static_cast<std::uint32_t>(std::stoul(load)), json);
                }
                measure_rate(args, devices, shared_by, true, 0, json);  // teams match in MPI's order alone
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_communicator: %s\n", e.what());
        return 1;
    }
}
