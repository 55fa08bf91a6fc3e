// Messages with NVSHMEM, from lanes, warps or blocks of a kernel: put with signal. To be read beside `laneway study
// messaging`, model put.
//
//   nvshmem_messages --pes "2;4" --patterns "ping-pong;stream" --bytes "8;4096;1048576" --lanes "1;1024" --width block
//                    --groups 1 --window 4 --rounds 1000 --json FILE
// lanes: that send messages of 8 bytes each in the pattern "rate", a stream of lanes; empty for none. Times are a
// lane's own clock; its step is 32 ns.
#include "messages_kernel.cuh"
#include "nvshmem_process.cuh"

namespace {

using namespace laneway;

constexpr const char* model = "NVSHMEM put_signal";

struct by_put_signal {
    template <class Group>
    __device__ void put(const Group& group, std::uint64_t* to, const std::uint64_t* from, std::uint64_t* flag,
                        std::uint64_t value, int pe) const {
        const std::size_t bytes = group.job.words * 8;
        if (group.lanes == bench::group_width::lane) {
            nvshmem_putmem_signal(to, from, bytes, flag, value, NVSHMEM_SIGNAL_SET, pe);
        } else if (group.lanes == bench::group_width::warp) {
            nvshmemx_putmem_signal_warp(to, from, bytes, flag, value, NVSHMEM_SIGNAL_SET, pe);
        } else {
            nvshmemx_putmem_signal_block(to, from, bytes, flag, value, NVSHMEM_SIGNAL_SET, pe);
        }
    }
    __device__ void set(std::uint64_t* flag, std::uint64_t value, int pe) const {
        nvshmemx_signal_op(flag, value, NVSHMEM_SIGNAL_SET, pe);
    }
    __device__ void wait(std::uint64_t* flag, std::uint64_t value) const {
        bench::wait_until([&] { return nvshmem_uint64_test(flag, NVSHMEM_CMP_GE, value) != 0; });
    }

    static int most_blocks(const void* kernel, void** arguments) {
        int most = 0;
        if (nvshmemx_collective_launch_query_gridsize(kernel, bench::message_threads, arguments, 0, &most) != 0) {
            throw system_error("NVSHMEM names no size for the grid");
        }
        return most;
    }
    static void launch(const void* kernel, unsigned blocks, void** arguments) {
        nvshmem_barrier_all();
        if (nvshmemx_collective_launch(kernel, blocks, bench::message_threads, arguments, 0, nullptr) != 0) {
            throw system_error("NVSHMEM cannot launch");
        }
    }
};

void run_pe(bench::team& pes, const bench::arguments& args) {
    const bench::nvshmem_process nvshmem(pes, args.number("heap"));
    bench::for_each_groups(args, [&](const bench::message_job& job, const std::string& pattern,
                                     const std::string& width, std::uint64_t window) {
        const auto n = static_cast<std::uint64_t>(pes.size());
        const bench::symmetric_words memory(bench::message_words::of_all(job, window, n));
        bench::measure_groups(pes, args, job, model, pattern, width, window, memory.data(), by_put_signal{});
    });
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(argc, argv, bench::group_arguments({{"heap", "1073741824"}}));
        bench::for_each_team(args, [&](bench::team& pes) { run_pe(pes, args); });
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nvshmem_messages: %s\n", failure.what());
        return 1;
    }
}
