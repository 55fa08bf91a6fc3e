// Bandwidth of NCCL's collectives on large arrays, launched by the host. Arrays, values, checks and rates are those of
// bench_symmetric_collectives.
//
//   nccl_collectives --pes "2;4" --mib "1;16;256;1024" --rounds 10 --json FILE
// An all-reduce and an all-to-all go from one array to another, an all-gather in place. An all-to-all is a group of
// ncclSend and ncclRecv. Times are those of events in the stream, over all rounds behind a first one, on the PE where
// they take longest. NCCL chooses how many blocks it takes (NCCL_MAX_CTAS).
#include "bench_support.hpp"
#include "collective_values.hpp"
#include "nccl_process.cuh"
#include "timed_stream.cuh"

namespace {

using namespace laneway;
using bench::collective_kind;

constexpr int threads = 256;

__global__ void bring_values(float* values, std::uint64_t count, int pe) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        values[i] = bench::brought_value(pe, i);
    }
}

__global__ void count_wrong(collective_kind kind, const float* values, std::uint64_t count, int pes, int pe,
                            unsigned long long* wrong) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        if (values[i] != bench::value_behind(kind, pes, pe, i, count, 1)) atomicAdd(wrong, 1ull);
    }
}

/// The arrays of one GPU.
class collective_job {
public:
    collective_job(const bench::team& pes, ncclComm_t nccl, std::uint64_t mib)
        : pes_(pes), nccl_(nccl), each_((mib << 18) / static_cast<std::uint64_t>(pes.size())),
          given_words_(count() / 2 + 1), got_words_(count() / 2 + 1), wrong_(1) {}

    [[nodiscard]] std::uint64_t count() const { return each_ * static_cast<std::uint64_t>(pes_.size()); }

    /// Seconds of a call.
    double run(collective_kind kind, std::uint64_t rounds) {
        float* const brings = kind == collective_kind::all_gather ? got() : given();
        got_words_.clear(count() / 2 + 1);
        bench::check(cudaDeviceSynchronize(), "clearing");  // not in the order of the stream
        bring_values<<<bench::full_grid(bring_values, threads), threads, 0, stream_.get()>>>(brings, count(),
                                                                                             pes_.rank());
        call(kind);
        stream_.begin();
        for (std::uint64_t round = 0; round < rounds; ++round) call(kind);
        stream_.end();
        const double seconds = stream_.wait() / static_cast<double>(rounds);
        check(kind);
        return seconds;
    }

private:
    [[nodiscard]] float* given() const { return reinterpret_cast<float*>(given_words_.data()); }
    [[nodiscard]] float* got() const { return reinterpret_cast<float*>(got_words_.data()); }

    void call(collective_kind kind) {
        const std::uint64_t mine = each_ * static_cast<std::uint64_t>(pes_.rank());
        if (kind == collective_kind::all_reduce) {
            bench::check(ncclAllReduce(given(), got(), count(), ncclFloat, ncclSum, nccl_, stream_.get()),
                         "all-reduce");
        } else if (kind == collective_kind::all_gather) {
            bench::check(ncclAllGather(got() + mine, got(), each_, ncclFloat, nccl_, stream_.get()), "all-gather");
        } else {
            exchange();
        }
    }
    void exchange() {
        bench::check(ncclGroupStart(), "group");
        for (int pe = 0; pe < pes_.size(); ++pe) {
            const std::uint64_t at = each_ * static_cast<std::uint64_t>(pe);
            bench::check(ncclSend(given() + at, each_, ncclFloat, pe, nccl_, stream_.get()), "send");
            bench::check(ncclRecv(got() + at, each_, ncclFloat, pe, nccl_, stream_.get()), "receive");
        }
        bench::check(ncclGroupEnd(), "group");
    }
    void check(collective_kind kind) {
        wrong_.clear(1);
        count_wrong<<<bench::full_grid(count_wrong, threads), threads>>>(
            kind, got(), count(), pes_.size(), pes_.rank(), reinterpret_cast<unsigned long long*>(wrong_.data()));
        bench::check(cudaGetLastError(), "launching a check");
        if (const std::uint64_t wrong = wrong_.read(0); wrong != 0) {
            throw device_fault(std::string("nccl_collectives: ") + bench::name_of(kind) + ": PE " +
                               std::to_string(pes_.rank()) + " has " + std::to_string(wrong) + " wrong elements of " +
                               std::to_string(count()));
        }
    }

    const bench::team& pes_;
    ncclComm_t nccl_;
    std::uint64_t each_;  ///< floats of the part of a PE
    bench::device_words given_words_;
    bench::device_words got_words_;
    bench::device_words wrong_;
    bench::timed_stream stream_;
};

void tell(const bench::team& pes, const bench::arguments& args, collective_kind kind, std::uint64_t mib,
          std::uint64_t count, double seconds) {
    const double rate = bench::bus_bytes(kind, static_cast<double>(count) * sizeof(float), pes.size()) / seconds;
    const std::string devices = bench::gpu_names(pes.size());
    std::printf("%-10s NCCL %-10s %6llu MiB: %10.1f us, bus %8.2f GB/s\n", devices.c_str(), bench::name_of(kind),
                static_cast<unsigned long long>(mib), seconds * 1e6, rate / 1e9);
    bench::json_lines(args.text("json"))
        .write({{"benchmark", "symmetric_collectives"},
                {"devices", devices},
                {"style", "nccl"},
                {"collective", bench::name_of(kind)}},
               {{"mib", static_cast<double>(mib)},
                {"rounds", static_cast<double>(args.number("rounds"))},
                {"seconds", seconds},
                {"bus_bytes_per_s", rate}});
}

void run_pe(bench::team& pes, const bench::arguments& args) {
    const ncclComm_t nccl = bench::start_nccl(pes);
    for (const std::uint64_t mib : args.numbers("mib", ';', 1, 1u << 20)) {
        collective_job job(pes, nccl, mib);
        for (const collective_kind kind : bench::all_collectives) {
            pes.meet();
            const std::vector<double> seconds = pes.gather(job.run(kind, args.number("rounds", 1, 1u << 20)));
            const double longest = *std::ranges::max_element(seconds);
            if (pes.rank() == 0) tell(pes, args, kind, mib, job.count(), longest);
        }
    }
    bench::check(ncclCommDestroy(nccl), "end");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(
            argc, argv, {{"pes", "2"}, {"mib", "1;16"}, {"rounds", "10"}, {"timeout", "120"}, {"json", ""}});
        (void)args.number("rounds", 1, 1u << 20);
        (void)args.numbers("mib", ';', 1, 1u << 20);
        for (const std::uint64_t pes : args.numbers("pes", ';', 1, bench::team::most)) {
            bench::run_processes(static_cast<int>(pes), args.real("timeout"),
                                 [&](bench::team& team) { run_pe(team, args); });
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_collectives: %s\n", failure.what());
        return 1;
    }
}
