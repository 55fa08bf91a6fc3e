// Messages between groups of threads of two kernels, by whatever puts words into another PE's memory and signals it:
// the patterns of `laneway study messaging`.
//
// A transport has, on the device, put(group, to, from, flag, value, pe), called by all threads of a group, set(flag,
// value, pe) and wait(flag, value), by one; on the host most_blocks(kernel, arguments) and launch(kernel, blocks,
// arguments).
#pragma once

#include "messages_job.cuh"

namespace laneway::bench {

constexpr unsigned message_threads = 256;

enum class group_width { lane, warp, block };

inline group_width parse_group_width(const std::string& name) {
    if (name == "lane") return group_width::lane;
    if (name == "warp") return group_width::warp;
    if (name == "block") return group_width::block;
    throw usage_error("width: lane, warp or block, not " + name);
}

/// Memory of a PE, of which all but times and right are symmetric.
struct message_words {
    std::uint64_t* in;  ///< by buffer, source and group
    std::uint64_t* out;
    std::uint64_t* arrived;  ///< by source and group: messages that have come
    std::uint64_t* freed;    ///< by group: those that the receiver has done with
    std::uint64_t* times;    ///< earliest start and latest end, then each round there and back
    unsigned long long* right;

    static std::uint64_t of_in(const message_job& job, std::uint64_t window, std::uint64_t n_pes) {
        return window * n_pes * job.groups * job.words;
    }
    static std::uint64_t of_out(const message_job& job) { return job.groups * (job.words + message_job::margin); }
    static std::uint64_t of_all(const message_job& job, std::uint64_t window, std::uint64_t n_pes) {
        return of_in(job, window, n_pes) + of_out(job) + (n_pes + 1) * job.groups;
    }
};

/// A group, as one of its threads sees it.
template <class Transport>
struct message_group {
    message_job job;
    message_words at;
    Transport by;
    group_width lanes;
    std::uint64_t window;
    int me, n_pes;
    std::uint64_t number = 0, first = 0, step = 1;
    unsigned long long right = 0;

    __device__ void take_place() {
        const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
        step = lanes == group_width::lane ? 1 : lanes == group_width::warp ? 32 : blockDim.x;
        number = thread / step;
        first = thread % step;
    }
    __device__ void meet() const {
        if (lanes == group_width::warp) __syncwarp();
        if (lanes == group_width::block) __syncthreads();
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
        by.put(*this, buffer(me, round), from, flag(me), round + 1, to);
    }
    __device__ void wait(std::uint64_t* signal, std::uint64_t value) const {
        if (first == 0) by.wait(signal, value);
        meet();
    }
    __device__ void free(int source, std::uint64_t round) const {
        meet();
        if (first == 0) by.set(at.freed + number, round + 1, source);
    }
    __device__ void check(const std::uint64_t* message, int source, std::uint64_t round) {
        const std::uint64_t start = message_job::word_of(source, number, message_job::shift_of(round));
        for (std::uint64_t k = first; k < job.words; k += step) {
            if (static_cast<const volatile std::uint64_t*>(message)[k] == start + k) ++right;
        }
    }
    __device__ void start_clock() const {
        if (first == 0) atomicMin(reinterpret_cast<unsigned long long*>(at.times), device_now_ns());
    }
    __device__ void stop_clock() const {
        if (first == 0) atomicMax(reinterpret_cast<unsigned long long*>(at.times) + 1, device_now_ns());
    }
};

template <class Group>
__device__ void pass_ping_pong(Group& group) {
    const int last = group.n_pes - 1, other = last - group.me;
    if (group.me != 0 && group.me != last) return;
    for (std::uint64_t round = 0; round <= group.job.rounds; ++round) {
        const std::uint64_t start = device_now_ns();
        if (group.me == 0) group.send(group.to_send(round), other, round);
        group.wait(group.flag(other), round + 1);
        if (group.me == last) group.send(group.buffer(other, round), other, round);
        if (group.first == 0 && group.number == 0) group.at.times[2 + round] = device_now_ns() - start;
        if (group.me != 0) continue;
        group.check(group.buffer(other, round), 0, round);
        if (round == 0) group.start_clock();
    }
    if (group.me == 0) group.stop_clock();
}

template <class Group>
__device__ void pass_stream(Group& group) {
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
            group.free(source, round);
        }
        if (round == 0) group.start_clock();
    }
    if (group.me == to) group.stop_clock();
}

/// Two buffers are enough: see by_one_sided in apps/messaging.
template <class Group>
__device__ void pass_all_to_all(Group& group) {
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

template <class Transport>
__global__ void pass_messages(message_group<Transport> group) {
    group.take_place();
    if (group.number >= group.job.groups) return;
    switch (group.job.pattern) {
        case message_pattern::ping_pong: pass_ping_pong(group); break;
        case message_pattern::all_to_all: pass_all_to_all(group); break;
        default: pass_stream(group);
    }
    atomicAdd(group.at.right, group.right);
}

/// Launches a group's kernel on all PEs, whose blocks all run at once, and waits for it. Collective.
template <class Transport>
void run_groups(team& pes, message_group<Transport>& group) {
    const std::uint64_t of_a_block = group.lanes == group_width::lane   ? message_threads
                                     : group.lanes == group_width::warp ? message_threads / 32
                                                                        : 1;
    const std::uint64_t blocks = (group.job.groups + of_a_block - 1) / of_a_block;
    const auto* const kernel = reinterpret_cast<const void*>(pass_messages<Transport>);
    void* arguments[] = {&group};
    const auto most = static_cast<std::uint64_t>(group.by.most_blocks(kernel, arguments));
    if (blocks > most) {
        throw usage_error("groups: a GPU holds " + std::to_string(most * of_a_block) + " at once, not " +
                          std::to_string(group.job.groups));
    }
    pes.meet();
    group.by.launch(kernel, static_cast<unsigned>(blocks), arguments);
    check(cudaDeviceSynchronize(), "passing messages");
}

/// Measures one job in memory that `base` holds for it, zeroed and symmetric. Collective.
template <class Transport>
void measure_groups(team& pes, const arguments& args, const message_job& job, const std::string& model,
                    const std::string& pattern, const std::string& width, std::uint64_t window, std::uint64_t* base,
                    const Transport& by) {
    const auto n = static_cast<std::uint64_t>(pes.size());
    const device_words times(job.rounds + 3), right(1);
    const bool there_and_back = job.pattern == message_pattern::ping_pong;
    check(cudaMemset(times.data(), 0xff, 8), "times");  // the earliest is looked for
    std::uint64_t* const out = base + message_words::of_in(job, window, n);
    std::uint64_t* const arrived = out + message_words::of_out(job);
    fill_messages<<<64, message_threads>>>(job, pes.rank(), out);
    check(cudaDeviceSynchronize(), "filling messages");
    message_group<Transport> group{job,
                                   {base, out, arrived, arrived + n * job.groups, times.data(),
                                    reinterpret_cast<unsigned long long*>(right.data())},
                                   by,
                                   parse_group_width(width),
                                   window,
                                   pes.rank(),
                                   pes.size()};
    run_groups(pes, group);
    check_messages(pes, job, right.read(0), model);
    if (pes.rank() != job.receiver(pes.size())) return;
    std::vector<double> rounds;
    for (std::uint64_t round = 1; there_and_back && round <= job.rounds; ++round) {
        rounds.push_back(static_cast<double>(times.read(2 + round)));
    }
    const double seconds = static_cast<double>(times.read(1) - times.read(0)) * 1e-9;
    tell_messages(args, job, pes.size(), model, width, pattern, rounds, seconds);
}

/// Calls `one(job, pattern, width, window)` for what the arguments name.
template <class One>
void for_each_groups(const arguments& args, One one) {
    const std::uint64_t window = args.number("window", 1, 16), groups = args.number("groups", 1, 1u << 28);
    const std::uint64_t rounds = args.number("rounds", 1, 1u << 31);
    for_each_message(args, [&](message_pattern pattern, const std::string& name, std::uint64_t bytes) {
        const bool all = pattern == message_pattern::all_to_all;
        const std::uint64_t buffers = pattern == message_pattern::ping_pong ? 1 : all ? 2 : window;
        one(message_job{pattern, bytes / 8, rounds_of(rounds, bytes), groups}, name, args.text("width"), buffers);
    });
    for (const std::uint64_t lanes : args.numbers("lanes", ';', 1, 1u << 28)) {
        const message_job job{message_pattern::stream, 1, rounds, lanes};
        one(job, "rate", "lane", window);
    }
}

/// Arguments of programs that send from kernels.
inline std::map<std::string, std::string> group_arguments(std::map<std::string, std::string> more = {}) {
    more.merge(std::map<std::string, std::string>{
        {"width", "warp"}, {"groups", "1"}, {"window", "4"}, {"lanes", "1;32;1024"}});
    return message_arguments(more);
}

}  // namespace laneway::bench
