// Messages with NVSHMEM, from lanes, warps or blocks of a kernel: put with signal. To be read beside `laneway study
// messaging`, model put.
//
//   nvshmem_messages --pes "2;4" --patterns "ping-pong;rate" --bytes "8;4096;1048576" --lanes "1;1024" --width block
//                    --groups 1 --window 4 --rounds 1000 --json FILE
// lanes: that send messages of 8 bytes each in the pattern "rate", a stream of lanes. Times are a lane's own clock; its
// step is 32 ns.
#include "messages_job.cuh"
#include "nvshmem_process.cuh"

namespace {

using namespace laneway;
using bench::message_job;
using bench::message_pattern;

constexpr unsigned threads = 256;

enum class width { lane, warp, block };

/// Symmetric memory, but for times: earliest start and latest end, or each round there and back.
struct message_words {
    std::uint64_t* out;
    std::uint64_t* in;       ///< by buffer, source and group
    std::uint64_t* arrived;  ///< by source and group: messages that have come
    std::uint64_t* freed;    ///< by group: those that the receiver has done with
    std::uint64_t* times;
    unsigned long long* right;
};

__device__ std::uint64_t now_ns() {
    std::uint64_t ns = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

/// A group, as one of its threads sees it.
struct message_group {
    message_job job;
    message_words at;
    width lanes;
    std::uint64_t window;
    int me, n_pes;
    std::uint64_t number, first, step;
    unsigned long long right = 0;

    __device__ message_group(const message_job& j, const message_words& w, width l, std::uint64_t buffers, int pe,
                             int n)
        : job(j), at(w), lanes(l), window(buffers), me(pe), n_pes(n) {
        const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
        step = lanes == width::lane ? 1 : lanes == width::warp ? 32 : blockDim.x;
        number = thread / step;
        first = thread % step;
    }

    __device__ void meet() const {
        if (lanes == width::warp) __syncwarp();
        if (lanes == width::block) __syncthreads();
    }
    __device__ std::uint64_t* to_send(std::uint64_t round) const {
        return at.out + number * (job.words + message_job::margin) + message_job::shift_of(round);
    }
    __device__ std::uint64_t* buffer(int source, std::uint64_t round) const {
        const std::uint64_t slot = round % window * static_cast<unsigned>(n_pes) + static_cast<unsigned>(source);
        return at.in + (slot * job.groups + number) * job.words;
    }
    __device__ std::uint64_t* flag(int source) const {
        return at.arrived + static_cast<unsigned>(source) * job.groups + number;
    }

    /// All threads of the group have read before what they got.
    __device__ void send(const std::uint64_t* from, int to, std::uint64_t round) const {
        meet();
        std::uint64_t* const there = buffer(me, round);
        const std::size_t bytes = job.words * 8;
        const std::uint64_t signal = round + 1;
        if (lanes == width::lane) {
            nvshmem_putmem_signal(there, from, bytes, flag(me), signal, NVSHMEM_SIGNAL_SET, to);
        } else if (lanes == width::warp) {
            nvshmemx_putmem_signal_warp(there, from, bytes, flag(me), signal, NVSHMEM_SIGNAL_SET, to);
        } else {
            nvshmemx_putmem_signal_block(there, from, bytes, flag(me), signal, NVSHMEM_SIGNAL_SET, to);
        }
    }
    __device__ void wait(std::uint64_t* signal, std::uint64_t value) const {
        if (first == 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, value);
        meet();
    }
    __device__ void check(const std::uint64_t* message, int source, std::uint64_t round) {
        const std::uint64_t start = message_job::word_of(source, number, message_job::shift_of(round));
        for (std::uint64_t k = first; k < job.words; k += step) {
            if (static_cast<const volatile std::uint64_t*>(message)[k] == start + k) ++right;
        }
    }
    __device__ void start_clock() const {
        if (first == 0) atomicMin(reinterpret_cast<unsigned long long*>(at.times), now_ns());
    }
    __device__ void stop_clock() const {
        if (first == 0) atomicMax(reinterpret_cast<unsigned long long*>(at.times) + 1, now_ns());
    }
};

__device__ void ping_pong(message_group& group) {
    const int last = group.n_pes - 1, other = last - group.me;
    if (group.me != 0 && group.me != last) return;
    for (std::uint64_t round = 0; round <= group.job.rounds; ++round) {
        const std::uint64_t start = now_ns();
        if (group.me == 0) group.send(group.to_send(round), other, round);
        group.wait(group.flag(other), round + 1);
        if (group.me == last) group.send(group.buffer(other, round), other, round);
        if (group.first == 0 && group.number == 0) group.at.times[round] = now_ns() - start;
        if (group.me == 0) group.check(group.buffer(other, round), 0, round);
    }
}

__device__ void stream(message_group& group) {
    const int to = group.job.receiver(group.n_pes);
    for (std::uint64_t round = 0; round <= group.job.rounds; ++round) {
        if (group.job.streams(group.me)) {
            if (round >= group.window) group.wait(group.at.freed + group.number, round - group.window + 1);
            group.send(group.to_send(round), to, round);
        }
        if (group.me != to) continue;
        for (int source = 0; source < group.n_pes; ++source) {
            if (!group.job.streams(source)) continue;
            group.wait(group.flag(source), round + 1);
            group.check(group.buffer(source, round), source, round);
            group.meet();
            if (group.first == 0) {
                nvshmemx_signal_op(group.at.freed + group.number, round + 1, NVSHMEM_SIGNAL_SET, source);
            }
        }
        if (round == 0) group.start_clock();
    }
    if (group.me == to) group.stop_clock();
}

/// Two buffers are enough: see by_one_sided in apps/messaging.
__device__ void all_to_all(message_group& group) {
    for (std::uint64_t round = 0; round <= group.job.rounds; ++round) {
        for (int next = 1; next < group.n_pes; ++next) {
            const int source = (group.me + group.n_pes - next) % group.n_pes;
            group.send(group.to_send(round), (group.me + next) % group.n_pes, round);
            group.wait(group.flag(source), round + 1);
            group.check(group.buffer(source, round), source, round);
        }
        if (round == 0) group.start_clock();
    }
    group.stop_clock();
}

__global__ void pass_messages(message_job job, message_words at, width lanes, std::uint64_t window, int me, int n_pes) {
    message_group group(job, at, lanes, window, me, n_pes);
    if (group.number >= job.groups) return;
    switch (job.pattern) {
        case message_pattern::ping_pong: ping_pong(group); break;
        case message_pattern::all_to_all: all_to_all(group); break;
        default: stream(group);
    }
    atomicAdd(at.right, group.right);
}

width parse_width(const std::string& name) {
    if (name == "lane") return width::lane;
    if (name == "warp") return width::warp;
    if (name == "block") return width::block;
    throw usage_error("width: lane, warp or block, not " + name);
}

std::uint64_t window_of(const bench::arguments& args, message_pattern pattern) {
    if (pattern == message_pattern::ping_pong) return 1;
    return pattern == message_pattern::all_to_all ? 2 : args.number("window");
}

/// All blocks run at once.
void launch(const message_job& job, message_words at, width lanes, std::uint64_t window, bench::team& pes) {
    const std::uint64_t of_a_block = lanes == width::lane ? threads : lanes == width::warp ? threads / 32 : 1;
    auto blocks = static_cast<int>((job.groups + of_a_block - 1) / of_a_block);
    int most = 0, me = pes.rank(), n_pes = pes.size();
    message_job j = job;
    void* values[] = {&j, &at, &lanes, &window, &me, &n_pes};
    const auto* const kernel = reinterpret_cast<const void*>(pass_messages);
    if (nvshmemx_collective_launch_query_gridsize(kernel, threads, values, 0, &most) != 0) {
        throw system_error("NVSHMEM names no size for the grid");
    }
    if (blocks > most) {
        throw usage_error("groups: a GPU holds " + std::to_string(static_cast<std::uint64_t>(most) * of_a_block) +
                          " at once, not " + std::to_string(job.groups));
    }
    nvshmem_barrier_all();
    if (nvshmemx_collective_launch(kernel, static_cast<unsigned>(blocks), threads, values, 0, nullptr) != 0) {
        throw system_error("NVSHMEM cannot launch");
    }
    bench::check(cudaDeviceSynchronize(), "passing messages");
}

void measure(bench::team& pes, const bench::arguments& args, const message_job& job, width lanes,
             const std::string& lanes_name, const std::string& name) {
    const std::uint64_t window = window_of(args, job.pattern), n = static_cast<std::uint64_t>(pes.size());
    const bench::symmetric_words out(job.groups * (job.words + message_job::margin));
    const bench::symmetric_words in(window * n * job.groups * job.words);
    const bench::symmetric_words arrived(n * job.groups), freed(job.groups);
    const bench::device_words times(job.rounds + 2), right(1);
    const bool there_and_back = job.pattern == message_pattern::ping_pong;
    if (!there_and_back) bench::check(cudaMemset(times.data(), 0xff, 8), "times");  // the earliest is looked for
    bench::fill_messages<<<64, threads>>>(job, pes.rank(), out.data());
    bench::check(cudaDeviceSynchronize(), "filling messages");
    launch(job,
           {out.data(), in.data(), arrived.data(), freed.data(), times.data(),
            reinterpret_cast<unsigned long long*>(right.data())},
           lanes, window, pes);
    bench::check_messages(pes, job, right.read(0), "NVSHMEM put_signal");
    if (pes.rank() != job.receiver(pes.size())) return;
    std::vector<double> rounds;
    for (std::uint64_t round = 1; there_and_back && round <= job.rounds; ++round) {
        rounds.push_back(static_cast<double>(times.read(round)));
    }
    const double seconds = there_and_back ? 0 : static_cast<double>(times.read(1) - times.read(0)) * 1e-9;
    bench::tell_messages(args, job, pes.size(), "NVSHMEM put_signal", lanes_name, name, rounds, seconds);
}

void run_pe(bench::team& pes, const bench::arguments& args) {
    if (args.number("window") == 0 || args.number("groups") == 0) throw usage_error("window and groups: 1 at least");
    const bench::nvshmem_process nvshmem(pes, args.number("heap"));
    const width lanes = parse_width(args.text("width"));
    bench::for_each_message(args, [&](message_pattern pattern, const std::string& name, std::uint64_t bytes) {
        const message_job job{pattern, bytes / 8, bench::rounds_of(args.number("rounds"), bytes),
                              args.number("groups")};
        measure(pes, args, job, lanes, args.text("width"), name);
    });
    for (const std::string& number : args.list("lanes")) {
        const message_job job{message_pattern::stream, 1, args.number("rounds"), std::stoull(number)};
        if (job.groups == 0) throw usage_error("lanes: 1 at least");
        measure(pes, args, job, width::lane, "lane", "rate");
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const bench::arguments args(
            argc, argv,
            bench::message_arguments(
                {{"width", "warp"}, {"groups", "1"}, {"window", "4"}, {"lanes", "1;32;1024"}, {"heap", "1073741824"}}));
        bench::for_each_team(args, [&](bench::team& pes) { run_pe(pes, args); });
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "nvshmem_messages: %s\n", failure.what());
        return 1;
    }
}
