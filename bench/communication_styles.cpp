// Programs in several styles of communication, side by side: time of a step, and how much of it warps are blocked.
//
//   bench_communication_styles --devices "cuda:0;cuda:0-1" --widths "1024,4096,4096,1024" --samples 4096 --json FILE
// Of each style one run warms up. What each run gives is compared with what one thread of the host does. A warp is
// blocked while it does not compute: see apps/parallel/computing_time.hpp.
#include <cstdio>
#include <exception>

#include "bench_support.hpp"
#include "training/training.hpp"

namespace {

using namespace laneway;

/// A run of a program: its whole time, and what part of it warps computed.
struct timed_run {
    double seconds = 0;
    double computing_seconds = 0;
};

/// Runs of one style, in a table and as a line of JSON.
class style_times {
public:
    void add(const timed_run& run, double steps) {
        step_us_.push_back(run.seconds / steps * 1e6);
        blocked_.push_back(1 - run.computing_seconds / run.seconds);
    }
    void show(const std::string& program, const std::string& devices, const std::string& style,
              std::vector<std::pair<std::string, double>> parameters, bench::json_lines& json) const {
        const auto us = bench::spread_of(step_us_), blocked = bench::spread_of(blocked_);
        std::printf("%-11s %-10s %-16s least %10.2f us   median %10.2f us   most %10.2f us   blocked %5.1f %%\n",
                    program.c_str(), devices.c_str(), style.c_str(), us.least, us.median, us.most,
                    100 * blocked.median);
        for (const auto& figure : std::vector<std::pair<std::string, double>>{{"runs", step_us_.size()},
                                                                              {"least_us", us.least},
                                                                              {"median_us", us.median},
                                                                              {"most_us", us.most},
                                                                              {"least_blocked", blocked.least},
                                                                              {"median_blocked", blocked.median},
                                                                              {"most_blocked", blocked.most}}) {
            parameters.push_back(figure);
        }
        json.write({{"benchmark", program}, {"devices", devices}, {"style", style}}, parameters);
    }

private:
    std::vector<double> step_us_;
    std::vector<double> blocked_;
};

options job_of(const bench::arguments& args, const std::string& devices) {
    options job;
    job.devices = devices;
    job.timeout_seconds = args.real("timeout");
    return job;
}

void measure_training(const bench::arguments& args, const std::string& devices, bench::json_lines& json) {
    apps::training_options o;
    o.job = job_of(args, devices);
    o.widths.clear();
    for (const auto& width : args.list("widths", ',')) {
        o.widths.push_back(static_cast<std::uint32_t>(std::stoul(width)));
    }
    o.samples = static_cast<std::uint32_t>(args.number("samples"));
    o.steps = static_cast<std::uint32_t>(args.number("steps"));
    const auto one = apps::training_by_one(o);
    for (const auto style : apps::training_styles) {
        if (style == apps::training_style::service_host && devices.starts_with("cuda")) continue;
        o.style = style;
        style_times times;
        for (std::uint64_t run = 0; run <= args.number("runs"); ++run) {
            const auto made = apps::training(o);
            if (made.losses != one.losses || made.weights != one.weights) {
                throw device_fault(std::string("training, ") + to_string(style) +
                                   ": the bits differ from one thread's");
            }
            if (run > 0) times.add({made.seconds, made.computing_seconds}, o.steps);
        }
        times.show("training", devices, to_string(style),
                   {{"samples", o.samples}, {"weights", static_cast<double>(one.weights.size())}, {"steps", o.steps}},
                   json);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"programs", "training"},
                                     {"devices", "cpu:1;cpu:2"},
                                     {"widths", "64,128,128,16"},
                                     {"samples", "64"},
                                     {"steps", "10"},
                                     {"runs", "3"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        if (args.number("runs") == 0 || args.number("steps") == 0) throw usage_error("runs and steps: 1 at least");
        bench::json_lines json(args.text("json"));
        for (const auto& program : args.list("programs")) {
            for (const auto& devices : args.list("devices")) {
                if (program == "training") {
                    measure_training(args, devices, json);
                } else {
                    throw usage_error("no such program: " + program);
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_communication_styles: %s\n", e.what());
        return 1;
    }
}
