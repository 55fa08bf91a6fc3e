// Transfers: what cannot be, and what is used too early.
#pragma once

#include "transfer_job.hpp"

namespace laneway::test {
namespace {

struct wide_element {
    double x[2];
};

/// A lane changes a word of what it has posted, and does not wait.
struct change_too_early {
    symmetric_ref<wide_element> from;
    symmetric_ref<wide_element> to;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        if (ctx.rank() != 0) return;
        (void)moves.post(ctx, transfer::copy(from[0], 0, to[0], 0, 64));
        const symmetric_ptr<double> word{from[0].segment, 11};
        at(ctx, word, 0)[0] = 3.0;
    }
};

TEST_P(transfers_test, ElementsOfAnySizeAreWatched) {
    if (!is_checked(GetParam())) GTEST_SKIP() << "checked devices only";
    int told = 0;
    for (std::uint64_t round = 0; round < 4; ++round) {
        runtime rt(options_of(GetParam(), round));
        const auto from = rt.allocate<wide_element>(64), to = rt.allocate<wide_element>(64);
        transfers moves(rt.machine());
        try {
            rt.run(change_too_early{from.ref(), to.ref()}, moves);
        } catch (const usage_error&) {
            ++told;
        }
    }
    EXPECT_GT(told, 0);
}

/// What one lane of the last PE does wrong.
enum class wrong_transfer : std::uint32_t {
    pe,
    address,
    last_row,
    pitch,
    list,
    word,
    key,
    index,
    large_index,
    huge,
    overlap,
    rows_between,
    rows_that_meet,
    no_word,
    never,
    no_event,
    no_tested_event,
    signal,
    uneven_block,
    uneven_pe
};

struct transfer_wrongly {
    wrong_transfer what;
    symmetric_ref<std::uint32_t> words;
    symmetric_ref<std::uint32_t> indices;
    symmetric_ref<std::uint64_t> arrived;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const bool first_warp = ctx.local_rank() < Ctx::warp_lanes;
        if (what == wrong_transfer::uneven_block || what == wrong_transfer::uneven_pe) {
            if (!first_warp) return;
            const auto t = transfer::copy(words[0], ctx.pe(), words[32], ctx.pe(), 4);
            (void)(what == wrong_transfer::uneven_pe ? moves.post_pe(ctx, t) : moves.post_block(ctx, t));
            return;
        }
        if (ctx.pe() == ctx.n_pes() - 1 && ctx.local_rank() == 0) (void)act(ctx, moves);  // it ends the run
    }

private:
    template <class Ctx, class Transfers>
    LANEWAY_FN status act(Ctx& ctx, Transfers& moves) const {
        const auto post = [&](const transfer& t) { return moves.post(ctx, t).code; };
        switch (what) {
            case wrong_transfer::pe: return post(transfer::copy(words[0], 0, words[32], ctx.n_pes() + 2, 4));
            case wrong_transfer::address: return post(transfer::copy(words[60], 0, words[0], 0, 5));
            case wrong_transfer::last_row: return post(transfer::strided(words[0], 0, 4, words[8], 0, 20, 4, 2));
            case wrong_transfer::pitch: return post(transfer::strided(words[0], 0, 8, words[32], 0, 2, 2, 3));
            case wrong_transfer::list: return post(transfer::gather(words[0], 0, indices[2], words[32], 0, 3));
            case wrong_transfer::word: return post(transfer::copy(words[0], 0, words[32], 0, 4).notify(arrived[3]));
            case wrong_transfer::no_word: return post(transfer::copy(words[0], 0, words[32], 0, 4).notify({}));
            case wrong_transfer::overlap: return post(transfer::copy(words[0], 0, words[4], 0, 8));
            case wrong_transfer::rows_between: return post(transfer::strided(words[0], 0, 8, words[4], 0, 8, 3, 4));
            case wrong_transfer::rows_that_meet: return post(transfer::strided(words[0], 0, 8, words[14], 0, 8, 3, 4));
            case wrong_transfer::key: return post(transfer::copy(words[0], 0, words[32], 0, 4).under(64));
            case wrong_transfer::huge: return post(transfer::copy(words[0], 0, words[0], 0, ~std::uint64_t{0} / 2));
            case wrong_transfer::index: {
                indices.local(ctx)[1] = 7;
                const auto t = transfer::scatter(words[0], 0, indices[0], words[32], 0, 2, 5).notify(arrived[0]);
                const auto sent = moves.post(ctx, t);
                return sent.code == status::ok ? moves.wait(ctx, sent.value) : sent.code;
            }
            case wrong_transfer::large_index: {
                indices.local(ctx)[1] = 7;
                const auto t = transfer::scatter(words[24], 0, indices[0], words[0], 0, 2, 20).notify(arrived[0]);
                const auto sent = moves.post(ctx, t);
                return sent.code == status::ok ? moves.wait(ctx, sent.value) : sent.code;
            }
            case wrong_transfer::never: return moves.wait(ctx, transfer_event{5, 0});
            case wrong_transfer::no_event: return moves.wait(ctx, transfer_event{});
            case wrong_transfer::no_tested_event: return moves.test(ctx, {}) ? status::ok : status::stopped;
            default: return moves.wait_signal(ctx, arrived[0], 3);
        }
    }
};

/// Runs in which the last PE does something wrong.
class wrong_transfers {
public:
    wrong_transfers(const std::string& devices, double seconds) : rt_(job(devices, seconds)) {}

    void run(wrong_transfer what) {
        rt_.run(transfer_wrongly{what, words_.ref(), indices_.ref(), arrived_.ref()}, moves_);
    }
    template <class Error>
    std::string told_of(wrong_transfer what) {
        return thrown<Error>([&] { run(what); });
    }
    void expect_that_nothing_is_left() {
        EXPECT_EQ(arrived_.copy_out(0)[0], 0u) << "what has not been moved is told of";
        EXPECT_NO_THROW(rt_.run(post_nothing{}, moves_));
        EXPECT_EQ(moves_.statistics().transfers, 0u);
    }
    [[nodiscard]] int n_pes() const { return rt_.n_pes(); }
    [[nodiscard]] std::string last() const { return "PE " + std::to_string(n_pes() - 1); }

private:
    [[nodiscard]] static options job(const std::string& devices, double seconds) {
        options o = options_of(devices, 0);
        o.cpu_threads = 2;
        o.checked_warps = 3;
        o.timeout_seconds = is_checked(devices) ? 0.02 : seconds;
        return o;
    }

    runtime rt_;
    symmetric_array<std::uint32_t> words_ = rt_.allocate<std::uint32_t>(64);
    symmetric_array<std::uint32_t> indices_ = rt_.allocate<std::uint32_t>(4);
    symmetric_array<std::uint64_t> arrived_ = rt_.allocate<std::uint64_t>(1);
    transfers moves_{rt_.machine()};
};

TEST_P(transfers_test, WhatCannotBeIsNamed) {
    wrong_transfers all(GetParam(), 20);
    const auto told_of = [&](wrong_transfer what) { return all.told_of<device_fault>(what); };
    const std::string bad = "an address outside symmetric memory while posting a transfer to ";
    says_so(told_of(wrong_transfer::pe),
            "no such PE while posting a transfer to PE " + std::to_string(all.n_pes() + 2) + ": the job has");
    says_so(told_of(wrong_transfer::address), bad + "PE 0: element 64, where there are 0 to 63");
    says_so(told_of(wrong_transfer::last_row), bad + "PE 0: element 68, where there are 0 to 63");
    says_so(told_of(wrong_transfer::huge), bad + "PE 0: element 64, where there are 0 to 63");
    says_so(told_of(wrong_transfer::pitch),
            "rows that overlap while posting a transfer to PE 0: 8 bytes from row to row, and a row has 12");
    says_so(told_of(wrong_transfer::list), bad + all.last() + ": element 4, where there are 0 to 3");
    says_so(told_of(wrong_transfer::word), bad + "PE 0: element 3, where there are 0 to 0");
    says_so(told_of(wrong_transfer::key),
            "no such index while using a key of transfers: key 64, where there are 0 to 63");
    says_so(told_of(wrong_transfer::index),
            "no such index while carrying out a transfer with PE 0: index 7, where there are 0 to 5");
    says_so(told_of(wrong_transfer::large_index),
            "no such index while carrying out a transfer with PE 0: index 7, where there are 0 to 2");
    says_so(told_of(wrong_transfer::no_word), bad + "PE 0");
    const std::string meet = "rows that overlap while posting a transfer to PE 0: ";
    says_so(told_of(wrong_transfer::overlap), meet + "16 bytes from row to row, and a row has 32");
    says_so(told_of(wrong_transfer::rows_that_meet), meet + "8 bytes from row to row, and a row has 16");
    EXPECT_NO_THROW(all.run(wrong_transfer::rows_between));
    says_so(told_of(wrong_transfer::no_tested_event), "no such index while waiting for a transfer: transfer");
    says_so(told_of(wrong_transfer::no_event), "no such index while waiting for a transfer: transfer");
    says_so(told_of(wrong_transfer::uneven_pe), "was never posted: only 1 working warp came to it");
    all.expect_that_nothing_is_left();
}

TEST_P(transfers_test, WhatNeverComesIsNamedAtTheDeadline) {
    wrong_transfers all(GetParam(), 1);
    const auto told_of = [&](wrong_transfer what) { return all.told_of<timeout_error>(what); };
    const std::string never = told_of(wrong_transfer::never);
    says_so(never, "deadline passed while waiting for a transfer of " + all.last() + ": transfer 5; the deadline is");
    says_so(never, "; transfers: 0 posted, 0 done");
    says_so(told_of(wrong_transfer::signal),
            "deadline passed while waiting for a signal on " + all.last() + ": value 3");
    if (is_checked(GetParam())) {
        says_so(told_of(wrong_transfer::uneven_block), "deadline passed while posting a transfer: transfer 1");
    }
    all.expect_that_nothing_is_left();
}

TEST_P(transfers_test, OptionsThatCannotBeAreRefused) {
    runtime rt(options_of(GetParam(), 0));
    const auto refused = [&](auto&& change, const std::string& why) {
        transfer_options how;
        change(how);
        says_so(thrown<usage_error>([&] { transfers(rt.machine(), how); }), why);
    };
    refused([](auto& how) { how.slots = 32; }, "transfers: slots: 64 to 65536, not 32");
    refused([](auto& how) { how.slots = 65; }, "transfers: slots: a power of two, not 65");
    refused([](auto& how) { how.keys = 0; }, "transfers: keys: 1 to 65536, not 0");
    refused([](auto& how) { how.piece_bytes = 600; }, "transfers: piece_bytes: a multiple of 512, not 600");
    refused([](auto& how) { how.method = transfer_method::engine; }, "transfers: the method of copy engines asks for");
    refused([](auto& how) { how.server_share = 1; }, "transfers: server_share: between 0 and 1");
}

}  // namespace
}  // namespace laneway::test
