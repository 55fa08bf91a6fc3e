// Processes in step: calls that differ are found, host accesses wait for each other, memory outlives its mappings.
#include "laneway/simt/process_group.hpp"

#include "laneway/base/error.hpp"
#include "unit/forked_processes.hpp"

namespace laneway::test {

using job_link = std::shared_ptr<bootstrap>;

TEST(process_group_test, MeetsWhereTheCallsAreTheSame) {
    in_processes_that_pass(3, [](const job_link& job) {
        process_group group(job);
        for (int round = 0; round < 10; ++round) {
            const auto all = group.meet("round " + std::to_string(round), {std::to_string(group.rank()), {}});
            for (int rank = 0; rank < 3; ++rank) {
                EXPECT_EQ(all[static_cast<std::size_t>(rank)].bytes, std::to_string(rank));
            }
        }
    });
}

TEST(process_group_test, CallsThatDifferAreNamed) {
    in_processes_that_pass(2, [](const job_link& job) {
        process_group group(job);
        try {
            (void)group.meet(group.rank() == 0 ? "to begin" : "to end", {});
            ADD_FAILURE() << "met";
        } catch (const process_error& refused) {
            const std::string told = refused.what();
            EXPECT_NE(told.find(group.rank() == 0 ? "process 1 is at 'to end', where process 0 is at 'to begin'"
                                                  : "process 0 is at 'to begin', where process 1 is at 'to end'"),
                      std::string::npos)
                << told;
        }
        EXPECT_THROW((void)group.meet("the same", {}), process_error) << "the job is over";
    });
}

// Of accesses that follow each other only those of another kind meet: each process sees how often the others did.
TEST(process_group_test, AccessesOfOneKindDoNotMeet) {
    in_processes_that_pass(2, [](const job_link& job) {
        process_group group(job);
        for (int i = 0; i < (group.rank() == 0 ? 7 : 1); ++i) group.before_write();  // nobody waits
        group.before_read();
        for (int i = 0; i < (group.rank() == 0 ? 1 : 7); ++i) group.before_read();
        group.before_write();
        group.forget_accesses();
        group.before_read();  // nothing to wait for
        EXPECT_EQ(group.meet("the end", {}).size(), 2u);
    });
}

TEST(process_group_test, MemoryIsFreedAtTheNextMeeting) {
    in_processes_that_pass(2, [](const job_link& job) {
        bool freed = false, freed_with_group = false;
        {
            process_group group(job);
            group.free_later([&] { freed = true; });
            EXPECT_FALSE(freed);
            (void)group.meet("any", {});
            EXPECT_TRUE(freed);
            group.free_later([&] { freed_with_group = true; });
        }
        EXPECT_TRUE(freed_with_group);
    });
}

TEST(process_group_test, AloneNobodyIsMet) {
    process_group group(lone_process());
    EXPECT_EQ(group.meet("any", {"mine", {}})[0].bytes, "mine");
    group.before_write();
    group.before_read();
}

}  // namespace laneway::test
