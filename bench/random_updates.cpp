// Random 8-byte updates over tables on all PEs: through the mailbox, and as raw remote atomics for comparison.
//
//   bench_random_updates --devices "cuda:0;cuda:0-3" --table-log2 29 --updates-log2 31 --runs 5 --json FILE
// table-log2: words a PE; updates-log2: updates a PE. A checksum of all tables that depends on each word's place is
// compared with one made by replaying all updates.
#include <exception>

#include "bench_support.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

LANEWAY_FN std::uint64_t scramble(std::uint64_t z) {  // splitmix64
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/// The word that update number i goes to, uniform over all PEs' tables.
struct target {
    int pe;
    std::uint32_t index;

    LANEWAY_FN target(std::uint64_t i, int n_pes, std::uint32_t mask) {
        const std::uint64_t z = scramble(i);
        pe = static_cast<int>((z >> 32) * static_cast<std::uint64_t>(n_pes) >> 32);
        index = static_cast<std::uint32_t>(z) & mask;
    }
};

struct add_one {
    symmetric_ref<std::uint64_t> table;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t index) const {
        atomic_add(ctx, table[index], 1);
    }
};

/// Posts one message an update.
struct post_updates {
    std::uint64_t updates;
    std::uint32_t mask;
    std::uint64_t seed;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = ctx.rank(); i < updates; i += ctx.size()) {
            const target to(seed + i, ctx.n_pes(), mask);
            if (box.post(ctx, to.pe, to.index) != status::ok) return;
        }
    }
};

/// Adds to the owner's memory directly; the mailbox stays empty.
struct raw_updates {
    std::uint64_t updates;
    std::uint32_t mask;
    std::uint64_t seed;
    symmetric_ref<std::uint64_t> table;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        for (std::uint64_t i = ctx.rank(); i < updates; i += ctx.size()) {
            const target to(seed + i, ctx.n_pes(), mask);
            ctx.fetch_add(table.at(ctx, to.pe) + to.index, 1, order::relaxed, scope::system);
        }
    }
};

/// What an update of a word is worth in the check: a wrong index or PE changes the sum.
LANEWAY_FN std::uint64_t worth(std::uint64_t pe, std::uint64_t index) { return scramble(pe << 40 | index); }

/// Adds up the worth of the updates that a run should have made; nothing is posted.
struct replay {
    std::uint64_t updates;
    std::uint32_t mask;
    std::uint64_t seed;
    symmetric_ref<std::uint64_t> total;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        std::uint64_t sum = 0;
        for (std::uint64_t i = ctx.rank(); i < updates; i += ctx.size()) {
            const target to(seed + i, ctx.n_pes(), mask);
            sum += worth(static_cast<std::uint64_t>(to.pe), to.index);
        }
        atomic_add(ctx, total[1], sum);
    }
};

/// Adds up the worth of what each PE's table holds.
struct sum_table {
    symmetric_ref<std::uint64_t> table;
    symmetric_ref<std::uint64_t> total;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        const std::uint64_t lanes = ctx.size() / static_cast<std::uint64_t>(ctx.n_pes());
        std::uint64_t sum = 0;
        for (std::uint64_t i = ctx.rank() % lanes; i < table.size(); i += lanes) {
            sum += table.local(ctx)[i] * worth(static_cast<std::uint64_t>(ctx.pe()), i);
        }
        atomic_add(ctx, total[0], sum);
    }
};

class bench_run {
public:
    bench_run(const bench::arguments& args, const std::string& devices)
        : args_(args), devices_(devices), runtime_(make_options(args, devices)),
          table_(runtime_.allocate<std::uint64_t>(std::uint64_t{1} << args.number("table-log2"))),
          total_(runtime_.allocate<std::uint64_t>(2)) {}

    void measure(bench::json_lines& json) {
        const std::uint64_t updates = static_cast<std::uint64_t>(runtime_.n_pes()) << args_.number("updates-log2");
        const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
        const auto box = runtime_.mailbox<std::uint32_t>(add_one{table_.ref()});
        std::vector<double> mailbox;
        std::vector<double> raw;
        for (std::uint64_t i = 0; i <= args_.number("runs"); ++i) {
            mailbox.push_back(runtime_.run(post_updates{updates, mask, i << 40}, box).run_seconds);
            if (reachable()) {
                raw.push_back(runtime_.run(raw_updates{updates, mask, i << 40, table_.ref()}, box).run_seconds);
            }
            runtime_.run(replay{updates, mask, i << 40, total_.ref()}, box);
        }
        check(box);
        report("mailbox", updates, warm(mailbox), json);
        if (reachable()) report("raw atomics", updates, warm(raw), json);
    }

private:
    static options make_options(const bench::arguments& args, const std::string& devices) {
        options made;
        made.devices = devices;
        made.timeout_seconds = args.real("timeout");
        made.server_share = args.real("server-share");
        made.chunk_bytes = args.number("chunk-bytes");
        return made;
    }

    /// Whether every PE can add to every other's memory directly.
    bool reachable() {
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            if (!runtime_.machine().shares_memory(0, pe)) return false;
        }
        return true;
    }

    /// The spread of all runs but the first, which warms up.
    static bench::spread warm(const std::vector<double>& seconds) {
        return bench::spread_of({seconds.begin() + 1, seconds.end()});
    }

    template <class Mailbox>
    void check(const Mailbox& box) {
        runtime_.run(sum_table{table_.ref(), total_.ref()}, box);
        std::uint64_t found = 0;
        std::uint64_t expected = 0;
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            const auto totals = total_.copy_out(pe);
            found += totals[0];
            expected += totals[1] * (reachable() ? 2 : 1);  // once through the mailbox, once directly
        }
        if (found != expected) throw device_fault("the tables do not hold what the updates should have made of them");
    }

    void report(const char* style, std::uint64_t updates, const bench::spread& time, bench::json_lines& json) const {
        const double rate = static_cast<double>(updates) / time.median / 1e9;
        std::printf("%-10s %-12s %8.2f G updates/s (%.2f to %.2f)\n", devices_.c_str(), style, rate,
                    static_cast<double>(updates) / time.most / 1e9, static_cast<double>(updates) / time.least / 1e9);
        std::fflush(stdout);
        json.write({{"bench", "random updates"}, {"devices", devices_}, {"style", style}},
                   {{"g_updates_per_s", rate},
                    {"updates", static_cast<double>(updates)},
                    {"table_bytes_per_pe", static_cast<double>(table_.size() * 8)},
                    {"median_s", time.median},
                    {"min_s", time.least},
                    {"max_s", time.most}});
    }

    const bench::arguments& args_;
    std::string devices_;
    runtime runtime_;
    symmetric_array<std::uint64_t> table_;
    symmetric_array<std::uint64_t> total_;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"table-log2", "20"},
                                     {"updates-log2", "22"},
                                     {"runs", "5"},
                                     {"timeout", "60"},
                                     {"server-share", "0.36"},
                                     {"chunk-bytes", "4096"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) bench_run(args, devices).measure(json);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_random_updates: %s\n", failure.what());
        return 1;
    }
    return 0;
}
