// Segments and targets whose elements are not side by side, by copy engine and by kernel, against plain loops.
#pragma once

#include <algorithm>
#include <random>
#include <set>

#include "dataflow_job.hpp"

namespace laneway::test {
namespace {

using flow::copy_path;
using flow::layout;
using flow::piece;
using flow::stride;
using flow::target;

class layouts_test : public testing::TestWithParam<std::string> {};

constexpr copy_path all_paths[] = {copy_path::engine, copy_path::kernel, copy_path::by_rule};

/// Draws layouts, and says by loops of its own where each byte of them lies.
class layout_maker {
public:
    explicit layout_maker(std::uint64_t seed) : random_(seed) {}

    std::int64_t draw(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }
    /// Loops within each other, in any order and direction; `disjoint`: steps leave what the inner ones cover.
    void draw_strided(std::size_t element_bytes, bool disjoint) {
        const std::size_t row = static_cast<std::size_t>(draw(1, 5)) * element_bytes;
        std::vector<stride> levels(static_cast<std::size_t>(draw(0, 4)));
        auto covered = static_cast<std::int64_t>(row);
        for (stride& level : levels) {
            level.count = static_cast<std::uint64_t>(draw(1, 5));
            const std::int64_t gap = draw(0, 3) * static_cast<std::int64_t>(element_bytes);
            level.bytes = (disjoint ? covered + gap : gap) * (draw(0, 2) == 0 ? -1 : 1);
            covered += std::abs(level.bytes) * (static_cast<std::int64_t>(level.count) - 1);
        }
        std::shuffle(levels.begin(), levels.end(), random_);
        offsets.assign(1, 0);
        for (const stride& level : levels) {
            std::vector<std::int64_t> next;
            for (const std::int64_t from : offsets) {
                for (std::uint64_t i = 0; i < level.count; ++i) {
                    next.push_back(from + static_cast<std::int64_t>(i) * level.bytes);
                }
            }
            offsets = std::move(next);
        }
        append_bytes(row);
        where = layout::strided(row, levels);
    }
    /// Pieces of a memory, also none and empty ones; `disjoint`: each element once.
    void draw_scattered(std::size_t element_bytes, bool disjoint) {
        const std::int64_t extent = draw(1, 400);
        std::vector<piece> pieces;
        for (std::int64_t at = 0; at < extent;) {
            const std::int64_t first = disjoint ? at + draw(0, 5) : draw(0, extent);
            if (first > extent) break;
            pieces.push_back({first, draw(0, std::min<std::int64_t>(9, extent - first))});
            at = disjoint ? first + pieces.back().count : at + draw(1, 9);
        }
        std::shuffle(pieces.begin(), pieces.end(), random_);
        offsets.clear();
        for (const piece& one : pieces) {
            for (std::int64_t i = 0; i < one.count; ++i) {
                offsets.push_back((one.first + i) * static_cast<std::int64_t>(element_bytes));
            }
        }
        append_bytes(element_bytes);
        where = layout::scattered(element_bytes, extent, pieces);
    }
    /// The least offset, and one behind the greatest.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> bounds() const {
        if (offsets.empty()) return {0, 1};
        const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
        return {*least, *most + 1};
    }

    layout where = layout::strided(1, {});
    std::vector<std::int64_t> offsets;  ///< of each byte, in the packed order

private:
    void append_bytes(std::size_t row) {
        std::vector<std::int64_t> bytes;
        for (const std::int64_t from : offsets) {
            for (std::size_t i = 0; i < row; ++i) bytes.push_back(from + static_cast<std::int64_t>(i));
        }
        offsets = std::move(bytes);
    }

    std::mt19937_64 random_;
};

std::vector<std::uint8_t> random_bytes(layout_maker& from, std::int64_t count) {
    std::vector<std::uint8_t> all(static_cast<std::size_t>(count));
    for (auto& byte : all) byte = static_cast<std::uint8_t>(from.draw(1, 255));
    return all;
}

TEST(layouts, MappingsAreThoseOfPlainLoops) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        layout_maker made(seed);
        seed % 2 == 0 ? made.draw_scattered(3, false) : made.draw_strided(2, seed % 4 == 1);
        ASSERT_EQ(made.where.bytes(), made.offsets.size());
        if (made.offsets.empty()) continue;
        const auto size = static_cast<std::int64_t>(made.offsets.size());
        const std::int64_t begin = made.draw(0, size - 1), bytes = made.draw(1, size - begin);
        std::vector<std::int64_t> seen;
        std::uint64_t calls = 0;
        made.where.for_each_rows(
            static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(bytes), [&](const flow::layout_rows& some) {
                ++calls;
                EXPECT_EQ(some.packed, static_cast<std::uint64_t>(begin) + seen.size());
                for (std::uint64_t i = 0; i < some.rows * some.row_bytes; ++i) {
                    const std::uint64_t row = i / some.row_bytes;
                    seen.push_back(some.offset +
                                   static_cast<std::int64_t>(row * some.pitch + i - row * some.row_bytes));
                }
            });
        ASSERT_EQ(seen, std::vector(made.offsets.begin() + begin, made.offsets.begin() + begin + bytes));
        EXPECT_EQ(calls, made.where.calls_for(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(bytes)));
        EXPECT_GE(made.where.runs_in(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(bytes)), calls);
    }
}

/// Sends from a random layout of one endpoint's memory into one of another's, and compares with loops.
void send_random(const options& o, copy_path path, std::size_t element_bytes) {
    layout_maker from(o.seed), to(o.seed + 1000);
    o.seed % 2 == 0 ? from.draw_scattered(element_bytes, false) : from.draw_strided(element_bytes, o.seed % 4 == 1);
    // A target for as many elements, cut off or filled up by a last piece behind all others.
    const auto elements = static_cast<std::int64_t>(from.offsets.size() / element_bytes);
    std::vector<piece> pieces;
    std::int64_t place = 0;
    for (std::int64_t left = elements; left > 0; left -= pieces.back().count) {
        place += to.draw(0, 3);
        pieces.push_back({place, std::min(left, to.draw(1, 7))});
        place += pieces.back().count;
    }
    std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(o.seed));
    flow::context ctx(o);
    const auto& device = ctx.devices().back();
    const auto [least, most] = from.bounds();
    const auto values = random_bytes(from, most - least);
    const auto memory = test::place(ctx, device, values);
    const std::size_t packet = element_bytes * static_cast<std::size_t>(to.draw(1, 40));
    const flow::link out(ctx, device, ctx.host(), {packet, 1 + static_cast<int>(o.seed % 3), path});
    const flow::link back(ctx, ctx.host(), device, {packet, 2, path});
    segment what = segment::of(memory.get() - least, from.where);
    what.element_bytes = element_bytes;
    const event sent = out.send(what);
    out.shutdown();
    const auto packed = receive_all<std::uint8_t>(ctx, out, ctx.host(), from.offsets.size());
    out.wait(sent);
    std::vector<std::uint8_t> wanted;
    for (const std::int64_t offset : from.offsets) wanted.push_back(values[static_cast<std::size_t>(offset - least)]);
    ASSERT_EQ(packed, wanted);
    const std::uint64_t by_kernel = path == copy_path::kernel && !wanted.empty() ? out.count().packets : 0;
    if (path != copy_path::by_rule) {
        EXPECT_EQ(out.count().by_kernel, by_kernel);
    }

    // And back into pieces of the device's memory, whose other bytes stay.
    const auto size = static_cast<std::size_t>(place) * element_bytes + 16;
    const auto there = test::place(ctx, device, std::vector<std::uint8_t>(size));
    const target into = target::of(there.get(), layout::scattered(element_bytes, place, pieces));
    const auto pinned = ctx.allocate<std::uint8_t>(ctx.host(), packed.size() + 1);
    std::copy(packed.begin(), packed.end(), pinned.get());
    segment again = segment::of(pinned.get(), packed.size());
    again.element_bytes = element_bytes;
    (void)back.send(again);
    back.shutdown();
    device_stream stream = ctx.make_stream(device, "unpacking");
    while (const auto part = back.receive().get()) {
        back.unpack(part, into, stream);
        back.release(part, stream);
    }
    ctx.wait(stream.record());
    std::vector<std::uint8_t> expected(size);
    auto next = packed.begin();
    for (const piece& one : pieces) {
        const auto bytes = static_cast<std::ptrdiff_t>(element_bytes) * one.count;
        std::copy(next, next + bytes, expected.begin() + static_cast<std::ptrdiff_t>(element_bytes) * one.first);
        next += bytes;
    }
    EXPECT_EQ(fetch(ctx, device, there.get(), size), expected);
}

TEST(layouts, RowsFurtherApartThanCudaCopiesRowsAreCopiedOneByOne) {
    constexpr std::int64_t apart = std::int64_t{1} << 32;
    EXPECT_EQ(flow::layout::strided(65536, {{8, apart}}).calls_for(0, 8 * 65536), 8u);
    EXPECT_EQ(flow::layout::strided(65536, {{8, apart / 4}}).calls_for(0, 8 * 65536), 1u);
}

TEST_P(layouts_test, RandomStridesAndPiecesArriveAsLoopsWouldCopyThem) {
    for (const copy_path path : all_paths) {
        SCOPED_TRACE(static_cast<int>(path));
        dataflow_rounds(GetParam(), [&](const options& o) {
            for (const std::size_t element : {1, 4, 12, 16}) send_random(o, path, element);
        });
    }
}

TEST_P(layouts_test, MorePiecesThanOneTableHoldsArriveAllTheSame) {
    constexpr std::int64_t n = 10'000;  // a table holds 4096
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices().back();
    const auto values = numbers(2 * n);
    const auto memory = place(ctx, device, values);
    std::vector<piece> pieces;
    for (std::int64_t i = 0; i < n; ++i) pieces.push_back({2 * (n - 1 - i), 1});
    for (const copy_path path : all_paths) {
        const flow::link out(ctx, device, ctx.add_endpoint(ctx.host(), "host"), {1 << 20, 1, path});
        (void)out.send(segment::scattered<std::uint32_t>(memory.get(), 2 * n, pieces));
        out.shutdown();
        const auto got = receive_all<std::uint32_t>(ctx, out, ctx.host(), n);
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], 2 * (n - 1 - i));
        EXPECT_EQ(out.count().by_kernel, path == copy_path::engine ? 0u : 1u) << "the rule avoids 10,000 calls";
    }
}

TEST_P(layouts_test, SeveralPacketsOfBothPathsAreUnderWayAtOnce) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices().back();
    const auto values = numbers(64 * 100);
    const auto memory = place(ctx, device, values);
    for (const copy_path path : all_paths) {
        const flow::link out(ctx, device, ctx.add_endpoint(ctx.host(), "host"), {400, 3, path});
        device_stream late = ctx.make_stream(device, "late");
        const event gate = event::pending();
        late.wait(gate);
        const event columns = out.send(segment::strided<std::uint32_t>(memory.get(), 64, 100, 100), late);
        std::vector<flow::pending_segment> held;
        for (int i = 0; i < 3; ++i) held.push_back(out.receive().get());
        EXPECT_EQ(out.count().packets, 3u);
        EXPECT_FALSE(held[0].arrived().done());
        gate.complete();
        for (std::size_t i = 3; i > 0; --i) {
            ctx.wait(held[i - 1].arrived());
            const auto* const first = held[i - 1].as<std::uint32_t>();
            ASSERT_TRUE(std::equal(first, first + 100, values.begin() + static_cast<std::ptrdiff_t>(i - 1) * 100));
            out.release(held[i - 1]);
        }
        out.shutdown();
        (void)receive_all<std::uint32_t>(ctx, out, ctx.host(), values.size());
        out.wait(columns);
    }
}

// The rule.

TEST(copy_rules, SizeStrideAndLoadChooseThePath) {
    const auto chosen = [](flow::copy_size size, flow::copy_load load) { return flow::choose_copy(size, load); };
    constexpr std::uint64_t mega = 1 << 20;
    EXPECT_EQ(chosen({mega, 1, 1}, {}), copy_path::engine);
    EXPECT_EQ(chosen({mega, 1, 1}, {9, 0}), copy_path::engine) << "large ones wait for the engine";
    EXPECT_EQ(chosen({4096, 1, 1}, {}), copy_path::engine);
    EXPECT_EQ(chosen({4096, 1, 1}, {4, 0}), copy_path::kernel) << "small ones pass a busy engine";
    EXPECT_EQ(chosen({4096, 1, 1}, {4, 1}), copy_path::engine);
    EXPECT_EQ(chosen({mega, 256, 1}, {}), copy_path::engine) << "rows of 4096 bytes";
    EXPECT_EQ(chosen({mega, 65536, 1}, {}), copy_path::kernel) << "rows of 16 bytes";
    EXPECT_EQ(chosen({mega, 65536, 1}, {0, 4}), copy_path::engine) << "as kernels are busy";
    EXPECT_EQ(chosen({mega, 17, 17}, {0, 100}), copy_path::kernel) << "17 calls";
    EXPECT_EQ(flow::choose_copy({mega, 17, 17}, {}, {.max_calls = 17}), copy_path::engine);
    constexpr auto of_cpu = flow::copy_rule::of_cpu();
    EXPECT_EQ(flow::choose_copy({mega, 16384, 16384}, {}, of_cpu), copy_path::engine);
    EXPECT_EQ(flow::choose_copy({mega, 65536, 1}, {}, of_cpu), copy_path::kernel);
    EXPECT_EQ(flow::choose_copy({64, 1, 1}, {9, 0}, of_cpu), copy_path::engine);
}

// Errors.

TEST(layouts, WrongOnesAreRefused) {
    auto values = numbers(100);
    std::uint32_t* const first = values.data();
    const auto refused = [&](const std::vector<piece>& pieces) {
        return thrown<usage_error>([&] { (void)segment::scattered<std::uint32_t>(first, 100, pieces); });
    };
    EXPECT_NE(refused({{0, 4}, {-1, 2}}).find("a piece of 2 elements from element -1 on: neither number can be neg"),
              std::string::npos);
    EXPECT_NE(refused({{5, -2}}).find("neither number can be negative"), std::string::npos);
    EXPECT_NE(refused({{90, 11}}).find("is not within the memory of 100"), std::string::npos);
    EXPECT_NE(refused({{101, 0}}).find("is not within"), std::string::npos);
    EXPECT_NE(refused({{1, std::numeric_limits<std::int64_t>::max()}}).find("is not within"), std::string::npos);
    const auto overlaps = [&](auto&& make) { return thrown<usage_error>(make).find("overlap") != std::string::npos; };
    EXPECT_TRUE(overlaps([&] { (void)target::scattered(first, 100, {{10, 5}, {0, 2}, {14, 1}}); }));
    EXPECT_TRUE(overlaps([&] { (void)target::strided(first, 3, 4, 3); }));
    EXPECT_TRUE(overlaps([&] { (void)target::strided(first + 50, 3, 4, -3); }));
    EXPECT_TRUE(overlaps([&] { (void)target::strided(first, 3, 1, 0); }));
    EXPECT_FALSE(target::strided(first, 3, 4, 4).where()->bytes() != 48);
    EXPECT_THROW((void)layout::strided(0, {}), usage_error);
    EXPECT_THROW((void)layout::scattered(4, -1, {}), usage_error);
    EXPECT_THROW((void)layout::strided(8, {{std::uint64_t{1} << 62, 8}}), usage_error);
    EXPECT_THROW((void)layout::strided(1, std::vector<stride>(9, {2, 5})), usage_error);
}

TEST_P(layouts_test, WrongUnpackingsAndPathsAreRefused) {
    auto values = numbers(100);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices().back();
    const flow::link in(ctx, ctx.host(), device), out(ctx, device, ctx.host());
    (void)in.send(segment::of(values));
    const auto part = in.receive().get();
    device_stream stream = ctx.make_stream(device, "unpacking");
    const auto told = [&](const flow::link& by, const flow::pending_segment& what, std::size_t count) {
        return thrown<usage_error>([&] { by.unpack(what, target::of(values.data(), count), stream); });
    };
    EXPECT_NE(told(in, part, 99).find("a message of 400 bytes and a target of 396"), std::string::npos);
    EXPECT_NE(told(out, part, 100).find("only packets of this link"), std::string::npos);
    EXPECT_NE(told(in, {}, 100).find("only packets of this link"), std::string::npos);
    const flow::link lanes(ctx, ctx.host(), ctx.add_endpoint(ctx.host(), "other"), {.copies = copy_path::kernel});
    EXPECT_NE(thrown<usage_error>([&] { (void)lanes.send(segment::of(values)); }).find("so kernels cannot copy"),
              std::string::npos);
    EXPECT_EQ(lanes.count().packets, 0u);
    (void)lanes.send(segment{});  // has nothing to copy
    segment wrong = segment::strided(values.data(), 5, 2, 4);
    wrong.bytes = 44;
    EXPECT_NE(thrown<usage_error>([&] { (void)in.send(wrong); }).find("44 bytes whose layout has 40"),
              std::string::npos);
    in.release(part);
}

TEST_P(layouts_test, DeadlinesEndWaitsForPiecesToo) {
    options o = dataflow_options(GetParam(), 0);
    o.timeout_seconds = 0.1;
    auto values = numbers(100);
    for (const copy_path path : {copy_path::engine, copy_path::by_rule}) {
        flow::context ctx(o);
        const flow::link in(ctx, ctx.host(), ctx.devices()[0], {16, 1, path});
        device_stream late = ctx.make_stream(ctx.host(), "late");
        late.wait(event::pending());
        const event sent = in.send(segment::scattered<std::uint32_t>(values.data(), 100, {{3, 4}, {50, 20}}), late);
        const auto coming = in.receive();
        EXPECT_TRUE(coming.ready()) << "it has a buffer, whose bytes wait for the stream";
        const auto why = thrown<timeout_error>([&] { in.wait(sent); });
        EXPECT_NE(why.find(in.name() + ": a send was not received within 0.1 s"), std::string::npos) << why;
        EXPECT_TRUE(coming.arrived().wait_for(std::chrono::seconds(20))) << "with the error";
    }
}

LANEWAY_ON_DEVICES(layouts_test, device_lists());

}  // namespace
}  // namespace laneway::test
