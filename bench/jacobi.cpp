// The Jacobi stencil in its styles, side by side: time of a step, and how much of it warps are blocked.
//
//   bench_jacobi --devices "cuda:0;cuda:0-1" --rows 4096 --columns 4096 --steps 200 --runs 5 --json FILE
// Of each style one run warms up. Values are compared, bit by bit, with those of one thread of the host, and with the
// decay that the first mode of the membrane must have.
#include "jacobi/jacobi.hpp"

#include <cmath>
#include <cstdio>
#include <exception>

#include "bench_support.hpp"
#include "laneway/base/error.hpp"

namespace {

using namespace laneway;

void check(const apps::jacobi_options& o, const std::vector<double>& values, const std::vector<double>& expected,
           const std::vector<double>& first) {
    if (values != expected) throw device_fault("the values differ from those of one thread");
    const double left = apps::jacobi_decay(o.rows, o.columns, o.steps);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::abs(values[i] - left * first[i]) > 1e-12) throw device_fault("the mode has not decayed as it must");
    }
}

void measure(const bench::arguments& args, const std::string& devices, bench::json_lines& json) {
    apps::jacobi_options o;
    o.job.devices = devices;
    o.job.timeout_seconds = args.real("timeout");
    o.rows = args.number("rows");
    o.columns = args.number("columns");
    o.steps = args.number("steps");
    const auto expected = apps::jacobi_by_one(o.rows, o.columns, o.steps);
    const auto first = apps::jacobi_by_one(o.rows, o.columns, 0);
    for (const auto style : apps::jacobi_styles) {
        if (style == apps::jacobi_style::service_host && devices.starts_with("cuda")) continue;
        o.style = style;
        std::vector<double> us, blocked;
        for (std::uint64_t run = 0; run <= args.number("runs"); ++run) {
            const auto made = apps::jacobi(o);
            check(o, made.values, expected, first);
            if (run == 0) continue;
            us.push_back(made.seconds / static_cast<double>(o.steps) * 1e6);
            blocked.push_back(1 - made.computing_seconds / made.seconds);
        }
        const auto spread = bench::spread_of(us);
        const double blocked_share = bench::spread_of(blocked).median;
        std::printf("%-10s %-16s least %10.2f us   median %10.2f us   most %10.2f us   blocked %5.1f %%\n",
                    devices.c_str(), to_string(style), spread.least, spread.median, spread.most, 100 * blocked_share);
        json.write({{"benchmark", "jacobi"}, {"devices", devices}, {"style", to_string(style)}},
                   {{"rows", static_cast<double>(o.rows)},
                    {"columns", static_cast<double>(o.columns)},
                    {"steps", static_cast<double>(o.steps)},
                    {"runs", static_cast<double>(us.size())},
                    {"least_us", spread.least},
                    {"median_us", spread.median},
                    {"most_us", spread.most},
                    {"median_blocked", blocked_share}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1;cpu:2"},
                                     {"rows", "256"},
                                     {"columns", "256"},
                                     {"steps", "100"},
                                     {"runs", "3"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        if (args.number("runs") == 0 || args.number("steps") == 0) throw usage_error("runs and steps: 1 at least");
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measure(args, devices, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_jacobi: %s\n", e.what());
        return 1;
    }
}
