#include "laneway/base/draft_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST_F(draft_file_test, ModesAreThoseOfNewFiles) {
    const mode_t mask = ::umask(027);
    draft_file draft(target_);
    draft.commit();
    ::umask(mask);
    EXPECT_EQ(static_cast<int>(fs::status(target_).permissions()), 0640);
}

}  // namespace
}  // namespace laneway
