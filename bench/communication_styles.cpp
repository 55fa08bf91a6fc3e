// Programs in several styles of communication, side by side: time of a step, and how much of it warps are blocked.
//
//   bench_communication_styles --devices "cuda:0;cuda:0-1" --widths "1024,4096,4096,1024" --samples 4096 --json FILE
//   bench_communication_styles --programs all_reduce --devices "cuda:0-1;cuda:0-3" --elements 16777216
//   bench_communication_styles --programs ping_pong --devices "cuda:0-1" --words 1 --steps 1000
// Steps are those of the training, rounds of all-reduces, and hops of a message from one PE to the next. Of each style
// one run warms up. What each run gives is compared: with what one thread of the host does, with the sums, with the
// message as it must be. A warp is blocked while it does not compute: see apps/parallel/computing_time.hpp.
#include <cstdio>
#include <exception>

#include "all_reduce/all_reduce.hpp"
#include "bench_support.hpp"
#include "laneway/simt/device_list.hpp"
#include "ping_pong/ping_pong.hpp"
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

/// Calls `run()` once to warm up, and then as often as is asked for.
template <class Run>
style_times times_of(const bench::arguments& args, double steps, Run&& run) {
    style_times times;
    for (std::uint64_t number = 0; number <= args.number("runs"); ++number) {
        const timed_run made = run();
        if (number > 0) times.add(made, steps);
    }
    return times;
}

void require(bool right, const std::string& what) {
    if (!right) throw device_fault(what);
}

bool runs_on(const std::string& style, const std::string& devices) {
    return style != "service_host" || !devices.starts_with("cuda");
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
        const std::string name = to_string(style);
        if (!runs_on(name, devices)) continue;
        o.style = style;
        const auto times = times_of(args, o.steps, [&]() -> timed_run {
            const auto made = apps::training(o);
            require(made.losses == one.losses && made.weights == one.weights, name + ": not the bits of one thread");
            return {made.seconds, made.computing_seconds};
        });
        times.show("training", devices, name,
                   {{"samples", o.samples}, {"weights", static_cast<double>(one.weights.size())}, {"steps", o.steps}},
                   json);
    }
}

void measure_all_reduce(const bench::arguments& args, const std::string& devices, bench::json_lines& json) {
    apps::all_reduce_options o;
    o.job = job_of(args, devices);
    o.elements = args.number("elements");
    o.rounds = static_cast<std::uint32_t>(args.number("steps"));
    for (const auto style : apps::all_reduce_styles) {
        const std::string name = to_string(style);
        if (!runs_on(name, devices)) continue;
        o.style = style;
        const auto times = times_of(args, o.rounds, [&]() -> timed_run {
            const auto made = apps::all_reduce(o);
            require(made.wrong == 0, name + ": sums are wrong");
            return {made.seconds, made.computing_seconds};
        });
        times.show("all_reduce", devices, name,
                   {{"bytes", static_cast<double>(o.elements * sizeof(float))}, {"steps", o.rounds}}, json);
    }
}

void measure_ping_pong(const bench::arguments& args, const std::string& devices, bench::json_lines& json) {
    apps::ping_pong_options o;
    o.job = job_of(args, devices);
    o.words = args.number("words");
    o.rounds = static_cast<std::uint32_t>(args.number("steps"));
    const std::uint64_t hops = o.rounds * parse_devices(devices).size();
    for (const auto style : apps::ping_pong_styles) {
        const std::string name = to_string(style);
        if (!runs_on(name, devices)) continue;
        o.style = style;
        const auto times = times_of(args, static_cast<double>(hops), [&]() -> timed_run {
            const auto made = apps::ping_pong(o);
            bool right = made.wrong == 0;
            for (std::uint64_t i = 0; i < o.words; ++i) right = right && made.message[i] == i + hops;
            require(right, name + ": the message is wrong");
            return {made.seconds, made.computing_seconds};
        });
        times.show(
            "ping_pong", devices, name,
            {{"bytes", static_cast<double>(o.words * sizeof(std::uint64_t))}, {"steps", static_cast<double>(hops)}},
            json);
    }
}

void measure(const std::string& program, const bench::arguments& args, const std::string& devices,
             bench::json_lines& json) {
    if (program == "training") return measure_training(args, devices, json);
    if (program == "all_reduce") return measure_all_reduce(args, devices, json);
    if (program == "ping_pong") return measure_ping_pong(args, devices, json);
    throw usage_error("no such program: " + program + "; there are training, all_reduce and ping_pong");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"programs", "training;all_reduce;ping_pong"},
                                     {"devices", "cpu:1;cpu:2"},
                                     {"widths", "64,128,128,16"},
                                     {"samples", "64"},
                                     {"elements", "1048576"},
                                     {"words", "1"},
                                     {"steps", "10"},
                                     {"runs", "3"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        if (args.number("runs") == 0 || args.number("steps") == 0) throw usage_error("runs and steps: 1 at least");
        bench::json_lines json(args.text("json"));
        for (const auto& program : args.list("programs")) {
            for (const auto& devices : args.list("devices")) measure(program, args, devices, json);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_communication_styles: %s\n", e.what());
        return 1;
    }
}
