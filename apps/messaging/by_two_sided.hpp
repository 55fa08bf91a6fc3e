// The patterns of the study by two-sided messages: buffers, order and flow are the communicator's. Where messages may
// overtake each other, tags tell them apart.
#pragma once

#include "laneway/run/communicator.hpp"
#include "messaging/message_area.hpp"

namespace laneway::apps {

/// The body: every lane of every PE. A group's messages have its number as their tag; unordered ones the round as well.
struct by_two_sided {
    message_area area;
    bool is_unordered = false;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const copy_share share = world.share(ctx, area.lanes);
        if (area.rounds == 0) return message_group<Ctx>::count(ctx, area, share);
        message_group<Ctx> group(ctx, area, share);
        if (!group.takes_part()) return;
        switch (area.pattern) {
            case message_pattern::ping_pong: ping_pong(ctx, world, group); break;
            case message_pattern::all_to_all: all_to_all(ctx, world, group); break;
            default: area.streams(ctx.pe()) ? send_stream(ctx, world, group) : receive_streams(ctx, world, group);
        }
        group.report();
    }

private:
    using requests = message_request[messaging_options::max_window];

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::int64_t tag_of(const message_group<Ctx>& group, std::uint64_t round) const {
        return static_cast<std::int64_t>((is_unordered ? round * area.groups : 0) + group.number());
    }

    template <class Ctx, class World>
    LANEWAY_FN void ping_pong(Ctx& ctx, World& world, message_group<Ctx>& group) const {
        const int last = ctx.n_pes() - 1, other = last - ctx.pe();
        if (ctx.pe() != 0 && ctx.pe() != last) return;
        const auto buffer = area.buffer(other, group.number(), ctx.n_pes(), 0);
        const auto send = [&](symmetric_ptr<std::uint64_t> from, std::int64_t tag) {
            return world.send(ctx, from, area.words, other, tag, area.lanes) == status::ok;
        };
        for (std::uint64_t round = 0; round <= area.rounds; ++round) {
            const std::int64_t tag = tag_of(group, round);
            const std::uint64_t start = ctx.now_ns();
            if (ctx.pe() == 0 && !send(area.to_send(group.number(), round), tag)) return;
            if (world.recv(ctx, buffer, area.words, other, tag, nullptr, area.lanes) != status::ok) return;
            if (ctx.pe() == last && !send(buffer, tag)) return;
            group.note(round, ctx.now_ns() - start);
            if (ctx.pe() != 0) continue;
            group.check(buffer, 0, round);
            if (round == 0) group.start_clock();
        }
        if (ctx.pe() == 0) group.stop_clock();
    }

    /// As many messages are on their way as the receiver has buffers, where they are not copied at once.
    template <class Ctx, class World>
    LANEWAY_FN void send_stream(Ctx& ctx, World& world, message_group<Ctx>& group) const {
        requests sent;
        const auto window = static_cast<std::uint32_t>(area.window);
        for (std::uint64_t round = 0; round <= area.rounds; ++round) {
            message_request& mine = sent[round % window];
            if (world.wait(ctx, mine, nullptr, area.lanes) != status::ok) return;
            const auto from = area.to_send(group.number(), round);
            const status begun =
                world.isend(ctx, from, area.words, area.receiver(ctx.n_pes()), tag_of(group, round), mine, area.lanes);
            if (begun != status::ok) return;
        }
        (void)world.wait_all(ctx, sent, window, nullptr, area.lanes);  // what fails ends the run
    }

    /// Takes them in the order in which they come, and a source's in that in which they were sent.
    template <class Ctx, class World>
    LANEWAY_FN void receive_streams(Ctx& ctx, World& world, message_group<Ctx>& group) const {
        if (ctx.pe() != area.receiver(ctx.n_pes())) return;
        const bool from_all = area.pattern == message_pattern::n_to_1;
        const std::uint64_t sources = from_all ? static_cast<std::uint64_t>(ctx.n_pes()) - 1 : 1;
        const std::uint64_t all = (area.rounds + 1) * sources;
        std::uint64_t seen[messaging_options::max_pes] = {};
        requests asked;
        const auto receive = [&](std::uint64_t i) {
            const auto buffer = area.buffer(0, group.number(), ctx.n_pes(), i);
            return world.irecv(ctx, buffer, area.words, from_all ? any_source : 0u, tag_of(group, i),
                               asked[i % area.window], area.lanes) == status::ok;
        };
        for (std::uint64_t i = 0; i < area.window && i < all; ++i) {
            if (!receive(i)) return;
        }
        for (std::uint64_t i = 0; i < all; ++i) {
            message_status got;
            if (world.wait(ctx, asked[i % area.window], &got, area.lanes) != status::ok) return;
            const int source = static_cast<int>(got.source);
            group.check(area.buffer(0, group.number(), ctx.n_pes(), i), source, seen[source]++);
            if (i + area.window < all && !receive(i + area.window)) return;
            if (i + 1 == sources) group.start_clock();
        }
        group.stop_clock();
    }

    template <class Ctx, class World>
    LANEWAY_FN void all_to_all(Ctx& ctx, World& world, message_group<Ctx>& group) const {
        const int n = ctx.n_pes();
        for (std::uint64_t round = 0; round <= area.rounds; ++round) {
            const std::int64_t tag = tag_of(group, round);
            for (int step = 1; step < n; ++step) {
                const int to = (ctx.pe() + step) % n, source = (ctx.pe() + n - step) % n;
                const auto buffer = area.buffer(source, group.number(), n, round);
                const status done = world.sendrecv(ctx, area.to_send(group.number(), round), area.words, to, tag,
                                                   buffer, area.words, source, tag, nullptr, area.lanes);
                if (done != status::ok) return;
                group.check(buffer, source, round);
            }
            if (round == 0) group.start_clock();
        }
        group.stop_clock();
    }
};

}  // namespace laneway::apps
