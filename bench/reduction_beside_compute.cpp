// An all-reduce of a large array by some blocks of each device, while kernels of streams compute on the others: how
// long both take alone, and beside each other.
//
//   bench_reduction_beside_compute --devices "cuda:0-1" --mib 64 --blocks 32 --compute-blocks 100 --json FILE
//
// `blocks` are those of the program that reduces, `compute-blocks` those of each kernel: together no more than find
// room, or one waits for the other. Kernels are given until they last for about five quarters of the reductions. Sums
// are checked, and chains of some lanes. bench/peers/nccl_reduction_beside_compute measures the same with NCCL.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "bench_support.hpp"
#include "compute_chain.hpp"
#include "laneway/run/schedules/ring_all_reduce.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

/// Rounds that warm up, before PE 0 looks at its clock.
constexpr std::uint32_t first_rounds = 1;

/// Tells how long the rounds behind the first took.
struct round_clock {
    symmetric_ref<std::uint64_t> time;
    std::uint64_t start = 0;

    template <class Ctx>
    LANEWAY_FN void look(Ctx& ctx, std::uint32_t round, std::uint32_t rounds) {
        if (ctx.rank() != 0) return;
        if (round == first_rounds) start = ctx.now_ns();
        if (round == rounds) time.local(ctx)[0] = ctx.now_ns() - start;
    }
};

struct reduce_together {
    symmetric_ref<float> array;
    symmetric_ref<std::uint64_t> time;
    std::uint32_t rounds;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
        round_clock clock{time};
        for (std::uint32_t round = 0; round < rounds; ++round) {
            clock.look(ctx, round, rounds);
            if (sums.all_reduce(ctx, array[0], array.size(), reduction::sum{}) != status::ok) return;
        }
        clock.look(ctx, rounds, rounds);
    }
};

struct reduce_by_ring {
    ring_all_reduce_ref ring;
    symmetric_ref<std::uint64_t> time;
    std::uint32_t rounds;
    std::uint64_t before;  ///< rounds of earlier runs

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const bool leads = ctx.local_rank() == 0;
        round_clock clock{time};
        for (std::uint32_t round = 0; round < rounds; ++round) {
            clock.look(ctx, round, rounds);
            if (leads && ring.start(ctx, triggers) != status::ok) return;
            if (ring.wait(ctx, triggers, before + round + 1) != status::ok) return;
        }
        clock.look(ctx, rounds, rounds);
    }
};

struct compute_chains {
    std::uint32_t* ends;
    std::uint64_t steps;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        ends[ctx.rank()] = bench::end_of_chain(ctx.rank(), steps);
    }
};

/// Kernels of all devices.
class computing {
public:
    computing(runtime& rt, const bench::arguments& args)
        : blocks_(static_cast<int>(args.number("compute-blocks", 0, 1u << 16))), steps_(args.number("chain", 1)),
          timeout_ms_(static_cast<std::int64_t>(args.real("timeout") * 1000)), streams_(streams_of(rt)),
          ends_(rt.allocate<std::uint32_t>(lanes())) {}

    void give(std::uint64_t kernels) {
        start_ = std::chrono::steady_clock::now();
        for (std::size_t pe = 0; pe < streams_.size(); ++pe) {
            for (std::uint64_t k = 0; k < kernels; ++k) {
                streams_[pe].run(compute_chains{ends_.data(static_cast<int>(pe)), steps_}, blocks_);
            }
        }
        last_.clear();
        for (device_stream& stream : streams_) last_.push_back(noted(stream.record()));
    }
    /// Seconds from when they were given until the last has ended, which may have been before the call.
    double wait() {
        auto end = start_;
        for (const auto& kernel : last_) {
            if (!kernel->told.wait_for(std::chrono::milliseconds(timeout_ms_))) throw timeout_error("kernels go on");
            if (const auto why = kernel->told.failure()) std::rethrow_exception(why);
            end = std::max(end, kernel->at);
        }
        return std::chrono::duration<double>(end - start_).count();
    }
    void check() const {
        for (int pe = 0; pe < static_cast<int>(streams_.size()); ++pe) {
            const auto ends = ends_.copy_out(pe);
            for (std::size_t lane = 0; lane < ends.size(); lane += 1 + ends.size() / 8) {
                if (ends[lane] != bench::end_of_chain(lane, steps_)) throw device_fault("a chain ends elsewhere");
            }
        }
    }

private:
    struct ending {
        std::chrono::steady_clock::time_point at;
        event told = event::pending();  ///< `at` has been written
    };
    /// On the thread that sees it: the caller may be busy with the reductions.
    static std::shared_ptr<ending> noted(const event& done) {
        auto made = std::make_shared<ending>();
        done.then([made, done] {
            made->at = std::chrono::steady_clock::now();
            const auto why = done.failure();
            why ? made->told.fail(why) : made->told.complete();
        });
        return made;
    }
    static std::vector<device_stream> streams_of(runtime& rt) {
        std::vector<device_stream> made;
        for (int pe = 0; pe < rt.n_pes(); ++pe) made.push_back(rt.stream(pe, "computing"));
        return made;
    }
    [[nodiscard]] std::uint64_t lanes() const {
        std::uint64_t most = 0;
        for (const device_stream& stream : streams_) most = std::max(most, stream.warps(blocks_));
        return most * (compiled_with_cuda ? 32 : 1);
    }

    int blocks_;
    std::uint64_t steps_;
    std::int64_t timeout_ms_;
    std::vector<device_stream> streams_;
    symmetric_array<std::uint32_t> ends_;
    std::chrono::steady_clock::time_point start_;
    std::vector<std::shared_ptr<ending>> last_;
};

/// Seconds of kernels and of reductions.
struct times {
    double compute = 0;
    double reduce = 0;
};

class job {
public:
    job(const bench::arguments& args, const std::string& devices)
        : rt_(options_of(args, devices)),
          rounds_(first_rounds + static_cast<std::uint32_t>(args.number("rounds", 1, 30))),
          array_(rt_.allocate<float>(args.number("mib", 1, 1u << 16) << 18)), time_(rt_.allocate<std::uint64_t>(1)),
          compute_(rt_, args) {}

    [[nodiscard]] std::uint64_t bytes() const { return array_.size() * sizeof(float); }
    [[nodiscard]] std::uint64_t kernels() const { return kernels_; }

    /// `reduce()`: runs the program.
    template <class Reduce>
    void measure(std::uint64_t runs, std::vector<times>& alone, std::vector<times>& beside, Reduce&& reduce) {
        for (std::uint64_t run = 0; run <= runs; ++run) {
            const times one = once(reduce, false);
            if (run == 0) choose_kernels(one);
            const times both = once(reduce, true);
            if (run == 0) continue;  // warms up
            alone.push_back(one);
            beside.push_back(both);
        }
        compute_.check();
    }
    runtime& rt() { return rt_; }
    reduce_together together() const { return {array_.ref(), time_.ref(), rounds_}; }
    reduce_by_ring by(const ring_all_reduce_ref& ring) {
        return {ring, time_.ref(), rounds_, std::exchange(ring_rounds_, ring_rounds_ + rounds_)};
    }
    symmetric_ref<float> array() const { return array_.ref(); }

private:
    static options options_of(const bench::arguments& args, const std::string& devices) {
        options o;
        o.devices = devices;
        o.timeout_seconds = args.real("timeout");
        o.gpu_blocks = static_cast<int>(args.number("blocks", 0, 1u << 16));
        return o;
    }
    /// So many that they last for longer than the reductions.
    void choose_kernels(const times& one) {
        const double all = one.reduce * rounds_ * 1.25 / (one.compute / static_cast<double>(kernels_));
        kernels_ = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(all) + 1, 1, 10'000);
    }
    template <class Reduce>
    times once(Reduce&& reduce, bool together) {
        for (int pe = 0; pe < rt_.n_pes(); ++pe) array_.copy_in(pe, std::vector<float>(array_.size(), 1.0f));
        if (together) compute_.give(kernels_);
        reduce();
        if (!together) compute_.give(kernels_);
        times made;
        made.compute = compute_.wait();
        made.reduce = seconds_of_round();
        return made;
    }
    [[nodiscard]] double seconds_of_round() const {
        float sum = 1;
        for (std::uint32_t round = 0; round < rounds_; ++round) sum *= static_cast<float>(rt_.n_pes());
        for (int pe = 0; pe < rt_.n_pes(); ++pe) {
            const auto sums = array_.copy_out(pe);
            if (std::any_of(sums.begin(), sums.end(), [&](float found) { return found != sum; })) {
                throw device_fault("sums are wrong");
            }
        }
        return static_cast<double>(time_.copy_out(0)[0]) * 1e-9 / (rounds_ - first_rounds);
    }

    runtime rt_;
    std::uint32_t rounds_;
    symmetric_array<float> array_;
    symmetric_array<std::uint64_t> time_;
    computing compute_;
    std::uint64_t kernels_ = 1;
    std::uint64_t ring_rounds_ = 0;
};

void show(const job& of, const std::string& devices, const std::string& style, const std::vector<times>& alone,
          const std::vector<times>& beside, bench::json_lines& json) {
    const auto median_us = [](const std::vector<times>& all, double times::*part) {
        std::vector<double> samples;
        for (const times& one : all) samples.push_back(one.*part * 1e6);
        return bench::spread_of(samples).median;
    };
    const double figures[] = {median_us(alone, &times::reduce), median_us(beside, &times::reduce),
                              median_us(alone, &times::compute), median_us(beside, &times::compute)};
    std::printf(
        "%-10s %-12s reduction alone %10.1f us   beside %10.1f us   kernels alone %11.1f us   beside %11.1f us\n",
        devices.c_str(), style.c_str(), figures[0], figures[1], figures[2], figures[3]);
    json.write({{"benchmark", "reduction_beside_compute"}, {"devices", devices}, {"style", style}},
               {{"bytes", static_cast<double>(of.bytes())},
                {"runs", static_cast<double>(alone.size())},
                {"kernels", static_cast<double>(of.kernels())},
                {"reduce_alone_us", figures[0]},
                {"reduce_beside_us", figures[1]},
                {"compute_alone_us", figures[2]},
                {"compute_beside_us", figures[3]}});
}

void measure(const bench::arguments& args, const std::string& devices, bench::json_lines& json) {
    const std::uint64_t runs = args.number("runs", 1, 1000);
    std::vector<times> alone, beside;
    {
        job of(args, devices);
        auto sums = of.rt().collectives();
        of.measure(runs, alone, beside, [&] { of.rt().run(of.together(), sums); });
        show(of, devices, "collective", alone, beside, json);
    }
    alone.clear();
    beside.clear();
    job of(args, devices);
    auto tags = of.rt().triggers({.tags = ring_all_reduce_ref::n_tags(of.rt().n_pes())});
    const ring_all_reduce<float> ring(of.rt().machine(), tags, of.array(), of.array().size());
    of.measure(runs, alone, beside, [&] { of.rt().run(of.by(ring.ref()), tags); });
    show(of, devices, "triggered", alone, beside, json);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"mib", "1"},
                                     {"blocks", "0"},
                                     {"compute-blocks", "0"},
                                     {"chain", "100000"},
                                     {"rounds", "10"},
                                     {"runs", "3"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measure(args, devices, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_reduction_beside_compute: %s\n", e.what());
        return 1;
    }
}
