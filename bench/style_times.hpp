// What benchmarks of programs in several styles of communication share: times of a step, and how much of it warps are
// blocked.
#pragma once

#include <cstdio>

#include "bench_support.hpp"

namespace laneway::bench {

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
              std::vector<std::pair<std::string, double>> parameters, json_lines& json) const {
        const auto us = spread_of(step_us_), blocked = spread_of(blocked_);
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

/// Calls `run()` once to warm up, and then as often as is asked for.
template <class Run>
style_times times_of(std::uint64_t runs, double steps, Run&& run) {
    style_times times;
    for (std::uint64_t number = 0; number <= runs; ++number) {
        const timed_run made = run();
        if (number > 0) times.add(made, steps);
    }
    return times;
}

}  // namespace laneway::bench
