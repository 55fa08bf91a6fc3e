// Random 8-byte updates over tables on all PEs in the modes of the program gups: by messages, and as raw remote atomics
// for comparison.
//
//   bench_gups --devices "cuda:0;cuda:0-3" --table-log2 29 --updates-log2 31 --runs 5 --json FILE
// table-log2: words a PE; updates-log2: updates a PE, of mode hpcc hpcc-updates-log2. A replay without messages checks
// every word after the last run of each mode.
#include <cmath>
#include <exception>

#include "bench_support.hpp"
#include "gups/gups.hpp"
#include "laneway/simt/device_list.hpp"

namespace {

using namespace laneway;

class bench_run {
public:
    bench_run(const bench::arguments& args, const std::string& devices)
        : args_(args), devices_(devices), pes_(parse_devices(devices).size()) {}

    void measure(const std::string& mode, bench::json_lines& json) const {
        const apps::gups_options options = options_of(mode);
        apps::gups_table table(options);
        std::vector<double> seconds;
        apps::gups_result last;
        for (std::uint64_t i = 0; i <= args_.number("runs"); ++i) {
            last = table.run();
            if (i > 0) seconds.push_back(last.report.run_seconds);  // the first run warms up
        }
        if (const auto errors = table.check().errors; errors != 0) {
            throw device_fault("mode " + mode + ": " + std::to_string(errors) + " words are wrong");
        }
        report(mode, last, bench::spread_of(seconds), json);
    }

private:
    [[nodiscard]] apps::gups_options options_of(const std::string& mode) const {
        apps::gups_options o;
        o.job.devices = devices_;
        o.job.timeout_seconds = args_.real("timeout");
        o.job.server_share = args_.real("server-share");
        o.job.servers_in_every_block = args_.number("servers-in-every-block") != 0;
        o.job.age_ns = args_.number("age-ns");
        o.job.chunk_bytes = args_.number("chunk-bytes");
        o.mode = apps::parse_gups_mode(mode);
        o.log2_words = static_cast<unsigned>(args_.number("table-log2")) + static_cast<unsigned>(std::log2(pes_));
        o.updates = pes_ << args_.number(mode == "hpcc" ? "hpcc-updates-log2" : "updates-log2");
        o.look_ahead = args_.number("look-ahead");
        o.region_bytes = std::uint64_t{1} << args_.number("region-log2");
        if (args_.number("round-log2") != 0) o.round_updates = std::uint64_t{1} << args_.number("round-log2");
        return o;
    }

    void report(const std::string& mode, const apps::gups_result& run, const bench::spread& time,
                bench::json_lines& json) const {
        const auto rate = [&](double seconds) { return static_cast<double>(run.updates) / seconds / 1e9; };
        const auto& account = run.report;
        const double chunks = static_cast<double>(std::max<std::uint64_t>(account.chunks(), 1));
        const double posted = static_cast<double>(std::max<std::uint64_t>(account.posted, 1));
        std::printf("%-10s %-12s %8.2f G updates/s (%.2f to %.2f)\n", devices_.c_str(), mode.c_str(), rate(time.median),
                    rate(time.most), rate(time.least));
        std::fflush(stdout);
        json.write({{"bench", "random updates"}, {"devices", devices_}, {"style", mode}},
                   {{"g_updates_per_s", rate(time.median)},
                    {"updates", static_cast<double>(run.updates)},
                    {"table_bytes_per_pe", static_cast<double>(run.words / pes_ * 8)},
                    {"median_s", time.median},
                    {"min_s", time.least},
                    {"max_s", time.most},
                    {"remote_share", static_cast<double>(account.carried) / posted},
                    {"mean_chunk_bytes", static_cast<double>(account.bytes()) / chunks},
                    {"look_ahead", mode == "hpcc" ? args_.real("look-ahead") : 0},
                    {"rounds", static_cast<double>(run.rounds)},
                    {"refused", static_cast<double>(run.refused)}});
    }

    const bench::arguments& args_;
    std::string devices_;
    std::uint64_t pes_;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"modes", "raw;free;binned;hpcc"},
                                     {"table-log2", "20"},
                                     {"updates-log2", "22"},
                                     {"hpcc-updates-log2", "18"},
                                     {"look-ahead", "1024"},
                                     {"region-log2", "21"},
                                     {"round-log2", "0"},
                                     {"runs", "5"},
                                     {"timeout", "60"},
                                     {"server-share", "0"},
                                     {"servers-in-every-block", "0"},
                                     {"age-ns", std::to_string(options{}.age_ns)},
                                     {"chunk-bytes", std::to_string(options{}.chunk_bytes)},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& mode : args.list("modes")) bench_run(args, devices).measure(mode, json);
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_gups: %s\n", failure.what());
        return 1;
    }
    return 0;
}
