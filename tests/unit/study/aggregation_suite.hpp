// Every scheme of aggregation: whatever lanes post is served once, on the PE it was posted to.
#pragma once

#include "aggregation/schemes.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

constexpr std::uint64_t words = 32;

struct update {
    std::uint32_t index;
    std::uint32_t value;
    std::uint32_t pe;
};

/// Counts each message by its index, and those at the wrong PE.
struct count_update {
    symmetric_ref<std::uint64_t> counts;
    symmetric_ref<std::uint64_t> sums;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const update& m) const {
        if (static_cast<int>(m.pe) != ctx.pe() || m.index >= words) {
            atomic_add(ctx, wrong[0], 1);
            return;
        }
        atomic_add(ctx, counts[m.index], 1);
        atomic_add(ctx, sums[m.index], m.value);
    }
};

/// Message i of a lane, the same for poster and host.
struct schedule {
    std::uint64_t messages;  ///< at most, a lane
    bool uneven = false;     ///< lanes post different numbers, some none
    bool hot = false;        ///< all to the last PE

    [[nodiscard]] LANEWAY_FN std::uint64_t count(std::uint64_t rank) const {
        return uneven ? rank * 7 % (messages + 1) : messages;
    }
    [[nodiscard]] LANEWAY_FN update message(std::uint64_t rank, std::uint64_t i, int n_pes) const {
        const std::uint64_t hash = (rank * 1000003 + i + 1) * 0x9e3779b97f4a7c15u >> 33;
        const auto pe = hot ? static_cast<std::uint64_t>(n_pes - 1) : hash % static_cast<std::uint64_t>(n_pes);
        return {static_cast<std::uint32_t>((rank + i * 5) % words), static_cast<std::uint32_t>(1 + rank * 31 + i),
                static_cast<std::uint32_t>(pe)};
    }
};

/// Posts the schedule and counts the lanes that did.
struct post_schedule {
    schedule what;
    symmetric_ref<std::uint64_t> lanes;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        atomic_add(ctx, lanes[0], 1);
        study::walk(ctx, box, what.count(ctx.rank()), [&](std::uint64_t i) {
            const update m = what.message(ctx.rank(), i, ctx.n_pes());
            return box.post(ctx, static_cast<int>(m.pe), m);
        });
    }
};

/// The same with all lanes of a block in step.
struct post_predicated {
    schedule what;
    symmetric_ref<std::uint64_t> lanes;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        atomic_add(ctx, lanes[0], 1);
        study::walk_predicated(ctx, box, what.count(ctx.rank()), [&](std::uint64_t i, bool active) {
            const update m = what.message(ctx.rank(), i, ctx.n_pes());
            return box.post_if(ctx, active, static_cast<int>(m.pe), m);
        });
    }
};

/// What a run left in memory against what the host expects of it.
class tally {
public:
    explicit tally(runtime& rt)
        : runtime_(rt), counts_(rt.allocate<std::uint64_t>(words)), sums_(rt.allocate<std::uint64_t>(words)),
          wrong_(rt.allocate<std::uint64_t>(1)), lanes_(rt.allocate<std::uint64_t>(1)) {}

    [[nodiscard]] count_update handler() const { return {counts_.ref(), sums_.ref(), wrong_.ref()}; }
    [[nodiscard]] symmetric_ref<std::uint64_t> lanes() const { return lanes_.ref(); }

    void expect(const schedule& what) const {
        std::uint64_t lanes = 0;
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) lanes += lanes_.copy_out(pe)[0];
        EXPECT_GT(lanes, 0u);
        const auto pes = static_cast<std::size_t>(runtime_.n_pes());
        std::vector<std::vector<std::uint64_t>> count(pes, std::vector<std::uint64_t>(words)), sum = count;
        for (std::uint64_t rank = 0; rank < lanes; ++rank) {
            for (std::uint64_t i = 0; i < what.count(rank); ++i) {
                const update m = what.message(rank, i, runtime_.n_pes());
                ++count[m.pe][m.index];
                sum[m.pe][m.index] += m.value;
            }
        }
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            EXPECT_EQ(counts_.copy_out(pe), count[static_cast<std::size_t>(pe)]) << "PE " << pe;
            EXPECT_EQ(sums_.copy_out(pe), sum[static_cast<std::size_t>(pe)]) << "PE " << pe;
            EXPECT_EQ(wrong_.copy_out(pe)[0], 0u) << "PE " << pe;
        }
    }

private:
    runtime& runtime_;
    symmetric_array<std::uint64_t> counts_, sums_, wrong_, lanes_;
};

/// Chunk sizes, grids and the sharing of aggregation buffers change from round to round.
inline study::study_options study_of(const options& job) {
    study::study_options o;
    o.job = job;
    o.job.checked_blocks = 2 + static_cast<int>(job.seed / 5 % 2);
    o.job.host_slots = 2 << job.seed % 3;
    o.job.host_threads = 1 + static_cast<int>(job.seed / 2 % 2);
    o.job.age_ns = job.seed % 2 == 0 ? 0 : 10'000;
    o.blocks_per_set = 1 + static_cast<int>(job.seed / 3 % 3);
    o.queue_slots = 1 + static_cast<std::uint32_t>(job.seed % 3);
    o.aggregator_share = 0.4;
    return o;
}

inline void serves_all_once(const std::string& scheme, const options& job, const schedule& what) {
    study::study_options o = study_of(job);
    // Host threads would look at a clock that no seed replays.
    if (scheme == "host" && is_checked(job.devices)) o.job.age_ns = 0;
    runtime rt(o.job);
    const tally expected(rt);
    const auto result =
        study::run_scheme<update>(scheme, rt, o, expected.handler(), post_schedule{what, expected.lanes()});
    expected.expect(what);
    EXPECT_EQ(result.report.carried, result.report.served);
    EXPECT_EQ(result.chunks > 0, result.report.carried > 0);
    EXPECT_GT(result.buffer_bytes, 0u);
}

using scheme_on = std::tuple<std::string, std::string>;
class aggregation_test : public testing::TestWithParam<scheme_on> {
protected:
    [[nodiscard]] const std::string& scheme() const { return std::get<0>(GetParam()); }
    [[nodiscard]] const std::string& devices() const { return std::get<1>(GetParam()); }
    [[nodiscard]] std::uint64_t messages() const { return devices().starts_with("cpu") ? 300 : 5; }

    /// Three of ten of a suite's rounds each: there are many schemes.
    template <class Body>
    void some_rounds(Body&& body) const {
        every_round(devices(), [&](const options& o) {
            if (o.seed % 10 < 3) body(o);
        });
    }
};

TEST_P(aggregation_test, ServesAllOnce) {
    some_rounds([&](const options& o) { serves_all_once(scheme(), o, {messages()}); });
}

TEST_P(aggregation_test, ServesAllOnceFromUnevenLanes) {
    some_rounds([&](const options& o) { serves_all_once(scheme(), o, {messages(), true}); });
}

TEST_P(aggregation_test, ServesAllOnceAtOneHotPe) {
    some_rounds([&](const options& o) { serves_all_once(scheme(), o, {messages(), true, true}); });
}

inline std::string scheme_name(const testing::TestParamInfo<scheme_on>& info) {
    std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(devices, aggregation_test,
                         testing::Combine(testing::ValuesIn(study::scheme_names()), testing::ValuesIn(device_lists())),
                         scheme_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(aggregation_test);

class predication_test : public testing::TestWithParam<std::string> {};

TEST_P(predication_test, LanesInStepServeAllOnce) {
    every_round(GetParam(), [&](const options& job) {
        if (job.seed % 10 >= 3) return;
        const study::study_options o = study_of(job);
        runtime rt(o.job);
        const tally expected(rt);
        const schedule what{5, true};
        (void)study::run_study<study::block_direct, update>(rt, o, expected.handler(),
                                                            post_predicated{what, expected.lanes()});
        expected.expect(what);
    });
}

LANEWAY_ON_DEVICES(predication_test, device_lists());

}  // namespace laneway::test
