// Programs as the machine sees them: which devices their code was compiled for.
#include "laneway/simt/pe_program.hpp"

#include <gtest/gtest.h>

#include "laneway/base/error.hpp"
#include "unit/thrown.hpp"

namespace laneway {
namespace {

using test::thrown;

struct nothing {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&) const {}
};

TEST(pe_program_test, DevicesWithoutCodeAreRefused) {
    const auto threads_only = pe_program::of<nothing, false, false>({});
    EXPECT_NO_THROW(threads_only.require(device_kind::cpu));
    EXPECT_NE(thrown<usage_error>([&] { threads_only.require(device_kind::checked); }).find("without checked devices"),
              std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] { threads_only.require(device_kind::cuda); }).find("without CUDA"),
              std::string::npos);
    const auto both = pe_program::of<nothing, false, true>({});
    EXPECT_NO_THROW(both.require(device_kind::checked));
}

}  // namespace
}  // namespace laneway
