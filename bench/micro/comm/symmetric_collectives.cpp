// Bandwidth of collectives over symmetric arrays inside a running kernel, with few blocks.
//
//   bench_symmetric_collectives --devices "cuda:0-1;cuda:0-3" --mib "1;16;256;1024" --blocks 16 --json FILE
// Arrays of floats; times are those of the whole grid of PE 0, by its own clock, over all rounds behind a first one.
// bus: what each PE sends and receives over its links, as NCCL's tests count it: 2 (n - 1) / n of the array for an
// all-reduce, (n - 1) / n of it for an all-gather and an all-to-all. All sums are checked.
#include <cstdio>
#include <exception>

#include "bench_support.hpp"
#include "laneway/runtime.hpp"

namespace {

using namespace laneway;

enum class what : std::uint32_t { all_reduce, all_gather, all_to_all };

struct collective_rounds {
    what kind;
    std::uint64_t count;  ///< floats of the array
    std::uint64_t rounds;
    symmetric_ref<float> array;
    symmetric_ref<float> other;
    symmetric_ref<std::uint64_t> time;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
        const std::uint64_t each = count / static_cast<std::uint64_t>(ctx.n_pes());
        std::uint64_t start = 0;
        for (std::uint64_t round = 0; round <= rounds; ++round) {
            if (round == 1) start = ctx.now_ns();
            status done = status::ok;
            switch (kind) {
                case what::all_reduce: done = sums.all_reduce(ctx, array[0], count, reduction::sum{}); break;
                case what::all_gather: done = sums.all_gather(ctx, array[0], each); break;
                default: done = sums.all_to_all(ctx, array[0], other[0], each);
            }
            if (done != status::ok) return;
        }
        if (ctx.rank() == 0) time.local(ctx)[0] = ctx.now_ns() - start;
    }
};

/// What all elements of PE 0 must be in the end, where all began as 1.
float expected(what kind, int n_pes, std::uint64_t rounds) {
    float value = 1;
    for (std::uint64_t round = 0; kind == what::all_reduce && round <= rounds; ++round) {
        value *= static_cast<float>(n_pes);
    }
    return value;
}

void measure(const bench::arguments& args, const std::string& devices, std::uint64_t mib, what kind,
             bench::json_lines& json) {
    const char* const names[] = {"all_reduce", "all_gather", "all_to_all"};
    const char* const name = names[static_cast<int>(kind)];
    options o;
    o.devices = devices;
    o.timeout_seconds = args.real("timeout");
    o.gpu_blocks = static_cast<int>(args.number("blocks"));
    runtime rt(o);
    const auto n = static_cast<std::uint64_t>(rt.n_pes());
    const std::uint64_t count = (mib << 20) / sizeof(float) / n * n, rounds = args.number("rounds");
    symmetric_array<float> array(rt.machine(), count), other(rt.machine(), kind == what::all_to_all ? count : 1);
    for (int pe = 0; pe < rt.n_pes(); ++pe) array.copy_in(pe, std::vector<float>(count, 1));
    const auto time = rt.allocate<std::uint64_t>(1);
    auto sums = rt.collectives();
    rt.run(collective_rounds{kind, count, rounds, array.ref(), other.ref(), time.ref()}, sums);
    for (const float value : (kind == what::all_to_all ? other : array).copy_out(0)) {
        if (value != expected(kind, rt.n_pes(), rounds)) throw device_fault(std::string(name) + ": a wrong element");
    }
    const double seconds = static_cast<double>(time.copy_out(0)[0]) / 1e9 / static_cast<double>(rounds);
    const double sent = static_cast<double>(count) * sizeof(float) * static_cast<double>(n - 1) /
                        static_cast<double>(n) * (kind == what::all_reduce ? 2 : 1);
    std::printf("%-10s %-10s %6llu MiB: %10.1f us, bus %8.2f GB/s\n", devices.c_str(), name,
                static_cast<unsigned long long>(mib), seconds * 1e6, sent / seconds / 1e9);
    json.write({{"benchmark", "symmetric_collectives"}, {"devices", devices}, {"collective", name}},
               {{"mib", static_cast<double>(mib)},
                {"blocks", static_cast<double>(o.gpu_blocks)},
                {"rounds", static_cast<double>(rounds)},
                {"seconds", seconds},
                {"bus_bytes_per_s", sent / seconds}});
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
            for (const auto& mib : args.list("mib")) {
                for (const what kind : {what::all_reduce, what::all_gather, what::all_to_all}) {
                    measure(args, devices, std::stoull(mib), kind, json);
                }
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_symmetric_collectives: %s\n", e.what());
        return 1;
    }
}
