// Pools of tasks: how many tasks a second, how long a lone one takes, and which part of the time workers work.
//
//   bench_tasks --devices "cuda:0;cuda:0-3" --tasks 1000000 --json FILE
// rates: tasks submitted one by one, as batches, and spawned by tasks, with empty bodies and results that are checked.
// lone: from submit until get returns, one after the other. efficiency: time that the bodies take by themselves, over
// the time of all workers; for tasks of so many us (--lengths), submitted (--ways) as batches of the same arguments, as
// batches with some for each, and one by one. lanes: the same loop as tasks of a lane, of a warp and of a block: a lone
// one, and a batch. descriptors: batches of tasks with arguments of 64 bytes, from so many --threads.
// --bundle, --bundle-us, --ahead-us and --blocks are the knobs of the pool and, on GPUs, the number of its blocks.
#include <chrono>
#include <cmath>
#include <deque>
#include <exception>
#include <numeric>
#include <thread>

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

/// Adds up its arguments, 64 bytes.
struct add_descriptor {
    struct arguments {
        std::uint64_t words[8];
    };
    using result = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& given) const {
        result sum = 0;
        for (const std::uint64_t word : given.words) sum += word;
        return sum;
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
        : tasks_(args.number("tasks")), runs_(args.number("runs")), lengths_(args.numbers("lengths", ';', 1, 100'000)),
          ways_(args.list("ways")), devices_(devices), json_(json) {
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
                for (const std::uint64_t us : lengths_) efficiency(pool, us, workers);
            } else {
                throw usage_error("no part of this benchmark: " + part);
            }
        }
    }

    /// Batches from several threads.
    template <class Pool>
    void descriptors(Pool& pool, std::uint64_t threads) {
        constexpr std::uint32_t each = 200'000, batches = 50;
        const std::vector<add_descriptor::arguments> given(each, {{1, 2, 3, 4, 5, 6, 7, 8}});
        rate("descriptors", threads * batches * each, [&] {
            std::vector<std::thread> all;
            for (std::uint64_t t = 0; t < threads; ++t) {
                all.emplace_back(
                    [&] { some_open(batches, [&] { return pool.template submit_many<add_descriptor>(given); }); });
            }
            for (auto& one : all) one.join();
            const auto last = pool.template submit_many<add_descriptor>(given);
            if (last.get().back() != 36) {
                throw device_fault("a batch of descriptors has a wrong result");
            }
        });
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

    /// Of 0.1 s of work in 16 batches or more, and one by one of no more tasks than are submitted in some seconds.
    void efficiency(pool_type& pool, std::uint64_t us, std::uint64_t workers) {
        const std::uint64_t wanted = std::max<std::uint64_t>(100'000 / us, 100) * workers;
        const std::uint64_t few = std::min<std::uint64_t>(wanted, std::max<std::uint64_t>(4'000'000, 20 * workers));
        const std::uint64_t ns = us * 1000;
        const auto each = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted / 16, 4'000'000));
        const std::uint64_t batches = wanted / each;
        const std::vector<std::uint64_t> given(each, ns);
        tell_efficiency("same", us, workers, batches * each,
                        [&] { some_open(batches, [&] { return pool.submit_many<take_time>(each, ns); }); });
        tell_efficiency("batch", us, workers, batches * each,
                        [&] { some_open(batches, [&] { return pool.submit_many<take_time>(given); }); });
        tell_efficiency("single", us, workers, few, [&] {
            std::vector<task_future<void>> all;
            for (std::uint64_t k = 0; k < few; ++k) all.push_back(pool.submit<take_time>(ns));
            for (auto& one : all) one.wait();
        });
    }
    /// Submits so many batches, of which a few are open at a time, and waits for all.
    template <class Submit>
    static void some_open(std::uint64_t batches, const Submit& submit) {
        constexpr std::size_t most_open = 8;
        std::deque<decltype(submit())> open;
        for (std::uint64_t k = 0; k < batches; ++k) {
            if (open.size() == most_open) {
                open.front().wait();
                open.pop_front();
            }
            open.push_back(submit());
        }
        for (const auto& one : open) one.wait();
    }
    template <class Run>
    void tell_efficiency(const char* how, std::uint64_t us, std::uint64_t workers, std::uint64_t count,
                         const Run& run) {
        if (std::find(ways_.begin(), ways_.end(), how) == ways_.end()) return;
        const double ideal = static_cast<double>(count * us) * 1e-6 / static_cast<double>(workers);
        std::vector<double> samples;
        for (std::uint64_t i = 0; i < runs_; ++i) {
            const auto start = clock_type::now();
            run();
            samples.push_back(ideal / seconds_since(start));
        }
        tell(how, "efficiency", bench::spread_of(samples), {{"task_us", static_cast<double>(us)}});
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
    std::vector<std::uint64_t> lengths_;  ///< of tasks, us
    std::vector<std::string> ways_;
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
    const bool lanes = std::erase(parts, "lanes") > 0, descriptors = std::erase(parts, "descriptors") > 0;
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
    if (descriptors) {
        task_pool pool(pool_options, add_descriptor{});
        auto session = rt.start(pool);
        measured.descriptors(pool, args.number("threads", 1, 256));
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
                                     {"threads", "4"},
                                     {"lengths", "1;10;100;1000"},
                                     {"ways", "same;batch;single"},
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
