// Sets of pages: what is put in is found, also in sets of three levels, and lanes spread evenly over what there is.
#pragma once

#include "laneway/memory/page_set.hpp"
#include "laneway/simt/machine.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// One lane puts pages in, `distance` apart, and looks from so many places which it finds first.
struct spreading_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t n_looks = 1024;

    std::uint32_t* words = nullptr;
    std::uint32_t n_pages = 0, members = 0, distance = 1;
    std::uint32_t* first = nullptr;  ///< a counter a member: how often it was found first
    std::uint32_t* failed = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const page_set set(words, n_pages);
        expect(set.is_empty(ctx));
        for (std::uint32_t i = 0; i < members; ++i) set.insert(ctx, i * distance);
        for (std::uint32_t look = 0; look < n_looks; ++look) {
            std::uint32_t at = n_pages;
            set.find(ctx, look * 0x9e3779b9u, [&](std::uint32_t page) {
                at = page;
                return true;
            });
            const bool is_member = at % distance == 0 && at / distance < members;
            expect(is_member);
            if (is_member) ++first[at / distance];
        }
        std::uint32_t seen = 0;
        set.find(ctx, 0, [&](std::uint32_t) { return ++seen == 0; });
        expect(seen == members && !set.is_empty(ctx));
        for (std::uint32_t i = 0; i < members; ++i) set.remove(ctx, i * distance, [&] { return i == 0; });
        set.remove(ctx, n_pages - 1, [] { return true; });  // what is not in the set stays out
        bool has_first = false;
        set.find(ctx, 0, [&](std::uint32_t page) { return has_first = page == 0; });
        expect(has_first && !set.is_empty(ctx));
        set.remove(ctx, 0, [] { return false; });
        expect(set.is_empty(ctx));
    }

private:
    LANEWAY_FN void expect(bool right) const { *failed += right ? 0 : 1; }
};

class page_set_test : public testing::TestWithParam<std::string> {};

// Few pages at the begin of a large region, as a heap opens them: lanes that all began there would meet.
TEST_P(page_set_test, LanesSpreadEvenlyOverThePagesThereAre) {
    struct given {
        std::uint32_t n_pages, members, distance;
    };
    for (const given one : {given{32768, 64, 1}, given{32768, 128, 32}, given{70000, 64, 1024}, given{40, 16, 2}}) {
        machine machine(GetParam());
        const buffer<std::uint32_t> words(machine.device(0), page_set::word_count(one.n_pages));
        const buffer<std::uint32_t> first(machine.device(0), one.members), failed(machine.device(0), 1);
        run_programs(machine, small_grid(machine), 100, [&](int) {
            return spreading_program{words.data(), one.n_pages, one.members, one.distance, first.data(), failed.data()};
        });
        EXPECT_EQ(failed.copy_out()[0], 0u);
        const auto counts = first.copy_out();
        const std::uint32_t even = spreading_program::n_looks / one.members;
        EXPECT_LE(*std::max_element(counts.begin(), counts.end()), 4 * even) << one.members << " pages";
        EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 1u) << one.members << " pages";
    }
}

LANEWAY_ON_DEVICES(page_set_test, lone_device());

}  // namespace laneway::test
