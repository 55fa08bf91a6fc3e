// K-mers of simulated reads, counted in hash tables over all PEs.
//
//   bench_kmer --devices "cuda:0;cuda:0-3" --k 31 --genome 100000000 --coverage 10 --error-rate 0.01 --json FILE
// Reads lie packed on the devices before the time starts. With --share yes every PE adds --genome bases to the genome,
// with --share no all PEs have one of --genome bases. Every run must count as many k-mers as the reads hold, and find
// the same histogram and the same checksum of k-mers and counts; with --share no on all devices lists. --sort yes
// takes the time and the histogram of the reference beside it, which sorts on one core and wants a small genome.
#include <chrono>
#include <exception>
#include <optional>

#include "bench_support.hpp"
#include "kmer/kmer.hpp"
#include "laneway/simt/device_list.hpp"

namespace {

using namespace laneway;

/// What every run of a simulation must find.
struct outcome {
    std::vector<std::uint64_t> histogram;
    std::uint64_t checksum;
    friend bool operator==(const outcome&, const outcome&) = default;
};

apps::kmer_options make_options(const bench::arguments& args, const std::string& devices) {
    apps::kmer_options made;
    made.job.devices = devices;
    made.job.timeout_seconds = args.real("timeout");
    made.job.server_share = args.real("server-share");
    made.job.servers_in_every_block = args.number("servers-in-every-block") != 0;
    made.job.age_ns = args.number("age-ns");
    made.job.chunk_bytes = args.number("chunk-bytes");
    made.k = static_cast<int>(args.number("k"));
    made.canonical = args.text("canonical") == "yes";
    made.table_bytes = args.number("table-gib") << 30;
    return made;
}

apps::simulated_reads make_reads(const bench::arguments& args, std::uint64_t n_pes) {
    apps::simulation wanted;
    wanted.genome_length = args.number("genome") * (args.text("share") == "yes" ? n_pes : 1);
    wanted.coverage = args.real("coverage");
    wanted.read_length = static_cast<std::uint32_t>(args.number("read-length"));
    wanted.error_rate = args.real("error-rate");
    wanted.seed = args.number("seed");
    return apps::simulated_reads(wanted);
}

/// Counts `runs` times after a first one that warms up, and checks every run.
class bench_run {
public:
    bench_run(const bench::arguments& args, const std::string& devices)
        : args_(args), devices_(devices), options_(make_options(args, devices)), n_pes_(parse_devices(devices).size()),
          reads_(make_reads(args, n_pes_)), counter_(reads_, options_) {}

    void measure(std::optional<outcome>& expected, bench::json_lines& json) {
        std::vector<double> seconds;
        apps::kmer_result last;
        for (std::uint64_t i = 0; i <= args_.number("runs"); ++i) {
            last = counter_.run();
            if (!expected && args_.text("sort") == "yes") compare_with_sorting(last, json);
            check(last, expected);
            if (i > 0) seconds.push_back(last.report.run_seconds);
        }
        report(last, bench::spread_of(seconds), json);
    }

private:
    void check(const apps::kmer_result& found, std::optional<outcome>& expected) const {
        if (found.total != reads_.kmers(options_.k)) {
            throw device_fault(std::to_string(found.total) + " k-mers counted in reads that hold " +
                               std::to_string(reads_.kmers(options_.k)));
        }
        const outcome now{found.histogram, found.checksum};
        if (!expected) expected = now;
        if (now != *expected) throw device_fault("two runs on the same reads differ");
    }

    /// The plain way, for its time and its histogram.
    void compare_with_sorting(const apps::kmer_result& found, bench::json_lines& json) const {
        const auto sequences = reads_.to_sequences();
        const auto start = std::chrono::steady_clock::now();
        const auto sorted = apps::count_kmers_by_sorting(sequences, options_);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (sorted.histogram != found.histogram) throw device_fault("the histogram is not that of sorted k-mers");
        const double rate = static_cast<double>(sorted.total) / seconds / 1e9;
        std::printf("%-10s k %-3d %7.3f G k-mers/s\n", "sorting", options_.k, rate);
        json.write({{"bench", "kmer"}, {"devices", "sorting on one core"}, {"style", "k " + args_.text("k")}},
                   {{"g_kmers_per_s_per_pe", rate},
                    {"k", options_.k},
                    {"kmers", static_cast<double>(sorted.total)},
                    {"median_s", seconds}});
    }

    void report(const apps::kmer_result& result, const bench::spread& time, bench::json_lines& json) const {
        const double per_pe = static_cast<double>(result.total) / static_cast<double>(n_pes_) / 1e9;
        const auto& account = result.report;
        std::printf("%-10s k %-3d %7.3f G k-mers/s a PE (%.3f to %.3f), load %.2f, tally %.1f ms\n", devices_.c_str(),
                    options_.k, per_pe / time.median, per_pe / time.most, per_pe / time.least, result.load_factor(),
                    result.tally_seconds * 1e3);
        std::fflush(stdout);
        const double chunks = std::max(1.0, static_cast<double>(account.chunks()));
        json.write({{"bench", "kmer"}, {"devices", devices_}, {"style", "k " + args_.text("k")}},
                   {{"g_kmers_per_s_per_pe", per_pe / time.median},
                    {"k", options_.k},
                    {"kmers", static_cast<double>(result.total)},
                    {"distinct", static_cast<double>(result.distinct)},
                    {"load_factor", result.load_factor()},
                    {"remote_share", static_cast<double>(account.carried) / static_cast<double>(account.posted)},
                    {"bytes_a_chunk", static_cast<double>(account.bytes()) / chunks},
                    {"copy_s", result.copy_seconds},
                    {"tally_s", result.tally_seconds},
                    {"median_s", time.median},
                    {"min_s", time.least},
                    {"max_s", time.most}});
    }

    const bench::arguments& args_;
    std::string devices_;
    apps::kmer_options options_;
    std::size_t n_pes_;
    apps::simulated_reads reads_;
    apps::kmer_counter counter_;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"k", "31"},
                                     {"canonical", "yes"},
                                     {"genome", "200000"},
                                     {"share", "yes"},
                                     {"coverage", "10"},
                                     {"read-length", "100"},
                                     {"error-rate", "0.01"},
                                     {"seed", "1"},
                                     {"sort", "no"},
                                     {"table-gib", "32"},
                                     {"runs", "5"},
                                     {"timeout", "60"},
                                     {"server-share", "0"},
                                     {"servers-in-every-block", "0"},
                                     {"age-ns", std::to_string(options{}.age_ns)},
                                     {"chunk-bytes", std::to_string(options{}.chunk_bytes)},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        std::optional<outcome> expected;
        for (const auto& devices : args.list("devices")) {
            if (args.text("share") == "yes") expected.reset();  // each list has reads of its own
            bench_run(args, devices).measure(expected, json);
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_kmer: %s\n", failure.what());
        return 1;
    }
    return 0;
}
