// The devices that a suite runs on: in a C++ build CPU devices, in a CUDA build the GPUs that are visible.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/options.hpp"
#include "laneway/simt/checked/lanes.hpp"
#include "laneway/simt/device_list.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway::test {

inline constexpr std::uint64_t checked_seeds = 12;  // all combinations of `options_of`
/// Whether LANEWAY_SEEDS asks for a long run.
inline bool is_long_run() { return std::getenv("LANEWAY_SEEDS") != nullptr; }
/// The same, or what LANEWAY_SEEDS says, for a long run.
inline std::uint64_t chosen_seeds() {
    return is_long_run() ? std::strtoull(std::getenv("LANEWAY_SEEDS"), nullptr, 10) : checked_seeds;
}
/// The first of them, which LANEWAY_FIRST_SEED says where several processes share a long run.
inline std::uint64_t first_seed() {
    const char* const first = std::getenv("LANEWAY_FIRST_SEED");
    return is_long_run() && first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
}
#if defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t thread_rounds = 8;  // it sees races that did no harm
#else
inline constexpr std::uint64_t thread_rounds = 12;
#endif
inline constexpr std::uint64_t gpu_rounds = 6;  // all sizes of chunks and rings of `options_of`

/// Lists of at least `least` PEs; `checked`: those whose lanes run under the seeded scheduler. Two PEs, of which each
/// is the other's neighbor on both sides, are checked ones but in a long run: threads take as long there as on three.
/// In a process of a job on GPUs: the one that is its own.
inline std::vector<std::string> device_lists(int least = 1, bool checked = true) {
    std::vector<std::string> lists;
#if defined(__CUDACC__)
    if (const char* rank = std::getenv("LANEWAY_RANK")) return {"cuda:" + std::string(rank)};
    const auto gpus = find_devices();
    const auto count = std::count_if(gpus.begin(), gpus.end(),
                                     [](const device_finding& d) { return d.usable && d.name.starts_with("cuda:"); });
    (void)checked;
    if (count >= 1 && least <= 1) lists.push_back("cuda:0");
    if (count >= 1 && least <= 2) lists.push_back("cuda:0,cpu:1");
    if (count >= 2) lists.push_back("cuda");
#else
    for (int pes = least; pes <= 3; ++pes) {
        if (pes != 2 || is_long_run()) lists.push_back("cpu:" + std::to_string(pes));
        if (checked) lists.push_back("checked:" + std::to_string(pes));
    }
#endif
    return lists;
}

/// Lists for programs. What they are made of has suites of its own on all lists, so of the checked ones the three PEs
/// alone, but in a long run.
inline std::vector<std::string> program_lists() {
    std::vector<std::string> lists = device_lists();
    if (!is_long_run())
        std::erase_if(lists, [](const std::string& list) { return list == "checked:1" || list == "checked:2"; });
    return lists;
}

/// Lists and two checked PEs.
inline std::vector<std::string> with_checked_pair(std::vector<std::string> lists) {
#if !defined(__CUDACC__)
    if (std::find(lists.begin(), lists.end(), "checked:2") == lists.end()) lists.push_back("checked:2");
#endif
    return lists;
}

/// Lists for what host threads wait for in vain: their deadlines are real time on checked devices too, of which three
/// would say what two do, but in a long run.
inline std::vector<std::string> lists_of_late_hosts() {
    std::vector<std::string> lists = device_lists(2);
    if (!is_long_run()) std::erase(lists, "checked:3");
    return lists;
}

/// Lists and four CPU devices.
inline std::vector<std::string> to_four(std::vector<std::string> lists) {
#if !defined(__CUDACC__)
    lists.push_back("cpu:4");
#endif
    return lists;
}

inline bool is_checked(const std::string& devices) { return devices.starts_with("checked"); }
/// What follows the devices of a list whose PEs reach each other by proxies.
inline constexpr const char* proxied = " proxied";
inline bool is_proxied(const std::string& devices) { return devices.ends_with(proxied); }
/// Lists and, of several PEs each, one in which threads and one in which seeds interleave with a proxy. `checked`: the
/// latter as well, but where the proxy has so many words to compare that it would take long. None of GPUs of several
/// processes, which are refused.
inline std::vector<std::string> with_proxies(std::vector<std::string> lists, [[maybe_unused]] bool checked = true) {
#if defined(__CUDACC__)
    const auto all = device_lists(2);
    if (!all.empty() && std::getenv("LANEWAY_RANK") == nullptr) lists.push_back(all.back() + proxied);
#else
    for (const char* devices : {"cpu:3", "checked:3"}) {
        if (checked || !is_checked(devices)) lists.push_back(std::string(devices) + proxied);
    }
#endif
    return lists;
}

/// Lists of one PE each, for what happens within a device.
inline std::vector<std::string> lone_device() {
    std::vector<std::string> lists = device_lists();
    std::erase_if(lists, [](const std::string& list) { return list != "cuda:0" && !list.ends_with(":1"); });
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}

/// Lanes of a warp of a device.
inline int warp_lanes_of(const device& d) {
    return d.is_gpu() ? 32 : d.id().kind == device_kind::checked ? checked::warp_lanes : 1;
}
/// Whether its PEs cannot store into each other's memory, as they are of several kinds or reach each other by proxies.
inline bool is_mixed(const std::string& devices) {
    return devices.find(',') != std::string::npos || is_proxied(devices);
}

/// How often a suite repeats its concurrent piece where that is one of the lanes of a PE: the seeds of a checked list,
/// plain repetition elsewhere.
inline std::uint64_t rounds_within(const std::string& devices) {
    if (is_checked(devices)) return chosen_seeds();
    if (devices.starts_with("cuda")) return gpu_rounds;
    // Processes share their cores with each other's waiting threads, and each run of theirs takes long.
    return std::getenv("LANEWAY_RANK") == nullptr ? thread_rounds : thread_rounds / 5;
}

/// The same where it is one of several PEs: seeds are spent where these meet, so one alone gets few, but in a long run.
inline std::uint64_t rounds_of(const std::string& devices) {
    return devices == "checked:1" && !is_long_run() ? (rounds_within(devices) + 9) / 10 : rounds_within(devices);
}

/// One in `parts` of these, for suites of many pieces: seeds differ in what they order, not in the piece. On checked
/// devices a long run has all the seeds that LANEWAY_SEEDS says.
inline std::uint64_t part_of_rounds(const std::string& devices, std::uint64_t parts, std::uint64_t times = 1) {
    if (is_checked(devices) && is_long_run()) return chosen_seeds();
    return (rounds_of(devices) * (is_checked(devices) ? times : 1) + parts - 1) / parts;
}
/// The same where a round takes long, or is mostly what threads of the host do, whose turns are not those of a seed: a
/// tenth of the seeds of a long run.
inline std::uint64_t few_rounds(const std::string& devices, std::uint64_t parts) {
    return is_checked(devices) && is_long_run() ? (chosen_seeds() + 9) / 10 : part_of_rounds(devices, parts);
}
/// A deadline for tests of what ends before it: who waits for it waits until the test is ended from outside.
inline constexpr double never_seconds = 1e6;

/// Sets what a list says.
inline void use_devices(options& o, const std::string& devices) {
    o.devices = is_proxied(devices) ? devices.substr(0, devices.size() - std::string(proxied).size()) : devices;
    if (is_proxied(devices)) o.transport = transport_model::proxied;
}

/// Options of one round: seed, threads and ring sizes change from round to round. Twelve rounds meet all combinations,
/// six all sizes of chunks and rings, three each value of each setting.
inline options options_of(const std::string& devices, std::uint64_t round) {
    const std::uint64_t settings = 5 * round % 12;
    options o;
    use_devices(o, devices);
    o.seed = round + 1;
    o.cpu_threads = 1 + static_cast<int>(settings % 3);
    o.checked_blocks = 2;
    o.checked_warps = 2 + static_cast<int>(settings / 2 % 2);
    o.gpu_blocks = 2 + static_cast<int>(settings % 3);
    o.chunk_bytes = std::size_t{16} << settings % 3;
    o.ring_slots = 1 + static_cast<std::uint32_t>(settings / 3 % 2);
    o.timeout_seconds = is_checked(devices) ? 1 : 60;  // the checked mode's seconds are ten million steps
    return o;
}

/// Calls `body(options)` for so many rounds until one fails, and says which.
template <class Body>
void repeat_rounds(const std::string& devices, std::uint64_t rounds, Body&& body) {
    ASSERT_GT(rounds, 0u);
    for (std::uint64_t round = is_checked(devices) ? first_seed() - 1 : 0; round < rounds; ++round) {
        const options o = options_of(devices, round);
        SCOPED_TRACE("devices " + devices + ", seed " + std::to_string(o.seed));
        ASSERT_NO_THROW(body(o));
        if (testing::Test::HasFailure()) return;
    }
}

/// The same for every round of a piece between PEs; `times` as many seeds of a checked list.
template <class Body>
void every_round(const std::string& devices, Body&& body, std::uint64_t times = 1) {
    repeat_rounds(devices, rounds_of(devices) * (is_checked(devices) ? times : 1), body);
}
/// A quarter of these, as part_of_rounds says.
template <class Body>
void every_fourth_round(const std::string& devices, Body&& body, std::uint64_t times = 1) {
    repeat_rounds(devices, part_of_rounds(devices, 4, times), body);
}
/// The same for every round of a piece within a PE.
template <class Body>
void every_round_within(const std::string& devices, Body&& body) {
    repeat_rounds(devices, rounds_within(devices), body);
}

/// Calls `run(options)` with the least memory that buffers can have: a run without any is refused and tells how much
/// that is. What `run` returns is the run's report.
template <class Run>
void run_within_min(options o, Run&& run) {
    o.chunk_bytes = 0;
    o.ring_slots = 0;
    o.buffer_bytes = 1;
    try {
        run(o);
        ADD_FAILURE() << "ran without memory";
    } catch (const usage_error& e) {
        const std::string what = e.what(), before = "take at least ";
        ASSERT_NE(what.find(before), std::string::npos) << what;
        o.buffer_bytes = std::stoull(what.substr(what.find(before) + before.size()));
    }
    const auto report = run(o);
    ASSERT_EQ(report.buffer_bytes.size(), report.devices.size());
    EXPECT_EQ(*std::max_element(report.buffer_bytes.begin(), report.buffer_bytes.end()), o.buffer_bytes);
}

/// How often memory of the devices has been filled.
template <class Runtime>
std::uint64_t fills(Runtime& rt) {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) sum += rt.machine().device(pe)->fills();
    return sum;
}

/// Names a parameterised test after its devices: "checked:2" becomes "checked_2".
inline std::string name_of(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

/// One `Program` a PE on equal grids of `blocks`; `make(pe)` gives the programs.
template <class Make>
void run_programs(machine& machine, const launch_shape& shape, double timeout_seconds, Make&& make) {
    using program = decltype(make(0));
    std::vector<program> programs;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        programs.push_back(make(pe));
        machine.resident_blocks<program>(pe, shape);
    }
    const std::vector<launch_shape> shapes(programs.size(), shape);
    machine.run(programs, shapes, timeout_seconds, [] { return std::string{}; });
}

/// A grid for a program that is run by itself: threads and GPUs get four blocks, a checked device as many warps.
inline launch_shape small_grid(const machine& machine, std::size_t shared_bytes = 1024) {
    const bool checked = machine.device(0)->id().kind == device_kind::checked;
    launch_shape shape;
    shape.blocks = checked ? 2 : 4;
    shape.warps_per_block = checked || machine.has_gpus() ? 2 : 1;
    shape.shared_bytes = shared_bytes;
    return shape;
}

/// What is told of a program some lane of which waits for what never comes: it ends at its deadline.
template <class Program>
std::string told_at_deadline(machine& machine, const Program& program) {
    const bool checked = machine.device(0)->id().kind == device_kind::checked;
    try {
        run_programs(machine, small_grid(machine), checked ? 0.01 : 0.1, [&](int) { return program; });
        ADD_FAILURE() << "it ended as if nothing had been missing";
    } catch (const timeout_error& late) {
        return late.what();
    }
    return {};
}

}  // namespace laneway::test

/// Instantiates a suite for a list of devices; without GPUs a CUDA build's list is empty.
#define LANEWAY_ON_DEVICES(suite, lists)                                                          \
    INSTANTIATE_TEST_SUITE_P(devices, suite, testing::ValuesIn(lists), ::laneway::test::name_of); \
    GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite)
