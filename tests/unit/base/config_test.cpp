#include "laneway/base/config.hpp"

#include <gtest/gtest.h>

#include <string>

#include "laneway/base/fault.hpp"
#include "laneway/simt/environment.hpp"

namespace laneway {
namespace {

TEST(config_test, OnlyPlainDataIsTriviallyCopyable) {
    static_assert(trivially_copyable<int> && trivially_copyable<pe_environment>);
    static_assert(!trivially_copyable<std::string>);
}

TEST(config_test, ShortNamespaceNameIsTheSame) { static_assert(std::is_same_v<lw::status, laneway::status>); }

// A fault must not slow the polling of `stop` on other PEs' lines, nor may two PEs' words share a line.
TEST(config_test, ControlWordsFillTheirOwnLine) {
    static_assert(alignof(pe_control) == destructive_bytes && sizeof(pe_control) == destructive_bytes);
}

}  // namespace
}  // namespace laneway
