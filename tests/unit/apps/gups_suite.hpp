// Random updates in every mode against the same benchmark on one core.
#pragma once

#include <set>

#include "gups/gups.hpp"
#include "gups/updates.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

using apps::gups_mode;

inline const char* word_for(gups_mode mode) {
    const char* const names[] = {"hpcc", "free", "binned", "raw"};
    return names[static_cast<int>(mode)];
}

class gups_test : public testing::TestWithParam<std::string> {
protected:
    /// Few words and many regions, with sizes that change from round to round.
    [[nodiscard]] apps::gups_options job(gups_mode mode, std::uint64_t round = 2) const {
        apps::gups_options o;
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 60;
        o.mode = mode;
        o.log2_words = 8;
        o.updates = is_checked(GetParam()) ? 90 + round % 40 : 3000 + round;
        o.look_ahead = 1 + round % 37;
        o.region_bytes = std::uint64_t{64} << round % 4;
        o.round_updates = 1 + *o.updates / (1 + round % 5);
        return o;
    }
    /// Whether the devices of the list can update each other's memory.
    [[nodiscard]] bool shares_memory() const { return !is_mixed(GetParam()); }

    void meets_reference(gups_mode mode) {
        const std::uint64_t rounds = std::min<std::uint64_t>(200, rounds_of(GetParam()));
        for (std::uint64_t round = 0; round < rounds; ++round) {
            SCOPED_TRACE(std::string(word_for(mode)) + " on " + GetParam() + ", seed " + std::to_string(round + 1));
            const auto o = job(mode, round);
            ASSERT_NO_THROW({
                apps::gups_table table(o);
                const auto result = table.run();
                ASSERT_EQ(table.words(), apps::gups_reference(o.log2_words, *o.updates));
                EXPECT_EQ(result.report.posted, mode == gups_mode::raw ? 0 : *o.updates);
                EXPECT_EQ(result.report.carried, result.report.served);
            });
            if (HasFailure()) return;
        }
    }
};

TEST_P(gups_test, Hpcc) { meets_reference(gups_mode::hpcc); }
TEST_P(gups_test, Free) { meets_reference(gups_mode::free); }
TEST_P(gups_test, Binned) { meets_reference(gups_mode::binned); }
TEST_P(gups_test, Raw) {
    if (shares_memory()) {
        meets_reference(gups_mode::raw);
    } else {
        EXPECT_THROW(apps::gups_table(job(gups_mode::raw)), usage_error);
    }
}

TEST_P(gups_test, ChecksAgreeAndLeaveTheTableAlone) {
    for (const gups_mode mode : {gups_mode::hpcc, gups_mode::free, gups_mode::binned}) {
        const auto o = job(mode);
        const auto expected = apps::gups_reference(o.log2_words, *o.updates);
        apps::gups_table table(o);
        for (int repeat = 0; repeat < 2; ++repeat) {
            EXPECT_EQ(table.run().updates, *o.updates);
            EXPECT_EQ(table.check().errors, 0u) << word_for(mode);
            EXPECT_EQ(table.check().errors, 0u) << "a check leaves the table as it was";
            EXPECT_EQ(table.words(), expected) << word_for(mode);
        }
    }
}

// A table that has never been set holds zeros, so that a check must find each word that should hold something else.
TEST_P(gups_test, ChecksFindEveryWrongWord) {
    const auto o = job(gups_mode::free);
    const auto reference = apps::gups_reference(o.log2_words, *o.updates);
    std::uint64_t errors = 0, first = 0;
    for (std::uint64_t i = reference.size(); i-- > 0;) {
        if (reference[i] == 0) continue;  // its updates sum up to i
        ++errors;
        first = i;
    }
    apps::gups_table table(o);
    const auto check = table.check();
    EXPECT_EQ(check.errors, errors);
    EXPECT_EQ(check.first_error, first);
}

TEST_P(gups_test, FullLogsLoseNothing) {
    auto o = job(gups_mode::binned);
    o.region_bytes = 64;
    const std::uint64_t all = is_checked(GetParam()) ? 200 : 4000;
    for (const std::uint64_t round_updates : {std::uint64_t{1}, std::uint64_t{17}, all}) {
        o.round_updates = round_updates;
        // Rounds of one update are few: each has two barriers, for which processes of a busy machine may wait long.
        o.updates = round_updates == 1 ? 200 : all;
        apps::gups_table table(o);
        const auto result = table.run();
        if (round_updates == *o.updates) {
            EXPECT_EQ(result.rounds, 1u);
        }
        if (round_updates == 1) {
            EXPECT_GT(result.rounds, 1u);
            EXPECT_GT(result.refused, 0u) << "logs of one update overflow";
        }
        EXPECT_EQ(table.words(), apps::gups_reference(o.log2_words, *o.updates));
    }
}

TEST_P(gups_test, LongLogsRefuseNothing) {
    auto o = job(gups_mode::binned);
    o.log2_words = 10;
    o.updates = is_checked(GetParam()) ? 500 : 60'000;
    o.region_bytes = 1u << 13;  // one region a PE
    o.round_updates = *o.updates;
    apps::gups_table table(o);
    const auto result = table.run();
    // The stream begins with small numbers, so that the first of several PEs gets more than its share.
    if (result.report.devices.size() == 1) {
        EXPECT_EQ(result.refused, 0u);
    } else {
        EXPECT_LT(result.refused, is_checked(GetParam()) ? *o.updates : *o.updates / 10);
    }
    EXPECT_EQ(table.check().errors, 0u);
}

/// Counts what has been drawn and not applied, on all PEs together: in the box that the program posts to.
template <class Box>
struct counting_box {
    Box& box;
    symmetric_ref<std::uint64_t> counts;  ///< of PE 0: drawn, applied
    symmetric_ref<std::uint64_t> beyond;
    std::uint64_t limit;

    template <class Ctx>
    LANEWAY_FN status post(Ctx& ctx, int pe, std::uint64_t value) {
        const std::uint64_t drawn = ctx.fetch_add(counts.at(ctx, 0), 1, order::relaxed, scope::system) + 1;
        const std::uint64_t applied = ctx.load(counts.at(ctx, 0) + 1, order::relaxed, scope::system);
        if (drawn > applied + limit) atomic_add(ctx, beyond[0], 1);
        return box.post(ctx, pe, value);
    }
    template <class Ctx>
    LANEWAY_FN status quiet(Ctx& ctx) {
        return box.quiet(ctx);
    }
    template <class Ctx>
    LANEWAY_FN status barrier(Ctx& ctx) {
        return box.barrier(ctx);
    }
};

struct count_applied {
    symmetric_ref<std::uint64_t> counts;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t) const {
        ctx.fetch_add(counts.at(ctx, 0) + 1, 1, order::relaxed, scope::system);
    }
};

struct watched_run {
    apps::post_within_limit program;
    symmetric_ref<std::uint64_t> counts;
    symmetric_ref<std::uint64_t> beyond;
    std::uint64_t limit;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        counting_box<Box> counting{box, counts, beyond, limit};
        program(ctx, counting);
    }
};

TEST_P(gups_test, NoPeHoldsMoreThanTheLookAhead) {
    if (!shares_memory()) return;  // counting needs one word that all reach
    const std::uint64_t rounds = std::min<std::uint64_t>(200, rounds_of(GetParam()));
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("devices " + GetParam() + ", seed " + std::to_string(round + 1));
        const auto o = job(gups_mode::hpcc, round);
        runtime rt(o.job);
        const auto counts = rt.allocate<std::uint64_t>(2);
        const auto beyond = rt.allocate<std::uint64_t>(1);
        const auto seats = rt.allocate<std::uint64_t>(1);
        const apps::update_plan plan{{}, {o.log2_words, rt.n_pes()}, *o.updates};
        const watched_run run{{plan, seats.ref()[0], o.look_ahead},
                              counts.ref(),
                              beyond.ref(),
                              o.look_ahead * static_cast<std::uint64_t>(rt.n_pes())};
        ASSERT_NO_THROW(rt.run(run, rt.mailbox<std::uint64_t>(count_applied{counts.ref()})));
        EXPECT_EQ(counts.copy_out(0), (std::vector<std::uint64_t>{*o.updates, *o.updates}));
        for (int pe = 0; pe < rt.n_pes(); ++pe) ASSERT_EQ(beyond.copy_out(pe)[0], 0u) << "PE " << pe;
    }
}

TEST_P(gups_test, RefusesWrongUse) {
    const auto refuses = [&](auto&& change) {
        auto o = job(gups_mode::binned);
        change(o);
        EXPECT_THROW(apps::gups_table{o}, usage_error);
    };
    refuses([](auto& o) { o.log2_words = 7; });
    refuses([](auto& o) { o.log2_words = 41; });
    refuses([](auto& o) { o.updates = 0; });
    refuses([](auto& o) { o.updates = (std::uint64_t{1} << 48) + 1; });
    refuses([](auto& o) { o.look_ahead = 0; });
    refuses([](auto& o) { o.region_bytes = 0; });
    refuses([](auto& o) { o.region_bytes = 4; });
    refuses([](auto& o) { o.region_bytes = 96; });
    refuses([](auto& o) { o.round_updates = 0; });
    EXPECT_THROW((void)apps::parse_gups_mode("HPCC"), usage_error);
    EXPECT_EQ(apps::parse_gups_mode("binned"), gups_mode::binned);
}

#if !defined(__CUDACC__)
TEST(random_stream_test, JumpsWhereSteppingLeads) {
    const apps::random_stream stream;
    std::uint64_t value = 1;
    for (std::uint64_t n = 0; n < 5000; ++n) {
        ASSERT_EQ(stream.at(n), value) << n;
        value = apps::random_stream::after(value);
    }
    EXPECT_EQ(stream.at(63), std::uint64_t{1} << 63);
    EXPECT_EQ(stream.at(64), 7u);
    EXPECT_EQ(stream.at(1317624576693539401u), 1u) << "the period that HPCC gives";
    const std::uint64_t far = std::uint64_t{1} << 40;
    value = stream.at(far);
    for (std::uint64_t n = 0; n < 100; ++n) value = apps::random_stream::after(value);
    EXPECT_EQ(stream.at(far + 100), value);
}

TEST(table_map_test, EveryWordHasAPlaceOfItsOwn) {
    for (int pes = 1; pes <= 20; ++pes) {
        const apps::table_map map(8, pes);
        std::set<std::pair<int, std::uint64_t>> taken;
        for (std::uint64_t i = 0; i < map.words(); ++i) {
            const int owner = map.owner(i);
            ASSERT_LT(owner, pes);
            EXPECT_GE(i, map.first(owner));
            EXPECT_LT(i, map.first(owner + 1));
            EXPECT_LT(map.place(i), map.places());
            taken.emplace(owner, map.place(i));
        }
        EXPECT_EQ(taken.size(), map.words()) << pes << " PEs";
        EXPECT_EQ(map.first(pes), map.words());
    }
    EXPECT_EQ(apps::table_map(20, 4).places(), std::uint64_t{1} << 18) << "no place is empty where PEs are 2^k";
}
#endif

LANEWAY_ON_DEVICES(gups_test, with_proxies(program_lists()));

}  // namespace laneway::test
