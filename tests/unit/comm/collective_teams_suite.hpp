// Collectives of teams of PEs: each team among itself, at its own pace.
#pragma once

#include "collectives_job.hpp"
#include "laneway/memory/symmetric_array.hpp"
#include "laneway/simt/wait.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {

class collective_teams_test : public testing::TestWithParam<std::string> {
protected:
    /// PEs in turn into so many teams, with numbers that are no indices.
    static collective_options in_turn(int pes, int teams) {
        collective_options o;
        for (int pe = 0; pe < pes; ++pe) o.teams.push_back(-7 + 100 * (pe % teams));
        return o;
    }
};

enum : std::uint64_t { untouched = 77, elements = 300 };  // which need no memory on GPUs

/// What the lanes of a PE must find, and where they add up what they do not.
struct team_facts {
    int first_pe;         ///< of the team
    int stride;           ///< between its PEs
    std::uint64_t lanes;  ///< of all its members
    std::uint64_t sum;    ///< of the numbers of its PEs, one more each

    /// Teams are PEs first, first + stride, ...
    static team_facts of(const collectives_job& job, int pe, int teams) {
        team_facts facts{pe % teams, teams, 0, 0};
        for (int p = facts.first_pe; p < job.machine.n_pes(); p += teams) {
            facts.lanes += static_cast<std::uint64_t>(job.lanes(p)) * job.counts[static_cast<std::size_t>(p)].warps;
            facts.sum += static_cast<std::uint64_t>(p) + 1;
        }
        return facts;
    }
    [[nodiscard]] LANEWAY_FN bool has(int pe) const { return pe % stride == first_pe; }
};

/// The grids of a team: values, arrays, and as many more barriers as no other team makes.
struct use_teams {
    team_facts facts;
    symmetric_ref<std::uint64_t> arrays;  ///< one to reduce, one to broadcast, and one word for each PE
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const auto me = static_cast<std::uint64_t>(ctx.pe()) + 1;
        const bool leads = position.pe_warp == 0 && ctx.lane() == 0;
        const auto own = arrays.local(ctx);
        if (leads) {
            for (std::uint64_t i = 0; i < 2 * elements; ++i) own[i] = me + i;
            for (int pe = 0; pe < ctx.n_pes(); ++pe) own[2 * elements + static_cast<unsigned>(pe)] = untouched;
        }
        for (int i = 0; i <= facts.first_pe; ++i) {
            if (sums.barrier(ctx) != status::ok) return;
        }
        const auto lanes = sums.all_reduce(ctx, std::uint64_t{1}, reduction::sum{});
        const auto first = sums.broadcast(ctx, me, facts.first_pe);
        if (!lanes || !first) return;
        expect(ctx, lanes.value == facts.lanes && first.value == static_cast<std::uint64_t>(facts.first_pe) + 1);
        if (sums.all_reduce(ctx, own, elements, reduction::max{}) != status::ok) return;
        if (sums.broadcast(ctx, own + elements, elements, facts.first_pe) != status::ok) return;
        if (sums.all_gather(ctx, me, own + 2 * elements) != status::ok) return;
        if (leads) expect(ctx, all_right(ctx, own));
    }

private:
    template <class Ctx, class Words>
    [[nodiscard]] LANEWAY_FN bool all_right(Ctx& ctx, const Words& own) const {
        bool right = true;
        int last = ctx.n_pes() - 1;
        while (!facts.has(last)) --last;
        for (std::uint64_t i = 0; i < elements; ++i) {
            const std::uint64_t largest = own[i], copied = own[elements + i];
            right = right && largest == static_cast<unsigned>(last) + 1 + i &&
                    copied == static_cast<unsigned>(facts.first_pe) + 1 + elements + i;
        }
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            const std::uint64_t found = own[2 * elements + static_cast<unsigned>(pe)];
            right = right && found == (facts.has(pe) ? static_cast<unsigned>(pe) + 1 : std::uint64_t{untouched});
        }
        return right;
    }
    template <class Ctx>
    LANEWAY_FN void expect(Ctx& ctx, bool right) const {
        if (!right) atomic_add(ctx, wrong[0], 1);
    }
};

TEST_P(collective_teams_test, EachDoesItsOwn) {
    every_fourth_round(GetParam(), [&](options o) {
        o.checked_warps = 2;
        for (const int teams : {1, 2, 3, 9}) {
            const auto pes = laneway::machine(o.devices).n_pes();
            collectives_job job(o, in_turn(pes, teams), [](int pe) { return 1 + pe % 2; });
            symmetric_array<std::uint64_t> arrays(job.machine, 2 * elements + static_cast<unsigned>(pes)),
                wrong(job.machine, 1);
            for (int run = 0; run < 2; ++run) {
                job.run([&](int pe) { return use_teams{team_facts::of(job, pe, teams), arrays.ref(), wrong.ref()}; });
                for (int pe = 0; pe < pes; ++pe) {
                    ASSERT_EQ(wrong.copy_out(pe)[0], 0u) << teams << " teams, run " << run << ", PE " << pe;
                }
            }
        }
    });
}

/// The grids of a team reduce a symmetric array, of elements behind each other for each of its members, and give each
/// other elements.
struct move_in_teams {
    team_facts facts;
    symmetric_ref<std::uint64_t> array, from, to, wrong;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const auto me = static_cast<std::uint64_t>(ctx.pe()) + 1;
        const bool leads = position.pe_warp == 0 && ctx.lane() == 0;
        if (leads) {
            for (std::uint64_t i = 0; i < elements; ++i) array.local(ctx)[i] = me + i;
            for (int pe = 0; pe < ctx.n_pes(); ++pe) {
                from.local(ctx)[static_cast<unsigned>(pe)] = 100 * me + static_cast<unsigned>(pe);
                to.local(ctx)[static_cast<unsigned>(pe)] = untouched;
            }
        }
        if (sums.barrier(ctx) != status::ok) return;
        if (sums.all_reduce(ctx, array[0], elements, reduction::sum{}) != status::ok) return;
        if (sums.all_to_all(ctx, from[0], to[0], 1) != status::ok || !leads) return;
        bool right = true;
        std::uint64_t members = 0;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            const std::uint64_t got = to.local(ctx)[static_cast<unsigned>(pe)];
            const std::uint64_t given = 100 * (static_cast<std::uint64_t>(pe) + 1) + me - 1;
            right = right && got == (facts.has(pe) ? given : std::uint64_t{untouched});
            members += facts.has(pe) ? 1 : 0;
        }
        for (std::uint64_t i = 0; i < elements; ++i) {
            const std::uint64_t sum = array.local(ctx)[i];
            right = right && sum == facts.sum + members * i;
        }
        if (!right) atomic_add(ctx, wrong[0], 1);
    }
};

TEST_P(collective_teams_test, SymmetricArraysOfEachTeam) {
    every_fourth_round(GetParam(), [&](options o) {
        const auto pes = laneway::machine(o.devices).n_pes();
        const bool mixed = is_mixed(o.devices);  // such PEs reach no memory of each other's
        for (const int teams : {mixed ? 2 : 1, 2, 3}) {
            collectives_job job(o, in_turn(pes, teams));
            symmetric_array<std::uint64_t> array(job.machine, elements), wrong(job.machine, 1),
                from(job.machine, static_cast<unsigned>(pes)), to(job.machine, static_cast<unsigned>(pes));
            job.run([&](int pe) {
                return move_in_teams{team_facts::of(job, pe, teams), array.ref(), from.ref(), to.ref(), wrong.ref()};
            });
            for (int pe = 0; pe < pes; ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << teams << " teams, PE " << pe;
        }
    });
}

/// All but the first team wait until its barriers are over before they come to theirs.
struct wait_for_first_team {
    symmetric_ref<std::uint64_t> over;
    bool in_first;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const std::uint64_t* const mine = address(ctx, over[0], ctx.pe());
        if (!in_first &&
            wait_until(ctx, {operation::signal}, [&] { return reaches(ctx, mine, 1, scope::system); }) != status::ok) {
            return;
        }
        for (int i = 0; i < 3; ++i) {
            if (sums.barrier(ctx) != status::ok) return;
        }
        if (!in_first || position.pe_warp != 0 || ctx.lane() != 0 || ctx.pe() != 0) return;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            // Partner: the acquire load of those who wait for it.
            ctx.store(address(ctx, over[0], pe), std::uint64_t{1}, order::release, scope::system);
        }
    }
};

TEST_P(collective_teams_test, NoneWaitsForAnother) {
    if (is_mixed(GetParam())) GTEST_SKIP() << "a store reaches no PE of another kind";
    every_fourth_round(GetParam(), [&](options o) {
        const auto pes = laneway::machine(o.devices).n_pes();
        collectives_job job(o, in_turn(pes, 2));
        symmetric_array<std::uint64_t> over(job.machine, 1);
        EXPECT_NO_THROW(job.run([&](int pe) { return wait_for_first_team{over.ref(), pe % 2 == 0}; }));
    });
}

struct ask_first_pe {
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position&) const {
        (void)sums.broadcast(ctx, std::uint64_t{1}, 0);  // a failure ends the run
    }
};

TEST_P(collective_teams_test, WrongOnesAreNamed) {
    const options o = options_of(GetParam(), 1);
    const int pes = laneway::machine(o.devices).n_pes();
    EXPECT_EQ(thrown<usage_error>([&] { collectives_job job(o, in_turn(pes + 1, 2)); }),
              "collectives: a team for each of " + std::to_string(pes) + " PEs, or none; " + std::to_string(pes + 1) +
                  " are given");
    if (pes == 1) return;
    collectives_job job(o, in_turn(pes, 2));
    const std::string told = thrown<device_fault>([&] { job.run([](int) { return ask_first_pe{}; }); });
    EXPECT_NE(told.find("it is no member of this group"), std::string::npos) << told;
}

LANEWAY_ON_DEVICES(collective_teams_test, device_lists_to_five());

}  // namespace laneway::test
