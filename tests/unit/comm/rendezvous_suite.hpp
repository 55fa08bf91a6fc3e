// Large payloads by rendezvous: from one element to megabytes, at all widths, whole, once, and only where the receiver
// wanted them.
#pragma once

#include "unit/comm/rendezvous_job.hpp"

namespace laneway::test {

class rendezvous_test : public testing::TestWithParam<std::string> {};

inline void stretches_arrive(const options& o, width lanes, bool hot, reception how = reception::take) {
    // On one PE nothing is carried, and teams that are not of one mind about the order show soonest.
    machine probe(o.devices);
    const std::uint32_t rounds = probe.n_pes() == 1 ? 12 : is_checked(o.devices) ? 2 : 3;
    const std::uint64_t most = is_checked(o.devices) ? 250 : 900;
    const bool gpus = probe.has_gpus();
    const std::uint64_t every = gpus ? 29 : 1;
    const std::uint64_t lanes_a_pe = gpus ? static_cast<unsigned>(o.gpu_blocks) * 1024 : max_lanes(probe, o);
    const std::uint64_t senders = lanes_a_pe * static_cast<unsigned>(probe.n_pes());
    rendezvous_job job(o, 1200 + most, (senders / every + 1) * rounds * (400 + most), senders * rounds);
    const auto report = job.run({lanes, rounds, most, hot, every}, how);
    job.check();
    EXPECT_EQ(report.posted, report.direct + report.carried);
    EXPECT_EQ(report.carried, report.served);
}

TEST_P(rendezvous_test, LanesSendAnyLength) {
    every_round(GetParam(), [](const options& o) { stretches_arrive(rendezvous_options(o), width::lane, false); });
}
TEST_P(rendezvous_test, WarpsSendAnyLength) {
    every_round(GetParam(), [](const options& o) { stretches_arrive(rendezvous_options(o), width::warp, false); });
}
TEST_P(rendezvous_test, BlocksSendAnyLength) {
    every_round(GetParam(), [](const options& o) { stretches_arrive(rendezvous_options(o), width::block, false); });
}
TEST_P(rendezvous_test, AllSendToOnePe) {
    for (std::uint64_t round = 0; round < 12; ++round) {
        for (const width lanes : {width::lane, width::warp, width::block}) {
            stretches_arrive(rendezvous_options(options_of(GetParam(), round)), lanes, true);
        }
    }
}
TEST_P(rendezvous_test, ARefusalIsAStatusAndTheRunGoesOn) {
    for (std::uint64_t round = 0; round < 12; ++round) {
        for (const width lanes : {width::lane, width::warp, width::block}) {
            stretches_arrive(rendezvous_options(options_of(GetParam(), round)), lanes, false, reception::refuse_odd);
        }
    }
}

TEST_P(rendezvous_test, Megabytes) {
    for (const path how : {path::direct, path::aggregated}) {
        for (const width lanes : {width::lane, width::warp, width::block}) {
            options o = options_of(GetParam(), 1);
            o.chunk_bytes = 1024;
            o.ring_slots = 8;
            o.path = how;
            // In checked mode each message takes steps, of which there are ten million a second.
            const std::uint64_t count =
                is_checked(GetParam()) && how == path::aggregated ? 4000 : 400'000;  // × 16 bytes
            rendezvous_job job(o, count + 1, count + 1, 8);
            job.run({lanes, 1, 0, false, 1, count});
            job.check();
        }
    }
}

/// What the run throws, and that it has written nothing.
inline std::string allocation_fault(const options& o, width lanes, std::uint64_t count, reception how) {
    rendezvous_job job(o, count + 1, count + 10, 8);
    std::string what;
    try {
        job.run({lanes, 1, 0, false, 1, count}, how);
        ADD_FAILURE() << "the run ended as if nothing had happened";
    } catch (const device_fault& e) {
        what = e.what();
    }
    for (int pe = 0; pe < job.rt.n_pes(); ++pe) {
        job.untouched_from(job.byte_pool, pe, 0);
        job.untouched_from(job.pair_pool, pe, 0);
        for (const std::uint32_t times : job.seen.copy_out(pe)) EXPECT_EQ(times, 0u) << "a handler ran";
    }
    return what;
}

TEST_P(rendezvous_test, PlacesThatDoNotExistAreNamed) {
    for (const reception how : {reception::no_segment, reception::beyond, reception::too_small}) {
        for (const width lanes : {width::lane, width::warp, width::block}) {
            for (const path way : {path::direct, path::aggregated}) {
                options o = options_of(GetParam(), 2);
                o.chunk_bytes = 256;
                o.path = way;
                const std::string what = allocation_fault(o, lanes, 100, how);
                const std::string wanted =
                    "an address outside symmetric memory while allocating memory for a large message on PE ";
                EXPECT_NE(what.find(wanted), std::string::npos) << what;
                const char* const missing = how == reception::no_segment ? ": element 0, where there are none"
                                            : how == reception::beyond
                                                ? ": element 18446744073709551612, where there are 0 to 109"
                                                : ": element 110, where there are 0 to 109";
                EXPECT_NE(what.find(missing), std::string::npos) << what;
            }
        }
    }
}

struct take_into_one_place {
    using element = pair_element;
    static constexpr bool allocates = true;
    symmetric_ref<pair_element> pool;

    template <class Ctx>
    LANEWAY_FN symmetric_ptr<pair_element> allocate(Ctx&, const stretch<pair_element>&, std::uint64_t) const {
        return pool[0];
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const stretch<pair_element>&, payload<const pair_element>) const {}
};

/// A warp makes large posts to its own PE until the run ends, as another one has it do.
struct post_until_the_end {
    symmetric_ref<pair_element> pairs;
    symmetric_ref<std::uint64_t> lanes;  ///< of that warp: that began, and that came out of their posts
    std::uint32_t steps;                 ///< until the other one ends the run

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const auto warp = ctx.local_rank() / static_cast<unsigned>(Ctx::warp_lanes);
        if (ctx.pe() != 0 || warp > 1) return;
        if (warp == 1) {
            for (std::uint32_t i = 0; i < steps; ++i) ctx.pause();
            if (ctx.lane() == 0) (void)fail(ctx, status::handler_failed, operation::user_code, -1);
            return;
        }
        atomic_add(ctx, lanes[0], 1);
        while (box.post(ctx, width::warp, 0, stretch<pair_element>{0, 0, 0, 300}, pairs.local(ctx), 300) ==
               status::ok) {
        }
        atomic_add(ctx, lanes[1], 1);
    }
};

TEST_P(rendezvous_test, AllLanesOfAWarpHearOfTheEndTogether) {
    every_round(GetParam(), [](const options& plain) {
        options o = rendezvous_options(plain);
        o.cpu_threads = 2;
        o.checked_warps = 3;  // two of which work, where one block serves
        rendezvous_job job(o, 300, 301, 1);
        const auto lanes = job.rt.allocate<std::uint64_t>(2);
        const auto mailbox = job.rt.mailbox<stretch<pair_element>>(take_into_one_place{job.pair_pool.ref()});
        const post_until_the_end post{job.pairs.ref(), lanes.ref(), static_cast<std::uint32_t>(o.seed * 37 % 200)};
        EXPECT_THROW(job.rt.run(post, mailbox), device_fault);
        const auto counted = lanes.copy_out(0);
        EXPECT_EQ(counted[1], counted[0]) << "lanes were lost in a post that their mates had left";
    });
}

/// A large post of each block, where it has two warps without the second of them; or one to a PE that does not exist.
struct faulty_post {
    symmetric_ref<pair_element> pairs;
    symmetric_ref<std::uint64_t> left_out;  ///< warps that had no part
    bool to_no_pe;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const auto number = static_cast<std::uint32_t>(ctx.pe());
        if (!to_no_pe && box.team().index == 1) {
            if (ctx.lane() == 0) atomic_add(ctx, left_out[0], 1);
            return;
        }
        const int pe = to_no_pe ? ctx.n_pes() : (ctx.pe() + 1) % ctx.n_pes();
        (void)box.post(ctx, width::block, pe, stretch<pair_element>{number, number, 0, 300}, pairs.local(ctx), 300);
    }
};

TEST_P(rendezvous_test, PostsThatABlockDoesNotShareAndPostsToNoPeAreNamed) {
    for (const bool to_no_pe : {true, false}) {
        options o = rendezvous_options(options_of(GetParam(), 2));
        rendezvous_job job(o, 300, 300 * 64, 8);
        const take_stretch<pair_element> take{job.pair_pool.ref(), job.taken_pairs.ref(), job.wrong.ref(),
                                              job.seen.ref()};
        const faulty_post post{job.pairs.ref(), job.sent.ref(), to_no_pe};
        std::string what;
        try {
            job.rt.run(post, job.rt.mailbox<stretch<pair_element>>(take));
        } catch (const device_fault& e) {
            what = e.what();
        }
        std::uint64_t left_out = 0;
        for (int pe = 0; pe < job.rt.n_pes(); ++pe) left_out += job.sent.copy_out(pe)[0];
        const std::string no_pe = "no such PE while posting a message to PE " + std::to_string(job.rt.n_pes());
        const std::string uneven = "not every working warp of the block took part in a post of all";
        if (to_no_pe) {
            EXPECT_NE(what.find(no_pe), std::string::npos) << what;
        } else if (left_out > 0) {
            EXPECT_NE(what.find(uneven), std::string::npos) << what;
        } else {
            EXPECT_EQ(what, "");
        }
    }
}

/// Beside one-sided operations and calls, in one mailbox: the payload is there before the signal that follows it.
struct send_and_signal {
    symmetric_ref<pair_element> pairs;
    symmetric_ref<std::uint64_t> signal;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        const auto number = static_cast<std::uint32_t>(ctx.pe());
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        if (ctx.local_rank() == 0) {
            const stretch<pair_element> header{number, number, 0, 300};
            if (box.post(ctx, next, header, pairs.local(ctx), 300) != status::ok) return;
            if (remote.quiet() != status::ok) return;
            if (remote.add(signal[0], next, 1) != status::ok) return;
        }
        (void)remote.wait(signal[0], compare::equal, 1);  // a failure ends the run
    }
};

TEST_P(rendezvous_test, BesideOneSidedOperations) {
    every_round(GetParam(), [](options o) {
        o = rendezvous_options(o);
        rendezvous_job job(o, 300, 400, 8);
        const auto signal = job.rt.allocate<std::uint64_t>(1);
        const take_stretch<pair_element> take{job.pair_pool.ref(), job.taken_pairs.ref(), job.wrong.ref(),
                                              job.seen.ref()};
        job.rt.run(send_and_signal{job.pairs.ref(), signal.ref()}, job.rt.one_sided<stretch<pair_element>>(take));
        for (int pe = 0; pe < job.rt.n_pes(); ++pe) {
            EXPECT_EQ(job.wrong.copy_out(pe)[0], 0u);
            const auto sender = static_cast<std::size_t>((pe + job.rt.n_pes() - 1) % job.rt.n_pes());
            EXPECT_EQ(job.seen.copy_out(pe)[sender], 1u);
        }
    });
}

LANEWAY_ON_DEVICES(rendezvous_test, to_four(device_lists()));

}  // namespace laneway::test
