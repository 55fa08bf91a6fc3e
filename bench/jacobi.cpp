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
#include "style_times.hpp"

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
    o.rows = args.number("rows", 1, 1u << 20);
    o.columns = args.number("columns", 1, 1u << 20);
    o.steps = args.number("steps", 1, 1u << 30);
    const auto expected = apps::jacobi_by_one(o.rows, o.columns, o.steps);
    const auto first = apps::jacobi_by_one(o.rows, o.columns, 0);
    for (const auto style : apps::communication_styles) {
        o.style = style;
        const auto steps = static_cast<double>(o.steps);
        const auto times = bench::times_of(args.number("runs", 1, 1000), steps, [&]() -> bench::timed_run {
            const auto made = apps::jacobi(o);
            check(o, made.values, expected, first);
            return {made.seconds, made.computing_seconds};
        });
        times.show(
            "jacobi", devices, to_string(style),
            {{"rows", static_cast<double>(o.rows)}, {"columns", static_cast<double>(o.columns)}, {"steps", steps}},
            json);
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
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measure(args, devices, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_jacobi: %s\n", e.what());
        return 1;
    }
}
