// Random 8-byte updates as a coprocessor program does them: kernels draw updates and sort them by owner, NCCL exchanges
// what goes to others, kernels apply what has come, again and again from the host. Two streams, so that a round is
// drawn and exchanged while another is applied. The same table, stream, number of updates and replay as bench_gups.
//
//   nccl_updates --pes "1;2;4" --table-log2 29 --updates-log2 31 --round-log2 24 --runs 5 --json FILE
// round-log2: updates that a PE draws in one round.
#include <nccl.h>

#include "updates_job.cuh"

namespace {

using namespace laneway;

constexpr int tile = 8;  ///< updates a thread draws before its block writes them out
constexpr int max_owners = 64;

void check(ncclResult_t code, const char* what) {
    if (code != ncclSuccess) throw system_error(std::string("NCCL, ") + what + ": " + ncclGetErrorString(code));
}

/// Updates for each PE: a word that counts them, then the updates. All parts have the same size, so that a round needs
/// no word from the host.
struct parcels {
    std::uint64_t* words;
    std::uint64_t capacity;

    [[nodiscard]] __host__ __device__ std::uint64_t* of(int pe) const {
        return words + static_cast<std::uint64_t>(pe) * (capacity + 1);
    }
};

/// Threads that draw: `count` of all PEs, on this launch those from `first` on. Each keeps its place in the stream.
struct drawers {
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t* values;  ///< one for each thread of the launch
};

/// Each thread draws the next `share` updates of its part, after `done` of them, and sorts them by owner.
__global__ void draw(bench::updates_job job, drawers who, std::uint64_t done, std::uint64_t share, int pes, parcels out,
                     std::uint64_t* refused) {
    __shared__ std::uint32_t counts[max_owners];
    __shared__ std::uint64_t bases[max_owners];
    const std::uint64_t me = who.first + bench::thread_number();
    std::uint64_t i = job.begin(me, who.count) + done;
    const std::uint64_t last = min(i + share, job.begin(me + 1, who.count));
    std::uint64_t value = done == 0 ? job.stream.at(i) : who.values[bench::thread_number()];
    for (std::uint64_t step = 0; step < share; step += tile) {
        std::uint64_t values[tile];
        std::uint32_t places[tile];
        if (threadIdx.x < static_cast<unsigned>(pes)) counts[threadIdx.x] = 0;
        __syncthreads();
        for (int k = 0; k < tile; ++k) {
            if (i + static_cast<std::uint64_t>(k) >= last) break;
            value = apps::random_stream::after(value);
            values[k] = value;
            places[k] = atomicAdd(&counts[job.map.owner(job.map.index(value))], 1u);
        }
        __syncthreads();
        if (threadIdx.x < static_cast<unsigned>(pes)) {
            bases[threadIdx.x] = atomicAdd(reinterpret_cast<unsigned long long*>(out.of(static_cast<int>(threadIdx.x))),
                                           counts[threadIdx.x]);
        }
        __syncthreads();
        for (int k = 0; k < tile && i < last; ++k, ++i) {
            const int owner = job.map.owner(job.map.index(values[k]));
            const std::uint64_t place = bases[owner] + places[k];
            if (place < out.capacity) {
                out.of(owner)[1 + place] = values[k];
            } else {
                atomicAdd(reinterpret_cast<unsigned long long*>(refused), 1ull);
            }
        }
    }
    who.values[bench::thread_number()] = value;
}

/// Applies one parcel.
__global__ void apply(bench::updates_job job, const std::uint64_t* parcel, std::uint64_t capacity,
                      std::uint64_t* table) {
    const std::uint64_t count = min(parcel[0], capacity);
    for (std::uint64_t i = bench::thread_number(); i < count; i += bench::thread_count()) {
        const std::uint64_t value = parcel[1 + i];
        bench::apply_xor(table + job.map.place(job.map.index(value)), value);
    }
}

/// Buffers, stream and drawing threads of every second round.
class lane_of_rounds {
public:
    /// `which`: number of this one among `of` on all PEs.
    lane_of_rounds(int pes, std::uint64_t capacity, int blocks, std::uint64_t which, std::uint64_t of)
        : threads_(static_cast<std::uint64_t>(blocks) * bench::update_threads), blocks_(blocks), values_(threads_),
          sent_(static_cast<std::uint64_t>(pes) * (capacity + 1)),
          come_(static_cast<std::uint64_t>(pes) * (capacity + 1)), out_{sent_.data(), capacity},
          in_{come_.data(), capacity}, who_{which * threads_, of * threads_, values_.data()} {
        bench::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    }
    lane_of_rounds(const lane_of_rounds&) = delete;
    lane_of_rounds& operator=(const lane_of_rounds&) = delete;
    ~lane_of_rounds() { (void)cudaStreamDestroy(stream_); }  // a failure shows at the next call

    void round(const bench::team& pes, ncclComm_t nccl, const bench::updates_job& job, std::uint64_t done,
               std::uint64_t share, std::uint64_t* table, std::uint64_t* refused) {
        for (int pe = 0; pe < pes.size(); ++pe) bench::check(cudaMemsetAsync(out_.of(pe), 0, 8, stream_), "counts");
        draw<<<blocks_, bench::update_threads, 0, stream_>>>(job, who_, done, share, pes.size(), out_, refused);
        check(ncclGroupStart(), "group");
        for (int pe = 0; pe < pes.size(); ++pe) {
            if (pe == pes.rank()) continue;
            check(ncclSend(out_.of(pe), out_.capacity + 1, ncclUint64, pe, nccl, stream_), "send");
            check(ncclRecv(in_.of(pe), in_.capacity + 1, ncclUint64, pe, nccl, stream_), "receive");
        }
        check(ncclGroupEnd(), "exchange");
        const int appliers = bench::full_grid(apply, bench::update_threads);
        for (int pe = 0; pe < pes.size(); ++pe) {
            const std::uint64_t* const parcel = pe == pes.rank() ? out_.of(pe) : in_.of(pe);
            apply<<<appliers, bench::update_threads, 0, stream_>>>(job, parcel, in_.capacity, table);
        }
        bench::check(cudaGetLastError(), "launching a round");
    }

private:
    std::uint64_t threads_;
    int blocks_;
    bench::device_words values_;
    bench::device_words sent_;
    bench::device_words come_;
    parcels out_;
    parcels in_;
    drawers who_;
    cudaStream_t stream_ = nullptr;
};

void run_pe(bench::team& pes, const bench::arguments& args) {
    bench::check(cudaSetDevice(pes.rank()), "choosing the GPU");
    ncclUniqueId id{};
    if (pes.rank() == 0) check(ncclGetUniqueId(&id), "unique id");
    id = pes.from_first(id);
    ncclComm_t nccl = nullptr;
    check(ncclCommInitRank(&nccl, pes.size(), id, pes.rank()), "start");
    const int blocks = bench::full_grid(draw, bench::update_threads);
    const std::uint64_t threads = static_cast<std::uint64_t>(blocks) * bench::update_threads;
    const std::uint64_t share = std::max<std::uint64_t>(1, (std::uint64_t{1} << args.number("round-log2")) / threads);
    const double mean = static_cast<double>(share * threads) / pes.size();
    // Updates fall at random: eight standard deviations, and a sixteenth for what the stream is short of random.
    const auto capacity = std::min(share * threads, static_cast<std::uint64_t>(mean + mean / 16 + 8 * std::sqrt(mean)));
    const bench::device_words table(std::uint64_t{1} << args.number("table-log2"));
    const bench::device_words refused(1);
    const auto rank = static_cast<std::uint64_t>(pes.rank());
    const std::uint64_t lanes = 2 * static_cast<std::uint64_t>(pes.size());
    lane_of_rounds even(pes.size(), capacity, blocks, 2 * rank, lanes);
    lane_of_rounds odd(pes.size(), capacity, blocks, 2 * rank + 1, lanes);
    bench::measure_updates(
        pes, args, table.data(), "nccl rounds", [&](const bench::updates_job& job, std::uint64_t* words) {
            const std::uint64_t of_a_thread = (job.updates + lanes * threads - 1) / (lanes * threads);
            for (std::uint64_t done = 0; done < of_a_thread; done += share) {
                even.round(pes, nccl, job, done, share, words, refused.data());
                odd.round(pes, nccl, job, done, share, words, refused.data());
            }
            bench::check(cudaDeviceSynchronize(), "updating");
            if (refused.read(0) != 0) throw device_fault("a parcel was too small for its updates");
        });
    check(ncclCommDestroy(nccl), "end");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv, bench::update_arguments({{"round-log2", "24"}}));
        bench::for_each_size(args, [&](bench::team& pes) {
            if (pes.size() > max_owners) throw usage_error("at most 64 PEs");
            run_pe(pes, args);
        });
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nccl_updates: %s\n", failure.what());
        return 1;
    }
}
