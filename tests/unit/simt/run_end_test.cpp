// What processes tell of a run's end arrives as it was.
#include "laneway/simt/run_end.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "laneway/base/error.hpp"

namespace laneway::test {

TEST(run_end_test, ArrivesAsItWas) {
    run_end told;
    told.records.resize(3);
    told.records[1].written = 1;
    told.records[1].pe = 4;
    told.records[1].number = 99;
    told.thrown = "in two\nlines";
    told.left = "for a reason";
    told.abandoned = true;
    const run_end heard = run_end::from_bytes(told.to_bytes(), 3);
    ASSERT_EQ(heard.records.size(), 3u);
    EXPECT_EQ(heard.records[0].written, 0u);
    EXPECT_EQ(heard.records[1].written, 1u);
    EXPECT_EQ(heard.records[1].pe, 4);
    EXPECT_EQ(heard.records[1].number, 99u);
    EXPECT_EQ(heard.thrown, "in two lines");
    EXPECT_EQ(heard.left, "for a reason");
    EXPECT_TRUE(heard.abandoned);
    EXPECT_FALSE(run_end::from_bytes(run_end{}.to_bytes(), 0).abandoned);
}

TEST(run_end_test, WhatIsTooShortIsRefused) {
    EXPECT_THROW((void)run_end::from_bytes("", 0), process_error);
    EXPECT_THROW((void)run_end::from_bytes(run_end{}.to_bytes(), 1), process_error);
}

TEST(run_end_test, ReasonsAreWhatExceptionsSay) {
    EXPECT_EQ(reason_of({}), "");
    EXPECT_EQ(reason_of(std::make_exception_ptr(std::runtime_error("this\nand that"))), "this and that");
    EXPECT_EQ(reason_of(std::make_exception_ptr(5)), "unknown exception");
}

}  // namespace laneway::test
