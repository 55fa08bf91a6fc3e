// Timelines of dataflows: streams tell what they did, links which packets they held, and nobody tells without being
// asked.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

#include "dataflow_job.hpp"
#include "laneway/base/timeline.hpp"

namespace laneway::test {
namespace {

struct double_each {
    std::uint32_t* values;
    std::uint64_t count;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < count; i += ctx.size()) values[i] *= 2;
    }
};

class stream_timelines_test : public testing::TestWithParam<std::string> {};

/// Sends an array in packets to the last device, which doubles each packet where it lies.
std::vector<std::uint32_t> stream_through(const options& o, const std::vector<std::uint32_t>& sent) {
    flow::context ctx(o);
    const auto& device = ctx.devices().back();
    const flow::link in(ctx, ctx.host(), device, {400, 2});
    const event done = in.send(segment::of(sent));
    in.shutdown();
    std::vector<std::uint32_t> got(sent.size());
    device_stream stream = ctx.make_stream(device, "doubling");
    while (const auto part = in.receive().get()) {
        stream.wait(part.arrived());
        stream.run(double_each{part.as<std::uint32_t>(), part.count<std::uint32_t>()});
        stream.copy(got.data() + part.info().offset / 4, part.as<std::uint32_t>(), part.bytes());
        in.release(part, stream);
    }
    ctx.wait(stream.record());
    in.wait(done);
    return got;
}

std::vector<stream_span> of_kind(const std::vector<stream_span>& all, const std::string& kind) {
    std::vector<stream_span> some;
    std::copy_if(all.begin(), all.end(), std::back_inserter(some), [&](const auto& s) { return s.kind == kind; });
    return some;
}

TEST_P(stream_timelines_test, TellsWhatStreamsDoAndLinksHold) {
    dataflow_rounds(GetParam(), [](options o) {
        o.timeline = std::make_shared<timeline>();
        const auto sent = numbers(1000);
        const std::uint64_t begin = timeline::now_ns();
        const auto got = stream_through(o, sent);
        const std::uint64_t end = timeline::now_ns();
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2 * sent[i]);
        const auto spans = o.timeline->stream_spans();
        EXPECT_EQ(o.timeline->count().operations, spans.size());
        // The clock of a GPU is aligned to some microseconds.
        const std::uint64_t slack = GetParam().starts_with("cuda") ? 1'000'000 : 0;
        const int last = static_cast<int>(parse_devices(o.devices).size()) - 1;
        for (const stream_span& s : spans) {
            EXPECT_LE(s.begin_ns, s.end_ns);
            EXPECT_GE(s.begin_ns + slack, begin);
            EXPECT_LE(s.end_ns, end + slack);
            EXPECT_TRUE(s.pe == last || s.pe == -1) << s.pe;
            EXPECT_NE(s.stream, nullptr);
        }
        EXPECT_EQ(of_kind(spans, "kernel").size(), 10u);
        const auto copies = of_kind(spans, "copy"), packets = of_kind(spans, "packet");
        EXPECT_EQ(copies.size(), 20u) << "into the buffers, and out of them";
        std::uint64_t bytes = 0;
        for (const auto& s : copies) bytes += s.bytes;
        EXPECT_EQ(bytes, 8000u);
        ASSERT_EQ(packets.size(), 10u);
        std::set<std::string> labels;
        for (const auto& s : packets) {
            EXPECT_EQ(s.bytes, 400u);
            EXPECT_TRUE(s.stream->starts_with("buffers of link host -> ")) << *s.stream;
            labels.insert(s.label);
        }
        EXPECT_EQ(labels.size(), 10u);
        EXPECT_TRUE(labels.contains("message 0 from byte 1200"));
    });
}

TEST_P(stream_timelines_test, OperationsOfAStreamDoNotOverlap) {
    options o = dataflow_options(GetParam(), 1);
    o.timeline = std::make_shared<timeline>();
    (void)stream_through(o, numbers(1000));
    std::map<std::string, std::vector<stream_span>> by_stream;
    for (const stream_span& s : o.timeline->stream_spans()) {
        if (std::string(s.kind) != "packet") by_stream[*s.stream].push_back(s);
    }
    EXPECT_GE(by_stream.size(), 2u);
    for (auto& [name, spans] : by_stream) {
        std::stable_sort(spans.begin(), spans.end(),
                         [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
        for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_GE(spans[i].begin_ns, spans[i - 1].end_ns) << name;
    }
    const std::string text = o.timeline->json();
    EXPECT_NE(text.find("\"cat\":\"stream kernel\""), std::string::npos);
    EXPECT_NE(text.find("\"name\":\"copy, message 0 from byte 400\""), std::string::npos);
}

TEST_P(stream_timelines_test, AFailedStreamTellsWhatItHasDone) {
    options o = dataflow_options(GetParam(), 1);
    o.timeline = std::make_shared<timeline>();
    flow::context ctx(o);
    device_stream stream = ctx.make_stream(ctx.devices().front(), "failing");
    stream.call([](void*) { throw std::runtime_error("no"); });
    const auto memory = ctx.allocate<std::uint32_t>(ctx.devices().front(), 4);
    stream.run(double_each{memory.get(), 4});
    EXPECT_ANY_THROW(ctx.wait(stream.record()));
    EXPECT_EQ(of_kind(o.timeline->stream_spans(), "kernel").size(), 0u);
}

TEST_P(stream_timelines_test, MoreThanThereIsRoomForIsLeftOut) {
    options o = dataflow_options(GetParam(), 1);
    timeline::capacity little;
    little.spans = 5;
    o.timeline = std::make_shared<timeline>(little);
    (void)stream_through(o, numbers(1000));
    EXPECT_EQ(o.timeline->count().operations, 5u);
    EXPECT_GE(o.timeline->count().left_out, 35u);
}

LANEWAY_ON_DEVICES(stream_timelines_test, device_lists());

}  // namespace
}  // namespace laneway::test
