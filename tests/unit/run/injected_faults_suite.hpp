// Each part of a program that another one waits for is damaged once: the wait ends at its deadline and names what it
// waited for, and a program without the damage works.
#pragma once

#include "injected_faults_job.hpp"
#include "laneway/run/communicator.hpp"

namespace laneway::test {
namespace {

struct pass_note {
    static constexpr bool forwards = true;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const note& n, Forward& forward) const {
        if (n.hops != 0) (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), note{n.hops - 1});
    }
};
// One lane: what all lanes of a GPU send would fill the ring, and one that waits for a slot would be named.
struct post_next {
    std::uint64_t hops = 0;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() != 0) return;
        (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), note{hops});
    }
};
struct call_next {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() != 0) return;
        (void)box.call(ctx, (ctx.pe() + 1) % ctx.n_pes(), enquiry{1});
    }
};
struct meet {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        (void)box.barrier(ctx);
    }
};
template <group Kind>
struct add_up {
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums) const {
        const std::uint64_t value = ctx.rank();
        (void)sums.all_reduce(ctx, value, reduction::sum{}, Kind);
    }
};

/// The first lane of the job asks PE 1 for a word, to be there after quiet, or for two that it waits for.
struct get_from_next {
    symmetric_ref<std::uint64_t> words;
    bool waits;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() != 0) return;
        one_sided remote(ctx, box);
        std::uint64_t values[2];
        if (waits) {
            (void)remote.get(width::lane, values, words[0], 1, 2, path::aggregated);
        } else if (remote.get_nbi(words[1], words[0], 1, path::aggregated) == status::ok) {
            (void)remote.quiet();
        }
    }
};
/// It sends a signal to PE 1, whose first lane waits for it.
struct signal_next {
    symmetric_ref<std::uint64_t> words;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        if (ctx.rank() == 0) {
            (void)remote.put_signal(words[0], 1, 7, words[1], 1, signal_op::set, path::aggregated);
        } else if (ctx.pe() == 1 && ctx.local_rank() == 0) {
            (void)remote.wait(words[1], compare::greater_equal, 1);
        }
    }
};

/// Whether this is one warp of its block, which in a call of the whole block waits for the others.
template <class Ctx>
LANEWAY_FN bool is_one_warp(const Ctx& ctx) {
    return ctx.warp() == 1;
}
struct receive_alone {
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        std::uint64_t word = 0;
        if (is_one_warp(ctx)) (void)world.recv(ctx, &word, 1, 1, 6, nullptr, width::block);
    }
};
struct trigger_alone {
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (!is_one_warp(ctx)) return;
        for (int i = 0; i < 2; ++i) (void)triggers.trigger_block(ctx, 3);  // waits for the one before
    }
};
constexpr std::uint64_t many_words = 10'000;  ///< more than a chunk has room for
struct send_alone {
    symmetric_ref<std::uint64_t> words;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (!is_one_warp(ctx)) return;
        for (int i = 0; i < 2; ++i) (void)box.post(ctx, width::block, 1, note{0}, words.local(ctx), many_words);
    }
};
struct take_words {
    using element = std::uint64_t;
    static constexpr bool allocates = true;
    symmetric_ref<std::uint64_t> words;
    template <class Ctx>
    LANEWAY_FN symmetric_ptr<element> allocate(Ctx&, const note&, std::uint64_t) const {
        return words[many_words];
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const note&, payload<const element>) const {}
};

class injected_faults_test : public with_faults {};

TEST_P(injected_faults_test, BarriersNameThemselves) {
    for (const int pe : {0, 1}) {
        ends(injected_fault::mute_barrier, pe, {"waiting at a barrier: barrier 1"},
             [](runtime& rt) { rt.run(meet{}, rt.mailbox<note>(read_note{})); });
    }
}

TEST_P(injected_faults_test, CollectivesNameTheMemberThatIsMissing) {
    const auto run = [](const auto& body) {
        return [body](runtime& rt) {
            auto sums = rt.collectives();
            rt.run(body, sums);
        };
    };
    ends(injected_fault::mute_collectives, 1, {"in a collective with PE 1: the group's collective 1"},
         run(add_up<group::warp>{}));
    // Warps that do not speak for their block, and blocks that do not for their PE, wait for the one that does, and on
    // GPUs may be late first.
    const std::string whom = GetParam().starts_with("cuda") ? "" : " with PE 0: the group's collective 1";
    ends(injected_fault::mute_collectives, 0, {"in a collective" + whom}, run(add_up<group::block>{}));
    ends(injected_fault::mute_collectives, 1, {"in a collective"}, run(add_up<group::grid>{}));
}

TEST_P(injected_faults_test, TheEndOfAllWorkIsNamed) {
    for (const int pe : {0, 1}) {
        ends(injected_fault::mute_termination, pe, {"waiting for all work to be done"},
             [](runtime& rt) { rt.run(post_next{}, rt.mailbox<note>(read_note{})); });
    }
}

TEST_P(injected_faults_test, AWarpThatDoesNotComeToACallOfItsBlockIsWaitedForToTheDeadline) {
    if (!is_checked(GetParam())) return;  // blocks of CPU devices have one warp
    const auto told = [](const auto& run) {
        options o = with(injected_fault::none, 0, late::lanes);
        o.checked_warps = 4;  // some control, or flush
        runtime rt(o);
        return thrown<timeout_error>([&] { run(rt); });
    };
    const auto says = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find("deadline passed while " + part), std::string::npos) << part << ": " << text;
    };
    says(told([](runtime& rt) {
             auto world = rt.communicator();
             rt.run(receive_alone{}, world);
         }),
         "waiting for the other warps of the block: meeting 1");
    says(told([](runtime& rt) {
             auto tags = rt.triggers({.tags = 4});
             rt.run(trigger_alone{}, tags);
         }),
         "triggering an operation: tag 3");
    says(told([](runtime& rt) {
             const auto words = rt.allocate<std::uint64_t>(2 * many_words);
             rt.run(send_alone{words.ref()}, rt.mailbox<note>(take_words{words.ref()}));
         }),
         "allocating memory for a large message on PE 1: room for 10000 elements");
}

TEST_P(injected_faults_test, AForwardQueueThatNobodyEmptiesIsNamed) {
    ends(injected_fault::stuck_forward, 1, {"waiting for all work to be done", "forward queue of PE 1: "},
         [](runtime& rt) { rt.run(post_next{1}, rt.mailbox<note>(pass_note{})); });
}

TEST_P(injected_faults_test, CallsNameThePe) {
    ends(injected_fault::deaf_server, 1, {"calling PE 1: the lane's call 1"},
         [](runtime& rt) { rt.run(call_next{}, rt.mailbox<enquiry>(reply_to{})); });
}

TEST_P(injected_faults_test, OneSidedOperationsNameWhatDoesNotCome) {
    const auto get = [](bool waits) {
        return [waits](runtime& rt) {
            const auto words = rt.allocate<std::uint64_t>(2);
            rt.run(get_from_next{words.ref(), waits}, rt.one_sided());
        };
    };
    ends(injected_fault::deaf_server, 1, {"getting from PE 1: the lane's get "}, get(true));
    ends(injected_fault::deaf_server, 0, {"getting: the lane's get 1"}, get(false));  // the answer is not served
    ends(injected_fault::deaf_server, 1, {"waiting for a signal on PE 1: value 1"}, [](runtime& rt) {
        const auto words = rt.allocate<std::uint64_t>(2);
        rt.run(signal_next{words.ref()}, rt.one_sided());
    });
}

LANEWAY_ON_DEVICES(injected_faults_test, device_lists(2));

}  // namespace
}  // namespace laneway::test
