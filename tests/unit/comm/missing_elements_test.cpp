// Checked devices name elements of symmetric arrays that are not there, and arrays that are no more.
#include "unit/comm/failing_runs.hpp"

namespace laneway::test {
namespace {

constexpr std::uint64_t size = 16;

enum class reach { local, indexed, other_pe, atomic, raw, words_of_struct, before, behind_end, all };

struct pair_of_words {
    std::uint64_t first, second;
};

/// Lane 3 of PE 1's ranks reaches for an element.
struct reach_for {
    reach how;
    std::uint64_t index;
    symmetric_ref<std::uint64_t> table;
    symmetric_ref<pair_of_words> pairs;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.pe() != 1 || !is_lane_of_every_other_warp(ctx, 3)) return;
        switch (how) {
            case reach::local: *lw::local(ctx, table[index]) = 1; return;
            case reach::indexed: table.local(ctx)[index] = 1; return;
            case reach::other_pe: *(table.at(ctx, 0) + index) = 1; return;
            case reach::atomic: lw::atomic_add(ctx, table[index], 1); return;
            case reach::raw: {
                std::uint64_t* const word = lw::local(ctx, table[index]);
                *word = 1;
                return;
            }
            case reach::words_of_struct: pairs.local(ctx)[index].second = 1; return;
            case reach::before: *(table.local(ctx) - 1) = 1; return;
            case reach::behind_end: {
                std::uint64_t sum = 0;
                std::uint64_t* const end = table.local(ctx) + table.size();  // as loops do
                for (std::uint64_t* word = table.local(ctx); word != end; ++word) sum += *word;
                lw::atomic_add(ctx, table[0], sum);
                return;
            }
            case reach::all:
                for (std::uint64_t i = 0; i < table.size(); ++i) table.local(ctx)[i] = i;
                return;
        }
    }
};

std::string told_of(reach how, std::uint64_t index) {
    options o;
    o.devices = "checked:2";
    runtime rt(o);
    const auto other = rt.allocate<std::uint32_t>(3);
    const auto table = rt.allocate<std::uint64_t>(size);
    const auto pairs = rt.allocate<pair_of_words>(size);
    try {
        rt.run(reach_for{how, index, table.ref(), pairs.ref()}, rt.mailbox<std::uint32_t>(swallow{}));
    } catch (const usage_error& e) {
        return e.what();
    }
    return {};
}

TEST(missing_elements_test, ElementsThatAreThereAreReached) {
    for (const reach how : {reach::local, reach::indexed, reach::other_pe, reach::atomic, reach::raw,
                            reach::words_of_struct, reach::behind_end, reach::all}) {
        EXPECT_EQ(told_of(how, size - 1), "") << static_cast<int>(how);
    }
}

TEST(missing_elements_test, ElementsBehindTheEndAreNamed) {
    for (const reach how : {reach::local, reach::indexed, reach::other_pe, reach::atomic, reach::words_of_struct}) {
        for (const std::uint64_t index : {size, size + 16, std::uint64_t{1} << 60}) {
            const std::string what = told_of(how, index);
            SCOPED_TRACE(static_cast<int>(how));
            contains(what, "PE 1 (checked:1) block ");
            contains(what, " lane 3: element " + std::to_string(index) + " of symmetric array ");
            contains(what, how == reach::other_pe ? " on PE 0 (checked:0)," : " on PE 1 (checked:1),");
            contains(what, std::string(" which has 0 to 15, of ") + (how == reach::words_of_struct ? "16" : "8") +
                               " bytes each, in operator() (missing_elements_test.cpp:");
        }
    }
    contains(
        told_of(reach::raw, size + 16),
        "element 32 of symmetric array 1 (counted from 0 as allocated) on PE 1 (checked:1), which has 0 to 15, of ");
    contains(
        told_of(reach::before, 0),
        "element -1 of symmetric array 1 (counted from 0 as allocated) on PE 1 (checked:1), which has 0 to 15, of ");
}

TEST(missing_elements_test, ArraysThatAreFreedOrNeverWereAreNamed) {
    for (const std::uint32_t segment : {0u, 3u, 77u}) {
        options o;
        o.devices = "checked:2";
        runtime rt(o);
        (void)rt.allocate<std::uint64_t>(size);
        const auto pairs = rt.allocate<pair_of_words>(size);
        for (const reach how : {reach::local, reach::indexed, reach::other_pe, reach::atomic, reach::before}) {
            try {
                const symmetric_ref<std::uint64_t> gone(segment, size);
                rt.run(reach_for{how, 5, gone, pairs.ref()}, rt.mailbox<std::uint32_t>(swallow{}));
                ADD_FAILURE() << "reached";
            } catch (const usage_error& e) {
                contains(e.what(), "PE 1 (checked:1) block ");
                contains(e.what(),
                         " of symmetric array " + std::to_string(segment) + " (counted from 0 as allocated) on PE ");
                contains(e.what(), "which has been freed, or never was one of this runtime");
            }
        }
    }
}

/// A ref that names no array has no elements, whatever array has the first number.
TEST(missing_elements_test, ARefThatWasNeverSetHasNoElements) {
    options o;
    o.devices = "checked:2";
    runtime rt(o);
    const auto table = rt.allocate<std::uint64_t>(size);
    for (const reach how : {reach::local, reach::indexed, reach::atomic}) {
        try {
            rt.run(reach_for{how, 0, {}, {}}, rt.mailbox<std::uint32_t>(swallow{}));
            ADD_FAILURE() << "reached";
        } catch (const usage_error& e) {
            contains(e.what(), "element 0 of a symmetric_ref that was never set, in ");
        }
    }
    EXPECT_EQ(table.copy_out(1), std::vector<std::uint64_t>(size));
}

}  // namespace
}  // namespace laneway::test
