#include "laneway/base/timeline.hpp"
#include "laneway/base/error.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/timeline_clocks.hpp"
#include "base/trace_events.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

TEST(thinning_test, WhatIsKeptIsSpreadEvenlyAndNothingIsLost) {
    for (const std::uint64_t room : {2u, 8u, 64u}) {
        std::map<std::uint64_t, std::uint64_t> places;
        std::uint64_t n = 0;
        while (n < 100 * room) {
            const std::uint64_t place = thinning::place(n, room);
            ASSERT_LT(place, room);
            places[place] = n;
            const std::uint64_t stride = thinning::stride(n, room);
            ASSERT_EQ(n % stride, 0u);
            // All multiples of the stride so far are there, but what goes as this one comes.
            for (std::uint64_t kept = 0; kept <= n; kept += stride) {
                ASSERT_EQ(places[thinning::place(kept, room)], kept) << "after " << n << " of " << room;
            }
            n += thinning::stride(n, room);
        }
        EXPECT_EQ(places.size(), room);
    }
}

TEST(thinning_test, AllAreKeptWhileTheyFit) {
    for (std::uint64_t n = 0; n < 16; ++n) {
        EXPECT_EQ(thinning::stride(n, 16), 1u);
        EXPECT_EQ(thinning::place(n, 16), n);
    }
    EXPECT_EQ(thinning::stride(16, 16), 2u);
    EXPECT_EQ(thinning::stride(31, 16), 2u);
    EXPECT_EQ(thinning::stride(32, 16), 4u);
}

TEST(trace_events_test, TextsAreJson) {
    EXPECT_EQ(json_text("a \"b\" \\c"), "\"a \\\"b\\\" \\\\c\"");
    EXPECT_EQ(json_text("line\nend\x01"), "\"line\\u000aend\\u0001\"");
    EXPECT_EQ(json_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    // Bytes that are no UTF-8: alone, cut off, longer than needed, a surrogate.
    EXPECT_EQ(json_text("\xff"), "\"\\ufffd\"");
    EXPECT_EQ(json_text("\xc3"), "\"\\ufffd\"");
    EXPECT_EQ(json_text("\xc0\xaf"), "\"\\ufffd\\ufffd\"");
    EXPECT_EQ(json_text("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
}

TEST(trace_events_test, EventsComeInOrderOfTimeTheLongerFirst) {
    trace_events events;
    events.span({1, 0}, "body", "inner", 5'000, 6'000);
    events.counter(1, "messages", 1'500, json_members().add("sent", 3));
    events.span({1, 0}, "kernel", "outer", 5'000, 9'001);
    const std::string text = events.text();
    const auto counter = text.find("\"ts\":1.500,\"pid\":1,\"tid\":0,\"args\":{\"sent\":3}");
    const auto outer = text.find("\"ts\":5.000,\"dur\":4.001"), inner = text.find("\"ts\":5.000,\"dur\":1.000");
    ASSERT_NE(counter, std::string::npos) << text;
    ASSERT_NE(outer, std::string::npos) << text;
    ASSERT_NE(inner, std::string::npos) << text;
    EXPECT_LT(counter, outer);
    EXPECT_LT(outer, inner);
}

pe_record between(std::uint64_t first, std::uint64_t last) {
    pe_record record;
    record.samples.resize(2);
    record.samples.front().time_ns = first;
    record.samples.back().time_ns = last;
    return record;
}

run_record run_of(std::uint64_t begin, std::uint64_t end, std::vector<pe_record> pes) {
    run_record run;
    run.begin_ns = begin;
    run.end_ns = end;
    run.pes = std::move(pes);
    return run;
}

TEST(timeline_clocks_test, EachRunSaysSomethingOfTheDistanceToAGpusClock) {
    // The distance is 1000: the first run allows 990 to 1030, the second 960 to 1004.
    const std::vector<run_record> runs{run_of(2000, 3000, {between(1010, 1970)}),
                                       run_of(4000, 5000, {between(3040, 3996)})};
    const std::vector<std::vector<std::string>> devices{{"cuda:0"}};
    const timeline_clocks clocks(runs, devices);
    EXPECT_STREQ(clocks.kind(runs[0], 0), "aligned");
    EXPECT_EQ(clocks.error_ns(runs[0], 0), 7u);
    EXPECT_EQ(clocks.host_ns(runs[0], 0, 1500), 1500u + 997u);
    EXPECT_EQ(clocks.host_ns(runs[1], 0, 3500), 3500u + 997u);
    EXPECT_EQ(clocks.host_ns(runs[1], 0, 9999), 5000u) << "not after the run";
}

TEST(timeline_clocks_test, WhereClocksDriftEachRunHasItsOwnDistance) {
    const std::vector<run_record> runs{run_of(2000, 3000, {between(1010, 1970)}),
                                       run_of(9000, 9999, {between(5000, 5900)})};
    const std::vector<std::vector<std::string>> devices{{"cuda:0"}};
    const timeline_clocks clocks(runs, devices);
    EXPECT_EQ(clocks.host_ns(runs[0], 0, 1500), 1500u + 1010u);
    EXPECT_EQ(clocks.host_ns(runs[1], 0, 5500), 5500u + 4049u);
}

TEST(timeline_clocks_test, VirtualTimeIsStretchedOverTheRun) {
    const std::vector<run_record> runs{run_of(1000, 3000, {between(0, 500)})};
    const std::vector<std::vector<std::string>> devices{{"checked:0"}};
    const timeline_clocks clocks(runs, devices);
    EXPECT_STREQ(clocks.kind(runs[0], 0), "virtual");
    EXPECT_EQ(clocks.host_ns(runs[0], 0, 250), 2000u);
    EXPECT_EQ(clocks.host_ns(runs[0], 0, 900), 3000u);
}

TEST(timeline_test, JobsThatAreThereAtOnceHaveNumbersOfTheirOwn) {
    timeline all;
    const int one = all.enter({"cpu:0", "cpu:1"}), other = all.enter({"cpu:0", "cpu:1"});
    EXPECT_NE(one, other);
    all.leave(one);
    EXPECT_EQ(all.enter({"cpu:0", "cpu:1"}), one);
    EXPECT_NE(all.enter({"cpu:0"}), one);
}

TEST(timeline_test, WithoutRoomTheSumsAreKept) {
    timeline::capacity room;
    room.records = 5;
    room.spans = 3;
    timeline all(room);
    (void)all.enter({"cpu:0"});
    for (std::uint64_t i = 1; i <= 4; ++i) {
        run_record run = run_of(10 * i, 10 * i + 9, {between(10 * i, 10 * i + 5)});
        run.pes[0].samples.back().sent = 100 * i;
        (void)all.add_run(run);
        all.add_span({"parts", "part", 1, 2});
    }
    EXPECT_EQ(all.runs().size(), 3u);
    EXPECT_EQ(all.spans().size(), 3u);
    EXPECT_EQ(all.count().left_out, 1u + 1u + 1u) << "the samples of the third run, the fourth run, and a span";
    EXPECT_EQ(all.runs()[2].pes[0].samples.size(), 1u);
    EXPECT_NE(all.json().find("\"messages\",\"ts\":0.000,\"pid\":1,\"tid\":0,\"args\":{\"sent\":600"),
              std::string::npos);
}

/// A PE at two moments, with messages that it has sent and served by then, and the work that it knows to be open.
pe_record counting(std::array<std::uint64_t, 2> sent, std::array<std::uint64_t, 2> served, std::uint64_t open = 0) {
    pe_record record = between(1000, 2000);
    for (std::size_t i = 0; i < 2; ++i) {
        record.samples[i].sent = sent[i];
        record.samples[i].served = served[i];
    }
    record.samples.back().open = open;
    return record;
}

/// What a timeline of two PEs says of these runs.
std::string text_of(const std::vector<run_record>& runs) {
    timeline all;
    (void)all.enter({"cpu:0", "cpu:1"});
    for (const run_record& run : runs) (void)all.add_run(run);
    return all.json();
}

TEST(timeline_test, ARunThatFailsShowsWhatItLeaves) {
    run_record run = run_of(1000, 3000, {counting({0, 7}, {0, 0}, 5), counting({0, 0}, {0, 3})});
    run.pes[1].samples.back().time_ns = 2500;
    const std::string well = text_of({run});
    EXPECT_EQ(well.find("{\"messages\":4}"), std::string::npos) << well;
    EXPECT_NE(well.find("{\"pieces\":0}", well.find("{\"pieces\":5}")), std::string::npos) << well;
    run.failed = true;
    const std::string failed = text_of({run});
    EXPECT_NE(failed.find("{\"messages\":4}"), std::string::npos) << failed;
    EXPECT_EQ(failed.find("{\"pieces\":0}", failed.find("{\"pieces\":5}")), std::string::npos) << failed;
}

TEST(timeline_test, AProgramThatComesBackBeginsWithWhatItHadCounted) {
    run_record stay = run_of(1000, 2000, {counting({0, 900}, {0, 0}), counting({0, 0}, {0, 900})});
    stay.name = "session";
    run_record next = run_of(1000, 2000, {counting({900, 907}, {0, 0}), counting({0, 0}, {900, 907})});
    next.name = "session";
    next.goes_on = true;
    next.pes[0].samples.front().time_ns = 1100;
    const std::string text = text_of({stay, next});
    EXPECT_NE(text.find("\"run\":2,\"sent\":7,\"served\":0"), std::string::npos) << text;
    EXPECT_NE(text.find("\"run\":2,\"sent\":0,\"served\":7"), std::string::npos) << text;
    const auto first = text.find("{\"messages\":900}");
    EXPECT_EQ(text.find("{\"messages\":900}", first == std::string::npos ? 0 : first + 1), std::string::npos) << text;
}

TEST(timeline_test, AFileThatCannotBeWrittenIsRefused) {
    const timeline all;
    const auto text = thrown<usage_error>([&] { all.write("/no/such/folder/run.json"); });
    EXPECT_NE(text.find("/no/such/folder/run.json: cannot be written"), std::string::npos) << text;
}

TEST(timeline_test, RoomThatIsNoPowerOfTwoIsRefused) {
    for (const std::uint32_t count : {0u, 1u, 6u}) {
        timeline::capacity samples, waits;
        samples.samples = waits.waits = count;
        EXPECT_THROW(timeline{samples}, usage_error);
        EXPECT_THROW(timeline{waits}, usage_error);
    }
}

TEST(timeline_test, NotesAreToldOnce) {
    timeline all;
    all.note("program", "gups");
    all.note("program", "sssp");
    EXPECT_NE(all.json().find("\"notes\":{\"program\":\"sssp\"}"), std::string::npos);
}

}  // namespace
}  // namespace laneway::test
