// Channels: elements a second through talloc, enq, deq and tfree; fork-join tasks a second; how dispatches fill warps.
//
//   bench_channels --devices "cuda:0;cuda:0-3" --elements 100000000 --fib 40 --queens 15 --json FILE
// through: each element is consumed and replaced by another, so it goes through all four; kept: the same where warps
// keep what they produce (--stacks bytes of each PE); beside it, baseline, as many elements taken by lanes from one
// counter, without a queue; and the same with one warp of each PE, or a thread of the host, that decides what all warps
// serve, where fewer elements are enough (--ordered); and with a block an element, without and with stacks.
// fib, queens, uts: calls, solutions and nodes of programs of apps/recursion, checked; of fib also the same tree walked
// by one thread of the host. --threads: of each CPU device, so that these can be compared with that one:
//
//   bench_channels --parts fib --devices cpu:1 --threads 2 --fib 35 --grain 16 --runs 5
// sort and strassen: keys and multiplications by the definition, on random numbers, in several grains; 0 is the
// program's own choice. fib by blocks: a task each, which a whole block works on; on GPUs one of 2, 8 and 32 warps.
// widths: fib over channels of several widths.
#include <algorithm>
#include <chrono>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "bench_support.hpp"
#include "laneway/channel_graph.hpp"
#include "recursion/fibonacci.hpp"
#include "recursion/merge_sort.hpp"
#include "recursion/queens.hpp"
#include "recursion/strassen.hpp"
#include "recursion/uts.hpp"

namespace {

using namespace laneway;

constexpr const char* all_parts = "through;fib;blocks;queens;sort;strassen;uts;widths";
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

/// Replaces its element until that has been replaced often enough.
struct relay {
    using element = std::uint64_t;
    channel<std::uint64_t> to;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint64_t& left, channel_node& node) const {
        if (left == 0) return outcome::done;
        const auto next = node.talloc(ctx, to);
        if (!next) return outcome::yield;
        next[0] = left - 1;
        node.enq(ctx, next);
        return outcome::done;
    }
};

/// The same with a whole block for each element, whose first lane replaces it.
struct relay_by_block {
    using element = std::uint64_t;
    static constexpr task_width width = task_width::block;
    channel<std::uint64_t> to;

    template <class Ctx, class Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint64_t& left, channel_node& node, Worker& worker) const {
        if (worker.lane() != 0 || left == 0) return outcome::done;
        const auto next = node.talloc(ctx, to);
        if (!next) return outcome::yield;
        next[0] = left - 1;
        node.enq(ctx, next);
        return outcome::done;
    }
};

/// A call of fib for a whole block, whose first lane does all there is to do.
template <int Warps>
struct fib_by_block {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr task_width width = task_width::block;
    static constexpr int block_warps = Warps;
    static constexpr std::uint32_t children = 2;

    template <class Ctx, class Task, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task, Worker& worker) const {
        if (worker.lane() != 0) return;
        if (n < 2) return task.finish(ctx, n);
        auto fork = task.fork(ctx, laneway::task<fib_by_block<Warps>>, 2, laneway::task<apps::add_both<std::uint64_t>>);
        if (!fork) return;
        fork.spawn(ctx, n - 1, &fork->left);
        fork.spawn(ctx, n - 2, &fork->right);
        fork.sync(ctx);
    }
};

/// Does nothing for its index: what is left is the counter that hands indices out.
struct touch {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint64_t) const {}
};

class measurement {
public:
    measurement(const bench::arguments& args, std::string devices, bench::json_lines& json)
        : args_(args), devices_(std::move(devices)), json_(json) {}

    void run() {
        const std::vector<std::string> parts = args_.list("parts");
        for (const std::string& part : parts) {
            const std::string all = ";" + std::string(all_parts) + ";";
            if (all.find(";" + part + ";") == std::string::npos) throw usage_error("parts: there is no " + part);
        }
        const auto has = [&](const char* part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
        if (has("through")) all_through();
        if (has("fib")) {
            for (const std::uint64_t grain : {std::uint64_t{1}, args_.number("grain")}) fib(grain);
        }
        if (has("blocks")) {
            fib_of_blocks<2>();
            fib_of_blocks<8>();
            fib_of_blocks<32>();
        }
        if (has("queens")) queens();
        if (has("sort")) sort();
        if (has("strassen")) strassen();
        if (has("uts")) uts();
        if (has("widths")) {
            for (const std::uint32_t width : {64u, 256u, 1024u, 4096u, 16384u}) fib_of_width(width);
        }
    }

private:
    [[nodiscard]] options job() const {
        options o;
        o.devices = devices_;
        o.timeout_seconds = args_.real("timeout");
        o.cpu_threads = static_cast<int>(args_.number("threads", 1, 256));
        return o;
    }
    [[nodiscard]] apps::recursion_options recursion(std::uint64_t grain = 0) const {
        apps::recursion_options made;
        made.job = job();
        made.grain = static_cast<std::uint32_t>(grain);
        return made;
    }

    void all_through() {
        const std::uint64_t elements = args_.number("elements"), ordered = args_.number("ordered");
        through<relay>("through", elements, deepest_or_fullest_first{});
        through<relay>("kept", elements, deepest_or_fullest_first{}, args_.number("stacks"));
        through<relay>("by one warp", ordered, warp_scheduler<>{});
        through<relay>("by the host", ordered, host_scheduler<>{});
        through<relay_by_block>("blocks", elements, deepest_or_fullest_first{});
        through<relay_by_block>("kept by blocks", elements, deepest_or_fullest_first{}, args_.number("stacks"));
        baseline();
    }
    /// Elements through a channel whose queues are served as the policy says.
    template <class Kernel, class Policy>
    void through(const std::string& name, std::uint64_t elements, const Policy& policy, std::uint64_t stack_bytes = 0) {
        runtime rt(job());
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        const std::uint64_t chains = args_.number("chains"), length = elements / chains / pes;
        channel_graph graph(rt, {.stack_bytes = stack_bytes});
        const auto numbers = graph.channel<std::uint64_t>({.width = static_cast<std::uint32_t>(4 * chains)});
        const auto kernel = graph.kernel(Kernel{numbers});
        graph.connect(numbers, kernel);
        channel_statistics last;
        rate(name, chains * (length + 1) * pes, [&] {
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                graph.init(numbers, std::vector<std::uint64_t>(chains, length), pe);
            }
            const double seconds = graph.run_with(policy, kernel).run_seconds;
            last = graph.statistics();
            if (last.produced != chains * (length + 1) * pes) throw device_fault("elements were lost");
            return seconds;
        });
        tell_channels(name, last);
    }
    void baseline() {
        runtime rt(job());
        const std::uint64_t elements = args_.number("elements");
        rate("baseline", elements, [&] { return rt.for_each(elements, touch{}).run_seconds; });
    }

    void fib(std::uint64_t grain) {
        const auto n = static_cast<std::uint32_t>(args_.number("fib"));
        std::uint64_t calls = 0;
        channel_statistics last;
        const std::string name = grain > 1 ? "fib grain " + std::to_string(grain) : "fib";
        rate(name, calls_of(n), [&] {
            const auto made = apps::fibonacci(n, recursion(grain));
            if (made.calls != calls_of(n)) throw device_fault("a Fibonacci number is wrong");
            calls = made.calls;
            last = made.report.channels;
            return made.report.run.run_seconds;
        });
        tell_channels(name, last);
        if (grain > 1) {
            rate("fib serial", calls, [&] {
                const auto start = clock_type::now();
                // The compiler may not see that nobody wants the result.
                volatile std::uint64_t value = apps::fibonacci_by_calls(n);
                (void)value;
                return seconds_since(start);
            });
        }
    }
    static std::uint64_t calls_of(std::uint32_t n) {
        std::uint64_t a = 0, b = 1;
        for (std::uint32_t i = 0; i < n; ++i) a = std::exchange(b, a + b);
        return 2 * b - 1;
    }

    template <int Warps>
    void fib_of_blocks() {
        using function = fib_by_block<Warps>;
        const auto n = static_cast<std::uint32_t>(args_.number("block_fib"));
        runtime rt(job());
        fork_join program(rt, {.levels = n + 1}, function{}, apps::add_both<std::uint64_t>{});
        const std::uint64_t expected = apps::fibonacci_by_calls(n);
        const std::string name = "fib by blocks of " + std::to_string(Warps);
        rate(name, calls_of(n), [&] {
            if (program.template run<function>({n})[0] != expected) throw device_fault("a Fibonacci number is wrong");
            return program.report().run_seconds;
        });
        tell_channels(name, program.statistics());
    }

    void fib_of_width(std::uint32_t width) {
        const auto n = static_cast<std::uint32_t>(args_.number("fib"));
        apps::recursion_options narrow = recursion();
        narrow.width = width;
        const std::string name = "fib width " + std::to_string(width);
        channel_statistics last;
        rate(name, calls_of(n), [&] {
            const auto made = apps::fibonacci(n, narrow);
            last = made.report.channels;
            return made.report.run.run_seconds;
        });
        tell_channels(name, last);
    }

    void queens() {
        const auto n = static_cast<std::uint32_t>(args_.number("queens"));
        const std::uint64_t expected = apps::queens(n, recursion()).solutions;
        rate("queens", expected, [&] {
            const auto made = apps::queens(n, recursion());
            if (made.solutions != expected) throw device_fault("the number of solutions changes");
            return made.report.run.run_seconds;
        });
    }

    void sort() {
        const std::vector<std::uint32_t> keys = random_words(args_.number("keys", 1, 1u << 30), 1);
        std::vector<std::uint32_t> expected = keys;
        std::sort(expected.begin(), expected.end());
        for (const std::uint64_t grain : args_.numbers("sort_grains", ';', 0, 1u << 20)) {
            rate("sort grain " + std::to_string(grain), keys.size(), [&] {
                const auto made = apps::merge_sort(keys, recursion(grain));
                if (made.keys != expected) throw device_fault("the keys are not sorted");
                return made.report.run.run_seconds;
            });
        }
    }

    void strassen() {
        const auto rows = static_cast<std::uint32_t>(args_.number("rows", 1, 1u << 15));
        const std::size_t elements = std::size_t{rows} * rows;
        const apps::word_matrix a = random_words(elements, 1), b = random_words(elements, 2);
        for (const std::uint64_t grain : args_.numbers("strassen_grains", ';', 0, apps::max_strassen_block)) {
            rate("strassen grain " + std::to_string(grain), elements * rows, [&] {
                const auto made = apps::strassen(a, b, rows, recursion(grain));
                if (!is_product(made.product, a, b, rows)) throw device_fault("a product is wrong");
                return made.report.run.run_seconds;
            });
        }
    }
    /// Whether that is their product, most likely: both sides times one random vector (Freivalds 1979).
    static bool is_product(const apps::word_matrix& product, const apps::word_matrix& a, const apps::word_matrix& b,
                           std::uint32_t rows) {
        const auto times = [rows](const apps::word_matrix& matrix, const std::vector<std::uint32_t>& vector) {
            std::vector<std::uint32_t> made(rows);
            for (std::size_t i = 0; i < rows; ++i) {
                for (std::size_t k = 0; k < rows; ++k) made[i] += matrix[i * rows + k] * vector[k];
            }
            return made;
        };
        const std::vector<std::uint32_t> vector = random_words(rows, 3);
        return times(product, vector) == times(a, times(b, vector));
    }
    static std::vector<std::uint32_t> random_words(std::size_t count, std::uint64_t seed) {
        std::mt19937_64 numbers(seed);
        std::vector<std::uint32_t> made(count);
        for (auto& word : made) word = static_cast<std::uint32_t>(numbers());
        return made;
    }

    void uts() {
        const apps::uts_sample& sample = apps::uts_sample_of(args_.text("uts"));
        channel_statistics last;
        rate("uts " + args_.text("uts"), sample.count.nodes, [&] {
            const auto made = apps::uts(sample.tree, recursion(), sample.levels());
            if (made.count != sample.count) throw device_fault("a tree has another number of nodes than published");
            last = made.report.channels;
            return made.report.run.run_seconds;
        });
        tell_channels("uts", last);
    }

    /// `run_once()` gives the seconds that `count` elements took.
    template <class Run>
    void rate(const std::string& name, std::uint64_t count, const Run& run_once) {
        run_once();
        std::vector<double> samples;
        for (std::uint64_t i = 0; i < args_.number("runs"); ++i) {
            samples.push_back(static_cast<double>(count) / run_once() / 1e6);
        }
        const bench::spread all = bench::spread_of(samples);
        std::printf("%-12s %-16s million a second %10.4g  (%.4g to %.4g)\n", devices_.c_str(), name.c_str(), all.median,
                    all.least, all.most);
        json_.write({{"benchmark", "channels"},
                     {"devices", devices_},
                     {"threads", args_.text("threads")},
                     {"what", name},
                     {"unit", "million_per_second"}},
                    {{"median", all.median}, {"least", all.least}, {"most", all.most}});
    }
    void tell_channels(const std::string& name, const channel_statistics& all) {
        const double full =
            all.dispatches == 0 ? 0 : static_cast<double>(all.full_dispatches) / static_cast<double>(all.dispatches);
        const double each =
            all.dispatches == 0 ? 0 : static_cast<double>(all.consumed) / static_cast<double>(all.dispatches);
        std::printf(
            "%-12s %-16s %.3g of dispatches full, %.3g elements each, %llu yields, %llu kept, %llu given, "
            "%llu moved\n",
            devices_.c_str(), name.c_str(), full, each, static_cast<unsigned long long>(all.yields),
            static_cast<unsigned long long>(all.kept), static_cast<unsigned long long>(all.given),
            static_cast<unsigned long long>(all.moved));
        json_.write({{"benchmark", "channels"}, {"devices", devices_}, {"what", name}, {"unit", "dispatches"}},
                    {{"full_share", full},
                     {"elements_each", each},
                     {"dispatches", static_cast<double>(all.dispatches)},
                     {"yields", static_cast<double>(all.yields)},
                     {"stalls", static_cast<double>(all.stalls)},
                     {"kept", static_cast<double>(all.kept)},
                     {"given", static_cast<double>(all.given)},
                     {"moved", static_cast<double>(all.moved)}});
    }

    const bench::arguments& args_;
    std::string devices_;
    bench::json_lines& json_;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"parts", all_parts},
                                     {"elements", "2000000"},
                                     {"ordered", "200000"},
                                     {"chains", "1024"},
                                     {"stacks", "33554432"},
                                     {"fib", "25"},
                                     {"block_fib", "20"},
                                     {"grain", "12"},
                                     {"queens", "10"},
                                     {"keys", "1000000"},
                                     {"sort_grains", "0"},
                                     {"rows", "256"},
                                     {"strassen_grains", "0"},
                                     {"uts", "T1"},
                                     {"runs", "3"},
                                     {"threads", "1"},
                                     {"timeout", "120"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measurement(args, devices, json).run();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_channels: %s\n", e.what());
        return 1;
    }
}
