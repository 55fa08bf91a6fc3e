// Rates of matching. In mode `queues` receives are posted, then as many messages arrive in another order, and the other
// way round, but under the rule `no_unexpected`. In mode `stream` a message follows each receive that takes it, as in
// most programs, and teams take as many of both at once as they have lanes.
//
//   bench_matching --devices "cuda:0" --rules "mpi;no_unexpected;no_any_source;exact;unordered" --teams "warp;block"
//                  --modes "queues;stream" --engines "1;64" --entries "1;64;1024;16384" --wildcards "0;0.1" --json FILE
// A match is a receive and a message. In MPI's order (`mpi`), and with promises that need fewer chains, each engine has
// a team of its own, and stands for a communicator, or for one of the parts of a communicator that promises no
// wildcards (match_rules::engine_of). Of receives with a wildcard, under the rules `mpi` and `no_unexpected` alone,
// each asks for any source. `unordered`: all lanes of the device use as many tables as there are engines; `entries` are
// those of a table, and receives and messages of one block meet at the same time. Times are from the first lane's start
// to the last one's end, by the device's clock.
#include <exception>
#include <numeric>
#include <random>

#include "bench_support.hpp"
#include "laneway/comm/matching/matching_memory.hpp"
#include "laneway/simt/machine.hpp"

namespace {

using namespace laneway;

/// What each engine does in a round, or each table.
struct round_script {
    const match_key* receives;
    const match_key* messages;
    std::uint32_t entries;
    std::uint32_t rounds;
    bool posts_first;  ///< in every round; else every second one has the messages first
    bool stream;       ///< the message of a receive is the one with its number
};

/// Of a team, by the device's clock.
struct time_span {
    std::uint64_t begin, end;
};

template <bool Blocks>
struct matching_loop {
    static constexpr int cuda_warps = Blocks ? match_block_shared::max_warps : 4;
    static constexpr std::size_t shared_bytes = Blocks ? sizeof(match_block_shared) : 16;
    const matching_engine_ref* engines;
    std::uint32_t n_engines;
    round_script script;
    time_span* spans;
    std::uint64_t* wrong;  ///< outcomes that are neither of the two that can be

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto block = static_cast<std::uint32_t>(ctx.block()), blocks = static_cast<std::uint32_t>(ctx.n_blocks());
        if constexpr (Blocks) {
            match_block<Ctx> team(ctx, reinterpret_cast<match_block_shared*>(ctx.shared()));
            run(team, block, blocks, static_cast<std::uint32_t>(ctx.n_warps() * Ctx::warp_lanes));
        } else {
            match_warp<Ctx> team(ctx);
            run(team, static_cast<std::uint32_t>(ctx.warp()) * blocks + block,
                static_cast<std::uint32_t>(ctx.n_warps()) * blocks, Ctx::warp_lanes);
        }
    }

private:
    template <class Team>
    LANEWAY_FN void run(Team& team, std::uint32_t first, std::uint32_t step, std::uint32_t lanes) const {
        auto& ctx = team.ctx();
        std::uint32_t failed = 0;
        for (std::uint32_t e = first; e < n_engines; e += step) {
            const matching_engine_ref engine = engines[e];
            const std::uint64_t begin = ctx.now_ns();
            for (std::uint32_t round = 0; round < script.rounds; ++round) {
                if (script.stream) {
                    failed += exchange(team, engine, lanes);
                    continue;
                }
                const bool posts = script.posts_first || round % 2 == 0;
                failed += pass(team, engine, posts, lanes, match_outcome::queued);
                failed += pass(team, engine, !posts, lanes, match_outcome::matched);
            }
            if (team.number() == 0) spans[e] = {begin, ctx.now_ns()};
        }
        if (failed != 0) ctx.fetch_add(wrong, std::uint64_t{failed}, order::relaxed, scope::device);
    }
    /// Brings all receives or all messages; how many of this lane's had another outcome.
    template <class Team>
    LANEWAY_FN std::uint32_t pass(Team& team, const matching_engine_ref& engine, bool posts, std::uint32_t lanes,
                                  match_outcome expected) const {
        std::uint32_t failed = 0;
        for (std::uint32_t base = 0; base < script.entries; base += lanes) {
            const std::uint32_t i = base + team.number();
            const bool active = i < script.entries;
            const match_key key = active ? (posts ? script.receives : script.messages)[i] : match_key{};
            const match_result found =
                posts ? engine.post_together(team, active, key, i) : engine.arrive_together(team, active, key, i);
            if (active && found.outcome != expected) ++failed;
        }
        return failed;
    }
    /// Brings receives and messages by turns.
    template <class Team>
    LANEWAY_FN std::uint32_t exchange(Team& team, const matching_engine_ref& engine, std::uint32_t lanes) const {
        std::uint32_t failed = 0;
        for (std::uint32_t base = 0; base < 2 * script.entries; base += lanes) {
            const std::uint32_t i = base + team.number();
            const bool active = i < 2 * script.entries, comes = i % 2 != 0;
            const match_key key = active ? (comes ? script.messages : script.receives)[i / 2] : match_key{};
            const match_result found = engine.exchange_together(team, active, comes, key, i / 2);
            if (active && found.outcome != (comes ? match_outcome::matched : match_outcome::queued)) ++failed;
        }
        return failed;
    }
};

/// A block takes groups of entries of tables; in each one the receives have the keys of the messages.
struct unordered_loop {
    static constexpr int cuda_warps = 32;
    static constexpr std::size_t shared_bytes = 16;
    static constexpr std::uint32_t group = 1024;
    const unordered_table_ref* tables;
    std::uint32_t n_tables;
    round_script script;
    time_span* spans;
    std::uint64_t* wrong;    ///< outcomes that cannot be
    std::uint64_t* matched;  ///< in all rounds

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const std::uint32_t size = script.entries < group ? script.entries : group;
        const std::uint32_t groups = script.entries / size;
        std::uint32_t failed = 0, found = 0;
        const std::uint64_t begin = ctx.now_ns();
        for (auto g = static_cast<std::uint32_t>(ctx.block()); g < n_tables * groups;
             g += static_cast<std::uint32_t>(ctx.n_blocks())) {
            const unordered_table_ref table = tables[g / groups];
            for (std::uint32_t round = 0; round < script.rounds; ++round) {
                pass(ctx, table, round % 2 == 0, g % groups * size, size, failed, found);
                pass(ctx, table, round % 2 != 0, g % groups * size, size, failed, found);
                ctx.sync_block();
            }
        }
        if (ctx.warp() == 0 && ctx.lane() == 0) spans[ctx.block()] = {begin, ctx.now_ns()};
        const std::uint32_t all = warp_sum(ctx, found);
        if (ctx.lane() == 0) ctx.fetch_add(matched, std::uint64_t{all}, order::relaxed, scope::device);
        if (failed != 0) ctx.fetch_add(wrong, std::uint64_t{failed}, order::relaxed, scope::device);
    }

private:
    template <class Ctx>
    LANEWAY_FN void pass(Ctx& ctx, const unordered_table_ref& table, bool posts, std::uint32_t first,
                         std::uint32_t size, std::uint32_t& failed, std::uint32_t& found) const {
        const auto lanes = static_cast<std::uint32_t>(ctx.n_warps() * Ctx::warp_lanes);
        const auto mine = static_cast<std::uint32_t>(ctx.warp() * Ctx::warp_lanes + ctx.lane());
        for (std::uint32_t i = first + mine; i < first + size; i += lanes) {
            const match_key key = (posts ? script.receives : script.messages)[i];
            const match_result result = posts ? table.post(ctx, key, i) : table.arrive(ctx, key, i);
            const bool matches = result.outcome == match_outcome::matched;
            found += matches ? 1 : 0;
            if (!matches && result.outcome != match_outcome::queued) ++failed;
        }
    }
};

struct piece {
    std::string rule, team, mode;
    std::uint32_t engines, entries;
    double wildcards;
};

match_rules rules_of(const std::string& name) {
    match_rules rules;
    if (name == "mpi") return rules;
    rules.no_unexpected = name == "no_unexpected";
    if (rules.no_unexpected) return rules;
    rules.no_any_source = true;
    if (name == "no_any_source") return rules;
    rules.no_any_tag = true;
    if (name == "exact") return rules;
    rules.allow_overtaking = true;
    if (name == "unordered") return rules;
    throw usage_error("rules: mpi, no_unexpected, no_any_source, exact or unordered, not " + name);
}

class measurement {
public:
    measurement(machine& machine, const bench::arguments& args, const piece& what)
        : machine_(machine), device_(machine.device(0)), args_(args), what_(what), posted_(device_, what.entries),
          arriving_(device_, what.entries), wrong_(device_, 1) {
        std::mt19937_64 random(1);
        std::vector<match_key> receives(what.entries);
        for (std::uint32_t i = 0; i < what.entries; ++i) receives[i] = {i % 64, i};
        std::vector<match_key> messages = receives;
        const std::uint32_t group = what.rule == "unordered" ? unordered_loop::group : what.entries;
        for (std::uint32_t i = 0; i < what.entries && what.mode != "stream"; i += group) {
            const auto first = messages.begin() + static_cast<std::ptrdiff_t>(i);
            std::shuffle(first, first + std::min<std::ptrdiff_t>(group, messages.end() - first), random);
        }
        for (auto& receive : receives) {
            if (static_cast<double>(random() % 1000) < 1000 * what.wildcards) receive.source = any_source;
        }
        posted_.copy_in(receives);
        arriving_.copy_in(messages);
    }

    void run(bench::json_lines& json) {
        double depth = 0;
        if (what_.rule == "unordered") {
            unordered();
        } else if (what_.team == "block") {
            depth = ordered<true>();
        } else {
            depth = ordered<false>();
        }
        if (wrong_.copy_out()[0] != 0) throw device_fault("what should not be has been matched");
        const bench::spread s = bench::spread_of(samples_);
        std::printf("%-7s %-13s %-5s %-6s engines %5u  entries %7u  wildcards %4.2f  %9.2f M matches/s (%.2f to %.2f)",
                    device_->name().c_str(), what_.rule.c_str(), what_.team.c_str(), what_.mode.c_str(), what_.engines,
                    what_.entries, what_.wildcards, s.median, s.least, s.most);
        std::printf("  depth %.2f\n", depth);
        std::fflush(stdout);
        json.write({{"benchmark", "matching"},
                    {"devices", device_->name()},
                    {"rule", what_.rule},
                    {"team", what_.team},
                    {"mode", what_.mode}},
                   {{"engines", what_.engines},
                    {"entries", what_.entries},
                    {"wildcards", what_.wildcards},
                    {"million_matches_per_s", s.median},
                    {"least", s.least},
                    {"most", s.most},
                    {"depth", depth}});
    }

private:
    [[nodiscard]] round_script script() const {
        const std::uint64_t wanted = args_.number("matches") / what_.entries;
        return {posted_.data(),
                arriving_.data(),
                what_.entries,
                static_cast<std::uint32_t>(std::max<std::uint64_t>(wanted, 2)),
                what_.rule == "no_unexpected",
                what_.mode == "stream"};
    }
    template <class Loop>
    [[nodiscard]] launch_shape shape() const {
        const bool gpu = device_->is_gpu();
        const int warps = gpu ? Loop::cuda_warps : device_->id().kind == device_kind::checked ? 2 : 1;
        launch_shape all{gpu ? device_->multiprocessors() * 8 : 2, warps, Loop::shared_bytes};
        all.blocks = std::min(all.blocks, machine_.resident_blocks<Loop>(0, all));
        return all;
    }
    template <class Loop>
    void measure(const Loop& loop, const launch_shape& shape, const buffer<time_span>& spans, std::size_t n_spans) {
        for (std::uint64_t run = 0; run <= args_.number("runs"); ++run) {
            machine_.run(std::vector{pe_program::of(loop)}, {shape}, run_deadline(args_.real("timeout")),
                         [] { return std::string{}; });
            auto taken = spans.copy_out();
            taken.resize(n_spans);
            std::uint64_t begin = taken[0].begin, end = taken[0].end;
            for (const time_span& span : taken) {
                begin = std::min(begin, span.begin);
                end = std::max(end, span.end);
            }
            const double all = static_cast<double>(what_.engines) * what_.entries * loop.script.rounds;
            if (run > 0) samples_.push_back(all / static_cast<double>(end - begin) * 1e3);
        }
    }

    /// How many entries a search looks at.
    template <bool Blocks>
    double ordered() {
        matching_options options;
        options.posted = options.unexpected = std::max(what_.entries, Blocks ? match_block_shared::max_lanes : 32);
        options.rules = rules_of(what_.rule);
        std::vector<std::unique_ptr<matching_engine>> owners;
        std::vector<matching_engine_ref> refs;
        for (std::uint32_t e = 0; e < what_.engines; ++e) {
            owners.push_back(std::make_unique<matching_engine>(device_, options));
            refs.push_back(owners.back()->ref());
        }
        buffer<matching_engine_ref> engines(device_, refs.size());
        engines.copy_in(refs);
        const buffer<time_span> spans(device_, refs.size());
        using loop = matching_loop<Blocks>;
        measure(loop{engines.data(), what_.engines, script(), spans.data(), wrong_.data()}, shape<loop>(), spans,
                refs.size());
        std::uint64_t looks = 0, searches = 0;
        for (const auto& owner : owners) {
            const match_counts counts = owner->statistics().counts;
            looks += counts.looks;
            searches += counts.messages + counts.receives;
        }
        return static_cast<double>(looks) / static_cast<double>(searches);
    }

    void unordered() {
        std::vector<unordered_table> owners;
        std::vector<unordered_table_ref> refs;
        for (std::uint32_t t = 0; t < what_.engines; ++t) {
            owners.emplace_back(device_, what_.entries, what_.entries);
            refs.push_back(owners.back().ref());
        }
        buffer<unordered_table_ref> tables(device_, refs.size());
        tables.copy_in(refs);
        const launch_shape all = shape<unordered_loop>();
        const buffer<time_span> spans(device_, static_cast<std::size_t>(all.blocks));
        const buffer<std::uint64_t> matched(device_, 1);
        const unordered_loop loop{tables.data(), what_.engines, script(), spans.data(), wrong_.data(), matched.data()};
        measure(loop, all, spans, static_cast<std::size_t>(all.blocks));
        const std::uint64_t wanted =
            std::uint64_t{what_.engines} * what_.entries * loop.script.rounds * (args_.number("runs") + 1);
        if (matched.copy_out()[0] != wanted) throw device_fault("messages or receives were lost");
    }

    machine& machine_;
    std::shared_ptr<device> device_;
    const bench::arguments& args_;
    piece what_;
    buffer<match_key> posted_, arriving_;
    const buffer<std::uint64_t> wrong_;
    std::vector<double> samples_;
};

/// With each number of engines and of entries.
void add_sizes(const bench::arguments& args, const piece& of, std::vector<piece>& pieces) {
    for (const auto engines : args.numbers("engines", ';', 1, 1u << 20)) {
        for (const auto entries : args.numbers("entries", ';', 1, 1u << 24)) {
            pieces.push_back(of);
            pieces.back().engines = static_cast<std::uint32_t>(engines);
            pieces.back().entries = static_cast<std::uint32_t>(entries);
        }
    }
}

/// Teams, modes and wildcards where they make a difference.
std::vector<piece> pieces_of(const bench::arguments& args) {
    std::vector<piece> pieces;
    for (const auto& rule : args.list("rules")) {
        (void)rules_of(rule);
        const bool ordered = rule != "unordered", may = rule == "mpi" || rule == "no_unexpected";
        for (const auto& team : ordered ? args.list("teams") : std::vector<std::string>{"lanes"}) {
            for (const auto& mode : ordered ? args.list("modes") : std::vector<std::string>{"queues"}) {
                if (mode != "queues" && mode != "stream") throw usage_error("modes: queues or stream, not " + mode);
                for (const auto& wildcards : may ? args.list("wildcards") : std::vector<std::string>{"0"}) {
                    add_sizes(args, {rule, team, mode, 0, 0, std::stod(wildcards)}, pieces);
                }
            }
        }
    }
    return pieces;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1"},
                                     {"rules", "mpi;no_unexpected;no_any_source;exact;unordered"},
                                     {"teams", "warp;block"},
                                     {"modes", "queues;stream"},
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
            for (const piece& what : pieces_of(args)) measurement(machine, args, what).run(json);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_matching: %s\n", e.what());
        return 1;
    }
}
