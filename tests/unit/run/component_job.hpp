// Messages of several components, and what tests of them share.
#pragma once

#include <gtest/gtest.h>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct up {
    std::uint64_t by;
};
struct down {
    std::uint64_t by;
};
struct add_to {
    symmetric_ref<std::uint64_t> sum;
    std::uint64_t index;
    template <class Ctx, class Message>
    LANEWAY_FN void operator()(Ctx& ctx, const Message& m) const {
        atomic_add(ctx, sum[index], m.by);
    }
};

options options_for(const std::string& devices, std::uint64_t seed = 1) {
    options o;
    o.devices = devices;
    o.seed = seed;
    return o;
}

template <class T>
std::uint64_t total(const symmetric_array<T>& all, int pes, std::size_t index) {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < pes; ++pe) sum += all.copy_out(pe)[index];
    return sum;
}

}  // namespace
}  // namespace laneway::test
