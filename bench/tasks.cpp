// Pools of tasks: how many tasks a second, how long a lone one takes, and which part of the time workers work.
//
//   bench_tasks --devices "cuda:0;cuda:0-3" --tasks 1000000 --json FILE
// rates: tasks submitted one by one, as batches, and spawned by tasks, with empty bodies and results that are checked.
// lone: from submit until get returns, one after the other. efficiency: time that the bodies take by themselves, over
// the time of all workers; for tasks of 1 to 1,000 us, submitted as a batch of the same arguments, as a batch with some
// for each, and one by one. lanes: the same loop as tasks of a lane, of a warp and of a block: a lone one, and a batch.
// --bundle, --bundle-us, --ahead-us and --blocks are the knobs of the pool and, on GPUs, the number of its blocks.
#include <chrono>
#include <cmath>
#include <exception>
#include <numeric>

#include "bench_support.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/task_pool.hpp"

namespace {

using namespace laneway;
using clock_type = std::chrono::steady_clock;

struct next_number {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& n) const {
        return n + 1;
    }
};

/// Takes so many nanoseconds of the device's clock.
struct take_time {
    using arguments = std::uint64_t;
    using result = void;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& ns) const {
        const std::uint64_t end = ctx.now_ns() + ns;
        while (ctx.now_ns() < end) {
        }
    }
};

/// Adds up so many terms, shared out among the worker's lanes.
template <task_width Width>
struct add_up {
    using arguments = std::uint64_t;
    using result = void;
    static constexpr auto width = Width;

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx&, const arguments& count, Worker& worker) const {
        double sum = 0;
        for (auto i = static_cast<std::uint64_t>(worker.lane()); i < count;
             i += static_cast<std::uint64_t>(worker.lanes())) {
            sum += 1.0 / static_cast<double>(1 + i);
        }
        if (sum < 0) worker.fail(1);  // which it is not, and only the sum tells
    }
};

/// A tree of so many levels below this one, two children each.
struct grow {
    using arguments = std::uint32_t;
    using result = void;
    static constexpr bool spawns = true;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& levels, Worker& worker) const {
        if (levels == 0 || worker.lane() != 0) return;
        for (int i = 0; i < 2; ++i) {
            if (!worker.spawn(ctx, task<grow>, levels - 1)) worker.fail(1);
        }
    }
};

using by_lane = add_up<task_width::lane>;
using by_warp = add_up<task_width::warp>;
using by_block = add_up<task_width::block>;
using pool_type = task_pool<next_number, take_time, grow>;

double seconds_since(clock_type::time_point start) {
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

class measurement {
public:
    measurement(const bench::arguments& args, const std::string& devices, bench::json_lines& json)
        : tasks_(args.number("tasks")), runs_(args.number("runs")), devices_(devices), json_(json) {
        for (const std::string knob : {"bundle", "bundle-us", "ahead-us", "blocks"}) {
            knobs_.emplace_back(knob, args.real(knob));
        }
    }

    /// `parts`: of spawned, lone, batch, single, efficiency.
    void run(pool_type& pool, std::uint64_t workers, const std::vector<std::string>& parts) {
        for (const std::string& part : parts) {
            if (part == "spawned") {
                const auto levels = static_cast<std::uint32_t>(std::log2(static_cast<double>(tasks_)));
                rate(part, (std::uint64_t{2} << levels) - 1, [&] { pool.submit<grow>(levels).wait(); });
            } else if (part == "lone") {
                lone(pool);
            } else if (part == "batch") {
                rate(part, 10 * tasks_, [&] { batch(pool); });
            } else if (part == "single") {
                rate(part, tasks_, [&] { single(pool); });
            } else if (part == "efficiency") {
                for (const std::uint64_t us : {1u, 10u, 100u, 1000u}) efficiency(pool, us, workers);
            } else {
                throw usage_error("no part of this benchmark: " + part);
            }
        }
    }

    template <class Pool>
    void lanes(Pool& pool) {
        const std::uint64_t workers = pool.statistics().workers;
        terms<by_lane>(pool, "by lane", workers);
        terms<by_warp>(pool, "by warp", workers);
        terms<by_block>(pool, "by block", workers);
    }

private:
    void single(pool_type& pool) const {
        std::vector<task_future<std::uint64_t>> all;
        all.reserve(tasks_);
        for (std::uint64_t i = 0; i < tasks_; ++i) all.push_back(pool.submit<next_number>(i));
        for (std::uint64_t i = 0; i < tasks_; ++i) {
            if (all[i].get() != i + 1) throw device_fault("a task has a wrong result");
        }
    }
    void batch(pool_type& pool) const {
        std::vector<std::uint64_t> given(tasks_);
        std::iota(given.begin(), given.end(), 0);
        for (int i = 0; i < 10; ++i) {
            const auto all = pool.submit_many<next_number>(given);
            if (all.get().back() != tasks_) throw device_fault("a batch has a wrong result");
        }
    }

    template <class Do>
    void rate(const std::string& name, std::uint64_t count, const Do& run_once) {
        run_once();
        std::vector<double> samples;
        for (std::uint64_t i = 0; i < runs_; ++i) {
            const auto start = clock_type::now();
            run_once();
            samples.push_back(static_cast<double>(count) / seconds_since(start) / 1e6);
        }
        tell(name, "million_tasks_per_second", bench::spread_of(samples), {});
    }

    void lone(pool_type& pool) {
        std::vector<double> samples;
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const auto start = clock_type::now();
            if (pool.submit<next_number>(i).get() != i + 1) throw device_fault("a task has a wrong result");
            if (i >= 100) samples.push_back(seconds_since(start) * 1e6);
        }
        std::sort(samples.begin(), samples.end());
        tell("lone", "microseconds", bench::spread_of(samples), {{"p99", samples[samples.size() * 99 / 100]}});
    }

    /// Of tasks of 100,000 terms: a lone one, and as many as 20 for each lane that could run one.
    template <class Type, class Pool>
    void terms(Pool& pool, const std::string& name, std::uint64_t workers) {
        constexpr std::uint64_t count = 100'000;
        std::vector<double> samples;
        for (std::uint64_t i = 0; i <= runs_; ++i) {
            const auto start = clock_type::now();
            pool.template submit<Type>(count).wait();
            if (i > 0) samples.push_back(seconds_since(start) * 1e6);
        }
        tell(name, "microseconds_alone", bench::spread_of(samples), {});
        const auto tasks = static_cast<std::uint32_t>(20 * workers * (devices_.find("cuda") == 0 ? 32 : 1));
        samples.clear();
        for (std::uint64_t i = 0; i < runs_; ++i) {
            const auto start = clock_type::now();
            pool.template submit_many<Type>(tasks, count).wait();
            samples.push_back(static_cast<double>(tasks) * count / seconds_since(start) / 1e9);
        }
        tell(name, "billion_terms_per_second", bench::spread_of(samples), {});
    }

    /// Of about 0.2 s of work, but no more tasks than are submitted one by one in some seconds.
    void efficiency(pool_type& pool, std::uint64_t us, std::uint64_t workers) {
        const std::uint64_t wanted = std::clamp<std::uint64_t>(200'000 / us, 100, 100'000) * workers;
        const std::uint64_t count = std::min<std::uint64_t>(wanted, std::max<std::uint64_t>(4'000'000, 20 * workers));
        const double ideal = static_cast<double>(count * us) * 1e-6 / static_cast<double>(workers);
        const std::vector<std::uint64_t> given(count, us * 1000);
        for (const std::string how : {"same", "batch", "single"}) {
            std::vector<double> samples;
            for (std::uint64_t i = 0; i < runs_; ++i) {
                const auto start = clock_type::now();
                if (how == "same") {
                    pool.submit_many<take_time>(static_cast<std::uint32_t>(count), us * 1000).wait();
                } else if (how == "batch") {
                    pool.submit_many<take_time>(given).wait();
                } else {
                    std::vector<task_future<void>> all;
                    for (std::uint64_t k = 0; k < count; ++k) all.push_back(pool.submit<take_time>(us * 1000));
                    for (auto& one : all) one.wait();
                }
                samples.push_back(ideal / seconds_since(start));
            }
            tell(how, "efficiency", bench::spread_of(samples), {{"task_us", static_cast<double>(us)}});
        }
    }

    void tell(const std::string& name, const std::string& unit, const bench::spread& all,
              const std::vector<std::pair<std::string, double>>& more) {
        std::printf("%-12s %-8s %-24s %9.4g  (%.4g to %.4g)", devices_.c_str(), name.c_str(), unit.c_str(), all.median,
                    all.least, all.most);
        for (const auto& [what, value] : more) std::printf("  %s %.4g", what.c_str(), value);
        std::printf("\n");
        std::fflush(stdout);  // what comes next may take long
        std::vector<std::pair<std::string, double>> numbers{
            {"median", all.median}, {"least", all.least}, {"most", all.most}};
        numbers.insert(numbers.end(), more.begin(), more.end());
        numbers.insert(numbers.end(), knobs_.begin(), knobs_.end());
        json_.write({{"benchmark", "tasks"}, {"devices", devices_}, {"what", name}, {"unit", unit}}, numbers);
    }

    std::uint64_t tasks_;
    std::uint64_t runs_;
    std::string devices_;
    bench::json_lines& json_;
    std::vector<std::pair<std::string, double>> knobs_;  ///< as given; 0 blocks: those that the GPU has
};

void measure(const bench::arguments& args, const std::string& devices, bench::json_lines& json) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    o.gpu_blocks = static_cast<int>(args.number("blocks", 0, 1 << 20));
    runtime rt(o);
    task_pool_options pool_options;
    pool_options.bundle_tasks = static_cast<std::uint32_t>(args.number("bundle"));
    pool_options.bundle_seconds = args.real("bundle-us") * 1e-6;
    pool_options.ahead_seconds = args.real("ahead-us") * 1e-6;
    pool_options.batch_bytes = 1 << 30;
    pool_options.spawned_tasks = 1 << 20;  // thousands of workers go down a tree each
    std::vector<std::string> parts = args.list("parts");
    const bool lanes = std::erase(parts, "lanes") > 0;
    measurement measured(args, devices, json);
    if (!parts.empty()) {
        pool_type pool(pool_options, next_number{}, take_time{}, grow{});
        auto session = rt.start(pool);
        measured.run(pool, pool.statistics().workers, parts);
        session.stop();
    }
    if (lanes) {  // with a pool of its own: what types a pool has is not without effect on each of them
        task_pool pool(pool_options, by_lane{}, by_warp{}, by_block{});
        auto session = rt.start(pool);
        measured.lanes(pool);
        session.stop();
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"tasks", "1000000"},
                                     {"parts", "single;batch;lone;efficiency;spawned"},
                                     {"runs", "3"},
                                     {"bundle", std::to_string(task_pool_options{}.bundle_tasks)},
                                     {"bundle-us", "20"},
                                     {"ahead-us", "1000"},
                                     {"blocks", "0"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measure(args, devices, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_tasks: %s\n", e.what());
        return 1;
    }
}
