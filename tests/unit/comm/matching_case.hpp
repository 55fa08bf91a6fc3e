// What suites of matching engines share.
#pragma once

#include "laneway/comm/matching/matching_memory.hpp"
#include "unit/sequential_matcher.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

/// What a random script is made of.
struct script_options {
    std::uint64_t steps = 400;
    std::uint32_t sources = 3, tags = 3;
    double wildcards = 0.2;    ///< share of receives with one, or with both
    std::uint32_t most = 100;  ///< that wait in a queue at once
    std::uint32_t width = 32;  ///< of what is brought together, at most
    match_rules rules;
};

}  // namespace
}  // namespace laneway::test
