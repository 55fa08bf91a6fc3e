// What programs share whose figures stand beside `laneway study messaging`: its patterns, what messages hold, and the
// rows that it reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>

#include "bench_support.hpp"
#include "gpu.cuh"
#include "processes.hpp"

namespace laneway::bench {

/// As in apps/messaging/messaging_study.hpp. Streams go to the last PE, or from all others to PE 0.
enum class message_pattern { ping_pong, stream, n_to_1, all_to_all };

constexpr std::array<std::pair<message_pattern, const char*>, 4> message_patterns{
    {{message_pattern::ping_pong, "ping-pong"},
     {message_pattern::stream, "stream"},
     {message_pattern::n_to_1, "n-to-1"},
     {message_pattern::all_to_all, "all-to-all"}}};

/// Messages of a group of lanes: those of round i begin 2 (i mod 32) words further on in their source.
struct message_job {
    static constexpr std::uint64_t shifts = 32;
    static constexpr std::uint64_t margin = 2 * shifts;

    message_pattern pattern;
    std::uint64_t words;
    std::uint64_t rounds;  ///< and one more that is not timed
    std::uint64_t groups = 1;

    static __host__ __device__ std::uint64_t shift_of(std::uint64_t round) { return 2 * (round % shifts); }
    /// Word k of a source's group in round 0.
    static __host__ __device__ std::uint64_t word_of(int source, std::uint64_t group, std::uint64_t k) {
        return (static_cast<std::uint64_t>(source) + 1) << 56 | (group + 1) << 28 | k;
    }
    [[nodiscard]] __host__ __device__ int receiver(int n_pes) const {
        return pattern == message_pattern::stream ? n_pes - 1 : 0;
    }
    [[nodiscard]] __host__ __device__ bool streams(int pe) const {
        return pattern == message_pattern::stream ? pe == 0 : pe != 0;
    }
    /// How many messages a PE checks, with those of the round that is not timed.
    [[nodiscard]] std::uint64_t checked_by(int pe, int n_pes) const {
        const std::uint64_t each = groups * (rounds + 1), others = static_cast<std::uint64_t>(n_pes) - 1;
        if (pattern == message_pattern::all_to_all) return each * others;
        if (pe != receiver(n_pes)) return 0;
        return pattern == message_pattern::n_to_1 ? each * others : each;
    }
};

/// Words of a source's memory, group after group.
__global__ void fill_messages(message_job job, int pe, std::uint64_t* out) {
    const std::uint64_t each = job.words + message_job::margin;
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < job.groups * each; i += step) {
        out[i] = message_job::word_of(pe, i / each, i % each);
    }
}

/// Throws where a PE did not see each word of its messages as it should be. Collective.
inline void check_messages(team& pes, const message_job& job, std::uint64_t right, const std::string& model) {
    const std::vector<std::uint64_t> all = pes.gather(right);
    for (int pe = 0; pe < pes.size(); ++pe) {
        if (all[static_cast<std::size_t>(pe)] == job.checked_by(pe, pes.size()) * job.words) continue;
        throw device_fault(model + ": messages have been lost, or brought something else");
    }
}

/// Fewer of long messages, as in the study.
inline std::uint64_t rounds_of(std::uint64_t rounds, std::uint64_t bytes) {
    return std::max(std::min<std::uint64_t>(rounds, 10), std::min(rounds, rounds * 16384 / bytes));
}

/// Writes a row: `times` of each round there and back, if any, and the seconds of all that was timed. One process.
inline void tell_messages(const arguments& args, const message_job& job, int n_pes, const std::string& model,
                          const std::string& width, const std::string& pattern, std::vector<double> times_ns,
                          double seconds) {
    std::sort(times_ns.begin(), times_ns.end());
    const auto quantile = [&](double share) {
        return times_ns[static_cast<std::size_t>(share * static_cast<double>(times_ns.size() - 1))];
    };
    const bool there_and_back = !times_ns.empty();
    double messages = static_cast<double>(job.checked_by(job.receiver(n_pes), n_pes)) /
                      static_cast<double>(job.rounds + 1) * static_cast<double>(job.rounds);
    if (there_and_back) messages *= 2;
    const double bytes = static_cast<double>(job.words) * 8;
    std::vector<std::pair<std::string, double>> numbers{
        {"groups", static_cast<double>(job.groups)}, {"bytes", bytes}, {"messages", messages}, {"seconds", seconds}};
    if (there_and_back) {
        numbers.insert(numbers.end(),
                       {{"median_ns", quantile(0.5)}, {"p90_ns", quantile(0.9)}, {"p99_ns", quantile(0.99)}});
    }
    const std::string devices = gpu_names(n_pes);
    std::printf("%-10s %-20s %-10s %10.0f bytes %9llu x %-5s", devices.c_str(), model.c_str(), pattern.c_str(), bytes,
                static_cast<unsigned long long>(job.groups), width.c_str());
    if (there_and_back) std::printf("   half a trip %8.0f ns", quantile(0.5) / 2);
    std::printf("   %10.4g messages/s %10.4g bytes/s\n", messages / seconds, messages * bytes / seconds);
    json_lines(args.text("json"))
        .write({{"benchmark", "messaging"},
                {"devices", devices},
                {"model", model},
                {"pattern", pattern},
                {"width", width}},
               numbers);
}

/// Calls `one(pattern, name, bytes)` for what the arguments name; throws usage_error for others.
template <class One>
void for_each_message(const arguments& args, One one) {
    for (const std::string& name : args.list("patterns")) {
        const auto* const known =
            std::ranges::find_if(message_patterns, [&](const auto& p) { return p.second == name; });
        if (known == message_patterns.end()) throw usage_error("no such pattern: " + name);
        for (const std::uint64_t bytes : args.numbers("bytes", ';', 8, 1u << 26)) {
            if (bytes % 8 != 0) throw usage_error("bytes: multiples of 8, not " + std::to_string(bytes));
            one(known->first, name, bytes);
        }
    }
}

/// Arguments of the programs, with their defaults; `more` are added.
inline std::map<std::string, std::string> message_arguments(std::map<std::string, std::string> more = {}) {
    more.merge(std::map<std::string, std::string>{{"pes", "2"},
                                                  {"patterns", "ping-pong;stream;n-to-1;all-to-all"},
                                                  {"bytes", "8;64;512;4096;32768;262144"},
                                                  {"rounds", "1000"},
                                                  {"timeout", "120"},
                                                  {"json", ""}});
    return more;
}

/// Runs `one_pe(team)` for each number of PEs in the arguments.
template <class OnePe>
void for_each_team(const arguments& args, OnePe one_pe) {
    (void)args.number("rounds", 1, 1u << 31);
    for (const std::uint64_t pes : args.numbers("pes", ';', 2, team::most)) {
        run_processes(static_cast<int>(pes), args.real("timeout"), one_pe);
    }
}

}  // namespace laneway::bench
