// Rates of matching engines: receives are posted, then as many messages arrive in another order, and the other way
// round. Each engine has a warp of its own.
//
//   bench_matching --devices "cuda:0" --engines "1;64;1024" --entries "1;64;1024;16384" --wildcards "0;0.1" --json FILE
// A match is a receive and a message. An engine stands for a communicator, or for one of the parts of a communicator
// that promises no wildcards (match_rules::engine_of). Of receives with a wildcard each asks for any source. Times are
// those of the slowest warp, by the device's clock.
#include <exception>
#include <numeric>
#include <random>

#include "bench_support.hpp"
#include "laneway/comm/matching/matching_memory.hpp"
#include "laneway/simt/machine.hpp"

namespace {

using namespace laneway;

/// What each engine does in a round.
struct round_script {
    const match_key* receives;
    const match_key* messages;
    std::uint32_t entries;
    std::uint32_t rounds;  ///< every second one has the messages first
};

struct matching_loop {
    static constexpr int cuda_warps = 4;
    const matching_engine_ref* engines;
    std::uint32_t n_engines;
    round_script script;
    std::uint64_t* times;  ///< ns of each engine
    std::uint64_t* wrong;  ///< outcomes that are neither of the two that can be

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto warps = static_cast<std::uint32_t>(ctx.n_blocks() * ctx.n_warps());
        const auto first = static_cast<std::uint32_t>(ctx.warp() * ctx.n_blocks() + ctx.block());
        for (std::uint32_t e = first; e < n_engines; e += warps) {
            const matching_engine_ref engine = engines[e];
            const std::uint64_t start = ctx.now_ns();
            std::uint32_t failed = 0;
            for (std::uint32_t round = 0; round < script.rounds; ++round) {
                failed += pass(ctx, engine, round % 2 == 0, match_outcome::queued);
                failed += pass(ctx, engine, round % 2 != 0, match_outcome::matched);
            }
            if (ctx.lane() == 0) times[e] = ctx.now_ns() - start;
            if (failed != 0) ctx.fetch_add(wrong, std::uint64_t{failed}, order::relaxed, scope::device);
        }
    }

private:
    /// Brings all receives or all messages; how many of this lane's had another outcome.
    template <class Ctx>
    LANEWAY_FN std::uint32_t pass(Ctx& ctx, const matching_engine_ref& engine, bool posts,
                                  match_outcome expected) const {
        std::uint32_t failed = 0;
        for (std::uint32_t base = 0; base < script.entries; base += Ctx::warp_lanes) {
            const std::uint32_t i = base + static_cast<std::uint32_t>(ctx.lane());
            const bool active = i < script.entries;
            const match_key key = active ? (posts ? script.receives : script.messages)[i] : match_key{};
            const match_result found = posts ? engine.post(ctx, active, key, i) : engine.arrive(ctx, active, key, i);
            if (active && found.outcome != expected) ++failed;
        }
        return failed;
    }
};

void measure(machine& machine, const bench::arguments& args, std::uint32_t n_engines, std::uint32_t entries,
             double wildcards, bench::json_lines& json) {
    const auto device = machine.device(0);
    launch_shape shape{device->is_gpu() ? device->multiprocessors() * 8 : 1,
                       device->is_gpu() ? matching_loop::cuda_warps : 1, 16};
    shape.blocks = std::min(shape.blocks, machine.resident_blocks<matching_loop>(0, shape));
    matching_options options;
    options.posted = options.unexpected = std::max(entries, 32u);
    options.rules.no_any_source = wildcards == 0;
    options.rules.no_any_tag = true;
    std::vector<std::unique_ptr<matching_engine>> owners;
    std::vector<matching_engine_ref> refs;
    for (std::uint32_t e = 0; e < n_engines; ++e) {
        owners.push_back(std::make_unique<matching_engine>(device, options));
        refs.push_back(owners.back()->ref());
    }
    std::mt19937_64 random(1);
    std::vector<match_key> receives(entries), messages(entries);
    for (std::uint32_t i = 0; i < entries; ++i) receives[i] = messages[i] = {i % 64, i};
    for (auto& receive : receives) {
        if (static_cast<double>(random() % 1000) < 1000 * wildcards) receive.source = any_source;
    }
    std::shuffle(messages.begin(), messages.end(), random);
    buffer<matching_engine_ref> engines(device, n_engines);
    buffer<match_key> posted(device, entries), arriving(device, entries);
    const buffer<std::uint64_t> times(device, n_engines), wrong(device, 1);
    engines.copy_in(refs);
    posted.copy_in(receives);
    arriving.copy_in(messages);
    const auto rounds = static_cast<std::uint32_t>(std::max<std::uint64_t>(args.number("matches") / entries, 2));
    const matching_loop loop{
        engines.data(), n_engines, {posted.data(), arriving.data(), entries, rounds}, times.data(), wrong.data()};
    std::vector<double> samples;
    for (std::uint64_t run = 0; run <= args.number("runs"); ++run) {
        machine.run(std::vector{pe_program::of(loop)}, {shape}, run_deadline(args.real("timeout")),
                    [] { return std::string{}; });
        const auto taken = times.copy_out();
        const auto slowest = static_cast<double>(*std::max_element(taken.begin(), taken.end()));
        const double all = static_cast<double>(n_engines) * entries * rounds;
        if (run > 0) samples.push_back(all / slowest * 1e3);
    }
    if (wrong.copy_out()[0] != 0) throw device_fault("an engine has matched what it should not have");
    std::uint64_t looks = 0, searches = 0;
    for (const auto& owner : owners) {
        const match_counts counts = owner->statistics().counts;
        looks += counts.looks;
        searches += counts.messages + counts.receives;
    }
    const double depth = static_cast<double>(looks) / static_cast<double>(searches);
    const bench::spread s = bench::spread_of(samples);
    std::printf("%-8s engines %5u  entries %6u  wildcards %4.2f  %9.2f M matches/s (%.2f to %.2f)  depth %.2f\n",
                device->name().c_str(), n_engines, entries, wildcards, s.median, s.least, s.most, depth);
    json.write({{"benchmark", "matching"}, {"devices", device->name()}}, {{"engines", n_engines},
                                                                          {"entries", entries},
                                                                          {"wildcards", wildcards},
                                                                          {"million_matches_per_s", s.median},
                                                                          {"least", s.least},
                                                                          {"most", s.most},
                                                                          {"depth", depth}});
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1"},
                                     {"engines", "1"},
                                     {"entries", "1;64;1024;16384"},
                                     {"wildcards", "0;0.1"},
                                     {"matches", "200000"},
                                     {"runs", "3"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            machine machine(devices);
            for (const auto& wildcards : args.list("wildcards")) {
                for (const auto& engines : args.list("engines")) {
                    for (const auto& entries : args.list("entries")) {
                        measure(machine, args, static_cast<std::uint32_t>(std::stoul(engines)),
                                static_cast<std::uint32_t>(std::stoul(entries)), std::stod(wildcards), json);
                    }
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_matching: %s\n", e.what());
        return 1;
    }
}
