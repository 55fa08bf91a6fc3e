// Processes of a job find each other, wait for each other, and name the one that is missing.
#include "laneway/base/bootstrap.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "laneway/base/error.hpp"
#include "unit/forked_processes.hpp"

namespace laneway::test {

using job_link = std::shared_ptr<bootstrap>;

template <class Error, class Call>
std::string refusal_of(Call&& call) {
    try {
        call();
    } catch (const Error& refused) {
        return refused.what();
    }
    ADD_FAILURE() << "nothing was thrown, or something else";
    return {};
}

TEST(bootstrap_test, AllGatherGivesByRankWhatEachProcessGave) {
    in_processes_that_pass(3, [](const job_link& job) {
        for (std::size_t round = 0; round < 20; ++round) {
            // Up to some MB: more than the system takes at once.
            const auto text = [&](int rank) {
                return std::string(round * round * 10'000 + static_cast<std::size_t>(rank),
                                   static_cast<char>('a' + rank));
            };
            const auto all = job->all_gather({text(job->rank()), {}}, 20);
            ASSERT_EQ(all.size(), 3u);
            for (int rank = 0; rank < 3; ++rank) {
                ASSERT_TRUE(all[static_cast<std::size_t>(rank)].bytes == text(rank)) << "of process " << rank;
            }
        }
    });
}

TEST(bootstrap_test, FilesArriveOpen) {
    in_processes_that_pass(3, [](const job_link& job) {
        for (int round = 0; round < 5; ++round) {
            const file_handle mine(memfd_create("test", MFD_CLOEXEC));
            const int told = job->rank() * 100 + round;
            ASSERT_EQ(write(mine.descriptor(), &told, sizeof told), static_cast<ssize_t>(sizeof told));
            const bool gives = round % 3 != job->rank();  // some give none
            const auto all = job->all_gather({"", gives ? mine : file_handle{}}, 20);
            for (int rank = 0; rank < 3; ++rank) {
                const file_handle& file = all[static_cast<std::size_t>(rank)].file;
                ASSERT_EQ(static_cast<bool>(file), round % 3 != rank);
                if (!file) continue;
                int read = -1;
                ASSERT_EQ(pread(file.descriptor(), &read, sizeof read, 0), static_cast<ssize_t>(sizeof read));
                EXPECT_EQ(read, rank * 100 + round);
            }
        }
    });
}

TEST(bootstrap_test, AFileThatCannotBeReceivedIsAnError) {
    in_processes_that_pass(2, [](const job_link& job) {
        const file_handle mine(memfd_create("test", MFD_CLOEXEC));
        if (job->rank() == 1) {
            const auto used = static_cast<rlim_t>(dup(mine.descriptor()));  // the lowest that is free
            close(static_cast<int>(used));
            const rlimit none{used, used};
            ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
            const std::string told = refusal_of<system_error>([&] { (void)job->all_gather({}, 20); });
            EXPECT_NE(told.find("too many open files"), std::string::npos) << told;
        } else {
            // What it waits for is the end of the other, which is told, or the other's contribution and then that.
            const std::string told = refusal_of<process_error>([&] {
                (void)job->all_gather({"", mine}, 20);
                job->barrier();
            });
            EXPECT_NE(told.find("too many open files"), std::string::npos) << told;
        }
    });
}

TEST(bootstrap_test, AnAlertIsSeenUntilTheNextAllGather) {
    in_processes_that_pass(2, [](const job_link& job) {
        for (int round = 0; round < 10; ++round) {
            EXPECT_FALSE(job->alerted());
            job->barrier();  // nobody is alerted before both have looked
            if (job->rank() == round % 2) {
                job->alert();
            } else {
                while (!job->alerted()) std::this_thread::yield();
            }
            job->barrier();
            EXPECT_FALSE(job->alerted());
            job->barrier();
        }
    });
}

// What the other does next often comes together with the alert: it must not be lost, nor outlive what it is about.
TEST(bootstrap_test, AnAlertIsSeenThoughTheNextContributionFollowsAtOnce) {
    in_processes_that_pass(2, [](const job_link& job) {
        for (int round = 0; round < 200; ++round) {
            if (job->rank() == round % 2) {
                job->alert();
            } else {
                const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                while (!job->alerted()) {
                    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "round " << round;
                    std::this_thread::yield();
                }
            }
            job->barrier();
        }
    });
}

TEST(bootstrap_test, AProcessThatIsKilledIsNamed) {
    const auto ended = in_processes(3, [](const job_link& job) {
        job->barrier();
        if (job->rank() == 1) ::raise(SIGKILL);
        const std::string told = refusal_of<process_error>([&] { job->barrier(); });
        EXPECT_NE(told.find("process 1 (pid "), std::string::npos) << told;
        EXPECT_NE(told.find("has ended"), std::string::npos) << told;
        EXPECT_TRUE(job->alerted());
        EXPECT_THROW(job->barrier(), process_error) << "the job is over";
    });
    EXPECT_TRUE(was_killed(ended[0]));
    EXPECT_EQ(ended[1], 0);
}

TEST(bootstrap_test, AKilledProcessIsSeenWithoutWaiting) {
    const auto ended = in_processes(2, [](const job_link& job) {
        if (job->rank() == 1) ::raise(SIGKILL);
        while (!job->alerted()) std::this_thread::yield();  // the test's own deadline ends it where that never comes
    });
    EXPECT_TRUE(was_killed(ended[0]));
}

TEST(bootstrap_test, AProcessThatDoesNotComeIsNamedAndLearnsWhy) {
    in_processes_that_pass(2, [](const job_link& job) {
        if (job->rank() == 0) {
            const std::string told = refusal_of<timeout_error>([&] { (void)job->all_gather({}, 0.05); });
            EXPECT_NE(told.find("waiting for process 1 (pid "), std::string::npos) << told;
            EXPECT_NE(told.find("the deadline is 0.05 s"), std::string::npos) << told;
        } else {
            while (!job->alerted()) std::this_thread::yield();
            const std::string told = refusal_of<process_error>([&] { job->barrier(); });
            EXPECT_NE(told.find("process 0 (pid "), std::string::npos) << told;
            EXPECT_NE(told.find("has left: deadline passed"), std::string::npos) << told;
        }
    });
}

TEST(bootstrap_test, WhoLeavesTellsTheOthersWhy) {
    in_processes_that_pass(3, [](const job_link& job) {
        job->barrier();
        if (job->rank() == 1) job->leave("no\nmemory");
        const std::string told = refusal_of<process_error>([&] { (void)job->all_gather({}, 1e6); });
        EXPECT_NE(told.find(job->rank() == 1 ? "has ended: no memory" : "has left: no memory"), std::string::npos)
            << told;
        job->leave("later");  // changes nothing
        EXPECT_EQ(refusal_of<process_error>([&] { job->barrier(); }).find("later"), std::string::npos);
    });
}

TEST(bootstrap_test, AForkedProcessIsNotOfTheJob) {
    in_processes_that_pass(2, [](const job_link& job) {
        const pid_t child = fork();
        if (child == 0) {
            const std::string told = refusal_of<usage_error>([&] { job->barrier(); });
            EXPECT_NE(told.find("of job "), std::string::npos) << told;
            EXPECT_THROW(job->alert(), usage_error);
            EXPECT_THROW((void)job->alerted(), usage_error);
            job->leave("no part of it");
            std::fflush(nullptr);
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        int ended = -1;
        waitpid(child, &ended, 0);
        EXPECT_EQ(ended, 0);
        EXPECT_FALSE(job->alerted());
        job->barrier();
    });
}

TEST(bootstrap_test, WhoNeverJoinsIsNamed) {
    const std::string above = refusal_of<timeout_error>([] { (void)local_processes(unused_job(), 1, 3, 0.05); });
    EXPECT_NE(above.find("waiting to reach process 0 of job test."), std::string::npos) << above;
    const std::string below = refusal_of<timeout_error>([] { (void)local_processes(unused_job(), 0, 3, 0.05); });
    EXPECT_NE(below.find("waiting for process 1, 2 of job test."), std::string::npos) << below;
}

TEST(bootstrap_test, APlaceIsTakenOnce) {
    const std::string job = unused_job();
    const auto take = [&] { return local_processes(job, 0, 2, 20); };
    std::array both{std::async(std::launch::async, take), std::async(std::launch::async, take)};
    const auto is_ready = [](const auto& f) {
        return f.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    while (!is_ready(both[0]) && !is_ready(both[1])) std::this_thread::yield();
    const std::size_t late = is_ready(both[0]) ? 0 : 1;  // the other waits for process 1
    const std::string told = refusal_of<usage_error>([&] { (void)both[late].get(); });
    EXPECT_NE(told.find("process 0 of job " + job + " is running already"), std::string::npos) << told;
    const auto second = local_processes(job, 1, 2, 20);
    EXPECT_EQ(both[1 - late].get()->size(), second->size());
}

TEST(bootstrap_test, NumbersThatDoNotFitAreRefused) {
    EXPECT_THROW((void)local_processes("", 0, 2), usage_error);
    EXPECT_THROW((void)local_processes("job", 0, 0), usage_error);
    EXPECT_THROW((void)local_processes("job", 2, 2), usage_error);
    EXPECT_THROW((void)local_processes("job", -1, 2), usage_error);
    EXPECT_THROW((void)local_processes("job", 0, 2, 0), usage_error);
    EXPECT_THROW((void)local_processes("job", 0, 2, 2e9), usage_error);
    EXPECT_THROW((void)local_processes(std::string(200, 'j'), 0, 2), usage_error);
}

TEST(bootstrap_test, ProcessesOfDifferentSizesAreRefused) {
    const std::string job = unused_job();
    auto first = std::async(std::launch::async, [&] { return local_processes(job, 0, 2, 20); });
    const auto other = [&] {
        try {
            (void)local_processes(job, 1, 3, 0.05);  // reaches the first, and waits for a third in vain
        } catch (const timeout_error&) {
        }
    };
    while (first.wait_for(std::chrono::seconds(0)) != std::future_status::ready) other();
    const std::string told = refusal_of<usage_error>([&] { (void)first.get(); });
    EXPECT_NE(told.find("job " + job + " of 2 processes: one joined that is '1 3'"), std::string::npos) << told;
}

TEST(bootstrap_test, AloneNobodyIsWaitedFor) {
    const auto alone = lone_process();
    EXPECT_EQ(alone->rank(), 0);
    EXPECT_EQ(alone->size(), 1);
    EXPECT_EQ(alone->all_gather({"mine", {}}, 1)[0].bytes, "mine");
    alone->alert();
    EXPECT_FALSE(alone->alerted());
}

TEST(bootstrap_test, WhatTheEnvironmentLacksIsNamed) {
    const auto told = [] { return refusal_of<usage_error>([] { (void)processes_of_environment(); }); };
    in_processes_that_pass(2, [&](const job_link& job) {
        if (job->rank() == 0) return;
        for (const char* variable : {"LANEWAY_JOB", "LANEWAY_RANK"}) unsetenv(variable);
        for (const std::string size : {"0", "-1", "257"}) {
            setenv("LANEWAY_SIZE", size.c_str(), 1);
            EXPECT_EQ(told(), "LANEWAY_SIZE: expected a number from 1 to 256, not '" + size + "'");
        }
        setenv("LANEWAY_SIZE", "two", 1);
        EXPECT_EQ(told(), "LANEWAY_SIZE: expected a number, not 'two'");
        setenv("LANEWAY_SIZE", "1", 1);
        EXPECT_EQ(told(), "LANEWAY_JOB is not set: with LANEWAY_SIZE it is needed, as the job's name");
        setenv("LANEWAY_JOB", unused_job().c_str(), 1);
        EXPECT_EQ(told(), "LANEWAY_RANK is not set: with LANEWAY_SIZE it is needed, as this process's number");
    });
}

TEST(bootstrap_test, TheEnvironmentNamesTheJob) {
    const auto child = [](const char* rank) {
        setenv("LANEWAY_SIZE", "1", 1);
        EXPECT_THROW((void)processes_of_environment(), usage_error) << "no name";
        setenv("LANEWAY_JOB", unused_job().c_str(), 1);
        EXPECT_THROW((void)processes_of_environment(), usage_error) << "no rank";
        setenv("LANEWAY_RANK", "nought", 1);
        EXPECT_THROW((void)processes_of_environment(), usage_error);
        setenv("LANEWAY_RANK", rank, 1);
        setenv("LANEWAY_JOB_TIMEOUT", "2.5", 1);
        EXPECT_EQ(processes_of_environment()->timeout_seconds(), 2.5);
        EXPECT_EQ(processes_of_environment(), processes_of_environment()) << "joined once";
    };
    in_processes_that_pass(2, [&](const job_link& job) {
        if (job->rank() == 1) child("0");  // what it sets ends with it
    });
}

}  // namespace laneway::test
