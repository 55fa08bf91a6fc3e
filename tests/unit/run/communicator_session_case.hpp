// What suites of two-sided messages of host threads share.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_session : public testing::TestWithParam<std::string> {};

std::vector<std::uint64_t> words_of(int rank, std::uint64_t count, std::uint64_t number) {
    std::vector<std::uint64_t> words(count);
    for (std::uint64_t i = 0; i < count; ++i) words[i] = static_cast<std::uint64_t>(rank) << 48 | number << 32 | i;
    return words;
}

}  // namespace
}  // namespace laneway::test
