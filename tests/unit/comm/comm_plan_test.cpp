// Sizes of buffers and rings: chosen within their bound for machines that need not be there, and kept when allocated.
#include "laneway/comm/comm_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "laneway/flow/worklist_ref.hpp"
#include "laneway/runtime.hpp"
#include "laneway/simt/host_memory.hpp"

namespace laneway::test {
namespace {

constexpr std::uint64_t mib = 1 << 20;

template <std::size_t Bytes>
struct message_of {
    std::array<std::byte, Bytes> content;
};

struct serve {
    template <class Ctx, class Message>
    LANEWAY_FN void operator()(Ctx&, const Message&) const {}
};
template <class Answer>
struct answering_serve {
    using answer = Answer;
    template <class Ctx, class Message>
    LANEWAY_FN Answer operator()(Ctx&, const Message&) const {
        return {};
    }
};
struct forwarding_serve {
    static constexpr bool forwards = true;
    template <class Ctx, class Message, class Forward>
    LANEWAY_FN void operator()(Ctx&, const Message&, Forward&) const {}
};
struct work {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx&, Box&) const {}
};
struct no_arcs {};

template <class... Routes>
using program_of = program<work, mailbox_ref<routes<Routes...>>>;
using plain = program_of<route<std::uint64_t, serve>>;
using calling = program_of<route<std::uint64_t, answering_serve<double>>>;
using replying = program_of<route<std::uint64_t, answering_serve<std::uint32_t>>, route<std::uint32_t, serve>>;
using forwarding_program = program_of<route<std::uint64_t, forwarding_serve>>;
template <std::size_t Bytes>
using everything = program_of<route<message_of<Bytes>, forwarding_serve>,
                              route<std::uint64_t, answering_serve<std::uint32_t>>, route<std::uint32_t, serve>>;
using one_sided_words = program<work, mailbox_ref<with_one_sided<route<std::uint64_t, serve>>>>;
using narrow_list = program<no_body, worklist_ref<std::uint32_t, no_arcs>>;
using wide_list = program<no_body, worklist_ref<std::uint64_t, no_arcs, 32>>;

/// A machine that need not be there. GPUs are as large as an H200 and held back by no program's registers.
std::vector<pe_outline> machine_of(device_kind kind, std::size_t n_pes) {
    const auto resident = [](const launch_shape& shape) {
        constexpr int multiprocessors = 132, warps = 64;
        constexpr std::size_t shared_bytes = 228 * 1024, shared_bytes_of_system = 1024;
        const auto by_memory = static_cast<int>(shared_bytes / (shape.shared_bytes + shared_bytes_of_system));
        return multiprocessors * std::min(warps / shape.warps_per_block, by_memory);
    };
    std::vector<pe_outline> pes;
    for (std::size_t pe = 0; pe < n_pes; ++pe) pes.push_back({kind, to_string({kind, static_cast<int>(pe)}), resident});
    return pes;
}

std::uint64_t largest(const comm_plan& plan) {
    std::uint64_t most = 0;
    for (std::size_t pe = 0; pe < plan.n_pes(); ++pe) most = std::max(most, plan.bytes(pe));
    return most;
}

/// Calls `body.template operator()<Program>(name)` for programs with all kinds of needs.
template <class Body>
void for_each_program(Body&& body) {
    body.template operator()<plain>("plain");
    body.template operator()<calling>("calling");
    body.template operator()<replying>("replying");
    body.template operator()<forwarding_program>("forward");
    body.template operator()<everything<8>>("everything, 8 bytes");
    body.template operator()<everything<300>>("everything, 300 bytes");
    body.template operator()<everything<2048>>("everything, 2048 bytes");
    body.template operator()<one_sided_words>("one-sided");
    body.template operator()<narrow_list>("flow of 32 bits");
    body.template operator()<wide_list>("flow of 64 bits");
}

TEST(comm_plan_test, BuffersOfEightLargeGpusTake256MiBAtMost) {
    const options defaults;
    ASSERT_EQ(defaults.buffer_bytes, 256 * mib);
    for_each_program([&]<class Program>(const char* name) {
        SCOPED_TRACE(name);
        const comm_plan plan = plan_program(program_traits::of<Program>(), machine_of(device_kind::cuda, 8), defaults);
        EXPECT_LE(largest(plan), 256 * mib);
        std::printf("%s: %.1f MiB a GPU, chunks of %u bytes, rings of %u, forward queue of %llu\n", name,
                    static_cast<double>(largest(plan)) / mib, plan.chunk_bytes, plan.ring_slots[0],
                    static_cast<unsigned long long>(plan.needs.forward_bytes == 0 ? 0 : plan.forward_slots));
    });
}

TEST(comm_plan_test, DefaultsOfTheUsualProgramsDoNotShrink) {
    const comm_plan gpus = plan_program(program_traits::of<plain>(), machine_of(device_kind::cuda, 8), {});
    EXPECT_EQ(gpus.chunk_bytes, 12'288u) << "96 KiB for each of two buffers";
    EXPECT_EQ(gpus.ring_slots, std::vector<std::uint32_t>(8, 256)) << "214 warps serve each of seven rings";
    const comm_plan cpus = plan_program(program_traits::of<forwarding_program>(), machine_of(device_kind::cpu, 32), {});
    EXPECT_EQ(cpus.chunk_bytes, 16'384u);
    EXPECT_EQ(cpus.ring_slots, std::vector<std::uint32_t>(32, 16));
    EXPECT_EQ(cpus.forward_slots, 262'144u);
}

TEST(comm_plan_test, BuffersOfAsManyCpuDevicesAsThereMayBeFitOneHost) {
    const auto check = [](const char* name, const comm_plan& plan) {
        std::uint64_t all = 0;
        for (std::size_t pe = 0; pe < plan.n_pes(); ++pe) all += plan.bytes(pe);
        EXPECT_LE(all, 1500 * mib) << name;
        EXPECT_EQ(plan.ring_slots, std::vector<std::uint32_t>(256, 4)) << name;
    };
    const auto pes = machine_of(device_kind::cpu, 256);
    check("plain", plan_program(program_traits::of<plain>(), pes, {}));
    check("flow", plan_program(program_traits::of<wide_list>(), pes, {}));
    options by_hand;
    by_hand.chunk_bytes = 16'384;
    EXPECT_EQ(plan_program(program_traits::of<plain>(), pes, by_hand).chunk_bytes, 16'384u);
}

/// What a refusal tells of the least that would do.
std::uint64_t min_of(const std::string& refusal) {
    const std::string before = "take at least ";
    const auto at = refusal.find(before);
    EXPECT_NE(at, std::string::npos) << refusal;
    return at == std::string::npos ? 0 : std::stoull(refusal.substr(at + before.size()));
}

template <class Program>
std::string refusal(const std::vector<pe_outline>& pes, const options& o) {
    try {
        const comm_plan plan = plan_program(program_traits::of<Program>(), pes, o);
        ADD_FAILURE() << largest(plan) << " bytes were accepted";
    } catch (const usage_error& e) {
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
        return e.what();
    }
    return {};
}

TEST(comm_plan_test, EveryBoundIsKeptOrRefusedWithTheLeastThatWouldDo) {
    struct size {
        device_kind kind;
        std::size_t n_pes;
    };
    for (const size of : {size{device_kind::cpu, 1}, size{device_kind::cpu, 2}, size{device_kind::cpu, 64},
                          size{device_kind::cpu, 256}, size{device_kind::checked, 1}, size{device_kind::checked, 3},
                          size{device_kind::cuda, 1}, size{device_kind::cuda, 2}, size{device_kind::cuda, 8}}) {
        const auto pes = machine_of(of.kind, of.n_pes);
        for_each_program([&]<class Program>(const char* name) {
            SCOPED_TRACE(pes.front().name + " and " + std::to_string(of.n_pes - 1) + " others, " + name);
            options o;
            o.buffer_bytes = 0;
            const std::string what = refusal<Program>(pes, o);
            EXPECT_EQ(what.rfind("buffer_bytes = 0 is too little for " + std::to_string(of.n_pes) + " PEs: ", 0), 0u)
                << what;
            const std::uint64_t least = min_of(what);
            o.buffer_bytes = least - 1;
            EXPECT_EQ(min_of(refusal<Program>(pes, o)), least);
            std::uint32_t slots = 0;
            for (std::uint64_t bound = least; bound < 1024 * mib; bound += bound / 3 + 1) {
                o.buffer_bytes = bound;
                const comm_plan plan = plan_program(program_traits::of<Program>(), pes, o);
                ASSERT_LE(largest(plan), bound);
                ASSERT_GE(plan.ring_slots[0], 2u);
                ASSERT_TRUE(std::has_single_bit(plan.ring_slots[0])) << "tickets find their slot by a mask";
                ASSERT_GE(plan.forward_slots, 4096u);
                slots = plan.ring_slots[0];
            }
            options unbounded;
            unbounded.buffer_bytes = ~std::uint64_t{0};
            EXPECT_EQ(slots, plan_program(program_traits::of<Program>(), pes, unbounded).ring_slots[0])
                << "a gibibyte is enough for all";
        });
    }
}

TEST(comm_plan_test, SizesShrinkInTheirOrder) {
    const auto pes = machine_of(device_kind::cpu, 4);
    struct step {
        std::uint64_t bound;
        std::uint32_t chunk_bytes, ring_slots;
    };
    // Three rings into a PE and four aggregation buffers of two buffers; a few kilobytes beside.
    for (const step expected :
         {step{4 * mib, 16384, 64}, step{2 * mib, 16384, 32}, step{mib, 16384, 16}, step{500'000, 8192, 16},
          step{400'000, 4096, 16}, step{200'000, 2048, 16}, step{100'000, 1024, 16}, step{40'000, 512, 16},
          step{30'000, 1024, 4}, step{20'000, 1024, 2}}) {
        SCOPED_TRACE(expected.bound);
        options o;
        o.buffer_bytes = expected.bound;
        const comm_plan plan = plan_program(program_traits::of<plain>(), pes, o);
        EXPECT_EQ(plan.chunk_bytes, expected.chunk_bytes);
        EXPECT_EQ(plan.ring_slots, std::vector<std::uint32_t>(4, expected.ring_slots));
    }
    // Places for posts of 4096 bytes take 4112 each: a gibibyte, where nothing limits them.
    for (const step expected : {step{4096 * mib, 16384, 64}, step{256 * mib, 16384, 64}, step{40 * mib, 16384, 64},
                                step{17 * mib, 4096, 32}}) {
        SCOPED_TRACE(expected.bound);
        options o;
        o.buffer_bytes = expected.bound;
        const comm_plan plan = plan_program(program_traits::of<everything<4096>>(), pes, o);
        EXPECT_EQ(plan.chunk_bytes, expected.chunk_bytes);
        EXPECT_EQ(plan.ring_slots[0], expected.ring_slots);
        EXPECT_TRUE(plan.forward_bytes() <= expected.bound / 2 || plan.forward_slots == 4096);
        EXPECT_TRUE(plan.forward_bytes() * 2 > expected.bound / 2 || plan.forward_slots == 262'144);
    }
}

TEST(comm_plan_test, SizesSetByHandAreKeptOrNamed) {
    const auto pes = machine_of(device_kind::cpu, 4);
    options o;
    o.buffer_bytes = mib;
    const auto names = [&](const std::string& set) {
        const std::string what = refusal<forwarding_program>(pes, o);
        for (const std::string& part : {std::string("buffer_bytes = 1048576 "), std::string("4 PEs"), set}) {
            EXPECT_NE(what.find(part), std::string::npos) << what;
        }
        EXPECT_GT(min_of(what), mib);
    };
    o.ring_slots = 1000;
    names(" with ring_slots = 1000");
    o.ring_slots = 0xffffffff;
    names(" with ring_slots = 4294967295");
    o.ring_slots = 3;  // two, as all rings have a power of two
    EXPECT_EQ(plan_program(program_traits::of<forwarding_program>(), pes, o).ring_slots,
              std::vector<std::uint32_t>(4, 2));
    o.chunk_bytes = 1 << 20;
    names(" with ring_slots = 3, chunk_bytes = 1048576");
    o.ring_slots = 0;
    o.chunk_bytes = std::size_t{1} << 60;
    names(" with chunk_bytes = ");
    o.chunk_bytes = 2000;
    EXPECT_EQ(plan_program(program_traits::of<forwarding_program>(), pes, o).chunk_bytes, 2000u);
    o.chunk_bytes = 0;
    for (const std::uint64_t places : {std::uint64_t{1} << 20, std::uint64_t{1} << 59, ~std::uint64_t{0}}) {
        o.forward_slots = places;
        names(" with forward_slots = " + std::to_string(places));
    }
    o.progress_samples = 0xffffffff;
    names(", progress_samples = 4294967295");
    o.forward_slots = 0;
    names(" with progress_samples = 4294967295");
    o.progress_samples = 0;
    o.forward_slots = 7;
    EXPECT_EQ(plan_program(program_traits::of<forwarding_program>(), pes, o).forward_slots, 7u);
}

TEST(comm_plan_test, WhatIsHeldAlreadyCounts) {
    auto pes = machine_of(device_kind::cpu, 3);
    options o;
    o.buffer_bytes = 2 * mib;
    const comm_plan alone = plan_program(program_traits::of<plain>(), pes, o);
    pes[1].held_bytes = mib;
    const comm_plan beside = plan_program(program_traits::of<plain>(), pes, o);
    EXPECT_LE(largest(beside), 2 * mib);
    EXPECT_LT(beside.ring_slots[0], alone.ring_slots[0]);
    pes[1].held_bytes = 3 * mib;
    const std::string what = refusal<plain>(pes, o);
    EXPECT_NE(what.find("PE 1 (cpu:1)"), std::string::npos) << what;
    EXPECT_NE(what.find("; 3145728 of them are of components, host calls and one-sided gets"), std::string::npos)
        << what;
}

TEST(comm_plan_test, WhatIsPlannedIsAllocated) {
    for (const char* devices : {"cpu:1", "cpu:2", "cpu:5", "checked:1", "checked:3", "cpu:36"}) {
        for_each_program([&]<class Program>(const char* name) {
            SCOPED_TRACE(std::string(devices) + ", " + name);
            for (const std::uint64_t bound : {10 * mib, 256 * mib}) {
                options o;
                o.buffer_bytes = bound;
                o.cpu_threads = 2;
                o.progress_samples = bound == 256 * mib ? 100 : 0;
                machine machine(devices);
                const comm_plan plan = plan_program(program_traits::of<Program>(), outline_of<Program>(machine), o);
                std::uint64_t planned = 0;
                for (std::size_t pe = 0; pe < plan.n_pes(); ++pe) {
                    const launch_shape& shape = plan.grids[pe].shape;
                    planned += plan.bytes(pe) - static_cast<std::uint64_t>(shape.blocks) * shape.shared_bytes;
                }
                const std::uint64_t before = zeroed_bytes_held();
                comm_resources resources(machine, o, plan);
                EXPECT_EQ(zeroed_bytes_held() - before, planned);
            }
        });
    }
}

TEST(comm_plan_test, HostCallsCountWhatTheyTake) {
    for (const char* devices : {"cpu:3", "checked:2"}) {
        options o;
        o.devices = devices;
        o.host_threads = 2;
        o.host_slots = 5;
        runtime rt(o);
        const auto queues = rt.allocate<host_call_queue<message_of<24>, std::uint32_t>>(1);
        const std::uint64_t before = zeroed_bytes_held();
        const auto calls =
            rt.host_calls<message_of<24>, std::uint32_t>("weigh", [](const message_of<24>&) { return 1u; });
        std::uint64_t counted = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) counted += rt.machine().service_bytes(pe);
        const std::uint64_t tables =
            static_cast<std::uint64_t>(rt.n_pes()) * sizeof(host_call_queue<message_of<24>, std::uint32_t>);
        EXPECT_EQ(zeroed_bytes_held() - before, counted + tables);
        const auto report = rt.run(work{}, rt.mailbox<std::uint64_t>(serve{}));
        const auto more = rt.host_calls<std::uint64_t>("hear", [](std::uint64_t) {});
        const auto later = rt.run(work{}, rt.mailbox<std::uint64_t>(serve{}));
        EXPECT_EQ(later.buffer_bytes[0] - report.buffer_bytes[0],
                  rt.machine().service_bytes(0) - counted / static_cast<std::uint64_t>(rt.n_pes()));
    }
}

TEST(comm_plan_test, HostCallsBeyondTheBoundAreRefusedBeforeTheyTakeAnything) {
    options o;
    o.devices = "cpu:2";
    o.host_slots = 1 << 20;
    o.buffer_bytes = mib;
    runtime rt(o);
    try {
        (void)rt.host_calls<message_of<4096>>("store", [](const message_of<4096>&) {});
        FAIL() << "accepted";
    } catch (const usage_error& e) {
        const std::string what = e.what();
        for (const char* part : {"buffer_bytes = 1048576", "'store'", "host_slots = 1048576", "PE 0 (cpu:0)"}) {
            EXPECT_NE(what.find(part), std::string::npos) << what;
        }
        EXPECT_EQ(what.find('\n'), std::string::npos);
    }
}

TEST(comm_plan_test, OneSidedGetsAndBuffersAreInTheReport) {
    options o;
    o.devices = "cpu:2";
    runtime rt(o);
    const auto box = rt.mailbox<std::uint64_t>(serve{});
    const auto report = rt.run(work{}, box);
    ASSERT_EQ(report.buffer_bytes.size(), 2u);
    const std::uint64_t rings = 64 * (16'384 + 8 * chunk_words + 8 + 8), bins = 2 * 2 * 16'384;
    for (const std::uint64_t bytes : report.buffer_bytes) {
        EXPECT_GT(bytes, rings + bins);
        EXPECT_LT(bytes, rings + bins + 8192);
    }
    (void)rt.one_sided();
    EXPECT_EQ(rt.run(work{}, box).buffer_bytes[1] - report.buffer_bytes[1],
              sizeof(lane_gets) + max_values_asked * sizeof(std::uint64_t));
}

}  // namespace
}  // namespace laneway::test
