// Programs in several styles of communication, side by side: time of a step, and how much of it warps are blocked.
//
//   bench_communication_styles --programs training --devices "cuda:0;cuda:0-1" --widths "256,1024,1024,256"
//                               --samples 256 --json FILE
//   bench_communication_styles --programs all_reduce --devices "cuda:0-1;cuda:0-3" --elements 16777216
//   bench_communication_styles --programs ping_pong --devices "cuda:0-1" --words 1 --steps 1000
// --styles names those that are measured, all of them by default. Steps are those of the training, rounds of
// all-reduces, and hops of a message from one PE to the next. Of each style one run warms up. What each run gives is
// compared: with what one thread of the host does, with the sums, with the message as it must be. That thread takes
// seconds for the sizes above, and longer in proportion to weights, samples and steps. A warp is blocked while it does
// not compute: see apps/parallel/computing_time.hpp.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "all_reduce/all_reduce.hpp"
#include "bench_support.hpp"
#include "laneway/simt/device_list.hpp"
#include "ping_pong/ping_pong.hpp"
#include "style_times.hpp"
#include "training_arguments.hpp"

namespace {

using namespace laneway;

options job_of(const bench::arguments& args, const std::string& devices) {
    options job;
    job.devices = devices;
    job.timeout_seconds = args.real("timeout");
    return job;
}

/// Those of the styles that are asked for, by their names.
template <std::size_t N>
std::vector<apps::communication_style> chosen_of(const bench::arguments& args,
                                                 const apps::communication_style (&all)[N]) {
    const std::vector<std::string> names = args.list("styles");
    std::vector<apps::communication_style> chosen;
    for (const auto style : all) {
        const bool asked = std::find(names.begin(), names.end(), to_string(style)) != names.end();
        if (names.empty() || asked) chosen.push_back(style);
    }
    if (chosen.empty()) throw usage_error("styles: none of \"" + args.text("styles") + "\"");
    return chosen;
}

void require(bool right, const std::string& what) {
    if (!right) throw device_fault(what);
}

/// In all styles on one list of devices.
void measure_training_on(const bench::arguments& args, apps::training_options o, const apps::training_data& data,
                         const apps::training_result& one, const std::string& devices, bench::json_lines& json) {
    o.job = job_of(args, devices);
    for (const auto style : chosen_of(args, apps::communication_styles)) {
        const std::string name = to_string(style);
        o.style = style;
        const auto times = bench::times_of(args.number("runs"), o.steps, [&]() -> bench::timed_run {
            const auto made = apps::training(o, data);
            require(made.losses == one.losses && made.weights == one.weights, name + ": not the bits of one thread");
            return {made.seconds, made.computing_seconds};
        });
        times.show("training", devices, name,
                   {{"samples", o.samples}, {"weights", static_cast<double>(one.weights.size())}, {"steps", o.steps}},
                   json);
    }
}

void measure_training(const bench::arguments& args, bench::json_lines& json) {
    const apps::training_options o = bench::training_options_of(args);
    const apps::training_data data(o);
    const auto one = apps::training_by_one(o, data);
    for (const auto& devices : args.list("devices")) measure_training_on(args, o, data, one, devices, json);
}

void measure_all_reduce(const bench::arguments& args, const std::string& devices, bench::json_lines& json) {
    apps::all_reduce_options o;
    o.job = job_of(args, devices);
    o.elements = args.number("elements", 1, std::uint64_t{1} << 36);
    o.rounds = static_cast<std::uint32_t>(args.number("steps", 1, 1u << 20));
    for (const auto style : chosen_of(args, apps::all_reduce_styles)) {
        const std::string name = to_string(style);
        o.style = style;
        const auto times = bench::times_of(args.number("runs"), o.rounds, [&]() -> bench::timed_run {
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
    o.words = args.number("words", 1, std::uint64_t{1} << 33);
    o.rounds = static_cast<std::uint32_t>(args.number("steps", 1, 1u << 20));
    const std::uint64_t hops = o.rounds * parse_devices(devices).size();
    for (const auto style : chosen_of(args, apps::communication_styles)) {
        const std::string name = to_string(style);
        o.style = style;
        const auto times = bench::times_of(args.number("runs"), static_cast<double>(hops), [&]() -> bench::timed_run {
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

void measure(const std::string& program, const bench::arguments& args, bench::json_lines& json) {
    if (program == "training") return measure_training(args, json);
    for (const auto& devices : args.list("devices")) {
        if (program == "all_reduce") {
            measure_all_reduce(args, devices, json);
        } else if (program == "ping_pong") {
            measure_ping_pong(args, devices, json);
        } else {
            throw usage_error("no such program: " + program + "; there are training, all_reduce and ping_pong");
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"programs", "training;all_reduce;ping_pong"},
                                     {"devices", "cpu:1;cpu:2"},
                                     {"styles", ""},
                                     {"widths", "64,128,128,16"},
                                     {"samples", "64"},
                                     {"rate", ""},
                                     {"elements", "1048576"},
                                     {"words", "1"},
                                     {"steps", "10"},
                                     {"runs", "3"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        (void)args.number("runs", 1, 1000);
        bench::json_lines json(args.text("json"));
        for (const auto& program : args.list("programs")) measure(program, args, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_communication_styles: %s\n", e.what());
        return 1;
    }
}
