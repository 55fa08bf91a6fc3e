// The six programs over growing lists of devices: time, speed-up over the first list, and what their messages look
// like.
//
//   bench_programs --devices "cuda:0;cuda:0-1;cuda:0-3" --scale 21 --arcs-log2 27 --points-log2 24 --json FILE
// indegree, pagerank, color and kmeans work on the same input on every list, and must give the same answer on all.
// gups and kmer take an input that grows with the PEs; their speed-up is that of the rate, and each run is checked.
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

/// What one run did: `work` in the program's own unit, and a digest of its answer.
struct outcome {
    double work = 0;
    std::uint64_t digest = 0;
    run_report report;
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
        graph::kronecker_options wanted;
        wanted.scale = static_cast<unsigned>(args.number("scale"));
        wanted.arcs = std::uint64_t{1} << args.number("arcs-log2");
        graph_ = graph::generate_kronecker(wanted);
        const std::uint64_t points = std::uint64_t{1} << args.number("points-log2");
        std::mt19937_64 random(1);
        std::normal_distribution<float> spread(0, 1);
        for (std::uint64_t i = 0; i < points * dims; ++i) {
            points_.push_back(spread(random) + static_cast<float>(i / dims % clusters) * (i % dims == 0 ? 3.0f : 1.0f));
        }
    }

    outcome run(const std::string& program, const std::string& devices) const {
        options job;
        job.devices = devices;
        job.timeout_seconds = args_.real("timeout");
        const auto pes = static_cast<double>(parse_devices(devices).size());
        if (program == "gups") return gups(job, pes);
        if (program == "kmer") return kmer(job, pes);
        if (program == "indegree") {
            const auto r = apps::indegree(graph_, {job, apps::arc_walk::arcs});
            return {1, digest_of(r.in_degree), r.report};
        }
        if (program == "pagerank") {
            apps::pagerank_options o;
            o.job = job;
            const auto r = apps::pagerank(graph_, o);
            return {1, digest_of(r.rank), r.report};
        }
        if (program == "color") {
            apps::color_options o;
            o.job = job;
            const auto r = apps::color(graph_, o);
            return {1, digest_of(r.color), r.report};
        }
        apps::kmeans_options o;
        o.job = job;
        o.most_rounds = 20;
        const std::vector<float> start(points_.begin(), points_.begin() + clusters * dims);
        const auto r = apps::kmeans<float>({points_.data(), points_.size() / dims, dims}, start, o);
        return {1, digest_of(r.labels), r.report};
    }

private:
    static constexpr std::uint64_t dims = 4;
    static constexpr std::uint64_t clusters = 16;

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

    const bench::arguments& args_;
    graph::graph graph_;
    std::vector<float> points_;
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
        std::printf("%-9s %-9s %9.3f ms   speed-up %5.2f   remote %5.1f %%   mean chunk %5.0f bytes   work/s %.3g\n",
                    program.c_str(), devices.c_str(), time.median * 1e3, rate / first_rate, remote * 100, chunk_bytes,
                    rate);
        std::fflush(stdout);
        json.write({{"bench", "programs"}, {"program", program}, {"devices", devices}},
                   {{"median_s", time.median},
                    {"min_s", time.least},
                    {"max_s", time.most},
                    {"work_per_s", rate},
                    {"speed_up", rate / first_rate},
                    {"remote_share", remote},
                    {"mean_chunk_bytes", chunk_bytes},
                    {"posted", posted}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:1;cpu:2"},
                                     {"programs", "gups;kmer;indegree;pagerank;color;kmeans"},
                                     {"scale", "12"},
                                     {"arcs-log2", "16"},
                                     {"points-log2", "14"},
                                     {"table-log2", "16"},
                                     {"genome", "100000"},
                                     {"runs", "3"},
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
