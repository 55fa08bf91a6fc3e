// Bandwidth of collectives over symmetric arrays inside a running kernel, with few blocks.
//
//   bench_symmetric_collectives --devices "cuda:0-1;cuda:0-3" --mib "1;16;256;1024" --blocks 16 --json FILE
// Arrays of floats; times are those of the whole grid of PE 0, by its own clock, over all rounds behind a first one.
// bus: what each PE sends and receives over its links, as NCCL's tests count it: 2 (n - 1) / n of the array for an
// all-reduce, (n - 1) / n of it for an all-gather and an all-to-all. Every PE checks every element of its own.
#include <cstdio>
#include <exception>

#include "bench_support.hpp"
#include "collective_values.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

using bench::collective_kind;

struct collective_rounds {
    collective_kind kind;
    std::uint64_t count;  ///< floats of the array
    std::uint64_t rounds;
    symmetric_ref<float> array;
    symmetric_ref<float> other;
    symmetric_ref<std::uint64_t> time;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
        const std::uint64_t lanes = ctx.local_size(), lane = ctx.local_rank();
        for (std::uint64_t i = lane; i < count; i += lanes) {
            array.local(ctx)[i] = bench::brought_value(ctx.pe(), i);
            if (kind == collective_kind::all_to_all) other.local(ctx)[i] = 0;
        }
        std::uint64_t start = 0;
        for (std::uint64_t round = 0; round <= rounds; ++round) {
            if (round == 1) start = ctx.now_ns();
            if (call(ctx, sums) != status::ok) return;
        }
        if (ctx.rank() == 0) time.local(ctx)[0] = ctx.now_ns() - start;
        check(ctx, lane, lanes);
    }

private:
    template <class Ctx, class Sums>
    LANEWAY_FN status call(Ctx& ctx, Sums& sums) const {
        const std::uint64_t each = count / static_cast<std::uint64_t>(ctx.n_pes());
        switch (kind) {
            case collective_kind::all_reduce: return sums.all_reduce(ctx, array[0], count, reduction::sum{});
            case collective_kind::all_gather: return sums.all_gather(ctx, array[0], each);
            default: return sums.all_to_all(ctx, array[0], other[0], each);
        }
    }
    template <class Ctx>
    LANEWAY_FN void check(Ctx& ctx, std::uint64_t lane, std::uint64_t lanes) const {
        const auto found = (kind == collective_kind::all_to_all ? other : array).local(ctx);
        std::uint64_t unlike = 0;
        for (std::uint64_t i = lane; i < count; i += lanes) {
            const float value = found[i];
            if (value != bench::value_behind(kind, ctx.n_pes(), ctx.pe(), i, count, rounds + 1)) ++unlike;
        }
        if (unlike != 0) ctx.fetch_add(&wrong.local(ctx)[0], unlike, order::relaxed, scope::device);
    }
};

void tell(const std::string& devices, const options& o, collective_kind kind, std::uint64_t mib, std::uint64_t rounds,
          double seconds, double sent, bench::json_lines& json) {
    std::printf("%-10s %-10s %6llu MiB: %10.1f us, bus %8.2f GB/s\n", devices.c_str(), bench::name_of(kind),
                static_cast<unsigned long long>(mib), seconds * 1e6, sent / seconds / 1e9);
    json.write({{"benchmark", "symmetric_collectives"}, {"devices", devices}, {"collective", bench::name_of(kind)}},
               {{"mib", static_cast<double>(mib)},
                {"blocks", static_cast<double>(o.gpu_blocks)},
                {"rounds", static_cast<double>(rounds)},
                {"seconds", seconds},
                {"bus_bytes_per_s", sent / seconds}});
}

void measure(const bench::arguments& args, const std::string& devices, std::uint64_t mib, collective_kind kind,
             bench::json_lines& json) {
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    o.gpu_blocks = static_cast<int>(args.number("blocks"));
    runtime rt(o);
    const auto n = static_cast<std::uint64_t>(rt.n_pes());
    // Sums grow by the number of PEs in each round, and floats end at 2^128.
    const std::uint64_t count = (mib << 20) / sizeof(float) / n * n, rounds = args.number("rounds", 1, 25);
    const auto array = rt.allocate<float>(count);
    const auto other = rt.allocate<float>(kind == collective_kind::all_to_all ? count : 1);
    const auto time = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(1);
    auto sums = rt.collectives();
    rt.run(collective_rounds{kind, count, rounds, array.ref(), other.ref(), time.ref(), wrong.ref()}, sums);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const std::uint64_t unlike = wrong.copy_out(pe)[0];
        if (unlike == 0) continue;
        throw device_fault(std::string(bench::name_of(kind)) + ": PE " + std::to_string(pe) + " has " +
                           std::to_string(unlike) + " wrong elements of " + std::to_string(count));
    }
    const double seconds = static_cast<double>(time.copy_out(0)[0]) / 1e9 / static_cast<double>(rounds);
    const double sent = bench::bus_bytes(kind, static_cast<double>(count) * sizeof(float), rt.n_pes());
    tell(devices, o, kind, mib, rounds, seconds, sent, json);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"mib", "1;16"},
                                     {"blocks", "16"},
                                     {"rounds", "10"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) {
            for (const std::uint64_t mib : args.numbers("mib", ';', 1, 1u << 20)) {
                for (const auto kind : bench::all_collectives) {
                    measure(args, devices, mib, kind, json);
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_symmetric_collectives: %s\n", e.what());
        return 1;
    }
}
