// Calls of whole warps and blocks beside those of communicator_widths_suite.hpp: synchronous sends, tests, matched
// probes, and blocking calls. Every lane checks what it is told.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_shared_calls : public testing::TestWithParam<std::string> {};

/// Where a warp, or block, stands in a ring of PEs, and its part of the buffers.
template <class Ctx, class World>
struct shared_place {
    const symmetric_ref<std::uint64_t>& from;
    const symmetric_ref<std::uint64_t>& to;
    std::uint64_t room;
    width lanes;
    int group = 0, next = 0, before = 0;
    std::uint64_t first = 0;
    std::int64_t tag = 0;

    LANEWAY_FN void take(const Ctx& ctx) {
        group = lanes == width::block ? ctx.block() : ctx.block() * ctx.n_warps() + ctx.warp();
        next = (ctx.pe() + 1) % ctx.n_pes();
        before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        first = static_cast<std::uint64_t>(group) * room;
        tag = std::int64_t{8} * group;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t word(int pe, std::uint64_t at) const {
        return static_cast<std::uint64_t>(pe) << 48 | static_cast<std::uint64_t>(group) << 32 | at;
    }
    LANEWAY_FN void write(Ctx& ctx, const World& world) const {
        const copy_share mine = world.share(ctx, lanes);
        for (std::uint64_t i = mine.first; i < room; i += mine.step) from.local(ctx)[first + i] = word(ctx.pe(), i);
    }
    /// Whether `count` words came from the PE before, of those behind `skipped`, under `wanted`, into to[first +
    /// shift].
    [[nodiscard]] LANEWAY_FN bool has(Ctx& ctx, const message_status& got, std::uint64_t skipped, std::uint64_t count,
                                      std::int64_t wanted, std::uint64_t shift = 0) const {
        bool right = got.bytes == 8 * count && got.tag == static_cast<unsigned>(wanted) &&
                     got.source == static_cast<unsigned>(before) && !got.cancelled;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t found = to.local(ctx)[first + shift + i];
            right = right && found == word(before, skipped + i);
        }
        return right;
    }
};

/// A status is not ok only where the run ends.
#define LANEWAY_SHARED(call) \
    if ((call) != status::ok) return false

/// Synchronous sends to receives that are posted; tests tell all lanes of the same one.
struct synchronous_and_tested {
    static constexpr const char* name = "ssend, test_any, test_some";
    template <class Ctx, class World, class Place>
    LANEWAY_FN bool operator()(Ctx& ctx, World& world, const Place& at) const {
        message_request receives[2];
        message_status got;
        std::uint32_t which = 0, n_over = 0, indices[2] = {};
        bool over = false;
        LANEWAY_SHARED(world.irecv(ctx, at.to[at.first], 3, at.before, at.tag, receives[0], at.lanes));
        LANEWAY_SHARED(
            world.irecv(ctx, at.to[at.first + 3], at.room - 3, at.before, at.tag + 1, receives[1], at.lanes));
        LANEWAY_SHARED(world.ssend(ctx, at.from[at.first], 2, at.next, at.tag, at.lanes));
        while (!over) LANEWAY_SHARED(world.test_any(ctx, receives, 2, which, over, &got, at.lanes));
        bool right = which == 0 && receives[0].is_null() && !receives[1].is_null() && at.has(ctx, got, 0, 2, at.tag);
        // The second message comes behind the test that tells of the first one.
        LANEWAY_SHARED(world.send(ctx, at.from[at.first], 0, at.before, at.tag + 2, at.lanes));
        LANEWAY_SHARED(world.recv(ctx, at.to[at.first], 0, at.next, at.tag + 2, nullptr, at.lanes));
        LANEWAY_SHARED(world.ssend(ctx, at.from[at.first + 1], at.room - 4, at.next, at.tag + 1, at.lanes));
        while (n_over == 0) LANEWAY_SHARED(world.test_some(ctx, receives, 2, n_over, indices, &got, at.lanes));
        right = right && n_over == 1 && indices[0] == 1 && at.has(ctx, got, 1, at.room - 4, at.tag + 1, 3);
        over = false;
        LANEWAY_SHARED(world.test_any(ctx, receives, 2, which, over, nullptr, at.lanes));  // all are null
        LANEWAY_SHARED(world.test_some(ctx, receives, 2, n_over, indices, nullptr, at.lanes));
        return right && over && which == 2 && n_over == 0;
    }
};

/// A message that was matched is nobody else's; it is received in one call, or in two.
struct matched_and_received {
    static constexpr const char* name = "mprobe, mrecv, improbe, imrecv";
    template <class Ctx, class World, class Place>
    LANEWAY_FN bool operator()(Ctx& ctx, World& world, const Place& at) const {
        message_request sends[2], message;
        message_status seen, got;
        bool found = true;
        LANEWAY_SHARED(world.improbe(ctx, at.before, at.tag + 4, found, message, seen, at.lanes));  // nobody sends it
        bool right = !found && message.is_null();
        LANEWAY_SHARED(world.issend(ctx, at.from[at.first + 2], 5, at.next, at.tag + 2, sends[0], at.lanes));
        LANEWAY_SHARED(world.issend(ctx, at.from[at.first + 3], at.room - 3, at.next, at.tag + 3, sends[1], at.lanes));
        LANEWAY_SHARED(world.mprobe(ctx, at.before, at.tag + 2, message, seen, at.lanes));
        right = right && seen.bytes == 40 && seen.tag == static_cast<unsigned>(at.tag + 2);
        LANEWAY_SHARED(world.iprobe(ctx, at.before, at.tag + 2, found = true, got, at.lanes));
        right = right && !found;
        LANEWAY_SHARED(world.mrecv(ctx, at.to[at.first], 7, message, &got, at.lanes));
        right = right && at.has(ctx, got, 2, 5, at.tag + 2);
        for (found = false; !found;) {
            LANEWAY_SHARED(world.improbe(ctx, at.before, at.tag + 3, found, message, seen, at.lanes));
        }
        right = right && seen.bytes == 8 * (at.room - 3) && seen.source == static_cast<unsigned>(at.before);
        LANEWAY_SHARED(world.imrecv(ctx, at.to[at.first], at.room, message, at.lanes));
        LANEWAY_SHARED(world.wait(ctx, message, &got, at.lanes));
        right = right && at.has(ctx, got, 3, at.room - 3, at.tag + 3);
        LANEWAY_SHARED(world.wait_all(ctx, sends, 2, nullptr, at.lanes));
        return right;
    }
};

/// Messages of all forms by blocking calls, into more room than they fill.
struct blocking_calls {
    static constexpr const char* name = "send, recv, sendrecv";
    template <class Ctx, class World, class Place>
    LANEWAY_FN bool operator()(Ctx& ctx, World& world, const Place& at) const {
        bool right = true;
        for (std::uint64_t form = 0; form < 4; ++form) {
            const std::uint64_t words = form == 0 ? 0 : form == 1 ? 7 : form == 2 ? 8 : at.room - 4;
            const bool receives_first = form == 3 && ctx.pe() == 0;  // long sends in a circle would never end
            const std::int64_t tag = at.tag + 5;
            message_status got;
            if (receives_first && ctx.n_pes() > 1) {
                LANEWAY_SHARED(world.recv(ctx, at.to[at.first], at.room, at.before, tag, &got, at.lanes));
            }
            if (form < 3 || ctx.n_pes() > 1) {
                LANEWAY_SHARED(world.send(ctx, at.from[at.first + form], words, at.next, tag, at.lanes));
            }
            if (!receives_first) {
                LANEWAY_SHARED(world.recv(ctx, at.to[at.first], at.room, at.before, tag, &got, at.lanes));
            }
            right = right && (at.has(ctx, got, form, words, tag) || (receives_first && ctx.n_pes() == 1));
            LANEWAY_SHARED(world.sendrecv(ctx, at.from[at.first + form + 1], words / 2, at.next, tag + 1,
                                          at.to[at.first], at.room, at.before, tag + 1, &got, at.lanes));
            right = right && at.has(ctx, got, form + 1, words / 2, tag + 1);
        }
        return right;
    }
};

#undef LANEWAY_SHARED

template <class Calls>
struct by_all_groups {
    symmetric_ref<std::uint64_t> from, to, wrong;
    std::uint64_t room;
    width lanes;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        shared_place<Ctx, World> at{from, to, room, lanes};
        at.take(ctx);
        at.write(ctx, world);
        if (!Calls{}(ctx, world, at)) atomic_add(ctx, wrong[0], 1);
        atomic_add(ctx, wrong[1], 1);
    }
};

/// At both widths, under rules that differ from round to round.
template <class Calls>
void every_group(const std::string& devices) {
    for (const width lanes : {width::warp, width::block}) {
        every_fourth_round(devices, [lanes](const options& o) {
            runtime rt(o);
            constexpr std::uint64_t room = 150, groups = 512;
            const auto from = rt.allocate<std::uint64_t>(groups * room), to = rt.allocate<std::uint64_t>(groups * room);
            const auto wrong = rt.allocate<std::uint64_t>(2);
            communicator_options how = small_options(o);
            how.unexpected = 2048;  // all groups send before one receives
            how.rules = rules_of(o);
            auto world = rt.communicator(how);
            rt.run(by_all_groups<Calls>{from.ref(), to.ref(), wrong.ref(), room, lanes}, world);
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << Calls::name << ", PE " << pe;
                EXPECT_GT(wrong.copy_out(pe)[1], 0u);
            }
            EXPECT_TRUE(world.pending().empty()) << world.account();
        });
    }
}

TEST_P(communicator_shared_calls, SendSynchronouslyAndTest) { every_group<synchronous_and_tested>(GetParam()); }
TEST_P(communicator_shared_calls, MatchMessagesAndReceiveThem) { every_group<matched_and_received>(GetParam()); }
TEST_P(communicator_shared_calls, BlockingCallsTellLengths) { every_group<blocking_calls>(GetParam()); }

LANEWAY_ON_DEVICES(communicator_shared_calls, communicator_devices());

}  // namespace
}  // namespace laneway::test
