// The words of collectives: their sizes, and how their tags prove themselves for ever.
#include "collectives_job.hpp"
#include "laneway/comm/collective/collective_exchange.hpp"
#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

collective_options small_words() {
    collective_options sizes;
    sizes.warp_bytes = 16;
    sizes.block_bytes = sizes.grid_bytes = 64;
    return sizes;
}

std::string refusal(const collective_options& sizes, const std::vector<working_counts>& counts) {
    try {
        (void)collectives_plan(sizes, counts);
        return "accepted";
    } catch (const usage_error& e) {
        return e.what();
    }
}

TEST(collectives_plan_test, EightPesOfTheUsualSizeTakeWhatTheDocumentsSay) {
    const std::vector<working_counts> gpus(8, {4091, 132});
    const collectives_plan plan({}, gpus);
    EXPECT_EQ(plan.words[0].slot_words(), 18u);
    EXPECT_EQ(plan.words[1].slot_words(), 2048u + 16);
    EXPECT_EQ(plan.words[2].slot_words(), 16384u + 16);
    const std::uint64_t words = 2 * (4091 * 18 + 132 * 2064 + 16400);
    EXPECT_EQ(plan.pair_words(), words);
    EXPECT_GT(plan.bytes(0), 7 * 8 * words);
    EXPECT_LT(plan.bytes(0), 42u << 20);
    EXPECT_EQ(collectives_plan({}, {{4091, 132}}).pair_words(), 0u) << "alone";
}

TEST(collectives_plan_test, GroupsOfOneMemberHaveNoWords) {
    const collectives_plan plan({}, {{7, 3}, {3000, 100}, {9, 5}});
    EXPECT_EQ(plan.words[0].groups, 9u);
    EXPECT_EQ(plan.words[1].groups, 5u);
    EXPECT_EQ(plan.words[2].groups, 1u);
}

/// Slots of all groups, rounds and kinds, one behind the other.
TEST(collectives_plan_test, NoTwoSlotsOverlap) {
    const collectives_plan plan(small_words(), std::vector<working_counts>(3, {5, 2}));
    std::uint64_t next = 0;
    for (const auto& kind : plan.words) {
        for (std::uint32_t g = 0; g < kind.groups; ++g) {
            for (const std::uint64_t round : {6, 7}) {
                EXPECT_EQ(kind.slot(g, round), next);
                EXPECT_GT(kind.slot_words(), kind.data_words);
                EXPECT_EQ(kind.slot(g, round + 2), next);
                next += kind.slot_words();
            }
        }
    }
    EXPECT_EQ(next, plan.pair_words());
}

TEST(collectives_plan_test, TwoStepsBeginWhereTheOptionsSay) {
    const collectives_plan two({}, std::vector<working_counts>(2, {4, 2}));
    const collectives_plan four({}, std::vector<working_counts>(4, {4, 2}));
    const collectives_plan eight({}, std::vector<working_counts>(8, {4, 2}));
    EXPECT_EQ(two.words[1].two_shot_bytes, ~std::uint64_t{0});
    EXPECT_EQ(four.words[0].two_shot_bytes, ~std::uint64_t{0});
    EXPECT_EQ(four.words[1].two_shot_bytes, 16'033u);
    EXPECT_EQ(four.words[2].two_shot_bytes, 151'666u);
    EXPECT_EQ(eight.words[1].two_shot_bytes, 4'580u);
    EXPECT_EQ(eight.words[2].two_shot_bytes, 43'333u);
    collective_options sizes;
    sizes.block_two_shot_bytes = 100;
    EXPECT_EQ(collectives_plan(sizes, {{1, 1}, {1, 1}}).words[1].two_shot_bytes, 100u);
}

TEST(collectives_plan_test, SizesThatCannotBeAreRefused) {
    collective_options sizes;
    sizes.warp_bytes = 48;
    EXPECT_EQ(refusal(sizes, {{1, 1}}), "collectives: warp_bytes: a power of two between 16 and 1073741824, not 48");
    const std::string limits = " blocks; there may be 1 to 65535, and up to 32 in a block";
    EXPECT_EQ(refusal({}, {{1, 1}, {65536, 4000}}), "collectives: a PE with 65536 working warps in 4000" + limits);
    EXPECT_EQ(refusal({}, {{65, 2}}), "collectives: a PE with 65 working warps in 2" + limits);
    EXPECT_EQ(refusal({}, {{0, 1}}), "collectives: a PE with 0 working warps in 1" + limits);
    EXPECT_EQ(refusal({}, {{64, 2}}), "accepted");
}

TEST(collectives_memory_test, AGridLargerThanPlannedIsRefused) {
    machine two("cpu:2");
    collectives_memory memory(two, collectives_plan(small_words(), {{4, 2}, {4, 2}}));
    EXPECT_NO_THROW(memory.begin({{4, 2}, {3, 1}}));
    try {
        memory.begin({{4, 2}, {5, 2}});
        FAIL() << "accepted";
    } catch (const usage_error& e) {
        EXPECT_STREQ(e.what(), "collectives: PE 1 has 5 working warps in 2 blocks, planned for 4 in 2");
    }
    EXPECT_THROW(collectives_memory(two, collectives_plan(small_words(), {{4, 2}})), usage_error);
}

/// A store that nobody waits for might come when its word is in use again.
TEST(collective_exchange_test, ARoundWaitsForTheWordThatItRenews) {
    constexpr std::uint64_t round = 6;
    for (const bool renewed : {false, true}) {
        const lone_environment environment(0, 2, 0.05);
        cpu::context lane(environment.get(), 0, 1, nullptr);
        std::uint64_t sent[64] = {}, come[64] = {};
        const word_sender to[] = {word_sender{}, word_sender(sent)};
        const word_receiver from[] = {word_receiver{}, word_receiver(come)};
        collectives_ref ref;
        ref.to = to;
        ref.from = from;
        ref.words[2] = {0, 1, 8};
        const group_round at{group::grid, 0, round, 77, true, true, {}};
        const std::uint64_t slot = ref.words[2].slot(0, round);
        come[slot + 8] = round << 32 | 77;  // the header
        if (renewed) come[slot + round / 2] = round << 32;
        auto idle = [] {};
        collective_exchange exchange(lane, ref, at, idle);
        exchange.begin_with(0);
        EXPECT_EQ(exchange.finish() == status::ok, renewed);
    }
}

/// One value, again and again; tells what was wrong.
struct repeat {
    std::uint32_t* wrong;
    std::uint32_t rounds;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position&) const {
        for (std::uint32_t round = 0; round < rounds; ++round) {
            for (const group kind : {group::warp, group::block, group::grid}) {
                const auto sum = sums.all_reduce(ctx, std::uint64_t{round} << 20, reduction::max{}, kind);
                if (!sum) return;
                if (sum.value != std::uint64_t{round} << 20) ctx.fetch_add(wrong, 1u, order::relaxed, scope::device);
            }
            std::uint32_t values[3] = {round, 1, 7};  // of which lane 0 has the first one
            if (sums.all_reduce(ctx, values, 1 + round % 3, reduction::sum{}, group::warp) != status::ok) return;
            if (ctx.lane() == 0 && values[0] != round * static_cast<unsigned>(ctx.n_pes())) {
                ctx.fetch_add(wrong, 1u, order::relaxed, scope::device);
            }
        }
    }
};

void run_repeatedly(collectives_job& job, std::uint32_t rounds) {
    std::vector<buffer<std::uint32_t>> wrong;
    for (int pe = 0; pe < job.machine.n_pes(); ++pe) wrong.emplace_back(job.machine.device(pe), 1);
    job.run([&](int pe) { return repeat{wrong[static_cast<std::size_t>(pe)].data(), rounds}; });
    for (const auto& count : wrong) EXPECT_EQ(count.copy_out()[0], 0u);
}

options two_threads() {
    options o = options_of("cpu:2", 1);
    o.cpu_threads = 2;
    return o;
}

/// However few words calls use, none keeps a tag for more rounds than twice the words of a slot.
TEST(collective_words_test, NoWordGetsOld) {
    collectives_job job(two_threads(), small_words());
    run_repeatedly(job, 100);
    const collectives_ref ref = job.memory->ref(0);
    const lone_environment environment(0, 2, 10);
    cpu::context lane(environment.get(), 0, 1, nullptr);
    for (const group kind : {group::warp, group::block, group::grid}) {
        const group_words& words = ref.words_of(kind);
        for (std::uint32_t g = 0; g < words.groups; ++g) {
            const std::uint64_t last = kind == group::warp    ? *ref.warp_rounds(g)
                                       : kind == group::block ? *ref.block_rounds(g)
                                                              : *ref.grid_rounds();
            ASSERT_GE(last, 100u);
            for (const std::uint64_t round : {last, last - 1}) {
                for (std::uint32_t w = 0; w <= words.data_words; ++w) {
                    const std::uint64_t tag = ref.from[1].look(lane, words.slot(g, round) + w, order::relaxed) >> 32;
                    EXPECT_LE(tag, last);
                    EXPECT_GT(tag + 2 * words.data_words + 2, last) << "word " << w << " of group " << g;
                }
            }
        }
    }
}

/// Tags are the lower half of the round: they go from 2^32 - 1 to 0 and on.
TEST(collective_words_test, TagsWrapAround) {
    for (const char* devices : {"cpu:1", "cpu:2", "cpu:3", "checked:2"}) {
        options o = two_threads();
        o.devices = devices;
        collectives_job job(o, small_words());
        run_repeatedly(job, 3);
        for (int pe = 0; pe < job.machine.n_pes(); ++pe) {
            const collectives_ref ref = job.memory->ref(pe);
            // Before the end by as many rounds as it takes to renew all words.
            const std::vector<std::uint64_t> rounds(ref.max_warps + ref.max_blocks + 2, (1ull << 32) - 50);
            job.machine.device(pe)->copy_in(ref.rounds, rounds.data(), rounds.size() * sizeof rounds[0]);
        }
        run_repeatedly(job, 100);
        EXPECT_GT(job.memory->ref(0).grid_rounds()[0], 1ull << 32);
        EXPECT_GT(job.memory->ref(0).grid_meetings()[0], 1ull << 32);
    }
}

}  // namespace
}  // namespace laneway::test
