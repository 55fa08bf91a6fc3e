// Every program in every style against the program's reference.
#pragma once

#include "styles/study.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

using styles::study;
using styles::study_options;
using styles::style;

inline std::vector<std::string> style_programs() { return {"gups", "kmer", "pagerank"}; }

/// CPU devices in threads mode, or GPUs; what shares memory.
inline std::vector<std::string> style_devices() {
    std::vector<std::string> lists = device_lists(1, false);
    std::erase(lists, "cuda:0,cpu:1");
#if !defined(__CUDACC__)
    lists.push_back("cpu:4");
#endif
    return lists;
}

class study_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] study_options options(std::uint64_t round) const {
        study_options o;
        o.job = options_of(GetParam(), round);
        o.log2_messages = 8 + static_cast<unsigned>(round % 4);
        o.round_messages = 100 + 97 * round;
        return o;
    }
};

TEST_P(study_test, EveryStyleGivesTheReferencesResult) {
    for (const auto& program : style_programs()) {
        for (std::uint64_t round = 0; round < std::min<std::uint64_t>(8, rounds_of(GetParam())); ++round) {
            SCOPED_TRACE(program + " on " + GetParam() + ", round " + std::to_string(round));
            const auto work = study::open(program, options(round));
            for (int s = 0; s < styles::n_styles; ++s) {
                const auto which = static_cast<style>(s);
                ASSERT_NO_THROW({ EXPECT_EQ(work->measure(which, 2).size(), 2u); }) << to_string(which);
            }
        }
    }
}

TEST_P(study_test, AProgramThatDidNothingIsFoundOut) {
    for (const auto& program : style_programs()) {
        const auto work = study::open(program, options(1));
        EXPECT_FALSE(work->difference().empty()) << program;
        EXPECT_GE(work->messages(), 200u) << program;
    }
}

TEST_P(study_test, LargerInputs) {
    study_options o;
    o.job.devices = GetParam();
    o.log2_messages = 16;
    o.round_messages = 10'000;
    for (const auto& program : style_programs()) {
        const auto work = study::open(program, o);
        for (int s = 0; s < styles::n_styles; ++s) ASSERT_NO_THROW(work->measure(static_cast<style>(s), 1));
    }
}

#if !defined(__CUDACC__)
TEST(study, RefusesWrongUse) {
    const auto refuses = [](const std::string& program, const std::string& devices, unsigned log2_messages) {
        study_options o;
        o.job.devices = devices;
        o.log2_messages = log2_messages;
        EXPECT_THROW((void)study::open(program, o), usage_error);
    };
    refuses("sssp", "cpu:1", 10);
    refuses("gups", "checked:2", 10);
    refuses("gups", "cpu:1", 7);
    refuses("gups", "cpu:1", 31);
    study_options rounds;
    rounds.job.devices = "cpu:1";
    rounds.round_messages = 0;
    EXPECT_THROW((void)study::open("gups", rounds), usage_error);
    EXPECT_THROW((void)styles::parse_style("aggregated"), usage_error);
    for (int s = 0; s < styles::n_styles; ++s) {
        EXPECT_EQ(styles::parse_style(to_string(static_cast<style>(s))), static_cast<style>(s));
    }
}
#endif

LANEWAY_ON_DEVICES(study_test, style_devices());

}  // namespace laneway::test
