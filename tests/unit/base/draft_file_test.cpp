#include "laneway/base/draft_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "unit/test_files.hpp"

namespace laneway {
namespace {

namespace fs = std::filesystem;

class draft_file_test : public testing::Test {
protected:
    test::scratch_directory folder_;
    fs::path target_ = folder_.write("target", "old");

    std::string content() const {
        std::ifstream in(target_);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    long files() const { return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()); }
};

TEST_F(draft_file_test, TakesItsTargetsPlaceWhenItIsComplete) {
    draft_file draft(target_);
    draft.write("new ", 4);
    draft.write("text", 4);
    EXPECT_EQ(content(), "old");
    EXPECT_EQ(files(), 2);
    draft.commit();
    EXPECT_EQ(content(), "new text");
    EXPECT_EQ(files(), 1);
}

TEST_F(draft_file_test, LeavesNothingWhereItIsNotCommitted) {
    { draft_file(target_).write("new", 3); }
    EXPECT_EQ(content(), "old");
    EXPECT_EQ(files(), 1);
    EXPECT_THROW(draft_file(folder_ / "none/target"), usage_error);
    EXPECT_THROW(draft_file("/dev/full/target"), usage_error);
}

TEST_F(draft_file_test, AnInterruptionLeavesAWrite) {
    const interruption leave([] { throw interrupted("enough"); });
    EXPECT_THROW(draft_file(target_).write("new", 3), interrupted);
    EXPECT_EQ(content(), "old");
    EXPECT_EQ(files(), 1);
}

TEST_F(draft_file_test, WritersOfOneTargetDoNotMeet) {
    draft_file one(target_);
    draft_file two(target_);
    one.write("first", 5);
    two.write("second", 6);
    EXPECT_EQ(files(), 3);
    two.commit();
    one.commit();
    EXPECT_EQ(content(), "first");
    EXPECT_EQ(files(), 1);
}

TEST_F(draft_file_test, AllDraftsCanBeRemovedAtOnce) {
    const draft_file one(target_);
    draft_file two(folder_ / "other");
    two.write("x", 1);
    draft_file::remove_all();
    EXPECT_EQ(files(), 1);
    EXPECT_EQ(content(), "old");
    EXPECT_THROW(two.commit(), usage_error);
}

TEST_F(draft_file_test, ModesAreThoseOfNewFilesOrOfTheReplacedOne) {
    const auto mode = [](const fs::path& file) { return static_cast<int>(fs::status(file).permissions()); };
    const mode_t mask = ::umask(027);
    draft_file(folder_ / "other").commit();
    ::umask(mask);
    EXPECT_EQ(mode(folder_ / "other"), 0640);
    fs::permissions(target_, fs::perms{0606});
    draft_file(target_).commit();
    EXPECT_EQ(mode(target_), 0606);
}

TEST_F(draft_file_test, ALinkStaysOne) {
    for (const char* name : {"target", "none yet"}) {
        const fs::path link = folder_ / "link";
        fs::create_symlink(name, link);
        draft_file draft(link);
        draft.write("new", 3);
        draft.commit();
        EXPECT_EQ(fs::read_symlink(link), name);
        std::ifstream in(folder_ / name);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "new");
        EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / name)));
        fs::remove(link);
    }
    fs::create_symlink("ring", folder_ / "ring");
    EXPECT_THROW(draft_file(folder_ / "ring"), usage_error);
}

std::string refusal_of(const fs::path& target) {
    try {
        draft_file(target).commit();
    } catch (const usage_error& refused) {
        return refused.what();
    }
    return "nothing was thrown";
}

TEST_F(draft_file_test, WhatIsNoRegularFileIsRefused) {
    const fs::path pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(refusal_of(pipe), pipe.string() + ": cannot be written: it is no regular file");
    fs::create_symlink("pipe", folder_ / "link");
    EXPECT_EQ(refusal_of(folder_ / "link"), (folder_ / "link").string() + ": cannot be written: it is no regular file");
    EXPECT_TRUE(fs::is_fifo(pipe));
    EXPECT_EQ(refusal_of(folder_.path()), folder_.path().string() + ": cannot be written: it is a directory");
    EXPECT_EQ(refusal_of("."), ".: cannot be written: it is a directory");
    EXPECT_EQ(files(), 3);
}

TEST_F(draft_file_test, TheOwnOutputIsRefused) {
    const int before = ::dup(STDERR_FILENO);
    const int file = ::open(target_.c_str(), O_WRONLY | O_APPEND);
    ::dup2(file, STDERR_FILENO);
    const std::string told = refusal_of(target_);
    ::dup2(before, STDERR_FILENO);
    ::close(file);
    ::close(before);
    EXPECT_EQ(told, target_.string() + ": cannot be written: this process's own output goes there");
    EXPECT_EQ(content(), "old");
}

TEST_F(draft_file_test, AFileThatMayNotBeWrittenIsRefused) {
    fs::permissions(target_, fs::perms{0444});
    fs::permissions(folder_.path(), fs::perms{0777});
    constexpr int cannot = 2;
    const pid_t child = ::fork();
    if (child == 0) {  // root may write all files
        constexpr uid_t nobody = 65534;
        if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(cannot);
        ::_exit(refusal_of(target_) == target_.string() + ": cannot be written: permission denied" ? 0 : 1);
    }
    int ended = -1;
    ::waitpid(child, &ended, 0);
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == cannot) GTEST_SKIP() << "root here cannot become another user";
    EXPECT_EQ(ended, 0);
    EXPECT_EQ(content(), "old");
}

}  // namespace
}  // namespace laneway
