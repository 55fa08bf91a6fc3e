#include "laneway/base/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace laneway {
namespace {

template <class Error>
class error_test : public testing::Test {};
using errors = testing::Types<error, usage_error, system_error, cuda_error, timeout_error, device_fault>;
TYPED_TEST_SUITE(error_test, errors);

TYPED_TEST(error_test, CarriesTextAndTheThrowingPlace) {
    const unsigned line = __LINE__ + 2;
    try {
        throw TypeParam("ring 0->1 is full");
    } catch (const error& e) {
        EXPECT_STREQ(e.what(), "ring 0->1 is full");
        EXPECT_EQ(e.where().line(), line);
        EXPECT_NE(std::string(e.where().file_name()).find("error_test"), std::string::npos);
        return;
    }
    FAIL() << "not caught as laneway::error";
}

TYPED_TEST(error_test, IsOneLine) {
    const TypeParam thrown("devices: \"a\nb\"\r\n\tand more");
    EXPECT_STREQ(thrown.what(), "devices: \"a b\"   and more");
}

TEST(error_kinds_test, KindsAreTold) {
    EXPECT_THROW(throw usage_error("x"), std::runtime_error);
    try {
        throw timeout_error("x");
    } catch (const device_fault&) {
        FAIL() << "a timeout is no device fault";
    } catch (const timeout_error&) {
    }
}

}  // namespace
}  // namespace laneway
