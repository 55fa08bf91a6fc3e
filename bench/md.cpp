// Molecular dynamics as tasks: a step of one universe by more and more lanes of a warp, many universes over all
// workers, and as many universes as there are workers on a part of a device, or on several.
//
//   bench_md --devices "cuda:0;cuda:0-1" --cubes "4;6" --steps 200 --parts "lanes;universes;blocks" --json FILE
// A universe is a crystal of so many cubes a side that melts, with four atoms each. Each time is that of --runs runs
// without setting up, as the report of the run has it. lanes: `steps` of a lone universe by 1, 2, 4, ... 32 lanes.
// universes: 1, 2, 4, ... of them, up to four for each worker; how much of the rate that as many workers would have,
// had each the time of a lone one. blocks: on 1, 2, 4, ... of a GPU's blocks.
#include <cmath>
#include <exception>
#include <random>

#include "bench_support.hpp"
#include "md/md.hpp"

namespace {

using namespace laneway;

/// Atoms where four of a cube lie in a crystal, on their way anywhere.
apps::md_atoms crystal(int cubes, std::uint64_t seed) {
    const double side = std::cbrt(4 / 0.8442);
    const double corners[4][3] = {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}};
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> speed(-2, 2);
    apps::md_atoms atoms;
    atoms.box_high = {cubes * side, cubes * side, cubes * side};
    for (int cube = 0; cube < cubes * cubes * cubes; ++cube) {
        const int at[3] = {cube % cubes, cube / cubes % cubes, cube / cubes / cubes};
        for (const auto& corner : corners) {
            for (int axis = 0; axis < 3; ++axis) {
                atoms.positions.push_back((at[axis] + corner[axis]) * side);
                atoms.velocities.push_back(speed(random));
            }
        }
    }
    return atoms;
}

class measurement {
public:
    measurement(const bench::arguments& args, std::string devices, int cubes, bench::json_lines& json)
        : args_(args), devices_(std::move(devices)), cubes_(cubes), json_(json) {}

    void run(const std::string& part) const {
        if (part == "lanes") return lanes();
        if (part == "universes") return universes();
        if (part == "blocks") return blocks();
        throw usage_error("no part of this benchmark: " + part);
    }

private:
    void lanes() const {
        double one = 0;
        for (std::uint32_t lanes = 1; lanes <= 32; lanes *= 2) {
            const auto time = seconds(options_with(0), 1, lanes);
            if (lanes == 1) one = time.median;
            tell("lanes", lanes, 1, time, one / time.median);
        }
    }
    void universes() const {
        const options job = options_with(0);
        const std::uint64_t workers = md(1, 1, job, 0).workers;
        double one = 0;
        for (std::uint64_t n = 1; n <= 4 * workers; n *= 2) {
            const auto time = seconds(job, n, 0);
            if (n == 1) one = time.median;
            const auto waves = static_cast<double>(n) / static_cast<double>(workers);
            tell("universes", n, n, time, one * std::max(waves, 1.0) / time.median);
        }
    }
    void blocks() const {
        double least = 0;
        const int most = static_cast<int>(args_.number("most-blocks", 1, 1u << 16));
        for (int blocks = 1; blocks <= most; blocks *= 2) {
            const options job = options_with(blocks);
            const std::uint64_t workers = md(1, 1, job, 0).workers;
            const auto time = seconds(job, workers, 0);
            if (blocks == 1) least = time.median;
            tell("blocks", static_cast<std::uint64_t>(blocks), workers, time, least / time.median);
        }
    }

    [[nodiscard]] options options_with(int blocks) const {
        options made;
        made.devices = devices_;
        made.timeout_seconds = args_.real("timeout");
        made.gpu_blocks = blocks;
        return made;
    }
    [[nodiscard]] apps::md_result md(std::uint64_t universes, std::uint64_t steps, const options& job,
                                     std::uint32_t lanes) const {
        apps::md_options o;
        o.job = job;
        o.steps = steps;
        o.model.sample_steps = static_cast<std::uint32_t>(steps);
        o.lanes = lanes;
        std::vector<apps::md_atoms> all;
        for (std::uint64_t u = 0; u < universes; ++u) all.push_back(crystal(cubes_, u + 1));
        return apps::md(all, o);
    }
    [[nodiscard]] bench::spread seconds(const options& job, std::uint64_t universes, std::uint32_t lanes) const {
        std::vector<double> samples;
        for (std::uint64_t run = 0; run <= args_.number("runs", 1, 1000); ++run) {
            const auto made = md(universes, args_.number("steps", 1), job, lanes);
            if (run > 0) samples.push_back(made.report.run_seconds);
        }
        return bench::spread_of(samples);
    }
    void tell(const char* part, std::uint64_t n, std::uint64_t universes, const bench::spread& s, double share) const {
        const std::uint64_t atoms = 4ull * static_cast<std::uint64_t>(cubes_) * cubes_ * cubes_;
        const double steps = static_cast<double>(args_.number("steps") * universes);
        std::printf("%-10s %5llu atoms  %-10s %6llu  %10.3f ms  (%.3f to %.3f)  %12.0f steps/s  %6.3f\n",
                    devices_.c_str(), static_cast<unsigned long long>(atoms), part, static_cast<unsigned long long>(n),
                    s.median * 1e3, s.least * 1e3, s.most * 1e3, steps / s.median, share);
        std::fflush(stdout);
        json_.write({{"benchmark", "md"}, {"devices", devices_}, {"what", part}},
                    {{"atoms", static_cast<double>(atoms)},
                     {"n", static_cast<double>(n)},
                     {"universes", static_cast<double>(universes)},
                     {"steps", static_cast<double>(args_.number("steps"))},
                     {"median_s", s.median},
                     {"least_s", s.least},
                     {"most_s", s.most},
                     {"share", share}});
    }

    const bench::arguments& args_;
    std::string devices_;
    int cubes_;
    bench::json_lines& json_;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1"},
                                     {"cubes", "4"},
                                     {"steps", "200"},
                                     {"parts", "lanes;universes"},
                                     {"most-blocks", "128"},
                                     {"runs", "3"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const std::uint64_t cubes : args.numbers("cubes", ';', 3, 64)) {
                const measurement measured(args, devices, static_cast<int>(cubes), json);
                for (const auto& part : args.list("parts")) measured.run(part);
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_md: %s\n", e.what());
        return 1;
    }
}
