// Stress of what the library relies on beyond the memory model of GPUs, in the manner of litmus tests: a count stands
// before the chunk that it counts (docs/design/0022), also where what is told of it is passed on (0080), and words are
// read before they are written again (0023), also on credits that no fence stands before (0085).
#pragma once

#include "laneway/queue/chunk_ring.hpp"
#include "laneway/transport/transport.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// A message of five words, so that the words of two laps could mix.
struct numbered_message {
    static constexpr int parts = 3;

    std::uint32_t sender;
    std::uint32_t number;
    std::uint32_t derived[parts];

    static LANEWAY_FN numbered_message of(std::uint32_t sender, std::uint32_t number) {
        numbered_message made{sender, number, {}};
        for (int i = 0; i < parts; ++i)
            made.derived[i] = (sender * 31 + number) * 2654435761u + static_cast<unsigned>(i);
        return made;
    }
    [[nodiscard]] LANEWAY_FN bool is_whole() const {
        const numbered_message same = of(sender, number);
        for (int i = 0; i < parts; ++i) {
            if (same.derived[i] != derived[i]) return false;
        }
        return true;
    }
};

/// Senders of PE 0 count each message, then send it in words past the aggregation buffers, as lone calls go. Receivers
/// of the last PE tell which message came, and watchers of PE 0 compare that with the count. Alone, a PE's odd blocks
/// receive. `relayed`: receivers tell it to a warp of theirs, which passes it on.
struct litmus_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t stride = 16;  ///< words between counters

    chunk_ring_layout ring;
    std::uint64_t* sent = nullptr;    ///< source memory: counter of each sender
    std::uint64_t* echoes = nullptr;  ///< written by the destination, near the source: a number of each sender
    std::uint64_t* relay = nullptr;  ///< destination memory: the same for a warp that passes it on; null: there is none
    std::uint32_t* ended = nullptr;  ///< destination memory: receivers that are through
    std::uint32_t* came = nullptr;   ///< destination memory: how often each message was received
    std::uint32_t* wrong = nullptr;  ///< destination memory: messages that nobody sent
    std::uint32_t* early = nullptr;  ///< source memory: messages that came before they were counted
    std::uint32_t* quick = nullptr;  ///< source memory: messages sent on a credit that was seen with a relaxed load
    std::uint32_t senders = 1;
    std::uint32_t each = 0;  ///< messages of a sender
    bool release = true;     ///< the receivers' credits are release stores

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const bool alone = ctx.n_pes() == 1;
        const bool sends = alone ? ctx.block() % 2 == 0 : ctx.pe() == 0;
        if (!sends && !alone && ctx.pe() != ctx.n_pes() - 1) return;
        const int blocks = alone ? ctx.n_blocks() / 2 : ctx.n_blocks();
        const auto warp = static_cast<std::uint32_t>((alone ? ctx.block() / 2 : ctx.block()) + blocks * ctx.warp());
        const auto warps = static_cast<std::uint32_t>(blocks * ctx.n_warps());
        if (!sends) {
            if (relay == nullptr) return receive(ctx, warp, warps);
            if (warp == 0) return pass_on(ctx, warps - 1);
            receive(ctx, warp - 1, warps - 1);
            // Partner: the acquire load in pass_on, which then tells all that this warp has told.
            if (ctx.lane() == 0) ctx.fetch_add(ended, 1, order::release, scope::device);
            return;
        }
        if (ctx.lane() != 0) return;
        if (warp < senders) return send(ctx, warp);
        // A watcher lies in another block than its sender, where there are several.
        watch(ctx, (warp + 1) % senders);
    }

    /// As many senders as leave a warp to watch each.
    static std::uint32_t max_senders(int n_pes, const launch_shape& shape) {
        return static_cast<std::uint32_t>(std::max(1, shape.blocks * shape.warps_per_block / (n_pes == 1 ? 4 : 2)));
    }

private:
    template <class Ctx>
    LANEWAY_FN void send(Ctx& ctx, std::uint32_t sender) const {
        const chunk_sender to(ring);
        std::uint64_t guess = 0;
        for (std::uint32_t number = 1; number <= each; ++number) {
            const std::uint64_t counted = ctx.fetch_add(sent + sender * stride, 1, order::relaxed, scope::device);
            bool free = false;
            const std::uint64_t ticket = to.draw(ctx, guess, free);
            guess = ticket + 1;
            if (free && ticket >= ring.n_slots) {  // before, slots are free as nobody has used them
                ctx.fetch_add(quick, 1, order::relaxed, scope::device);
            } else if (!free && wait_until(ctx, {operation::reserve_slot, 1, ticket},
                                           [&] { return to.is_free(ctx, ticket); }) != status::ok) {
                return;
            }
            to.store_words(ctx, ticket, 0, numbered_message::of(sender, number));
            to.raise_flag(ctx, ticket, chunk_label::of(1, 0, true), counted);
        }
    }

    template <class Ctx>
    LANEWAY_FN void receive(Ctx& ctx, std::uint64_t index, std::uint64_t receivers) const {
        constexpr lane_mask all = full_warp<Ctx>;
        const chunk_receiver from(ring);
        for (std::uint64_t ticket = index; ticket < std::uint64_t{senders} * each; ticket += receivers) {
            numbered_message message{};
            const status waited =
                wait_until(ctx, {operation::serve, 0, ticket}, [&] { return from.poll(ctx, ticket).bits != 0; });
            const bool here = waited == status::ok && from.load_words(ctx, ticket, 0, message);
            if (ctx.ballot(all, !here) != 0) return;
            if (ctx.lane() == 0) account(ctx, message);
            if (release) {
                from.release(ctx, all, ticket);
            } else {
                from.release_relaxed(ctx, all, ticket);
            }
        }
    }

    template <class Ctx>
    LANEWAY_FN void account(Ctx& ctx, const numbered_message& message) const {
        const bool known = message.sender < senders && message.number - 1 < each && message.is_whole();
        if (!known) {
            ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
            return;
        }
        // As the words of termination detection: what is told is made of what was seen.
        ctx.store((relay == nullptr ? echoes : relay) + message.sender * stride, message.number, Ctx::tagged_order,
                  scope::system);
        ctx.fetch_add(came + message.sender * each + (message.number - 1), 1, order::relaxed, scope::device);
    }

    /// Tells the source what the receivers tell, until all of them are through. Lanes share out the senders.
    template <class Ctx>
    LANEWAY_FN void pass_on(Ctx& ctx, std::uint32_t receivers) const {
        for (bool more = true; more;) {
            // Partner: the add behind receive.
            more = ctx.load(ended, order::acquire, scope::device) != receivers && !stopped(ctx);
            for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < senders; i += Ctx::warp_lanes) {
                const std::uint64_t told = ctx.load(relay + i * stride, tagged_load_order<Ctx>, scope::system);
                ctx.store(echoes + i * stride, told, Ctx::tagged_order, scope::system);
            }
            ctx.pause();
        }
    }

    template <class Ctx>
    LANEWAY_FN void watch(Ctx& ctx, std::uint32_t sender) const {
        for (std::uint32_t looks = 0; !stopped(ctx); ++looks) {
            const std::uint64_t came_here = ctx.load(echoes + sender * stride, tagged_load_order<Ctx>, scope::system);
            // Issued when the echo has come: the branch hangs on it, and GPUs do not look past branches.
            if (came_here == ~std::uint64_t{0}) return;
            const std::uint64_t counted = ctx.load(sent + sender * stride, order::relaxed, scope::device);
            if (counted < came_here) ctx.fetch_add(early, 1, order::relaxed, scope::device);
            if (counted == each) return;
            if (looks % 64 == 63) ctx.pause();
        }
    }
};

class memory_order_test : public testing::TestWithParam<std::string> {};

/// What one run has shown.
struct litmus_result {
    std::uint32_t wrong, early, quick;
};

struct litmus_variant {
    bool lone_sender = false, release = true, relayed = false;
};

inline litmus_result run_litmus(const options& o, std::uint32_t slots, litmus_variant variant) {
    machine machine(o.devices, o.seed);
    const int pes = machine.n_pes();
    launch_shape shape = small_grid(machine);
    // Each warp of a CPU device is a thread, which passes every message by hand where there are more than cores.
    if (machine.has_gpus()) shape.blocks = is_mixed(o.devices) ? 4 : 32;
    const bool lone = variant.lone_sender;
    const std::uint32_t senders = lone ? 1 : litmus_program::max_senders(pes, shape);
    const std::uint32_t each = is_checked(o.devices) ? 12 : machine.has_gpus() ? (lone ? 20'000 : 2'000) : 500;
    const auto& source = machine.device(0);
    const auto& destination = machine.device(pes - 1);
    const std::size_t counters = std::size_t{senders} * litmus_program::stride;
    const auto place = [](const std::shared_ptr<device>& writer, const std::shared_ptr<device>& reader,
                          std::size_t words) {
        return find_transport(*writer, *reader).allocate(writer, reader, words * sizeof(std::uint64_t));
    };
    const auto words = place(source, destination, slots * chunk_words);
    const auto flags = place(source, destination, slots);
    const auto credits = place(destination, source, slots);
    const auto echoes = place(destination, source, counters);
    const buffer<std::uint64_t> tail(source, 1), sent(source, counters), relay(destination, counters);
    const buffer<std::uint32_t> ended(destination, 1);
    const buffer<std::uint32_t> came(destination, std::size_t{senders} * each), wrong(destination, 1);
    const buffer<std::uint32_t> early(source, 1), quick(source, 1);
    litmus_program program;
    program.ring.flags = reinterpret_cast<std::uint64_t*>(flags.get());
    program.ring.credits = reinterpret_cast<std::uint64_t*>(credits.get());
    program.ring.words = reinterpret_cast<std::uint64_t*>(words.get());
    program.ring.tail = tail.data();
    program.ring.n_slots = slots;
    program.sent = sent.data();
    program.echoes = reinterpret_cast<std::uint64_t*>(echoes.get());
    if (variant.relayed) program.relay = relay.data();
    program.ended = ended.data();
    program.came = came.data();
    program.wrong = wrong.data();
    program.early = early.data();
    program.quick = quick.data();
    program.senders = senders;
    program.each = each;
    program.release = variant.release;
    run_programs(machine, shape, o.timeout_seconds, [&](int) { return program; });
    EXPECT_EQ(came.copy_out(), std::vector<std::uint32_t>(came.size(), 1)) << "each message comes once";
    return {wrong.copy_out()[0], early.copy_out()[0], quick.copy_out()[0]};
}

TEST_P(memory_order_test, ACountStandsBeforeTheChunkThatItCounts) {
    every_round(GetParam(), [&](const options& o) {
        const litmus_result seen = run_litmus(o, 1u << (2 + o.seed % 4), {});
        EXPECT_EQ(seen.early, 0u) << "messages that came before they were counted";
        EXPECT_EQ(seen.wrong, 0u);
    });
}

TEST_P(memory_order_test, ACountStandsBeforeWhatIsPassedOn) {
    every_round(GetParam(), [&](const options& o) {
        const litmus_result seen = run_litmus(o, 1u << (2 + o.seed % 4), {.relayed = true});
        EXPECT_EQ(seen.early, 0u) << "messages that were told of before they were counted";
        EXPECT_EQ(seen.wrong, 0u);
    });
}

TEST_P(memory_order_test, WordsAreReadBeforeTheyAreWrittenAgain) {
    for (const bool release : {true, false}) {
        std::uint64_t quick = 0;
        every_round(GetParam(), [&](const options& o) {
            const litmus_result seen = run_litmus(o, 1u << o.seed % 3, {.lone_sender = true, .release = release});
            EXPECT_EQ(seen.wrong, 0u) << "messages that nobody sent";
            quick += seen.quick;
        });
        EXPECT_GT(quick, 0u) << "no message went on a credit seen with a relaxed load";
    }
}

LANEWAY_ON_DEVICES(memory_order_test, device_lists());

}  // namespace laneway::test
