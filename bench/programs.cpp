// The programs over growing lists of devices: time, speed-up over the first list, and what their messages look like.
//
//   bench_programs --devices "cuda:0;cuda:0-1;cuda:0-3" --scale 24 --arcs-log2 28 --grid-side 2048 --points-log2 24
// indegree, pagerank and color-kronecker work on one Kronecker graph, color on a square grid, kmeans on blobs of
// points: the same input on every list, and all must give the same answer. What these programs do is random access to a
// word a vertex, so give them more vertices than a cache holds. gups and kmer take an input that grows with the PEs;
// their speed-up is that of the rate, and each run is checked. Only what the chosen --programs need is generated.
#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <random>

#include "bench_support.hpp"
#include "color/color.hpp"
#include "gups/gups.hpp"
#include "indegree/indegree.hpp"
#include "kmeans/kmeans.hpp"
#include "kmer/kmer.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/simt/device_list.hpp"
#include "pagerank/pagerank.hpp"

namespace {

using namespace laneway;

const std::vector<std::string> all_programs{"gups",  "kmer", "indegree", "pagerank", "color", "color-kronecker",
                                            "kmeans"};

/// What one run did: `work` in the program's own unit, a digest of its answer, and its rounds, 0 where it has none.
struct outcome {
    double work = 0;
    std::uint64_t digest = 0;
    run_report report;
    std::uint64_t rounds = 0;
};

template <class Values>
std::uint64_t digest_of(const Values& values) {
    std::uint64_t digest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        digest += (i + 1) * std::hash<typename Values::value_type>{}(values[i]) * 0x9e3779b97f4a7c15u;
    }
    return digest;
}

class inputs {
public:
    explicit inputs(const bench::arguments& args) : args_(args) {
        const std::vector<std::string> chosen = args.list("programs");
        for (const auto& program : chosen) {
            if (std::find(all_programs.begin(), all_programs.end(), program) == all_programs.end())
                throw usage_error("there is no program " + program);
        }
        const auto wanted = [&](const char* program) {
            return std::find(chosen.begin(), chosen.end(), program) != chosen.end();
        };
        if (wanted("indegree") || wanted("pagerank") || wanted("color-kronecker")) {
            kronecker_ = graph::generate_kronecker({.scale = static_cast<unsigned>(args.number("scale")),
                                                    .arcs = std::uint64_t{1} << args.number("arcs-log2")});
        }
        const std::uint64_t side = args.number("grid-side");
        if (wanted("color")) grid_ = graph::generate_grid({.width = side, .height = side, .keep = 1});
        if (wanted("kmeans")) make_points();
    }

    /// What a program works on, for the record.
    std::string name(const std::string& program) const {
        const auto text = [&](const char* argument) { return args_.text(argument); };
        if (program == "gups") return "2^" + text("table-log2") + " words a PE";
        if (program == "kmer") return "reads of a genome of " + text("genome") + " bases a PE";
        if (program == "color") return "grid of " + text("grid-side") + " x " + text("grid-side");
        if (program == "kmeans") return "2^" + text("points-log2") + " points";
        return "Kronecker, 2^" + text("scale") + " vertices, 2^" + text("arcs-log2") + " arcs";
    }

    outcome run(const std::string& program, const std::string& devices) const {
        options job;
        job.devices = devices;
        job.timeout_seconds = args_.real("timeout");
        job.server_share = args_.real("server-share");
        job.servers_in_every_block = args_.number("servers-in-every-block") != 0;
        const auto pes = static_cast<double>(parse_devices(devices).size());
        if (program == "gups") return gups(job, pes);
        if (program == "kmer") return kmer(job, pes);
        if (program == "indegree") {
            const auto r = apps::indegree(kronecker_, {job, apps::arc_walk::arcs});
            return {1, digest_of(r.in_degree), r.report};
        }
        if (program == "pagerank") {
            apps::pagerank_options o;
            o.job = job;
            o.rounds = 10;
            o.weighted = false;
            const auto r = apps::pagerank(kronecker_, o);
            return {1, digest_of(r.rank), r.report, r.rounds};
        }
        if (program == "color") return color(job, grid_);
        if (program == "color-kronecker") return color(job, kronecker_);
        return kmeans(job);
    }

private:
    static constexpr std::uint64_t dims = 4;
    static constexpr std::uint64_t clusters = 16;

    void make_points() {
        std::mt19937_64 random(1);
        std::normal_distribution<float> spread(0, 1);
        points_.resize(dims << args_.number("points-log2"));
        for (std::uint64_t i = 0; i < points_.size(); ++i) {
            points_[i] = spread(random) + static_cast<float>(i / dims % clusters) * (i % dims == 0 ? 3.0f : 1.0f);
        }
    }

    outcome gups(const options& job, double pes) const {
        apps::gups_options o;
        o.job = job;
        o.log2_words = static_cast<unsigned>(args_.number("table-log2")) + static_cast<unsigned>(std::log2(pes));
        o.updates = static_cast<std::uint64_t>(pes) << (args_.number("table-log2") + 1);
        apps::gups_table table(o);
        const auto r = table.run();
        if (table.check().errors != 0) throw device_fault("gups: words are wrong");
        return {static_cast<double>(r.updates), 0, r.report};
    }

    outcome kmer(const options& job, double pes) const {
        apps::simulation wanted;
        wanted.genome_length = args_.number("genome") * static_cast<std::uint64_t>(pes);
        apps::kmer_options o;
        o.job = job;
        o.k = 31;
        const apps::simulated_reads reads(wanted);
        apps::kmer_counter counter(reads, o);
        const auto r = counter.run();
        return {static_cast<double>(r.total), 0, r.report};
    }

    static outcome color(const options& job, const graph::graph& graph) {
        apps::color_options o;
        o.job = job;
        const auto r = apps::color(graph, o);
        return {1, digest_of(r.color), r.report, r.rounds};
    }

    outcome kmeans(const options& job) const {
        apps::kmeans_options o;
        o.job = job;
        o.max_iter = 20;
        o.tol = 0;
        const std::vector<float> start(points_.begin(), points_.begin() + clusters * dims);
        const auto r = apps::kmeans<float>({points_.data(), points_.size() / dims, dims}, start, o);
        return {1, digest_of(r.labels), r.report, r.n_iter};
    }

    const bench::arguments& args_;
    graph::graph kronecker_;
    graph::graph grid_;
    std::vector<float> points_;  ///< dims a point
};

void measure(const bench::arguments& args, const inputs& input, const std::string& program, bench::json_lines& json) {
    double first_rate = 0;
    std::uint64_t digest = 0;
    for (const auto& devices : args.list("devices")) {
        std::vector<double> seconds;
        outcome last;
        for (std::uint64_t i = 0; i < args.number("runs"); ++i) {
            last = input.run(program, devices);
            seconds.push_back(last.report.run_seconds);
        }
        if (first_rate > 0 && last.digest != digest) throw device_fault(program + ": another answer on " + devices);
        digest = last.digest;
        const bench::spread time = bench::spread_of(seconds);
        const double rate = last.work / time.median;
        if (first_rate == 0) first_rate = rate;
        const auto& account = last.report;
        const double posted = static_cast<double>(std::max<std::uint64_t>(account.posted, 1));
        const double chunks = static_cast<double>(std::max<std::uint64_t>(account.chunks(), 1));
        const double remote = static_cast<double>(account.carried) / posted;
        const double chunk_bytes = static_cast<double>(account.bytes()) / chunks;
        const double rounds = static_cast<double>(last.rounds);
        std::printf("%-15s %-9s %9.3f ms   speed-up %5.2f   remote %5.1f %%   mean chunk %5.0f bytes   work/s %.3g",
                    program.c_str(), devices.c_str(), time.median * 1e3, rate / first_rate, remote * 100, chunk_bytes,
                    rate);
        std::printf(last.rounds > 0 ? "   rounds %.0f\n" : "\n", rounds);
        std::fflush(stdout);
        json.write({{"bench", "programs"}, {"program", program}, {"input", input.name(program)}, {"devices", devices}},
                   {{"median_s", time.median},
                    {"min_s", time.least},
                    {"max_s", time.most},
                    {"work_per_s", rate},
                    {"speed_up", rate / first_rate},
                    {"remote_share", remote},
                    {"mean_chunk_bytes", chunk_bytes},
                    {"posted", posted},
                    {"rounds", rounds}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1;cpu:2"},
                                     {"programs", "gups;kmer;indegree;pagerank;color;color-kronecker;kmeans"},
                                     {"scale", "12"},
                                     {"arcs-log2", "16"},
                                     {"grid-side", "64"},
                                     {"points-log2", "14"},
                                     {"table-log2", "16"},
                                     {"genome", "100000"},
                                     {"runs", "3"},
                                     {"server-share", "0"},
                                     {"servers-in-every-block", "0"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        const inputs input(args);
        for (const auto& program : args.list("programs")) measure(args, input, program, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_programs: %s\n", e.what());
        return 1;
    }
}
