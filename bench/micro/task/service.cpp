// Services: the time of a lone request from a lane to whoever serves and back, and requests a second in bulk.
//
//   bench_service --devices "cuda:0;cuda:0-1" --servers "warps;host;pe" --bytes "8;64;256" --warps "1;32;0" --json FILE
// lone: one lane of PE 0 calls, round after round; bulk: all lanes of so many warps of the job post, 0: of all of them.
// Every answer is checked, and that all requests have been carried out. joules: of the run in bulk, 0 without a meter;
// they want --seconds 1, the least that this run takes.
#include <cstdio>
#include <exception>

#include "bench_support.hpp"
#include "service/service_study.hpp"

namespace {

using namespace laneway;

void measure(const bench::arguments& args, const std::string& devices, const std::string& by, const std::string& bytes,
             const std::string& warps, bench::json_lines& json) {
    apps::service_study_options o;
    o.job.devices = devices;
    o.job.timeout_seconds = args.real("timeout");
    o.service.by = apps::parse_servers(by);
    o.service.pe = static_cast<int>(parse_devices(devices).size()) - 1;  // another than the one that asks
    o.service.threads = static_cast<int>(args.number("threads"));
    o.bytes = static_cast<std::uint32_t>(std::stoul(bytes));
    o.warps = std::stoull(warps);
    o.rounds = args.number("rounds");
    o.requests = args.number("requests");
    o.min_seconds = args.real("seconds");
    const auto found = apps::measure_service(o);
    const auto spread = bench::spread_of(found.round_trip_ns);
    const double rate = static_cast<double>(found.requests) / found.seconds;
    std::printf(
        "%-10s by %-6s %4s bytes  lone: least %8.0f ns  median %8.0f ns  most %8.0f ns  bulk of %s warps: "
        "%10.3f M/s, %.1f a slot\n",
        devices.c_str(), by.c_str(), bytes.c_str(), spread.least, spread.median, spread.most,
        warps == "0" ? "all" : warps.c_str(), rate / 1e6,
        static_cast<double>(found.requests) / static_cast<double>(found.slots));
    json.write({{"benchmark", "service"}, {"devices", devices}, {"servers", by}},
               {{"bytes", static_cast<double>(o.bytes)},
                {"warps", static_cast<double>(o.warps)},
                {"rounds", static_cast<double>(o.rounds)},
                {"least_ns", spread.least},
                {"median_ns", spread.median},
                {"most_ns", spread.most},
                {"requests", static_cast<double>(found.requests)},
                {"seconds", found.seconds},
                {"rate", rate},
                {"joules", found.joules.value_or(0)}});
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1;cpu:2"},
                                     {"servers", "warps;host;pe"},
                                     {"bytes", "8;64;256"},
                                     {"warps", "0"},
                                     {"threads", "1"},
                                     {"rounds", "2000"},
                                     {"requests", "1000000"},
                                     {"seconds", "0"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const auto& by : args.list("servers")) {
                for (const auto& bytes : args.list("bytes")) {
                    for (const auto& warps : args.list("warps")) measure(args, devices, by, bytes, warps, json);
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_service: %s\n", e.what());
        return 1;
    }
}
