// Times of collectives inside a kernel: barriers, and all-reduces of one value of each lane and of arrays of doubles,
// by groups of a warp, a block or the grid of each PE; beside them a plain all-reduce of one block, which stores tagged
// words into all peers and adds up what arrives, and does nothing else.
//
//   bench_collectives --devices "cuda:0-1;cuda:0-3" --rounds 2000 --json FILE
// Rounds follow each other at once; between two of them the lanes divide the sums by the number of PEs, so that in the
// end all elements must be the mean of what they were. Times are those of a lane of PE 0, by its own clock, of which
// the step is 32 ns on GPUs: the mean of all rounds with what lies between them, and quantiles of single calls.
#include <cmath>
#include <exception>

#include "bench_support.hpp"
#include "laneway/comm/collective/collectives.hpp"
#include "laneway/comm/collective/collectives_memory.hpp"

namespace {

using namespace laneway;

enum class what : std::uint32_t { barrier, value, array, plain };

struct work {
    what kind;
    group who;
    std::uint32_t count;   ///< elements of the array
    std::uint64_t rounds;  ///< of which the first tenth is not timed
    double lanes;          ///< of the group, on all PEs
};

/// All working warps are in it; those that no group needs return.
struct collectives_loop {
    static constexpr int cuda_warps = 32;

    collectives_ref ref;
    collectives_ref plain;  ///< memory of the plain all-reduce
    work mine;
    double* array;
    std::uint64_t* times;  ///< of each round, and of all

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto idle = [] {};
        const group_position position{ctx.block(), ctx.warp(), ctx.n_warps(),
                                      ctx.warp() * ctx.n_blocks() + ctx.block()};
        collectives<Ctx, decltype(idle)> sums(ref, position, ctx.shared(), idle);
        sums.open(ctx);
        ctx.sync_block();
        const bool in_block = mine.who == group::grid || ctx.block() == 0;
        if (in_block && (mine.who != group::warp || ctx.warp() == 0)) loop(ctx, sums, position);
        sums.leave(ctx);
    }

private:
    template <class Ctx, class Sums>
    LANEWAY_FN void loop(Ctx& ctx, Sums& sums, const group_position& position) const {
        const bool clock = ctx.pe() == 0 && position.pe_warp == 0 && ctx.lane() == 0;
        const bool alone = mine.who == group::warp, grid = mine.who == group::grid;
        const int warp = alone ? 0 : grid ? position.pe_warp : position.warp;
        const int warps = alone ? 1 : grid ? position.warps * ctx.n_blocks() : position.warps;
        const auto lane = static_cast<std::uint32_t>(warp * Ctx::warp_lanes + ctx.lane());
        const auto lanes = static_cast<std::uint32_t>(warps * Ctx::warp_lanes);
        const double share = 1.0 / ctx.n_pes();
        double value = array[lane % mine.count];
        std::uint64_t begin = ctx.now_ns();
        for (std::uint64_t round = 0; round < mine.rounds; ++round) {
            const std::uint64_t start = ctx.now_ns();
            if (round == mine.rounds / 10) begin = start;
            if (!one(ctx, sums, round, lane, lanes, value)) return;
            if (clock) times[round] = ctx.now_ns() - start;
            if (mine.kind == what::value) value /= mine.lanes;
            if (mine.kind != what::array && mine.kind != what::plain) continue;
            for (std::uint32_t e = lane; e < mine.count; e += lanes) array[e] *= share;
        }
        if (clock) times[mine.rounds] = ctx.now_ns() - begin;
        if (mine.kind == what::value && lane < mine.count) array[lane] = value;
    }

    template <class Ctx, class Sums>
    LANEWAY_FN bool one(Ctx& ctx, Sums& sums, std::uint64_t round, std::uint32_t lane, std::uint32_t lanes,
                        double& value) const {
        switch (mine.kind) {
            case what::barrier: return sums.barrier(ctx, mine.who) == status::ok;
            case what::array: return sums.all_reduce(ctx, array, mine.count, reduction::sum{}, mine.who) == status::ok;
            case what::plain: return add_plainly(ctx, round + 1, lane, lanes);
            default: break;
        }
        const auto sum = sums.all_reduce(ctx, value, reduction::sum{}, mine.who);
        value = sum.value;
        return sum.code == status::ok;
    }

    /// What the hardware can do: no meetings but CUDA's own, no headers, no deadline.
    template <class Ctx>
    LANEWAY_FN bool add_plainly(Ctx& ctx, std::uint64_t round, std::uint32_t lane, std::uint32_t lanes) const {
        const std::uint64_t slot = plain.words_of(group::grid).slot(0, round);
        const auto tag = static_cast<std::uint32_t>(round);
        for (std::uint32_t e = lane; e < mine.count; e += lanes) {
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                if (pe != ctx.pe()) plain.to[pe].put(ctx, slot + 2 * e, tag, array[e]);
            }
        }
        for (std::uint32_t e = lane; e < mine.count; e += lanes) {
            double sum = 0;
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                double theirs = array[e];
                while (pe != ctx.pe() && !plain.from[pe].take(ctx, slot + 2 * e, tag, theirs, tagged_load_order<Ctx>)) {
                    if (Ctx::warp_lanes == 1) ctx.pause();
                    if (stopped(ctx)) return false;
                }
                sum += theirs;
            }
            array[e] = sum;
        }
        ctx.sync_block();
        return true;
    }
};

/// The PEs of a list, and what they measure.
class bench_job {
public:
    bench_job(const std::string& devices, const bench::arguments& args)
        : machine_(devices), devices_(devices), rounds_(std::max<std::uint64_t>(args.number("rounds"), 10)),
          timeout_seconds_(args.real("timeout")) {
        for (int pe = 0; pe < machine_.n_pes(); ++pe) {
            const bool gpu = machine_.device(pe)->is_gpu();
            launch_shape shape{gpu ? 1 : static_cast<int>(args.number("threads")),
                               gpu ? collectives_loop::cuda_warps : 1, collective_bytes};
            const int resident = machine_.resident_blocks<collectives_loop>(pe, shape);
            const auto wanted = static_cast<int>(args.number("blocks"));
            if (gpu) shape.blocks = wanted > 0 ? std::min(wanted, resident) : resident;
            shapes_.push_back(shape);
            counts_.push_back({static_cast<std::uint32_t>(shape.blocks * shape.warps_per_block),
                               static_cast<std::uint32_t>(shape.blocks)});
            arrays_.emplace_back(machine_.device(pe), max_elements);
            times_.emplace_back(machine_.device(pe), rounds_ + 1);
        }
        sums_.emplace(machine_, collectives_plan({}, counts_));
    }

    void measure(what kind, group who, std::uint32_t count, const std::string& name, bench::json_lines& json) {
        work mine{kind, who, count, rounds_, 0};
        for (int pe = 0; pe < machine_.n_pes(); ++pe) mine.lanes += lanes_in(pe, who);
        // Its tags start anew with each loop.
        collectives_memory plain(machine_, collectives_plan({}, counts_));
        plain.begin(counts_);
        sums_->begin(counts_);
        std::vector<collectives_loop> programs;
        for (int pe = 0; pe < machine_.n_pes(); ++pe) {
            const auto p = static_cast<std::size_t>(pe);
            std::vector<double> values(max_elements);
            for (std::size_t e = 0; e < values.size(); ++e) values[e] = start(pe, e);
            arrays_[p].copy_in(values);
            programs.push_back({sums_->ref(pe), plain.ref(pe), mine, arrays_[p].data(), times_[p].data()});
        }
        machine_.run(programs, shapes_, timeout_seconds_, [] { return std::string{}; });
        sums_->end();
        check(mine, name);
        tell(mine, name, json);
    }

    static constexpr std::size_t max_elements = 8192;

private:
    static constexpr std::size_t collective_bytes = sizeof(collective_state);

    static double start(int pe, std::size_t element) { return static_cast<double>(element % 97) + 3.0 * pe; }

    /// Lanes of a PE that are in the first group of a kind.
    [[nodiscard]] double lanes_in(int pe, group who) const {
        const auto p = static_cast<std::size_t>(pe);
        const auto kind = machine_.device(pe)->id().kind;
        const int width = kind == device_kind::cuda ? 32 : kind == device_kind::cpu ? 1 : checked::context::warp_lanes;
        const int in_block = shapes_[p].warps_per_block;
        return width * (who == group::warp ? 1.0 : who == group::block ? in_block : counts_[p].warps);
    }

    /// The mean of what the group began with: of its arrays, or of its lanes.
    [[nodiscard]] double mean(const work& mine, std::size_t element) const {
        double sum = 0;
        for (int pe = 0; pe < machine_.n_pes(); ++pe) {
            const double weight =
                mine.kind == what::value ? lanes_in(pe, mine.who) / mine.lanes : 1.0 / machine_.n_pes();
            sum += weight * start(pe, element);
        }
        return sum;
    }

    /// All PEs must hold it.
    void check(const work& mine, const std::string& name) const {
        if (mine.kind == what::barrier) return;
        for (int pe = 0; pe < machine_.n_pes(); ++pe) {
            const auto found = arrays_[static_cast<std::size_t>(pe)].copy_out();
            for (std::size_t e = 0; e < mine.count; ++e) {
                const double wanted = mean(mine, e);
                if (std::abs(found[e] - wanted) <= 1e-9 * std::abs(wanted) + 1e-12) continue;
                throw device_fault(name + ": element " + std::to_string(e) + " of PE " + std::to_string(pe) + " is " +
                                   std::to_string(found[e]) + " and should be " + std::to_string(wanted));
            }
        }
    }

    void tell(const work& mine, const std::string& name, bench::json_lines& json) const {
        std::vector<std::uint64_t> times = times_[0].copy_out();
        const auto timed = static_cast<double>(rounds_ - rounds_ / 10);
        const double mean = static_cast<double>(times.back()) / timed;
        times.pop_back();
        times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(rounds_ / 10));
        std::sort(times.begin(), times.end());
        const auto quantile = [&](double q) {
            return static_cast<double>(times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))]);
        };
        const char* const groups[] = {"warp", "block", "grid"};
        const char* const who = groups[static_cast<std::size_t>(mine.who)];
        std::printf("%-12s %-6s %-18s mean %9.0f ns   median %9.0f ns   99 %% %9.0f ns\n", devices_.c_str(), who,
                    name.c_str(), mean, quantile(0.5), quantile(0.99));
        json.write({{"benchmark", "collectives"}, {"devices", devices_}, {"group", who}, {"operation", name}},
                   {{"bytes", static_cast<double>(mine.count * sizeof(double))},
                    {"blocks", static_cast<double>(counts_[0].blocks)},
                    {"rounds", timed},
                    {"mean_ns", mean},
                    {"median_ns", quantile(0.5)},
                    {"p99_ns", quantile(0.99)}});
    }

    machine machine_;
    std::string devices_;
    std::uint64_t rounds_;
    double timeout_seconds_;
    std::vector<launch_shape> shapes_;
    std::vector<working_counts> counts_;
    std::vector<buffer<double>> arrays_;
    std::vector<buffer<std::uint64_t>> times_;
    std::optional<collectives_memory> sums_;
};

void measure_all(const std::string& devices, const bench::arguments& args, bench::json_lines& json) {
    bench_job job(devices, args);
    for (const group who : {group::warp, group::block, group::grid}) {
        job.measure(what::barrier, who, 1, "barrier", json);
        job.measure(what::value, who, 1, "value of each lane", json);
        for (const std::uint32_t count : {1u, 128u, 1024u, 8192u}) {
            if (who == group::warp && count > 1024) continue;  // it is not what one warp is for
            const std::string bytes = std::to_string(count * sizeof(double)) + " B";
            job.measure(what::array, who, count, bytes, json);
            if (who == group::block) job.measure(what::plain, who, count, bytes + ", plain", json);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv,
                                    {{"devices", "cpu:2"},
                                     {"rounds", "2000"},
                                     {"threads", "1"},
                                     {"blocks", "0"},
                                     {"timeout", "60"},
                                     {"json", ""}});
        bench::json_lines json(args.text("json"));
        for (const auto& devices : args.list("devices")) measure_all(devices, args, json);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_collectives: %s\n", e.what());
        return 1;
    }
}
