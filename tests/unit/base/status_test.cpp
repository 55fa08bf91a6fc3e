#include "laneway/base/status.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "unit/enumerators.hpp"

namespace laneway {
namespace {

TEST(status_test, EveryStatusHasItsOwnWords) {
    std::set<std::string> words;
    for (const status s : enumerators<status>()) EXPECT_TRUE(words.insert(to_string(s)).second) << to_string(s);
    EXPECT_EQ(words.count(to_string(status::uneven_post)), 1u);  // the list above is not empty
    EXPECT_EQ(words.count("unknown status"), 0u);
    EXPECT_STREQ(to_string(status{999}), "unknown status");
}

TEST(status_test, ZeroedMemoryReadsAsOk) { EXPECT_EQ(status{}, status::ok); }

}  // namespace
}  // namespace laneway
