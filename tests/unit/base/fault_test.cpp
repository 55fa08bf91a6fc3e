#include "laneway/base/fault.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace laneway {
namespace {

TEST(fault_test, EveryOperationHasItsOwnWords) {
    std::set<std::string> words;
    for (auto op = operation::user_code; op <= operation::run_to_end; op = operation{static_cast<unsigned>(op) + 1}) {
        EXPECT_TRUE(words.insert(to_string(op)).second) << to_string(op);
    }
    EXPECT_EQ(words.count("unknown operation"), 0u);
    EXPECT_STREQ(to_string(operation{999}), "unknown operation");
}

TEST(fault_test, FreshRecordNamesNoPeerAndIsUnwritten) {
    const fault_record record;
    EXPECT_EQ(record.written, 0u);
    EXPECT_EQ(record.peer, -1);
    EXPECT_EQ(record.code, status::ok);
}

TEST(fault_test, IsPlainData) { static_assert(trivially_copyable<fault_record>); }

}  // namespace
}  // namespace laneway
