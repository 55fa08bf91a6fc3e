#include "laneway/base/report.hpp"

#include <gtest/gtest.h>

namespace laneway {
namespace {

TEST(report_test, TotalsSumTheTrafficMatrix) {
    run_report report;
    EXPECT_EQ(report.chunks(), 0u);
    EXPECT_EQ(report.bytes(), 0u);
    report.traffic_matrix = {{1, 2, 3}, {10, 20, 30}, {100, 200, 300}, {std::uint64_t{1} << 40, 1, 1ull << 40}};
    EXPECT_EQ(report.chunks(), 223u);
    EXPECT_EQ(report.bytes(), 333u + (1ull << 40));
}

}  // namespace
}  // namespace laneway
