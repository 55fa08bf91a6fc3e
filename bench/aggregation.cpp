// Schemes of aggregation side by side: random 8-byte updates posted by every lane, aggregated in different ways.
//
//   bench_aggregation --devices "cuda:0-3" --chunk-bytes "1024;4096;16384" --updates-log2 28 --json FILE
// updates-log2: updates a PE; table-log2: words a PE. patterns: `even`, where all lanes post the same number; `lists`,
// where half of them post nothing and an eighth five times the mean; `sparse`, where one in twenty posts all (as
// GUPS-mod of Orr 2016, section 5.6.2; wants many lanes). Walks of unequal lists: `leaving`, the plain loop, and
// `predicated`, where all lanes of a block walk to the end of its longest list (scheme block only). Sums over all
// tables are checked after every run.
#include <exception>

#include "aggregation/schemes.hpp"
#include "bench_support.hpp"
#include "laneway/simt/device_list.hpp"

namespace {

using namespace laneway;

LANEWAY_FN std::uint64_t mix(std::uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

LANEWAY_FN int owner_of(std::uint64_t update, int n_pes) {
    return static_cast<int>((update >> 32) * static_cast<std::uint64_t>(n_pes) >> 32);
}

/// Adds an update to the word that it names, and counts those at a wrong PE.
struct apply_update {
    symmetric_ref<std::uint64_t> table;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t update) const {
        if (owner_of(update, ctx.n_pes()) != ctx.pe()) atomic_add(ctx, wrong[0], 1);
        atomic_add(ctx, table[update & (table.size() - 1)], update, scope::device);
    }
};

enum class pattern { even, lists, sparse };

pattern parse_pattern(const std::string& name) {
    if (name == "even") return pattern::even;
    if (name == "lists") return pattern::lists;
    if (name == "sparse") return pattern::sparse;
    throw usage_error("patterns are even, lists and sparse, not " + name);
}

/// Updates of all lanes, and what their sum must be.
struct updates {
    std::uint64_t total;                   ///< of the job, about
    pattern lengths;                       ///< of the lanes' lists
    bool predicated;                       ///< they walk in step
    symmetric_ref<std::uint64_t> account;  ///< sum and number of updates posted

    [[nodiscard]] LANEWAY_FN std::uint64_t count(std::uint64_t rank, std::uint64_t lanes) const {
        const std::uint64_t mean = total / lanes;
        if (lengths == pattern::even) return mean;
        const std::uint64_t kind = mix(rank + 1);
        if (lengths == pattern::sparse) return kind % 20 == 0 ? 20 * mean : 0;
        return kind % 8 < 4 ? 0 : kind % 8 < 7 ? mean : 5 * mean;
    }

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const std::uint64_t mine = count(ctx.rank(), ctx.size());
        const std::uint64_t first = ctx.rank() << 32;
        std::uint64_t sum = 0;
        const auto post_one = [&](std::uint64_t i, bool active) {
            const std::uint64_t update = mix(first + i * 0x9e3779b97f4a7c15u);
            sum += active ? update : 0;
            if constexpr (study::predicating<Box, Ctx>) {
                return box.post_if(ctx, active, owner_of(update, ctx.n_pes()), update);
            } else {
                return box.post(ctx, owner_of(update, ctx.n_pes()), update);
            }
        };
        if constexpr (study::predicating<Box, Ctx>) {
            if (predicated) study::walk_predicated(ctx, box, mine, post_one);
        }
        if (!predicated) study::walk(ctx, box, mine, [&](std::uint64_t i) { return post_one(i, true); });
        atomic_add(ctx, account[0], sum);
        atomic_add(ctx, account[1], mine);
    }
};

struct sample {
    study::study_result result;
    std::uint64_t updates = 0;
};

class bench_run {
public:
    bench_run(const bench::arguments& args, const std::string& devices, const std::string& chunk_bytes)
        : args_(args), options_(options_of(args, devices, chunk_bytes)), runtime_(options_.job),
          table_(runtime_.allocate<std::uint64_t>(std::uint64_t{1} << args.number("table-log2"))),
          wrong_(runtime_.allocate<std::uint64_t>(1)), account_(runtime_.allocate<std::uint64_t>(2)) {}

    void measure(const std::string& scheme, const std::string& lengths, const std::string& walk,
                 bench::json_lines& json) {
        std::vector<double> seconds;
        sample last;
        for (std::uint64_t i = 0; i <= args_.number("runs"); ++i) {
            last = run(scheme, parse_pattern(lengths), walk == "predicated");
            if (i > 0) seconds.push_back(last.result.report.run_seconds);  // the first run warms up
        }
        report(scheme, lengths, walk, last, bench::spread_of(seconds), json);
    }

private:
    static study::study_options options_of(const bench::arguments& args, const std::string& devices,
                                           const std::string& chunk_bytes) {
        study::study_options o;
        o.job.devices = devices;
        o.job.timeout_seconds = args.real("timeout");
        o.job.chunk_bytes = std::stoull(chunk_bytes);
        o.job.age_ns = args.number("age-ns");
        o.job.server_share = args.real("server-share");
        o.job.cpu_threads = static_cast<int>(args.number("cpu-threads"));
        o.job.host_threads = static_cast<int>(args.number("host-threads"));
        o.job.forward_slots = std::uint64_t{1} << args.number("forward-slots-log2");
        o.blocks_per_set = static_cast<int>(args.number("blocks-per-set"));
        o.queue_slots = static_cast<std::uint32_t>(args.number("queue-slots"));
        o.aggregator_share = args.real("aggregator-share");
        return o;
    }

    /// One checked run.
    sample run(const std::string& scheme, pattern lengths, bool predicated) {
        table_.clear();
        wrong_.clear();
        account_.clear();
        const auto pes = static_cast<std::uint64_t>(runtime_.n_pes());
        const updates functor{pes << args_.number("updates-log2"), lengths, predicated, account_.ref()};
        sample made;
        made.result = study::run_scheme<std::uint64_t>(scheme, runtime_, options_,
                                                       apply_update{table_.ref(), wrong_.ref()}, functor);
        std::uint64_t difference = 0;
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            for (const std::uint64_t word : table_.copy_out(pe)) difference += word;
            difference -= account_.copy_out(pe)[0];
            made.updates += account_.copy_out(pe)[1];
            if (wrong_.copy_out(pe)[0] != 0) throw device_fault(scheme + ": updates at a wrong PE");
        }
        if (difference != 0) throw device_fault(scheme + ": the sum of all tables is wrong");
        return made;
    }

    void report(const std::string& scheme, const std::string& lengths, const std::string& walk, const sample& last,
                const bench::spread& time, bench::json_lines& json) const {
        const auto rate = [&](double seconds) { return static_cast<double>(last.updates) / seconds / 1e9; };
        const study::study_result& result = last.result;
        const std::size_t message = scheme == "hierarchy" ? sizeof(study::hop<std::uint64_t>) : sizeof(std::uint64_t);
        const double chunk_bytes = result.messages_per_chunk() * static_cast<double>(message);
        std::printf(
            "%-10s %6zu B  %-9s %-5s %-10s %8.4f G messages/s (%.4f to %.4f), %8.1f messages a chunk, "
            "%zu B of buffers a PE\n",
            options_.job.devices.c_str(), options_.job.chunk_bytes, scheme.c_str(), lengths.c_str(), walk.c_str(),
            rate(time.median), rate(time.most), rate(time.least), result.messages_per_chunk(), result.buffer_bytes);
        std::fflush(stdout);
        json.write({{"bench", "aggregation"},
                    {"devices", options_.job.devices},
                    {"scheme", scheme},
                    {"pattern", lengths},
                    {"walk", walk}},
                   {{"g_messages_per_s", rate(time.median)},
                    {"messages", static_cast<double>(last.updates)},
                    {"median_s", time.median},
                    {"min_s", time.least},
                    {"max_s", time.most},
                    {"chunk_bytes", static_cast<double>(options_.job.chunk_bytes)},
                    {"age_ns", static_cast<double>(options_.job.age_ns)},
                    {"mean_chunk_messages", result.messages_per_chunk()},
                    {"mean_chunk_bytes", chunk_bytes},
                    {"carried", static_cast<double>(result.report.carried)},
                    {"buffer_bytes_per_pe", static_cast<double>(result.buffer_bytes)}});
    }

    const bench::arguments& args_;
    study::study_options options_;
    runtime runtime_;
    symmetric_array<std::uint64_t> table_, wrong_, account_;
};

void measure_all(const bench::arguments& args, const std::string& devices, const std::string& chunk_bytes,
                 bench::json_lines& json) {
    bench_run run(args, devices, chunk_bytes);
    for (const auto& scheme : args.list("schemes")) {
        for (const auto& lengths : args.list("patterns")) {
            run.measure(scheme, lengths, "leaving", json);
            if (scheme == "block" && lengths != "even") run.measure(scheme, lengths, "predicated", json);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"schemes", "library;warp;block;device;host;hierarchy"},
                                     {"patterns", "even;lists"},
                                     {"chunk-bytes", "4096"},
                                     {"age-ns", "5000"},
                                     {"updates-log2", "20"},
                                     {"table-log2", "16"},
                                     {"runs", "3"},
                                     {"timeout", "60"},
                                     {"server-share", "0"},
                                     {"cpu-threads", "1"},
                                     {"host-threads", "1"},
                                     {"forward-slots-log2", "16"},
                                     {"blocks-per-set", "8"},
                                     {"queue-slots", "4"},
                                     {"aggregator-share", "0.25"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& chunk_bytes : args.list("chunk-bytes")) measure_all(args, devices, chunk_bytes, json);
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_aggregation: %s\n", failure.what());
        return 1;
    }
    return 0;
}
