// What goes wrong in collectives ends the run with an error that names it, and the next run is well again.
#include "collectives_job.hpp"
#include "laneway/memory/symmetric_array.hpp"

namespace laneway::test {
namespace {

class collective_faults_test : public testing::TestWithParam<std::string> {};
/// Where blocks have several warps.
class collective_block_faults_test : public collective_faults_test {};
/// On a PE alone as well, which never waits.
class collective_loops_test : public collective_faults_test {};

constexpr group failing_groups[] = {group::warp, group::block, group::grid};

constexpr std::size_t max_members = 16, max_elements = 100;
/// An array of each member of each PE.
constexpr std::size_t all_elements = 3 * max_members * max_elements;

template <class Ctx>
double* array_of(const Ctx& ctx, double* arrays, group kind, const group_position& position) {
    const int member = kind == group::warp ? position.pe_warp : kind == group::block ? position.block : 0;
    return arrays +
           (static_cast<std::size_t>(ctx.pe()) * max_members + static_cast<std::size_t>(member)) * max_elements;
}

std::uint32_t number_of(group kind) { return static_cast<std::uint32_t>(kind); }

/// Some sums that must be right: after a run that has failed as well as before.
struct sum_up {
    std::uint32_t* wrong;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position&) const {
        for (const group kind : {group::warp, group::block, group::grid, group::warp}) {
            const auto most = sums.all_reduce(ctx, ctx.pe(), reduction::max{}, kind);
            if (!most || most.value != ctx.n_pes() - 1) ctx.fetch_add(wrong, 1u, order::relaxed, scope::device);
        }
    }
};

void expect_that_it_works(collectives_job& job) {
    job.timeout_seconds = 60;
    std::vector<buffer<std::uint32_t>> wrong;
    for (int pe = 0; pe < job.machine.n_pes(); ++pe) wrong.emplace_back(job.machine.device(pe), 1);
    job.run([&](int pe) { return sum_up{wrong[static_cast<std::size_t>(pe)].data()}; });
    for (const auto& count : wrong) EXPECT_EQ(count.copy_out()[0], 0u);
}

/// `late`: the run is to end at its deadline, which so comes soon.
options job_options(const std::string& devices, std::uint64_t round = 4, bool late = false) {
    options o = options_of(devices, round);
    o.cpu_threads = 2;
    if (late) o.timeout_seconds = is_checked(devices) ? 0.1 : 1;
    return o;
}

/// What a run of a body says, which must end with an Error; on the same machine the next run is well.
template <class Error, class Body>
std::string failure(const std::string& devices, const Body& body, std::uint64_t round = 4) {
    collectives_job job(job_options(devices, round, std::is_same_v<Error, timeout_error>));
    std::string what;
    try {
        job.run([&](int) { return body; });
        ADD_FAILURE() << "the run ended as if nothing had happened";
    } catch (const Error& e) {
        what = e.what();
    }
    expect_that_it_works(job);
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_EQ(what.rfind("PE ", 0), 0u) << what;
    return what;
}

void contains(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not say \"" << part << "\"";
}

/// One PE differs from the others in what it calls in the third round.
struct differ {
    enum class in : std::uint32_t { count, operation, type, root, function };
    in what;
    group kind;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position&) const {
        std::uint32_t values[4] = {};
        for (int i = 0; i < 2; ++i) {
            if (!sums.all_reduce(ctx, 1, reduction::sum{}, kind)) return;
        }
        const bool odd = ctx.pe() == ctx.n_pes() - 1;
        switch (what) {
            case in::count: (void)sums.all_reduce(ctx, values, odd ? 2 : 3, reduction::sum{}, kind); return;
            case in::operation:
                if (odd) (void)sums.all_reduce(ctx, values, 1, reduction::min{}, kind);
                if (!odd) (void)sums.all_reduce(ctx, values, 1, reduction::max{}, kind);
                return;
            case in::type:
                if (odd) (void)sums.all_reduce(ctx, 1.0f, reduction::sum{}, kind);
                if (!odd) (void)sums.all_reduce(ctx, 1, reduction::sum{}, kind);
                return;
            case in::root: (void)sums.broadcast(ctx, values, 4, odd ? 1 : 0, kind); return;
            default:
                if (odd) (void)sums.barrier(ctx, kind);
                if (!odd) (void)sums.broadcast(ctx, values, 4, 0, kind);
        }
    }
};

TEST_P(collective_faults_test, MembersThatCallDifferentThings) {
    using in = differ::in;
    for (const group kind : failing_groups) {
        for (const in what : {in::count, in::operation, in::type, in::root, in::function}) {
            SCOPED_TRACE("group " + std::to_string(number_of(kind)) + ", difference " +
                         std::to_string(static_cast<int>(what)));
            const std::string said = failure<device_fault>(GetParam(), differ{what, kind});
            contains(said, "members of one group called different collectives while in a collective with PE ");
            contains(said, "the group's collective 3");
        }
    }
}

/// One warp of each block, or one block, calls another collective than the rest of its PE.
struct differ_within {
    group kind;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const bool odd = kind == group::block ? position.warp == 1 : position.block == 1;
        if (odd) (void)sums.barrier(ctx, kind);
        if (!odd) (void)sums.all_reduce(ctx, 1, reduction::sum{}, kind);
    }
};

TEST_P(collective_block_faults_test, WarpsOfABlockThatCallDifferentThings) {
    contains(failure<device_fault>(GetParam(), differ_within{group::block}, 2),
             "members of one group called different collectives");
}
TEST_P(collective_faults_test, BlocksOfAPeThatCallDifferentThings) {
    contains(failure<device_fault>(GetParam(), differ_within{group::grid}),
             "members of one group called different collectives");
}

/// Some part of the job does not come to the second collective, and has returned.
struct stay_away {
    group kind;
    group missing;  ///< a warp of a block, a block of a PE, a PE
    std::uint64_t count;
    double* arrays;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        if (sums.barrier(ctx, kind) != status::ok) return;
        if (missing == group::warp && position.warp == 0 && ctx.pe() == 0) return;
        if (missing == group::block && position.block == 1 && ctx.pe() == 0) return;
        if (missing == group::grid && ctx.pe() == 0) return;
        (void)sums.all_reduce(ctx, array_of(ctx, arrays, kind, position), count, reduction::sum{}, kind);
    }
};

template <class Error>
std::string told_of_absence(const std::string& devices, group kind, group missing, std::uint64_t count) {
    std::vector<double> arrays(all_elements);
    return failure<Error>(devices, stay_away{kind, missing, count, arrays.data()}, 2);
}

TEST_P(collective_block_faults_test, AWarpOfTheBlockThatHasReturned) {
    for (const std::uint64_t count : {1, 100}) {
        const std::string said = told_of_absence<device_fault>(GetParam(), group::block, group::warp, count);
        contains(said, "not every working warp called the collective while in a collective");
        contains(said, " working warps came");
    }
}
TEST_P(collective_faults_test, ABlockOfThePeThatHasReturned) {
    for (const std::uint64_t count : {1, 100}) {
        const std::string said = told_of_absence<device_fault>(GetParam(), group::grid, group::block, count);
        contains(said, "not every working warp called the collective while in a collective");
        contains(said, " working warps came");
    }
}
TEST_P(collective_faults_test, APeThatNeverComesIsToldByTheDeadline) {
    for (const group kind : failing_groups) {
        for (const std::uint64_t count : {1, 100}) {
            const std::string said = told_of_absence<timeout_error>(GetParam(), kind, group::grid, count);
            contains(said, "deadline passed while in a collective");
            if (kind == group::warp) contains(said, "with PE 0: the group's collective 2");
        }
    }
}

/// A block of one PE does not come to a barrier, and does not return before the run is ending.
struct linger {
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        if (sums.barrier(ctx, group::grid) != status::ok) return;
        if (ctx.pe() != 0 || position.block != 1) return (void)sums.barrier(ctx, group::grid);
        while (!stopped(ctx)) ctx.pause(3);
    }
};

// Also by the other blocks of that PE, which have heard all others.
TEST_P(collective_faults_test, ABlockThatNeverComesIsToldByTheDeadlineAsItsPe) {
    const std::string said = failure<timeout_error>(GetParam(), linger{});
    contains(said, "deadline passed while in a collective");
    contains(said, ": the group's collective 2");
    // The warps of a block that wait for its last one name no PE.
    for (const char* other : {"with PE 1", "with PE 2"}) EXPECT_EQ(said.find(other), std::string::npos) << said;
}

/// One lane of the job fails while all others wait, in each kind of wait.
struct fail_meanwhile {
    group kind;
    std::uint64_t count;
    double* arrays;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        if (sums.barrier(ctx, kind) != status::ok) return;
        if (position.pe_warp == 0 && ctx.pe() == ctx.n_pes() - 1) {
            if (ctx.lane() == 0) (void)fail(ctx, status::handler_failed, operation::user_code, -1, 77);
            return;
        }
        const status told = sums.all_reduce(ctx, array_of(ctx, arrays, kind, position), count, reduction::sum{}, kind);
        // Those whose group the lane does not belong to are not concerned.
        if (kind == group::grid && told == status::ok) (void)fail(ctx, status::no_room, operation::user_code);
    }
};

TEST_P(collective_faults_test, AFaultElsewhereEndsEachWait) {
    std::vector<double> arrays(all_elements);
    for (const group kind : failing_groups) {
        for (const std::uint64_t count : {1, 100}) {
            const std::string said = failure<device_fault>(GetParam(), fail_meanwhile{kind, count, arrays.data()});
            contains(said, "the application reported an error while running application code: number 77");
        }
    }
}

/// Arguments that no collective takes.
struct ask_too_much {
    int root;
    std::uint64_t count;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position&) const {
        if (root != 0) (void)sums.broadcast(ctx, ctx.pe(), root);
        double value = 0;
        if (count != 0) (void)sums.all_reduce(ctx, &value, count, reduction::sum{});
    }
};

TEST_P(collective_faults_test, ArgumentsThatNoCollectiveTakes) {
    const std::string pes = std::to_string(collectives_job(job_options(GetParam())).machine.n_pes());
    contains(failure<device_fault>(GetParam(), ask_too_much{-1, 0}),
             "no such PE while in a collective with PE -1: the job has " + pes + " PEs");
    contains(failure<device_fault>(GetParam(), ask_too_much{9, 0}), "with PE 9: the job has " + pes + " PEs");
    contains(failure<device_fault>(GetParam(), ask_too_much{0, 8193}),
             "more bytes than a collective takes while in a collective: 65544 bytes, and the limit is 65536");
    contains(failure<device_fault>(GetParam(), ask_too_much{0, ~std::uint64_t{0}}),
             "18446744073709551615 bytes, and the limit is 65536");
}

/// Loops of collectives hear of the end of the run, also where they never wait.
struct go_on_for_ever {
    group kind;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position&) const {
        while (sums.all_reduce(ctx, 1, reduction::sum{}, kind)) {
        }
    }
};

TEST_P(collective_loops_test, ALoopOfCollectivesEndsAtTheDeadline) {
    for (const group kind : failing_groups) {
        const std::string said = failure<timeout_error>(GetParam(), go_on_for_ever{kind});
        contains(said, "deadline");
    }
}

/// A PE that has no such block or warp sends nothing to those that have.
struct hear_from_a_smaller_pe {
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position&) const {
        (void)sums.broadcast(ctx, 1, 0, group::block);
    }
};

TEST_P(collective_faults_test, ARootThatIsNoMember) {
    collectives_job job(job_options(GetParam()), {}, [](int pe) { return pe == 0 ? 1 : 2; });
    try {
        job.run([](int) { return hear_from_a_smaller_pe{}; });
        ADD_FAILURE() << "the run ended as if nothing had happened";
    } catch (const device_fault& e) {
        contains(e.what(), " block 1 ");
        contains(e.what(), "no such PE while in a collective with PE 0");
    }
    expect_that_it_works(job);
}

LANEWAY_ON_DEVICES(collective_faults_test, device_lists(2));
LANEWAY_ON_DEVICES(collective_loops_test, device_lists());
LANEWAY_ON_DEVICES(collective_block_faults_test, (std::vector<std::string>{"checked:2", "checked:3"}));

}  // namespace
}  // namespace laneway::test
